"""Where a service is, and whether a token may be sent there."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from tacit.base import InputError

__all__ = ["Address"]

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
