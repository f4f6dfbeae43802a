"""What the server sends, as bytes."""

import struct
from collections.abc import Sequence

from tacit.server.wire.fault import Fault
from tacit.server.wire.value import Field

__all__ = [
    "BIND_COMPLETE",
    "CLOSE_COMPLETE",
    "COPY_DONE",
    "EMPTY_QUERY",
    "NO_DATA",
    "PARSE_COMPLETE",
    "SUSPENDED",
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
    "ready",
    "response",
    "row_description",
]


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


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    parts = [struct.pack("!H", len(fields))]
    for field, form in zip(fields, formats, strict=True):
        kind = field.kind
        parts.append(_text(field.name) + struct.pack("!IhIhih", 0, 0, kind.oid, kind.size, -1, form))
    return _framed(b"T", b"".join(parts))


def data_row(values: Sequence[bytes | None]) -> bytes:
    parts = [struct.pack("!H", len(values))]
    parts += [NULL if value is None else struct.pack("!i", len(value)) + value for value in values]
    return _framed(b"D", b"".join(parts))
