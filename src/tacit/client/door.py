"""One request and its answer, over a connection of its own: nothing is followed, guessed, or read in part."""

import ssl
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from tacit.base import InputError, TacitError, positive

__all__ = ["ARROW", "JSON", "PROBLEM", "Address", "HttpDoor", "Lost", "Reply", "Unreachable"]

EXAMPLE = "https://tacit.example.org"
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True)
class Address:
    """A checked URL. `prefix` is the path that everything lies under, if a proxy put it under one."""

    secure: bool
    host: str
    port: int
    prefix: str = ""

    @classmethod
    def read(cls, url: object, *, insecure: bool = False) -> "Address":
        """From what was typed. Without TLS only this machine, unless `insecure`; the URL is never repeated in an
        error, since somebody may have written a password in it."""
        if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
            raise InputError(f"url must be an address such as {EXAMPLE}, without spaces")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise InputError(f"url has no readable host and port: write it as {EXAMPLE}:8321") from None
        if parts.scheme not in PORTS or not parts.hostname:
            raise InputError(f"url must begin with https:// or http:// and name a host, as {EXAMPLE} does")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise InputError("url must hold no user, password, query or fragment: the token is an argument of its own")
        found = cls(
            secure=parts.scheme == "https",
            host=parts.hostname,
            port=PORTS[parts.scheme] if port is None else port,
            prefix=parts.path.rstrip("/"),
        )
        if not (found.secure or found.loopback or insecure):
            raise InputError(
                "over http:// everybody on the way reads the token: use https://, or say insecure=True where the way "
                "is guarded by other means"
            )
        return found

    @property
    def loopback(self) -> bool:
        """Whether this is the same machine, by its number or its one reserved name."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.prefix}"


JSON, ARROW, PROBLEM = "application/json", "application/vnd.apache.arrow.stream", "application/problem+json"
MOST = 1 << 28  # bytes of an answer


class Unreachable(TacitError):  # noqa: N818 - says what is the case, as Denied does
    """The service could not be reached: nothing was sent to it."""


class Lost(TacitError):  # noqa: N818 - says what is the case, as Denied does
    """The request may have arrived; no whole answer came back."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back, whole. `kind` is its media type, `release` what the service calls the answer in it."""

    status: int
    kind: str
    cached: bool
    body: bytes = field(repr=False)
    release: str = ""


class HttpDoor:
    """Sends requests with a token. Redirects are not followed and proxies not used, so the token goes nowhere else.

    With TLS the certificate is always checked, against the system's authorities or the file `authority`. `timeout` is
    how many seconds of silence are waited through. Thread safe.
    """

    def __init__(self, address: Address, token: str, *, timeout: float, authority: Path | str | None) -> None:
        self.address, self._token = address, _sendable(token)
        self.timeout = float(positive(timeout, "timeout"))
        self._context = _trusting(authority) if address.secure else None

    def __repr__(self) -> str:
        return f"HttpDoor({str(self.address)!r})"

    def hidden(self, text: str) -> str:
        """A text of the other side's without the token, should it have sent that back."""
        return text.replace(self._token, "…")

    def call(
        self, method: str, path: str, *, accept: str = JSON, body: bytes | None = None, key: str | None = None
    ) -> Reply:
        """The whole answer, whatever it says; `Unreachable` if nothing was sent, `Lost` if nothing whole came back."""
        with closing(self._connection()) as connection:
            self._reach(connection)
            reply = self._exchanged(connection, method, path, accept, body, key)
        if reply is None:
            raise Lost(
                f"{self.address} gave no whole answer: the connection was lost, or was silent for "
                f"{self.timeout:g} s, or no tacit service is there"
            )
        return reply

    def _connection(self) -> HTTPConnection:
        place, port = self.address.host, self.address.port
        if self._context is None:
            return HTTPConnection(place, port, timeout=self.timeout)
        return HTTPSConnection(place, port, timeout=self.timeout, context=self._context)

    def _reach(self, connection: HTTPConnection) -> None:
        try:
            connection.connect()
        except ssl.SSLCertVerificationError:
            why = "its certificate is not trusted here (authority= names a file of authorities to trust instead)"
        except ssl.SSLError:
            why = "it does not speak TLS as it should"
        except (OSError, UnicodeError):
            why = "nothing answers at this address"
        else:
            return
        raise Unreachable(f"{self.address} cannot be reached, so nothing was sent: {why}")  # no other error behind it

    def _exchanged(
        self, connection: HTTPConnection, method: str, path: str, accept: str, body: bytes | None, key: str | None
    ) -> Reply | None:
        """None if it failed. Errors end here: what the standard library was doing holds the token."""
        named = {} if key is None else {"Idempotency-Key": key}
        typed = {} if body is None else {"Content-Type": JSON}
        always = {"Authorization": f"Bearer {self._token}", "Accept": f"{accept}, {PROBLEM}", "Connection": "close"}
        try:
            connection.request(method, self.address.prefix + path, body, always | named | typed)
            with connection.getresponse() as response:
                return Reply(
                    status=response.status,
                    kind=response.headers.get_content_type(),
                    cached=response.headers.get("Tacit-Cached") == "true",
                    body=_whole(response),
                    release=response.headers.get("Tacit-Release", ""),
                )
        except (OSError, HTTPException, ValueError):
            return None


def _whole(response: HTTPResponse) -> bytes:
    """The body, if it says where it ends: of one that ends with the connection, a part looks like the whole."""
    if response.length is None and not response.chunked:
        raise HTTPException("no length")
    if response.length is not None and response.length > MOST:
        raise HTTPException("too long")
    body = response.read(MOST + 1) if response.length is None else response.read()
    if len(body) > MOST:
        raise HTTPException("too long")
    return body


def _sendable(token: object) -> str:
    """A token as it may stand in a header; files that hold one end with a line break."""
    text = token.strip() if isinstance(token, str) else ""
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise InputError("token must be the text that was shown when it was made: tacit_…, without spaces")
    return text


def _trusting(authority: Path | str | None) -> ssl.SSLContext:
    try:
        found = ssl.create_default_context(cafile=None if authority is None else str(authority))
    except OSError:  # an SSLError too
        raise InputError("authority must be a file of certificates in PEM form that can be read") from None
    found.hostname_checks_common_name = False  # a free text that authorities do not have to check
    return found
