"""Values on their way out: PostgreSQL's types, in text and in binary."""

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from tacit.policy.types import ColumnType, understood

__all__ = ["ARRAYS", "KINDS", "Field", "Kind", "encoded", "kind_of"]

EPOCH = date(2000, 1, 1)


@dataclass(frozen=True)
class Kind:
    """A type: its name, number, and size (-1 where that varies). `element` is what an array holds."""

    name: str
    oid: int
    size: int
    element: "Kind | None" = None


@dataclass(frozen=True)
class Field:
    """A column of a result. `end` says that it is the low (0) or high (1) end of the interval of the one before."""

    name: str
    kind: Kind
    end: int | None = None


KINDS = {
    kind.name: kind
    for kind in (
        Kind("bool", 16, 1),
        Kind("int8", 20, 8),
        Kind("int2", 21, 2),
        Kind("int4", 23, 4),
        Kind("text", 25, -1),
        Kind("oid", 26, 4),
        Kind("float8", 701, 8),
        Kind("date", 1082, 4),
        Kind("timestamp", 1114, 8),
    )
}
ARRAYS = {"bool": 1000, "int8": 1016, "text": 1009, "float8": 1022, "date": 1182, "timestamp": 1115}
KINDS |= {f"{name}[]": Kind(f"{name}[]", oid, -1, KINDS[name]) for name, oid in ARRAYS.items()}

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


def kind_of(name: str) -> Kind:
    """The type of an answer's column, by its name in a policy, in the plan or in Arrow; what is not known is text."""
    inside = LIST.fullmatch(name)
    if inside is not None:
        element = kind_of(inside[1] or inside[2])
        return KINDS.get(f"{element.name}[]", KINDS["text"])
    if name == "number":
        return KINDS["float8"]
    found = understood(name)
    return KINDS["text" if found is None else OF_COLUMNS[found]]


def encoded(value: Any, kind: Kind, form: int) -> bytes | None:
    """A value as a client wants it: form 0 is text, 1 is binary."""
    if value is None:
        return None
    return _binary(value, kind) if form else _text(value, kind).encode()


def _text(value: Any, kind: Kind) -> str:
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


def _element(value: Any, kind: Kind) -> str:
    text = _text(value, kind)
    if kind.name not in ("text", "timestamp"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, kind: Kind) -> bytes:
    if kind.element is not None:
        return _array(value, kind.element)
    write = BINARY.get(kind.name)
    return _text(value, kind).encode() if write is None else write(value)


def _array(values: list[Any], kind: Kind) -> bytes:
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
