"""Who a row's unit is: the stored value in one canonical form, by the declared type and the stored type alone.

One person is one unit and two people are two, in every table and on every engine. The rule has three parts.

- What is compared is a `UnitKind`: that of the declared type, or of the stored type where none was declared. It never
  follows from values. Tables whose kinds differ are not compared.
- A value of the kind is compared exactly: whole numbers and decimals by value (7, 7.0 and 7.00 are one), texts by their
  bytes, timestamps in UTC to the microsecond. What is no value of the kind is NULL, and a row whose unit is NULL is
  nobody's.
- A stored type in which different people may already look alike (floats, nanoseconds that would be cut) is refused.

No form can fail on a value. Integers of up to 64 bits stay as they are: engines compare them exactly in any width.

A unit of several columns is one text: before each part but the last stands how long it is, so that two such texts are
equal only where every part is. Keys of links are compared in the same forms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.plan.facts import Type
from tacit.policy import ColumnType
from tacit.policy.kind import decimals, understood

__all__ = [
    "StoredTable",
    "UnitKind",
    "UnitPart",
    "column_kind",
    "compared_as_stored",
    "part_kinds",
    "text_sql",
    "unit_kind",
    "unit_sql",
    "whole_unit_sql",
]

WHOLE_TEXT = r"[+-]?0{0,99}[0-9]{1,38}([.]0*)?"  # 7, +7, 007 and 7.0 are one number; 7.5, 7e0 and abc are none
BINARY = ("blob", "bytea", "binary", "varbinary")


@dataclass(frozen=True, kw_only=True)
class StoredTable:
    """A table as an engine has it: how it is called in SQL, and the engine's names for the types of its columns."""

    sql: str
    types: Mapping[str, str]


class UnitKind(StrEnum):
    """What units are compared as."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    TEXT = "text"
    UUID = "uuid"
    DATE = "date"
    TIMESTAMP = "timestamp"
    BOOLEAN = "boolean"
    BINARY = "binary"


@dataclass(frozen=True, kw_only=True)
class UnitPart:
    """A stored column that names a unit, alone or with others: its SQL, its declared type and the engine's type."""

    raw: str
    declared: Type | ColumnType | None
    native: str


TOGETHER = {UnitKind.INTEGER, UnitKind.TEXT, UnitKind.UUID, UnitKind.DATE, UnitKind.BOOLEAN}  # kinds with one spelling
DECLARED = {"number": UnitKind.DECIMAL, "float": UnitKind.DECIMAL}  # others are called as they are
FITS = {  # kinds of stored values that can be compared as another kind, each exactly
    UnitKind.INTEGER: {UnitKind.TEXT},
    UnitKind.DECIMAL: {UnitKind.INTEGER},
    UnitKind.TEXT: {UnitKind.UUID},
    UnitKind.DATE: {UnitKind.TIMESTAMP},
}


def column_kind(native: str) -> ColumnType | None:
    """What an engine's type is to us. Lists end in a bracket; Spark names a collation, which is not used."""
    return None if native.endswith("]") else understood(native.lower().partition(" collate ")[0])


def unit_kind(declared: Type | ColumnType | None, native: str) -> UnitKind:
    """What a unit is compared as; InputError with the cause and the remedy where it cannot be told apart exactly."""
    stored = _stored_kind(native)
    kind = stored if declared is None else DECLARED.get(str(declared)) or UnitKind(str(declared))
    if kind is not stored and stored not in FITS.get(kind, ()):
        raise InputError(
            f'is stored as {native} and declared as {kind}, and these are not compared: declare type = "{stored}"'
        )
    return kind


def compared_as_stored(declared: Type | ColumnType | None, native: str) -> bool:
    """Whether values that differ as they are stored differ as units too, so that a database's constraint holds for
    both."""
    return bool(native) and unit_kind(declared, native) is _stored_kind(native)


def _stored_kind(native: str) -> UnitKind:
    spelled = native.lower()
    if spelled in BINARY:
        return UnitKind.BINARY
    if spelled == "uuid":
        return UnitKind.UUID
    found = column_kind(native)
    if found is ColumnType.FLOAT:
        raise InputError(
            f"is stored as {native}, in which two people can have the same number: store it as an integer or a text "
            "(in a text file, declare it as one), or name a view as the table's source that casts it"
        )
    if found is None or (found is ColumnType.TIMESTAMP and "ns" in spelled):
        raise InputError(
            f"is stored as {native}, which cannot name people: use an integer or a text, or name a view as the table's "
            "source that casts it"
        )
    whole = found is ColumnType.DECIMAL and decimals(native) == 0
    return UnitKind.INTEGER if whole else UnitKind(str(found))


def part_kinds(parts: Sequence[UnitPart]) -> tuple[UnitKind, ...]:
    """What the parts of a unit are compared as; InputError where they cannot be told apart."""
    kinds = tuple(unit_kind(part.declared, part.native) for part in parts)
    strange = next((kind for kind in kinds if len(kinds) > 1 and kind not in TOGETHER), None)
    if strange is not None:
        raise InputError(
            f"is a {strange}, which has more than one spelling as a part of a unit: use an integer or a text, or name "
            "a view as the table's source that casts it"
        )
    return kinds


def whole_unit_sql(parts: Sequence[UnitPart], dialect: Dialect) -> str:
    """The unit that these columns name together; NULL, so nobody, where one of them is."""
    kinds = part_kinds(parts)
    forms = [unit_sql(part.raw, part.declared, part.native, dialect) for part in parts]
    if len(parts) == 1:
        return forms[0]
    texts = [_spelled(form, kind, dialect) for form, kind in zip(forms, kinds, strict=True)]
    measured = [f"CAST(LENGTH({text}) AS {dialect.string}) || ':' || {text}" for text in texts[:-1]]
    return dialect.bytewise.format(f"({' || '.join([*measured, texts[-1]])})")


def _spelled(form: str, kind: UnitKind, dialect: Dialect) -> str:
    if kind is UnitKind.TEXT:
        return form
    whole = f"CAST({form} AS {dialect.digits})" if kind is UnitKind.INTEGER else form
    return f"CAST({whole} AS {dialect.string})"


def unit_sql(raw: str, declared: Type | ColumnType | None, native: str, dialect: Dialect) -> str:
    """The unit of a row in its canonical form; NULL where it is nobody's."""
    stored = _stored_kind(native)
    match unit_kind(declared, native):
        case UnitKind.INTEGER if stored is UnitKind.TEXT:
            before = dialect.cast.format(f"SPLIT_PART({raw}, '.', 1)", dialect.digits)
            return f"(CASE WHEN {dialect.matches.format(raw, WHOLE_TEXT)} THEN {before} END)"
        case UnitKind.INTEGER if native.lower() in dialect.wide_integers or column_kind(native) is ColumnType.DECIMAL:
            return dialect.stored_whole.format(raw)
        case UnitKind.DECIMAL:
            return (dialect.stored_pointed if decimals(native) else dialect.stored_decimal).format(raw)
        case UnitKind.TEXT:
            return text_sql(raw, native, dialect)
        case UnitKind.DATE if stored is UnitKind.TIMESTAMP:
            return dialect.cast.format(raw, "DATE")
        case UnitKind.TIMESTAMP:
            return dialect.cast.format(raw, dialect.timestamp)  # a point in time in UTC, in microseconds
        case _:
            return raw


def text_sql(raw: str, native: str, dialect: Dialect, *, listed: bool = False) -> str:
    """Text that is compared byte by byte, whatever collation the column was given; NULL where it is not UTF-8. Where it
    is `listed`, only texts count that equal one of a list, all of which are UTF-8: nothing else needs to be asked."""
    stored = (dialect.stored_padded if native.lower().startswith("char(") else dialect.stored_text).format(raw)
    return stored if listed else dialect.valid_text.format(stored)
