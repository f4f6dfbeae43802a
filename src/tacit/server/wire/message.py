"""What a client sends: bytes become one of a few messages, or are refused. Nothing here waits or acts."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.server.wire.fault import Fault
from tacit.server.wire.value import WireField

__all__ = [
    "BIND_COMPLETE",
    "CLOSE_COMPLETE",
    "COPY_DONE",
    "EMPTY_QUERY",
    "NO_DATA",
    "PARSE_COMPLETE",
    "SUSPENDED",
    "Bind",
    "Cancel",
    "Close",
    "Describe",
    "Encrypt",
    "Execute",
    "Flush",
    "Message",
    "Opening",
    "Parse",
    "Password",
    "SimpleQuery",
    "Startup",
    "Sync",
    "Terminate",
    "authentication",
    "complete",
    "copy_data",
    "copy_out",
    "data_row",
    "key_data",
    "negotiate",
    "notice",
    "parameter_description",
    "parameter_status",
    "read",
    "read_opening",
    "ready",
    "response",
    "row_description",
]

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


@dataclass(frozen=True)
class Sync:
    pass


@dataclass(frozen=True)
class Flush:
    pass


@dataclass(frozen=True)
class Terminate:
    pass


Message = SimpleQuery | Parse | Bind | Describe | Execute | Close | Password | Sync | Flush | Terminate


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

    def short(self) -> int:
        return int(struct.unpack("!h", self.take(2))[0])

    def long(self) -> int:
        return int(struct.unpack("!i", self.take(4))[0])

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

    def shorts(self) -> tuple[int, ...]:
        return tuple(self.short() for _ in range(self.count()))

    def count(self) -> int:
        return struct.unpack("!H", self.take(2))[0]  # type: ignore[no-any-return]  # one unsigned number

    def value(self) -> bytes | None:
        size = self.long()
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
    code = body.long()
    if code in (SSL, GSS):
        body.end()
        return Encrypt(code == SSL)
    if code == CANCEL:
        found = Cancel(body.long(), body.take(4))
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


def read(tag: bytes, data: bytes) -> Message:
    """A message after the first, without its tag and length."""
    body = Body(data)
    found = _message(tag, body)
    body.end()
    return found


def _message(tag: bytes, body: Body) -> Message:
    match tag:
        case b"Q":
            return SimpleQuery(body.text())
        case b"P":
            return Parse(body.text(), body.text(), tuple(body.long() & 0xFFFFFFFF for _ in range(body.count())))
        case b"B":
            portal, statement, formats = body.text(), body.text(), body.shorts()
            values = tuple(body.value() for _ in range(body.count()))
            return Bind(portal, statement, formats, values, body.shorts())
        case b"D":
            return Describe(body.which(), body.text())
        case b"E":
            return Execute(body.text(), body.long())
        case b"C":
            return Close(body.which(), body.text())
        case b"p":
            return Password(body.take(len(body.data)))
        case b"S":
            return Sync()
        case b"H":
            return Flush()
        case b"X":
            return Terminate()
    raise broken(f"a message of kind {tag!r} is not understood")


def _framed(tag: bytes, body: bytes = b"") -> bytes:
    return tag + struct.pack("!i", len(body) + 4) + body


def _text(text: str) -> bytes:
    return text.replace("\0", " ").encode(errors="replace") + b"\0"


PARSE_COMPLETE = _framed(b"1")
BIND_COMPLETE = _framed(b"2")
CLOSE_COMPLETE = _framed(b"3")
NO_DATA = _framed(b"n")
EMPTY_QUERY = _framed(b"I")
NULL = struct.pack("!i", -1)
SUSPENDED = _framed(b"s")
COPY_DONE = _framed(b"c")


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


def copy_out(form: int, columns: int) -> bytes:
    """What follows are so many columns, as text (0) or binary (1)."""
    return _framed(b"H", struct.pack("!bh", form, columns) + struct.pack("!h", form) * columns)


def copy_data(data: bytes) -> bytes:
    return _framed(b"d", data)


def _fields(severity: str, state: str, message: str, hint: str) -> bytes:
    parts = {"S": severity, "V": severity, "C": state, "M": message, "H": hint}
    return b"".join(key.encode() + _text(value) for key, value in parts.items() if value) + b"\0"


def response(fault: Fault) -> bytes:
    return _framed(b"E", _fields("FATAL" if fault.fatal else "ERROR", fault.state, fault.message, fault.hint))


def notice(message: str) -> bytes:
    return _framed(b"N", _fields("NOTICE", "00000", message, ""))


def parameter_description(kinds: Sequence[int]) -> bytes:
    return _framed(b"t", struct.pack("!H", len(kinds)) + b"".join(struct.pack("!I", oid) for oid in kinds))


def row_description(fields: Sequence[WireField], formats: Sequence[int]) -> bytes:
    parts = [struct.pack("!H", len(fields))]
    for field, form in zip(fields, formats, strict=True):
        kind = field.kind
        parts.append(_text(field.name) + struct.pack("!IhIhih", 0, 0, kind.oid, kind.size, -1, form))
    return _framed(b"T", b"".join(parts))


def data_row(values: Sequence[bytes | None]) -> bytes:
    parts = [struct.pack("!H", len(values))]
    parts += [NULL if value is None else struct.pack("!i", len(value)) + value for value in values]
    return _framed(b"D", b"".join(parts))
