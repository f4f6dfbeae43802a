"""What the accuracy benchmark asks, of which data, and the truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from bench.sql_data import REGION_NAMES

__all__ = ["QUESTIONS", "SalesQuestion", "truth"]

AGGREGATES = {
    "rows": ("COUNT(*)", "COUNT(*)"),
    "people": ("people", "COUNT(DISTINCT person)"),
    "sum": ("SUM", "SUM(amount)"),
    "avg": ("AVG", "AVG(amount)"),
    "median": ("MEDIAN", "MEDIAN(amount)"),
}


@dataclass(frozen=True)
class SalesQuestion:
    """An aggregate over everything, by the 50 declared regions, or by products, whose keys are not known."""

    shape: str
    aggregate: str
    by: str | None

    @property
    def name(self) -> str:
        told = {None: "", "region": " by region", "product": " by product, keys unknown"}
        return AGGREGATES[self.aggregate][0] + told[self.by]

    @property
    def label(self) -> str:
        return f"{self.shape}: {self.name}"

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The groups that everybody knows; None where they are not known, one empty name where there are none."""
        return {None: ("",), "region": REGION_NAMES, "product": None}[self.by]

    def sql(self, table: str = "sales") -> str:
        what = AGGREGATES[self.aggregate][1]
        if self.by is None:
            return f"SELECT {what} AS x FROM {table}"
        return f"SELECT {self.by} AS k, {what} AS x FROM {table} GROUP BY {self.by}"


WHOLE = tuple((aggregate, None) for aggregate in AGGREGATES)
REGION = tuple((aggregate, "region") for aggregate in AGGREGATES)
PRODUCT = (("rows", "product"), ("people", "product"))
ASKED: dict[str, tuple[tuple[str, str | None], ...]] = {
    "skewed": (*WHOLE, *REGION, *PRODUCT),
    "even": (("rows", None), ("sum", None), *REGION, ("people", "product")),
    "concentrated": (*REGION, *PRODUCT),
    "single": (("rows", "region"), ("sum", "region"), ("median", "region")),
}
QUESTIONS = tuple(SalesQuestion(shape, *asked) for shape, all_of_it in ASKED.items() for asked in all_of_it)


def truth(question: SalesQuestion, data: Path) -> Mapping[str, float]:
    """By key, as text; one empty key for a question without groups."""
    with duckdb.connect(":memory:") as connection:
        rows: list[tuple[Any, ...]] = connection.execute(question.sql(f"'{data}'")).fetchall()
    return {str(row[0]) if question.by else "": float(row[-1]) for row in rows}
