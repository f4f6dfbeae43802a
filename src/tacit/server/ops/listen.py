"""The doors, opened before anything else: sockets that listen, and the files of TLS; what is wrong is one sentence."""

import errno
import logging
import os
import socket
import ssl
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tacit.base import InputError
from tacit.base.private_file import FILE
from tacit.server.ops.config import Config
from tacit.server.ops.log import event

__all__ = ["Doors", "narrow", "secured", "warn"]

BACKLOG = 2048


class Doors:
    """The sockets of HTTP and of PostgreSQL's protocol, bound and listening: whoever comes now waits for the start.
    With several workers the latter only holds its port, where each of them listens by itself."""

    def __init__(self, config: Config) -> None:
        secured(config)
        self.http, self.wire = _listening("listen", *config.address), list[socket.socket]()
        if config.wire_address is not None:
            try:
                self.wire = _listening("wire", *config.wire_address)
                if config.workers > 1:
                    self.wire = list(map(_held, self.wire))
            except BaseException:
                self.close()
                raise

    @property
    def address(self) -> tuple[str, int]:
        """Where the HTTP door can be reached from this machine."""
        host, port = self.http[0].getsockname()[:2]
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port

    @property
    def ports(self) -> tuple[int, int | None]:
        """The ports that were given where 0 was asked for."""
        return self.address[1], self.wire[0].getsockname()[1] if self.wire else None

    def close(self) -> None:
        for each in (*self.http, *self.wire):
            each.close()


def _listening(setting: str, host: str, port: int) -> list[socket.socket]:
    """A socket at each address that the host has here: localhost may have two."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        remedy = f"give an address of this machine, such as 127.0.0.1:{port}"
        raise InputError(f'{setting}: nobody knows a host "{host}": {remedy}') from None
    made: list[socket.socket] = []
    problem: OSError | None = None
    for family, *_, place in dict.fromkeys(found):
        at = (place[0], made[0].getsockname()[1], *place[2:]) if made else place  # port 0 is one port for all
        try:
            made.append(socket.create_server(at, family=family, backlog=BACKLOG))
            made[-1].set_inheritable(True)
        except OSError as error:
            problem = error
            if error.errno == errno.EADDRINUSE:
                break
    if made and (problem is None or problem.errno != errno.EADDRINUSE):
        return made
    for each in made:
        each.close()
    raise InputError(_why(setting, host, port, problem))


def _held(found: socket.socket) -> socket.socket:
    """The same address without listening there: held for the workers, each of which listens by itself."""
    family, place = found.family, found.getsockname()
    found.close()  # it was nobody else's
    made = socket.socket(family, socket.SOCK_STREAM)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        made.setsockopt(socket.SOL_SOCKET, option, 1)
    made.bind(place)
    return made


def _why(setting: str, host: str, port: int, problem: OSError | None) -> str:
    option, at = f"--{setting} HOST:PORT", f"{f'[{host}]' if ':' in host else host}:{port}"
    code = problem.errno if problem is not None else None
    if code == errno.EADDRINUSE:
        return f"{setting}: another program listens at {at}: stop it, or choose another port with {option}"
    if code in (errno.EACCES, errno.EPERM):
        return f"{setting}: this user may not listen at {at}: choose a port above 1023 with {option}"
    if code == errno.EADDRNOTAVAIL:
        return f"{setting}: {host} is no address of this machine: choose one with {option}, such as 127.0.0.1:{port}"
    reason = (problem.strerror if problem is not None else None) or "there is no such address"
    return f"{setting}: nothing can listen at {at} ({reason}): choose another address with {option}"


def secured(config: Config) -> ssl.SSLContext | None:
    """TLS as it is set up; None without."""
    if config.certificate is None or config.private_key is None:
        return None
    for name, path in (("certificate", config.certificate), ("private_key", config.private_key)):
        try:
            with path.open("rb") as file:
                file.read(1)
        except OSError as error:
            remedy = "check the path and its rights"
            raise InputError(f"{name}: {path} cannot be read ({error.strerror}): {remedy}") from None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with suppress(ssl.SSLError, ValueError):
        context.load_cert_chain(config.certificate, config.private_key, password=_no_password)
        return context
    raise InputError(
        f"certificate and private_key: {config.certificate} and {config.private_key} are no certificate with its key: "
        "both are PEM, they belong together, and the key has no password"
    )


def _no_password() -> str:
    raise ValueError("nobody is there to type it")


OTHERS = stat.S_IRWXO
OURS = ("*.db", "*.db-wal", "*.db-shm", "*.key", "policies/*.toml", "surveys/*.toml")


def narrow(config: Config) -> None:
    """Take the rights of others away from the files that this service wrote."""
    for path in _files(config):
        if _open_to_others(path):
            with suppress(OSError):  # somebody else's: told below
                path.chmod(FILE)


def warn(config: Config) -> None:
    """One line for each secret that others can still read."""
    secrets = (config.private_key, config.signing_key, config.oidc_secret)
    for path in (*_files(config), *(path for path in secrets if path is not None)):
        if _open_to_others(path):
            event("others can read this file: chmod 600", level=logging.WARNING, file=str(path))
    if not config.database and _open_to_others(config.state):
        event("others can look into this folder: chmod 700", level=logging.WARNING, folder=str(config.state))


def _files(config: Config) -> Iterator[Path]:
    for pattern in OURS:
        yield from config.state.glob(pattern)


def _open_to_others(path: Path) -> bool:
    try:
        return os.name == "posix" and bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False
