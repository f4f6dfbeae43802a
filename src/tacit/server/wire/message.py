"""Messages: what a client sends is read or refused, and what is replied is written. Nothing here waits or acts."""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from tacit.server.problem import Fault
from tacit.server.wire.value import WireField, sized

__all__ = ["Bind", "Cancel", "Close", "Describe", "Encrypt", "Execute", "Message", "Opening", "Parse", "Password"]
__all__ += ["Signal", "SimpleQuery", "Startup", "broken", "copied", "read", "read_opening"]

VERSION = 3 << 16
CANCEL, SSL, GSS = 80877102, 80877103, 80877104


@dataclass(frozen=True)
class Startup:
    """The first message: who, which database, and settings. `newer` are options of the protocol that we do not know."""

    parameters: dict[str, str]
    newer: tuple[str, ...] = ()
    minor: int = 0


@dataclass(frozen=True)
class Encrypt:
    """May we speak TLS (or GSS)?"""

    tls: bool


@dataclass(frozen=True)
class Cancel:
    """Stop what the connection with this number and secret is doing."""

    number: int
    secret: bytes


Opening = Startup | Encrypt | Cancel


@dataclass(frozen=True)
class SimpleQuery:
    sql: str


@dataclass(frozen=True)
class Parse:
    name: str
    sql: str
    kinds: tuple[int, ...]


@dataclass(frozen=True)
class Bind:
    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Describe:
    portal: bool
    name: str


@dataclass(frozen=True)
class Execute:
    portal: str
    most: int


@dataclass(frozen=True)
class Close:
    portal: bool
    name: str


@dataclass(frozen=True)
class Password:
    data: bytes


Signal = Enum("Signal", "SYNC FLUSH TERMINATE")
"""A message that is nothing but its tag."""


Message = SimpleQuery | Parse | Bind | Describe | Execute | Close | Password | Signal


def broken(why: str) -> Fault:
    """The end of a connection that does not keep to the protocol."""
    return Fault("08P01", f"this is not PostgreSQL's protocol: {why}", fatal=True)


class Body:
    """The inside of one message, read from left to right and to its end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.place + count > len(self.data):
            raise broken("a message is shorter than it says")
        found = self.data[self.place : self.place + count]
        self.place += count
        return found

    def number(self, form: str) -> int:
        """One as `struct` packs it: h and H have two bytes, i and I four."""
        return int(struct.unpack(f"!{form}", self.take(struct.calcsize(f"!{form}")))[0])

    def text(self) -> str:
        end = self.data.find(b"\0", self.place)
        if end < 0:
            raise broken("a text does not end")
        found = self.take(end - self.place)
        self.place += 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise Fault("22021", "a text is not UTF-8, the only encoding that is spoken here") from None

    def numbers(self, form: str) -> tuple[int, ...]:
        return tuple(self.number(form) for _ in range(self.number("H")))

    def value(self) -> bytes | None:
        size = self.number("i")
        return None if size == -1 else self.take(size)

    def which(self) -> bool:
        kind = self.take(1)
        if kind not in (b"S", b"P"):
            raise broken("there are statements and portals only")
        return kind == b"P"

    def end(self) -> None:
        if self.place != len(self.data):
            raise broken("a message is longer than what is in it")


def read_opening(data: bytes) -> Opening:
    """The first message, without its length."""
    body = Body(data)
    code = body.number("i")
    if code in (SSL, GSS):
        body.end()
        return Encrypt(code == SSL)
    if code == CANCEL:
        found = Cancel(body.number("i"), body.take(4))
        body.end()
        return found
    if code >> 16 != VERSION >> 16:
        raise Fault("0A000", "only version 3 of PostgreSQL's protocol is spoken here", fatal=True)
    pairs: dict[str, str] = {}
    while name := body.text():
        pairs[name] = body.text()
    body.end()
    newer = tuple(name for name in pairs if name.startswith("_pq_."))
    return Startup({name: value for name, value in pairs.items() if name not in newer}, newer, code & 0xFFFF)


def _bind(body: Body) -> Bind:
    portal, statement, formats = body.text(), body.text(), body.numbers("h")
    values = tuple(body.value() for _ in range(body.number("H")))
    return Bind(portal, statement, formats, values, body.numbers("h"))


READ: dict[bytes, Callable[[Body], Message]] = {
    b"Q": lambda body: SimpleQuery(body.text()),
    b"P": lambda body: Parse(body.text(), body.text(), body.numbers("I")),
    b"B": _bind,
    b"D": lambda body: Describe(body.which(), body.text()),
    b"E": lambda body: Execute(body.text(), body.number("i")),
    b"C": lambda body: Close(body.which(), body.text()),
    b"p": lambda body: Password(body.take(len(body.data))),
    b"S": lambda _: Signal.SYNC,
    b"H": lambda _: Signal.FLUSH,
    b"X": lambda _: Signal.TERMINATE,
}


def read(tag: bytes, data: bytes) -> Message:
    """A message after the first, without its tag and length."""
    if tag not in READ:
        raise broken(f"a message of kind {tag!r} is not understood")
    body = Body(data)
    found = READ[tag](body)
    body.end()
    return found


def _framed(tag: bytes, body: bytes = b"") -> bytes:
    return tag + struct.pack("!i", len(body) + 4) + body


def _text(text: str) -> bytes:
    return text.replace("\0", " ").encode(errors="replace") + b"\0"


PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = _framed(b"1"), _framed(b"2"), _framed(b"3")
NO_DATA, EMPTY_QUERY, SUSPENDED = _framed(b"n"), _framed(b"I"), _framed(b"s")


def authentication(code: int, data: bytes = b"") -> bytes:
    return _framed(b"R", struct.pack("!i", code) + data)


def negotiate(unknown: Sequence[str]) -> bytes:
    """We speak 3.0, and none of these options."""
    return _framed(b"v", struct.pack("!ii", 0, len(unknown)) + b"".join(_text(name) for name in unknown))


def parameter_status(name: str, value: str) -> bytes:
    return _framed(b"S", _text(name) + _text(value))


def key_data(number: int, secret: bytes) -> bytes:
    return _framed(b"K", struct.pack("!i", number) + secret)


def ready(status: str) -> bytes:
    return _framed(b"Z", status.encode())


def complete(tag: str) -> bytes:
    return _framed(b"C", _text(tag))


def copied(lines: Iterable[bytes], binary: bool, columns: int) -> list[bytes]:
    """An answer by COPY: what comes, the rows, and the end."""
    head = struct.pack("!bh", binary, columns) + struct.pack("!h", binary) * columns
    return [_framed(b"H", head), *(_framed(b"d", line) for line in lines), _framed(b"c")]


def _fields(severity: str, state: str, message: str, hint: str, detail: str = "") -> bytes:
    parts = {"S": severity, "V": severity, "C": state, "M": message, "D": detail, "H": hint}
    return b"".join(key.encode() + _text(value) for key, value in parts.items() if value) + b"\0"


def response(fault: Fault) -> bytes:
    severity = "FATAL" if fault.fatal else "ERROR"
    return _framed(b"E", _fields(severity, fault.state, fault.message, fault.hint, fault.detail))


def notice(message: str) -> bytes:
    return _framed(b"N", _fields("NOTICE", "00000", message, ""))


def parameter_description(kinds: Sequence[int]) -> bytes:
    return _framed(b"t", struct.pack(f"!H{len(kinds)}I", len(kinds), *kinds))


def row_description(fields: Sequence[WireField], formats: Sequence[int]) -> bytes:
    parts = [struct.pack("!H", len(fields))]
    for field, form in zip(fields, formats, strict=True):
        kind = field.kind
        parts.append(_text(field.name) + struct.pack("!IhIhih", 0, 0, kind.oid, kind.size, -1, form))
    return _framed(b"T", b"".join(parts))


def data_row(values: Sequence[bytes | None]) -> bytes:
    return _framed(b"D", struct.pack("!H", len(values)) + b"".join(map(sized, values)))
