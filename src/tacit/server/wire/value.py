"""Values on their way out and in: PostgreSQL's types, as text, as binary, and as COPY writes them."""

import math
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any

from tacit.policy.kind import ColumnType, understood
from tacit.server.problem import Fault

__all__ = ["KINDS", "OFF", "ON", "CopyForm", "WireField", "copy_lines", "decoded", "encoded", "kind_of", "listed"]
__all__ += ["literal", "samples", "sized"]

EPOCH = datetime(2000, 1, 1)
MICROSECOND = timedelta(microseconds=1)
NULL = struct.pack("!i", -1)
ON, OFF = ("on", "true", "yes", "1", "t"), ("off", "false", "no", "0", "f")


def _bool(text: str) -> bool:
    return (*OFF, *ON).index(text.strip().lower()) >= len(OFF)


@dataclass(frozen=True)
class WireType:
    """A type: its name, number, and size (-1 where that varies); the form that `struct` knows it by, how it is read
    from text, and a value of it. `element` is what an array holds."""

    name: str
    oid: int
    size: int
    form: str = ""
    read: Callable[[str], Any] = str
    sample: Any = ""
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
        WireType("bool", 16, 1, "?", _bool, True),
        WireType("int8", 20, 8, "q", int, 1),
        WireType("int2", 21, 2, "h", int, 1),
        WireType("int4", 23, 4, "i", int, 1),
        WireType("text", 25, -1),
        WireType("oid", 26, 4, "I", int, 1),
        WireType("float4", 700, 4, "f", float, 1),
        WireType("float8", 701, 8, "d", float, 1),
        WireType("date", 1082, 4, "i", date.fromisoformat, EPOCH.date()),
        WireType("timestamp", 1114, 8, "q", datetime.fromisoformat, EPOCH),
        WireType("numeric", 1700, -1, "", Decimal, 1),
    )
}
BY_OID = {kind.oid: kind for kind in KINDS.values()}
ARRAYS = {"bool": 1000, "int8": 1016, "text": 1009, "float8": 1022, "date": 1182, "timestamp": 1115}
KINDS |= {f"{name}[]": WireType(f"{name}[]", oid, -1, element=KINDS[name]) for name, oid in ARRAYS.items()}

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


# --- out


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
            found = float(value)
            if math.isfinite(found):
                return repr(found).removesuffix(".0")
            return "NaN" if math.isnan(found) else "Infinity" if found > 0 else "-Infinity"
        case "int2" | "int4" | "int8" | "oid":
            return str(int(value))
        case "timestamp":
            return str(value.isoformat(sep=" "))
        case "date":
            return str(value.isoformat())
    return str(value).replace("\0", " ")


def _element(value: Any, kind: WireType) -> str:
    text = _text(value, kind)
    if kind.name not in ("text", "timestamp"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, kind: WireType) -> bytes:
    if kind.element is not None:
        return _array(value, kind.element)
    match kind.name:
        case "date":
            value = (value - EPOCH.date()).days
        case "timestamp":
            plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            value = (plain - EPOCH) // MICROSECOND
        case "float8":
            value = float(value)
        case _ if kind.form:
            value = int(value)
    return struct.pack(f"!{kind.form}", value) if kind.form else _text(value, kind).encode()


def sized(data: bytes | None) -> bytes:
    """With its length before it."""
    return NULL if data is None else struct.pack("!i", len(data)) + data


def _array(values: list[Any], kind: WireType) -> bytes:
    head = struct.pack("!iiI", 1 if values else 0, int(None in values), kind.oid)
    size = struct.pack("!ii", len(values), 1) if values else b""
    return head + size + b"".join(sized(encoded(value, kind, 1)) for value in values)


# --- out, as COPY writes them

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "\v": "\\v"}


@dataclass(frozen=True, kw_only=True)
class CopyForm:
    """How COPY writes values. `null` and `delimiter` are by default the format's own."""

    format: str = "text"
    header: bool = False
    delimiter: str = ""
    null: str | None = None
    quote: str = '"'
    escape: str = ""


def copy_lines(form: CopyForm, fields: Sequence[WireField], rows: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    """What COPY sends of an answer, a row each."""
    if form.format == "binary":
        before = SIGNATURE  # with the first row, as PostgreSQL sends it and clients expect
        for row in rows:
            values = [sized(encoded(value, each.kind, 1)) for value, each in zip(row, fields, strict=True)]
            yield b"".join([before, struct.pack("!h", len(fields)), *values])
            before = b""
        yield before + struct.pack("!h", -1)
        return
    csv = form.format == "csv"
    sign = form.delimiter or ("," if csv else "\t")
    null = form.null if form.null is not None else "" if csv else "\\N"

    def line(texts: Sequence[str | None]) -> bytes:
        return (sign.join(written(text) for text in texts) + "\n").encode()

    def written(text: str | None) -> str:
        if text is None:
            return null
        if csv:
            return _quoted(text, form, sign, null)
        return "".join(ESCAPES.get(letter, "\\" + letter if letter == sign else letter) for letter in text)

    if form.header:
        yield line([each.name for each in fields])
    for row in rows:
        yield line([None if v is None else _text(v, each.kind) for v, each in zip(row, fields, strict=True)])


def _quoted(value: str, form: CopyForm, sign: str, null: str) -> str:
    quote, escape = form.quote, form.escape or form.quote
    if value != null and value != "\\." and not set(value) & {sign, quote, "\n", "\r"}:
        return value
    if escape != quote:
        value = value.replace(escape, escape * 2)
    return quote + value.replace(quote, escape + quote) + quote


# --- in

LONGEST = 400  # digits of a number: more than any double has
TEXTS = (0, 18, 19, 25, 705, 1042, 1043)
LISTS = (1000, 1005, 1007, 1009, 1015, 1016, 1021, 1022, 1028, 1231)
ZONED = re.compile(r"(\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d{1,6})?)?) ?[+-]\d\d(?::?\d\d)?")
GUESSES = ("", "2000-01-01", "2000-01-01 00:00:00", "1")  # for a parameter whose type the client leaves to us
MOST_GUESSED = 3


def decoded(data: bytes | None, oid: int, form: int) -> Any:
    """A bound value. What cannot be read is a fault of the client's, with PostgreSQL's own state for it."""
    if data is None:
        return None
    try:
        if oid in LISTS:
            return _array_in(data) if form else listed(data.decode())
        return _from_binary(data, oid) if form else _from_text(data.decode(), oid)
    except KeyError:
        raise Fault("0A000", f"a parameter of type {oid} is not read in binary: send it as text") from None
    except (ValueError, IndexError, OverflowError, struct.error, InvalidOperation):
        state = "22P03" if form else "22P02"
        raise Fault(state, f"a parameter is not what its type ({oid}) says") from None


def _from_text(text: str, oid: int) -> Any:
    """JDBC sends dates and times as texts of no type with a zone, which a column without one does not look at."""
    if oid:
        return BY_OID.get(oid, KINDS["text"]).read(text)
    zoned = ZONED.fullmatch(text)
    return text if zoned is None else zoned[1]


def _from_binary(data: bytes, oid: int) -> Any:
    if oid in TEXTS:
        return data.decode()
    kind = BY_OID[oid]
    if kind.name == "numeric":
        return _numeric(data)
    (value,) = struct.unpack(f"!{kind.form}", data)
    if kind.name == "date":
        return EPOCH.date() + timedelta(days=value)
    return EPOCH + value * MICROSECOND if kind.name == "timestamp" else value


def _numeric(data: bytes) -> Decimal:
    """Groups of four digits, the first of which counts 10000 to the power of `weight`."""
    groups, weight, sign, _ = struct.unpack("!hhHh", data[:8])
    if not 0 <= groups <= LONGEST or sign not in (0, 0x4000) or len(data) != 8 + 2 * groups:
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


def samples(kinds: Sequence[int]) -> Iterator[list[Any]]:
    """Values to describe a statement with, one list after another until one fits. Where no type is given a text is
    tried first, then what a date, a time or a number could be: PostgreSQL would tell from where it stands."""
    unknown = kinds.count(0)
    guesses = product(GUESSES, repeat=unknown) if unknown <= MOST_GUESSED else zip(*[GUESSES] * unknown, strict=True)
    for guess in guesses:
        left = iter(guess)
        yield [BY_OID.get(oid, KINDS["text"]).sample if oid else next(left) for oid in kinds]


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
            return f"ARRAY[{', '.join(literal(one) for one in value)}]"
    raise Fault("0A000", "a parameter of this type is not read here: send a number, a text or a date")


def _number(value: float | Decimal) -> str:
    if not math.isfinite(value):
        raise Fault("22003", "a parameter is not a finite number")
    found = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if abs(found.adjusted()) > LONGEST or len(found.as_tuple().digits) > LONGEST:
        raise Fault("22003", "a parameter has too many digits")
    text = format(found, "f")
    return f"({text})" if value < 0 else text
