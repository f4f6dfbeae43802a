"""What differs between engines in the writing of names, types and constants: all are quoted, none is copied."""

from datetime import date, datetime
from fractions import Fraction
from re import compile as pattern
from typing import Literal

from tacit.base import InputError
from tacit.plan.facts import Type, Value

__all__ = ["DIALECTS", "Dialect", "constant_sql", "double_sql", "identifier", "text_sql", "type_name"]

Dialect = Literal["duckdb", "postgres", "spark"]

DIALECTS: tuple[Dialect, ...] = ("duckdb", "postgres", "spark")
LONGEST_NAME = 63  # bytes, in PostgreSQL, which cuts off the rest
PLAIN = pattern(r"[A-Za-z0-9 _.,:;/%#@!?*+=<>()\[\]|^~&-]*")  # what no setting of any engine reads as something else

TYPES: dict[Dialect, dict[Type, str]] = {
    "duckdb": {
        Type.BOOLEAN: "BOOLEAN",
        Type.INTEGER: "DOUBLE",
        Type.NUMBER: "DOUBLE",
        Type.TEXT: "VARCHAR",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP",
    },
    "postgres": {
        Type.BOOLEAN: "boolean",
        Type.INTEGER: "double precision",
        Type.NUMBER: "double precision",
        Type.TEXT: "text",
        Type.DATE: "date",
        Type.TIMESTAMP: "timestamp without time zone",
    },
    "spark": {
        Type.BOOLEAN: "BOOLEAN",
        Type.INTEGER: "DOUBLE",
        Type.NUMBER: "DOUBLE",
        Type.TEXT: "STRING",
        Type.DATE: "DATE",
        Type.TIMESTAMP: "TIMESTAMP_NTZ",
    },
}


def type_name(kind: Type, dialect: Dialect) -> str:
    """What expressions of this type are held as: every number is a double."""
    return TYPES[dialect][kind]


def identifier(name: str, dialect: Dialect) -> str:
    """A name in quotes, which it cannot leave."""
    if not name or "\0" in name:
        raise InputError("a name is empty or holds the character NUL, which no engine takes")
    if dialect == "spark":
        if "${" in name:
            raise InputError(
                f"the name {name!r} holds ${{, which Spark would put something else in place of: rename it"
            )
        return "`" + name.replace("`", "``") + "`"
    if dialect == "postgres" and len(name.encode()) > LONGEST_NAME:
        raise InputError(f"the name {name!r} is longer than the {LONGEST_NAME} bytes PostgreSQL keeps: rename it")
    return '"' + name.replace('"', '""') + '"'


def constant_sql(value: Value, kind: Type, dialect: Dialect) -> str:
    """A constant of this type, numbers as the nearest double."""
    if value is None:
        return f"CAST(NULL AS {type_name(kind, dialect)})"
    if isinstance(value, bool) and kind is Type.BOOLEAN:
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Fraction) and not isinstance(value, bool) and kind.numeric:
        return double_sql(float(value), dialect)
    if isinstance(value, str) and kind is Type.TEXT:
        return text_sql(value, dialect)
    if isinstance(value, datetime) and kind is Type.TIMESTAMP and value.tzinfo is None:
        return f"{'TIMESTAMP_NTZ' if dialect == 'spark' else 'TIMESTAMP'} '{value.isoformat(sep=' ')}'"
    if isinstance(value, date) and not isinstance(value, datetime) and kind is Type.DATE:
        return f"DATE '{value.isoformat()}'"
    raise InputError(f"a constant of type {type(value).__name__} is no {kind}")


def double_sql(value: float, dialect: Dialect) -> str:
    """A finite double, to the last bit: the shortest decimal that reads as it, in a form read as a double at once."""
    written = repr(value + 0.0)  # -0 is written as any other
    if written in ("inf", "-inf", "nan"):
        raise InputError("a constant must be a finite number")
    if dialect == "postgres":
        return f"'{written}'::float8"
    if dialect == "spark":
        return f"({written}D)"
    return f"({written})" if "e" in written else f"({written}e0)"


def text_sql(value: str, dialect: Dialect) -> str:
    """A text, in a form that no server setting reads differently."""
    if "\0" in value:
        raise InputError("a text constant holds the character NUL, which not every engine stores")
    if dialect == "duckdb":
        return "'" + value.replace("'", "''") + "'"
    if dialect == "postgres":
        mark = "E" if "\\" in value else ""
        return f"{mark}'" + value.replace("\\", "\\\\").replace("'", "''") + "'::text"
    return f"'{value}'" if PLAIN.fullmatch(value) else f"CAST(X'{value.encode().hex()}' AS STRING)"
