"""Values on their way out: PostgreSQL's types, in text and in binary."""

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import product
from math import isfinite
from typing import Any

from tacit.policy.kind import ColumnType, understood
from tacit.server.wire.fault import Fault

__all__ = [
    "ARRAYS",
    "KINDS",
    "PLACEHOLDERS",
    "WireField",
    "WireType",
    "decoded",
    "encoded",
    "kind_of",
    "listed",
    "literal",
    "samples",
]

EPOCH = date(2000, 1, 1)


@dataclass(frozen=True)
class WireType:
    """A type: its name, number, and size (-1 where that varies). `element` is what an array holds."""

    name: str
    oid: int
    size: int
    element: "WireType | None" = None


@dataclass(frozen=True)
class WireField:
    """A column of a result. `end` says that it is the low (0) or high (1) end of the interval of the one before."""

    name: str
    kind: WireType
    end: int | None = None


KINDS = {
    kind.name: kind
    for kind in (
        WireType("bool", 16, 1),
        WireType("int8", 20, 8),
        WireType("int2", 21, 2),
        WireType("int4", 23, 4),
        WireType("text", 25, -1),
        WireType("oid", 26, 4),
        WireType("float8", 701, 8),
        WireType("date", 1082, 4),
        WireType("timestamp", 1114, 8),
    )
}
ARRAYS = {"bool": 1000, "int8": 1016, "text": 1009, "float8": 1022, "date": 1182, "timestamp": 1115}
KINDS |= {f"{name}[]": WireType(f"{name}[]", oid, -1, KINDS[name]) for name, oid in ARRAYS.items()}

OF_COLUMNS = {
    ColumnType.INTEGER: "int8",
    ColumnType.DECIMAL: "float8",  # an answer is a double, whatever it is made of
    ColumnType.FLOAT: "float8",
    ColumnType.BOOLEAN: "bool",
    ColumnType.TEXT: "text",
    ColumnType.DATE: "date",
    ColumnType.TIMESTAMP: "timestamp",
}
LIST = re.compile(r"(?:large_)?list<(?:\w+: )?(.+?)>|(.+)\[\]")


def kind_of(name: str) -> WireType:
    """The type of an answer's column, by its name in a policy, in the plan or in Arrow; what is not known is text."""
    inside = LIST.fullmatch(name)
    if inside is not None:
        element = kind_of(inside[1] or inside[2])
        return KINDS.get(f"{element.name}[]", KINDS["text"])
    if name == "number":
        return KINDS["float8"]
    found = understood(name)
    return KINDS["text" if found is None else OF_COLUMNS[found]]


def encoded(value: Any, kind: WireType, form: int) -> bytes | None:
    """A value as a client wants it: form 0 is text, 1 is binary."""
    if value is None:
        return None
    return _binary(value, kind) if form else _text(value, kind).encode()


def _text(value: Any, kind: WireType) -> str:
    if kind.element is not None:
        return "{" + ",".join("NULL" if one is None else _element(one, kind.element) for one in value) + "}"
    match kind.name:
        case "bool":
            return "t" if value else "f"
        case "float8":
            return _float(float(value))
        case "int2" | "int4" | "int8" | "oid":
            return str(int(value))
        case "timestamp":
            moment: datetime = value
            return moment.isoformat(sep=" ")
        case "date":
            day: date = value
            return day.isoformat()
    return str(value).replace("\0", " ")


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    return text.removesuffix(".0")


def _element(value: Any, kind: WireType) -> str:
    text = _text(value, kind)
    if kind.name not in ("text", "timestamp"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, kind: WireType) -> bytes:
    if kind.element is not None:
        return _array(value, kind.element)
    write = BINARY.get(kind.name)
    return _text(value, kind).encode() if write is None else write(value)


def _array(values: list[Any], kind: WireType) -> bytes:
    dimensions = 1 if values else 0
    parts = [struct.pack("!iiI", dimensions, int(None in values), kind.oid)]
    if values:
        parts.append(struct.pack("!ii", len(values), 1))
    for value in values:
        data = None if value is None else _binary(value, kind)
        parts.append(struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data)
    return b"".join(parts)


def _microseconds(value: datetime) -> bytes:
    plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    passed = plain - datetime(2000, 1, 1)
    return struct.pack("!q", (passed.days * 86400 + passed.seconds) * 1_000_000 + passed.microseconds)


BINARY: dict[str, Callable[[Any], bytes]] = {
    "bool": lambda value: b"\1" if value else b"\0",
    "int2": lambda value: struct.pack("!h", int(value)),
    "int4": lambda value: struct.pack("!i", int(value)),
    "int8": lambda value: struct.pack("!q", int(value)),
    "oid": lambda value: struct.pack("!I", int(value)),
    "float8": lambda value: struct.pack("!d", float(value)),
    "date": lambda value: struct.pack("!i", (value - EPOCH).days),
    "timestamp": _microseconds,
}


LONGEST = 400  # digits of a number: more than any double has


def _numeric(data: bytes) -> Decimal:
    """Groups of four digits, the first of which counts 10000 to the power of `weight`."""
    groups, weight, sign, _ = struct.unpack("!hhHh", data[:8])
    if groups < 0 or sign not in (0, 0x4000) or len(data) != 8 + 2 * groups:
        raise ValueError
    whole = 0
    for digit in struct.unpack(f"!{groups}h", data[8:]):
        whole = whole * 10_000 + digit
    return Decimal((sign >> 14, tuple(map(int, str(whole))), 4 * (weight - groups + 1)))


def _array_in(data: bytes) -> list[Any]:
    dimensions, _, oid = struct.unpack("!iiI", data[:12])
    if dimensions not in (0, 1):
        raise ValueError
    place, found = 12 + 8 * dimensions, []
    for _ in range(struct.unpack("!i", data[12:16])[0] if dimensions else 0):
        size = struct.unpack("!i", data[place : place + 4])[0]
        found.append(None if size == -1 else _from_binary(data[place + 4 : place + 4 + size], oid))
        place += 4 + max(size, 0)
        if place > len(data):
            raise ValueError
    return found


def listed(text: str) -> list[Any]:
    """An array as text: {a,"b c",NULL}."""
    if text[:1] != "{" or text[-1:] != "}":
        raise ValueError
    found: list[Any] = []
    place, end = 1, len(text) - 1
    while place < end:
        if text[place] == '"':
            piece, place = "", place + 1
            while text[place] != '"':
                place += text[place] == "\\"
                piece, place = piece + text[place], place + 1
            place += 1
            found.append(piece)
        else:
            stop = text.find(",", place, end)
            piece, place = text[place : stop if stop >= 0 else end], stop if stop >= 0 else end
            found.append(None if piece.upper() == "NULL" else piece)
        if place < end and text[place] != ",":
            raise ValueError
        place += 1
    return found


def _bool(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("t", "true", "on", "yes", "1"):
        return True
    if lowered in ("f", "false", "off", "no", "0"):
        return False
    raise ValueError


ZONED = re.compile(r"(\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d{1,6})?)?) ?[+-]\d\d(?::?\d\d)?")


def _text_in(text: str) -> str:
    """A text. JDBC sends dates and times so, with a zone after them, which a column without one does not look at."""
    found = ZONED.fullmatch(text)
    return text if found is None else found[1]


Reader = Callable[[bytes], Any]
MICROSECOND = timedelta(microseconds=1)
READERS: dict[int, Reader] = {
    16: lambda data: struct.unpack("!?", data)[0],
    20: lambda data: struct.unpack("!q", data)[0],
    21: lambda data: struct.unpack("!h", data)[0],
    23: lambda data: struct.unpack("!i", data)[0],
    26: lambda data: struct.unpack("!I", data)[0],
    700: lambda data: struct.unpack("!f", data)[0],
    701: lambda data: struct.unpack("!d", data)[0],
    1082: lambda data: date(2000, 1, 1) + timedelta(days=struct.unpack("!i", data)[0]),
    1114: lambda data: datetime(2000, 1, 1) + struct.unpack("!q", data)[0] * MICROSECOND,
    1700: _numeric,
}
TEXT: dict[int, Callable[[str], Any]] = {
    16: _bool,
    20: int,
    21: int,
    23: int,
    26: int,
    700: float,
    701: float,
    1082: date.fromisoformat,
    1114: datetime.fromisoformat,
    1700: Decimal,
}
TEXTS = (0, 18, 19, 25, 705, 1042, 1043)
LISTS = (1000, 1005, 1007, 1009, 1015, 1016, 1021, 1022, 1028, 1231)

PLACEHOLDERS: dict[int, Any] = {
    **dict.fromkeys((20, 21, 23, 26, 700, 701, 1700), 1),
    16: True,
    1082: date(2000, 1, 1),
    1114: datetime(2000, 1, 1),
}
"""A value of each type, to read a statement with before anything is bound; for others an empty text."""

GUESSES = ("", "2000-01-01", "2000-01-01 00:00:00", "1")  # for a parameter whose type the client leaves to us
MOST_GUESSED = 3


def samples(kinds: Sequence[int]) -> Iterator[list[Any]]:
    """Values to describe a statement with, one list after another until one fits. Where no type is given a text is
    tried first, then what a date, a time or a number could be: PostgreSQL would tell from where it stands."""
    unknown = [place for place, oid in enumerate(kinds) if not oid]
    guesses = (
        product(GUESSES, repeat=len(unknown))
        if len(unknown) <= MOST_GUESSED
        else zip(*[GUESSES] * len(unknown), strict=True)
    )
    for guess in guesses:
        found: list[Any] = [PLACEHOLDERS.get(oid, "") for oid in kinds]
        for place, value in zip(unknown, guess, strict=True):
            found[place] = value
        yield found


def _from_binary(data: bytes, oid: int) -> Any:
    if oid in TEXTS:
        return data.decode()
    return READERS[oid](data)


def decoded(data: bytes | None, oid: int, form: int) -> Any:
    """A bound value. What cannot be read is a fault of the client's, with PostgreSQL's own state for it."""
    if data is None:
        return None
    try:
        if oid in LISTS:
            return _array_in(data) if form else listed(data.decode())
        if form:
            return _from_binary(data, oid)
        return TEXT.get(oid, str if oid else _text_in)(data.decode())
    except KeyError:
        raise Fault("0A000", f"a parameter of type {oid} is not read in binary: send it as text") from None
    except (ValueError, IndexError, OverflowError, struct.error, InvalidOperation):
        state = "22P03" if form else "22P02"
        raise Fault(state, f"a parameter is not what its type ({oid}) says") from None


def literal(value: Any) -> str:
    """A value as SQL writes it; text is always inside quotes that it cannot leave."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | float() | Decimal():
            return _number(value)
        case datetime():
            return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case str():
            if "\0" in value:
                raise Fault("22021", "a parameter holds a NUL character")
            return "'" + value.replace("'", "''") + "'"
        case list() | tuple():
            return _array_literal(value)
    raise Fault("0A000", "a parameter of this type is not read here: send a number, a text or a date")


def _array_literal(values: Sequence[Any]) -> str:
    return "ARRAY[" + ", ".join(literal(one) for one in values) + "]"


def _number(value: float | Decimal) -> str:
    if not isfinite(value):
        raise Fault("22003", "a parameter is not a finite number")
    found = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if abs(found.adjusted()) > LONGEST or len(found.as_tuple().digits) > LONGEST:
        raise Fault("22003", "a parameter has too many digits")
    text = format(found, "f")
    return f"({text})" if value < 0 else text
