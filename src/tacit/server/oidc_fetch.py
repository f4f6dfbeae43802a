"""What the identity provider answers: over TLS, of bounded size and time, without redirects or proxies."""

import json
import urllib.request
from http.client import HTTPException, HTTPResponse
from ipaddress import ip_address
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

from tacit.base import InputError
from tacit.server.state import Unavailable

__all__ = ["fetched", "safe_address"]

TIMEOUT = 10.0
MOST = 1 << 20


class _Plain(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: a secret goes where the provider's own document says, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.OpenerDirector()  # no file:, no ftp:, no proxies
for _handler in (urllib.request.HTTPHandler, urllib.request.HTTPSHandler, urllib.request.HTTPErrorProcessor):
    _opener.add_handler(_handler())
_opener.add_handler(urllib.request.HTTPDefaultErrorHandler())
_opener.add_handler(_Plain())


def safe_address(url: object, what: str) -> str:
    """An https:// address, or an http:// one on this machine; anything else would tell secrets to the network."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        host = ""
    good = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url and host
    if not good or parts.username is not None or parts.fragment:
        raise InputError(f"{what} is not an address such as https://id.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and _here(host)):
        raise InputError(f"{what} must begin with https://")
    return str(url)


def _here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def fetched(url: str, *, form: dict[str, str] | None = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
    """The JSON object at an address; with `form` it is posted there. `Unavailable` if there is none."""
    data = None if form is None else urlencode(form).encode()
    request = urllib.request.Request(url, data=data, headers={"Accept": "application/json", **(headers or {})})
    try:
        answer: HTTPResponse = _opener.open(request, timeout=TIMEOUT)
        with answer:
            text = answer.read(MOST + 1)
    except HTTPError as refused:
        refused.close()
        raise Unavailable(f"the identity provider answered with {refused.code}: try to sign in again") from None
    except (OSError, HTTPException):
        raise Unavailable("the identity provider cannot be reached: try to sign in again") from None
    try:
        found = json.loads(text) if len(text) <= MOST else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unavailable("the identity provider answered with something that is not understood")
    return found
