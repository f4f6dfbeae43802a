"""One request: whole, or not at all; and the token stays where it is."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from traceback import TracebackException
from typing import Any

import pytest

from support.relay import canned, relay
from support.service import running
from tacit.base import InputError
from tacit.client import connect
from tacit.client.door import Address, HttpDoor, Lost, Unreachable

TOKEN = "tacit_0123456789ab_" + "s3cret" * 7 + "x"
OK = canned("200 OK", "application/json", b'{"a": 1}')


def door(url: str, token: str = TOKEN, *, timeout: float = 30, authority: Path | None = None) -> HttpDoor:
    return HttpDoor(Address.read(url), token, timeout=timeout, authority=authority)


def told(error: BaseException) -> str:
    """Everything that a report with all variables would print."""
    return "".join(TracebackException.from_exception(error, capture_locals=True).format())


def test_what_is_sent_and_what_comes_back() -> None:
    with relay(None, lambda _: OK, every=True) as found:
        reply = door(found.url + "/under/").call("POST", "/v1/x", body=b"{}", key="one")
    assert (reply.status, reply.kind, reply.body, reply.cached) == (200, "application/json", b'{"a": 1}', False)
    assert found.seen[0].startswith(b"POST /under/v1/x HTTP/1.1\r\n")
    assert found.headers("Authorization") == [f"Bearer {TOKEN}"]
    assert found.headers("Idempotency-Key") == ["one"]
    assert found.headers("Connection") == ["close"]


@pytest.mark.parametrize(
    "sent",
    [
        None,
        b"",
        OK[:-1],
        OK[:20],
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nno length, so that a part looks like the whole",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"Content-Length: 0\r\n\r\n",
    ],
)
def test_a_part_of_an_answer_is_none(sent: bytes | None) -> None:
    with relay(None, lambda _: sent, every=True) as found, pytest.raises(Lost, match="no whole answer") as lost:
        door(found.url).call("GET", "/")
    assert TOKEN not in told(lost.value)


def test_chunks_are_put_together() -> None:
    sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    with relay(None, lambda _: sent, every=True) as found:
        assert door(found.url).call("GET", "/").body == b"hello"


def test_silence_is_not_waited_through_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(Lost, match=r"silent for 0\.1 s") as lost:
        door(f"http://127.0.0.1:{mute.getsockname()[1]}", timeout=0.1).call("GET", "/")
    assert TOKEN not in told(lost.value)


def test_a_redirect_is_not_followed() -> None:
    with relay(None, every=True) as other:
        moved = canned("307 Temporary Redirect", "text/plain", b"", f"Location: {other.url}/v1/me")
        with relay(None, lambda _: moved, every=True) as found:
            assert door(found.url).call("GET", "/v1/me").status == 307
        assert not other.seen


def test_nothing_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(Unreachable, match="nothing was sent: nothing answers") as failed:
        door(f"http://127.0.0.1:{port}").call("GET", "/")
    assert failed.value.__context__ is None
    assert TOKEN not in told(failed.value)


def test_the_token_is_in_no_text() -> None:
    found = door("https://tacit.example.org")
    assert TOKEN not in repr(found)
    assert found.hidden(f"you sent {TOKEN}!") == "you sent …!"


@pytest.mark.parametrize("token", ["", "  ", "tacit_s3cret\r\nX-Evil: 1", "tacit s3cret", "tacit_s3crét", None])
def test_a_token_that_is_none(token: Any) -> None:
    with pytest.raises(InputError, match="token must be") as refused:
        door("https://tacit.example.org", token)
    assert "s3cr" not in str(refused.value)


def test_other_arguments_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="timeout"):
        door("https://tacit.example.org", timeout=0)
    (tmp_path / "empty.pem").touch()
    for name in ("none.pem", "empty.pem"):
        with pytest.raises(InputError, match="authority"):
            door("https://tacit.example.org", authority=tmp_path / name)


# --- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*made, "-keyout", key, "-out", cert, *subject], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def guarded(
    certificate: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, str]]]:
    cert, key = certificate
    with running(tmp_path_factory.mktemp("served"), certificate=cert, private_key=key) as found:
        yield found.url.replace("http:", "https:"), found.tokens


def test_tls_with_an_authority_that_is_trusted(
    guarded: tuple[str, dict[str, str]], certificate: tuple[Path, Path]
) -> None:
    url, tokens = guarded
    with connect(url, tokens["ana"], authority=certificate[0]) as desk:
        assert desk.left().epsilon == 2


def test_a_certificate_that_nobody_vouches_for_is_refused(guarded: tuple[str, dict[str, str]]) -> None:
    url, tokens = guarded
    for insecure in (False, True):  # which is about http:// alone
        with pytest.raises(Unreachable, match="not trusted"):
            connect(url, tokens["ana"], insecure=insecure)


def test_a_certificate_of_another_name_is_refused(
    guarded: tuple[str, dict[str, str]], certificate: tuple[Path, Path]
) -> None:
    url, tokens = guarded
    with pytest.raises(Unreachable, match="not trusted"):
        connect(url.replace("127.0.0.1", "localhost"), tokens["ana"], authority=certificate[0])


def test_one_side_without_tls(guarded: tuple[str, dict[str, str]]) -> None:
    with pytest.raises(Lost):
        door(guarded[0].replace("https:", "http:")).call("GET", "/v1/me")
    with relay(None) as plain, pytest.raises(Unreachable):
        door(plain.url.replace("http:", "https:"), timeout=1).call("GET", "/v1/me")


def test_checks_cannot_be_off() -> None:
    context = door("https://tacit.example.org")._context
    assert context is not None
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


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
