"""The types of columns: a small closed set that DuckDB, PostgreSQL and Spark all have."""

import re
from enum import StrEnum

__all__ = ["ColumnType", "decimals", "understood"]


class ColumnType(StrEnum):
    """What a column holds."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def numeric(self) -> bool:
        return self in (ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT)


NATIVE = (
    (r"u?(tiny|small|big|huge)?int(eger)?\d{0,3}|u?int(8|16|32|64|128)|long|short|byte|(small|big)?serial", "integer"),
    (r"(decimal|numeric|dec)(32|64|128|256)?(\(.*\))?", "decimal"),
    (r"double( precision)?|float\d?|real|half_?float|float(16|32|64)", "float"),
    (r"bool(ean)?|logical", "boolean"),
    (r"(large_)?(utf8|string)(_view)?|text|(var|bp)?char(\(\d+\))?|character( varying)?(\(\d+\))?", "text"),
    (r"name|uuid|enum(\(.*\))?|dictionary<values=(large_)?string.*", "text"),
    (r"date(32|64)?(\[.+\])?", "date"),
    (r"(timestamp|datetime)(_?(s|ms|us|ns|ntz|ltz|tz))?(\(\d\))?(\[.+\])?( with(out)? time zone)?", "timestamp"),
)


def understood(native: str) -> ColumnType | None:
    """The type behind an engine's own name for it; None for what cannot be asked about (binary, nested, …)."""
    spelled = " ".join(native.lower().split())
    return next((ColumnType(name) for pattern, name in NATIVE if re.fullmatch(pattern, spelled)), None)


def decimals(native: str) -> int | None:
    """How many decimals a decimal type is declared with, if it says."""
    found = re.fullmatch(r"(?:decimal|numeric|dec)(?:32|64|128|256)?\(\s*\d+\s*,\s*(\d{1,2})\s*\)", native.lower())
    return int(found[1]) if found else None
