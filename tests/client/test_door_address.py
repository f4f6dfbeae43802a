"""Where a token may be sent."""

import pytest

from tacit.base import InputError
from tacit.client.door import Address


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("https://tacit.example.org", "https://tacit.example.org:443"),
        ("https://tacit.example.org:8443/under/", "https://tacit.example.org:8443/under"),
        ("http://127.0.0.1:8321", "http://127.0.0.1:8321"),
        ("http://localhost", "http://localhost:80"),
        ("http://[::1]:8321/", "http://[::1]:8321"),
    ],
)
def test_an_address_is_read(url: str, spelled: str) -> None:
    assert str(Address.read(url)) == spelled


@pytest.mark.parametrize("host", ["tacit.example.org", "10.0.0.1", "0.0.0.0", "localhost.example.org", "[::2]"])
def test_without_tls_only_this_machine_unless_somebody_says_so(host: str) -> None:
    with pytest.raises(InputError, match="insecure=True"):
        Address.read(f"http://{host}:8321")
    assert not Address.read(f"http://{host}:8321", insecure=True).secure


@pytest.mark.parametrize(
    "url",
    [
        "tacit.example.org",
        "ftp://tacit.example.org",
        "https://",
        "https://host:99999",
        "https://host:port",
        "https://[::1",
        "https://me:hunter2@host",
        "https://hunter2@host",
        "https://host/?token=hunter2",
        "https://host/#hunter2",
        "https://host\r\nX-Evil: hunter2",
        "https://ho\tst/hunter2",
        "https://höst",
        "https://a host",
        None,
    ],
)
def test_anything_else_is_refused_and_not_repeated(url: object) -> None:
    with pytest.raises(InputError) as refused:
        Address.read(url, insecure=True)
    assert "hunter2" not in str(refused.value)
