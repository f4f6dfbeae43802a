"""The few words in which the engines differ when whole numbers are added, clamped and scaled.

Everything said here means the same in each: sums are exact and wide enough, doubles are IEEE, casts of whole doubles to
integers are exact, and truncation is toward zero.
"""

from dataclasses import dataclass

from tacit.base import InputError
from tacit.engine.dialect import Dialect, double_sql

__all__ = ["LARGEST_DOUBLE", "WORDS", "Words", "words_of"]

LARGEST_DOUBLE = 1.7976931348623157e308


@dataclass(frozen=True, kw_only=True)
class Words:
    """How one engine says it."""

    dialect: Dialect
    double: str
    wide: str  # whole numbers below 2^126
    total: bool  # TRY_CAST, which gives NULL where a value does not fit
    materialized: str
    summand: str  # what a 64-bit integer is cast to so that its sum cannot overflow; "" for nothing

    def number(self, value: float) -> str:
        """A double, to the last bit."""
        return double_sql(value, self.dialect)

    def to_double(self, sql: str) -> str:
        return f"CAST({sql} AS {self.double})"

    def sum(self, sql: str) -> str:
        """The exact sum of 64-bit integers, or of sums; NULL over nothing."""
        return f"SUM(CAST({sql} AS {self.summand}))" if self.summand else f"SUM({sql})"

    def truncated(self, sql: str) -> str:
        """A double below 2^63 toward zero, as an integer."""
        inner = sql if self.dialect == "spark" else f"TRUNC({sql})"
        return f"CAST({inner} AS BIGINT)"

    def wide_to_double(self, sql: str) -> str:
        """A wide whole number ≥ 0 as the same double in every engine, within 2^-52 of it.

        Engines round wide integers each in its own way. Two halves below 2^63 are rounded by hardware, to nearest, and
        their sum once more.
        """
        cut = 2**63
        if self.dialect == "spark":
            high, low = f"({sql} div {cut})", f"({sql} % {cut})"
        elif self.dialect == "postgres":
            high, low = f"DIV({sql}, {cut})", f"MOD({sql}, {cut})"
        else:
            high, low = f"({sql} // {cut})", f"({sql} % {cut})"
        halves = (self.to_double(f"CAST({part} AS BIGINT)") for part in (high, low))
        return f"({next(halves)} * {self.number(float(cut))} + {next(halves)})"


WORDS: dict[Dialect, Words] = {
    "duckdb": Words(
        dialect="duckdb", double="DOUBLE", wide="HUGEINT", total=True, materialized=" MATERIALIZED", summand=""
    ),
    "postgres": Words(
        dialect="postgres",
        double="DOUBLE PRECISION",
        wide="NUMERIC",
        total=False,
        materialized=" MATERIALIZED",
        summand="",
    ),
    "spark": Words(
        dialect="spark", double="DOUBLE", wide="DECIMAL(38, 0)", total=True, materialized="", summand="DECIMAL(19, 0)"
    ),
}


def words_of(dialect: str) -> Words:
    for name, words in WORDS.items():
        if name == dialect:
            return words
    raise InputError(f"there is no dialect {dialect!r}: use one of {', '.join(WORDS)}")
