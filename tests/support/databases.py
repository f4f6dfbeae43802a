"""Small databases with every kind of odd value, each in four versions that differ by one unit alone.

`whole` has everybody; `without` lacks one unit; `alone` has that unit only; `replaced` has other rows in its place. A
unit is a patient with all rows in visits and treatments, and a single row of staff.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from tacit.base import Exact
from tacit.base.exact import opened
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.result import Result
from tacit.plan.bounded import Bounded
from tacit.plan.combined import Levels, Match, Stack, UnitWindows
from tacit.plan.facts import Facts, Type, exact_step
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan
from tacit.sql import AskableTable, Catalog

__all__ = ["CATALOG", "KINDS", "PUBLIC", "VERSIONS", "Answer", "Family", "Row", "answered", "arrow", "rows_of"]

Row = tuple[Any, ...]
Groups = dict[tuple[Any, ...], int]
Answer = dict[str, Groups]
"""Whole numbers by measure and group. Of ranks, the cell is the last part of a group; "presence" is one more."""

VERSIONS = ("whole", "without", "alone", "replaced")
ROWS_PER_PATIENT = 3  # in treatments, where the curator vouches for it
WARDS = ("east", "north", "west")


def number(low: int | str, high: int | str, step: str | None = None, nullable: bool = True) -> Facts:
    exact = None if step is None else Fraction(step)
    return Facts(type=Type.NUMBER, low=Fraction(low), high=Fraction(high), step=exact, nullable=nullable)


def integer(low: int, high: int, nullable: bool = True) -> Facts:
    return Facts(type=Type.INTEGER, low=low, high=high, step=Fraction(1), nullable=nullable)


CATALOG = Catalog(
    tables={
        "visits": AskableTable(
            unit="patient_id",
            columns={
                "patient_id": Facts(type=Type.INTEGER),
                "ward": Facts(type=Type.TEXT, domain=WARDS),
                "cost": number(0, 5000, "0.01"),
                "age": integer(0, 120).but(typical=Fraction(40)),
                "day": Facts(type=Type.DATE, low=date(2023, 12, 20), high=date(2024, 2, 10)),
                "seen": Facts(type=Type.TIMESTAMP, low=datetime(2023, 1, 1), high=datetime(2025, 1, 1)),
                "urgent": Facts(type=Type.BOOLEAN, domain=(False, True)),
                "note": Facts(type=Type.TEXT),
                "weight": Facts(type=Type.NUMBER, why='column "weight" has no bounds'),
                "Ward Name": Facts(type=Type.TEXT),
                "drug": integer(1, 50, nullable=False),
                "change": number(-40, 25).but(typical=Fraction(-1, 3)),
                "level": Facts(type=Type.INTEGER, domain=(1, 2, 5), low=1, high=5, nullable=False),
                "narrow": number(1_000_000, 1_000_001, "1/8", nullable=False),
                "third": number("1/3", "2/3", "1/3"),
                "fixed": number(7, 7),
                "small": number("-1/100000000", "1/50000000"),
            },
        ),
        "treatments": AskableTable(
            unit="patient",
            columns={
                "patient": Facts(type=Type.INTEGER),
                "drug": integer(1, 50),
                "dose": number(-100, 60, "0.5", nullable=False),
                "kind": Facts(type=Type.TEXT),
            },
            rows_per_unit=ROWS_PER_PATIENT,
        ),
        "staff": AskableTable(
            row_is_unit=True,
            columns={
                "ward": Facts(type=Type.TEXT, domain=WARDS),
                "salary": number(0, 10_000, "1", nullable=False),
                "bonus": number(-8, 5, nullable=False),
                "grade": integer(-9, 3),
                "title": Facts(type=Type.TEXT),
            },
        ),
        "wards": AskableTable(
            private=False,
            columns={
                "ward": Facts(type=Type.TEXT, domain=WARDS, nullable=False),
                "floor": integer(0, 9),
                "city": Facts(type=Type.TEXT),
            },
        ),
        "drugs": AskableTable(
            private=False,
            columns={
                "drug": integer(1, 50),
                "price": number(0, 200, "0.01"),
                "family": Facts(type=Type.TEXT),
            },
        ),
    }
)

TYPES = {
    Type.INTEGER: pa.int64(),
    Type.NUMBER: pa.float64(),
    Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}
KINDS = {table: {n: f.type for n, f in declared.columns.items()} for table, declared in CATALOG.tables.items()}

ODD: dict[Type, tuple[Any, ...]] = {
    Type.INTEGER: (None, 0, 1, -1, 3, 17, 2**53, 2**53 + 1, 2**62, -(2**63)),
    Type.NUMBER: (None, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 0.005, 0.015, 2.5, 1e17),
    Type.TEXT: (None, "", "a", "A", "ä", "east", "c'd", "12", "1e5", "-7 "),
    Type.BOOLEAN: (None, False, True),
    Type.DATE: (None, date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(2024, 1, 1)),
    Type.TIMESTAMP: (None, datetime(1970, 1, 1), datetime(2024, 6, 30, 23, 59, 59, 999999), datetime(9999, 1, 1)),
}
UNITS = (1, 2, 3, -4, 2**60, 2**60 + 1)
PUBLIC: dict[str, list[Row]] = {
    "wards": [("east", 1, "X"), ("east", 2, "Y"), ("north", 9, None), ("south", 3, "X"), ("west", None, "X")],
    # every drug is listed more than once, so that a join multiplies rows
    "drugs": [(i % 51, i * 1.25, "abc"[i % 3]) for i in range(130)] + [(3, 1e9, None), (None, 2.0, "a")],
}


def _value(draw: random.Random, facts: Facts, mood: str, gridded: bool) -> Any:
    """Of one column; `gridded` if a declared step is kept to, as far as doubles can."""
    value, step = _any_value(draw, facts, mood), exact_step(facts)
    if not gridded or step is None or not isinstance(value, float) or not math.isfinite(value):
        return value
    return float(round(Fraction(value) / step) * step)


def _any_value(draw: random.Random, facts: Facts, mood: str) -> Any:
    """Of one column. Moods `low` and `high` are at an end of the range, so that a unit moves answers as far as it can;
    the others are anything."""
    if facts.domain is not None and (mood != "mixed" or draw.random() < 0.7):
        return draw.choice(facts.domain)
    if facts.bounded and mood in ("low", "high"):
        end = facts.low if mood == "low" else facts.high
        return float(end) if isinstance(end, Fraction) else end
    if facts.bounded and facts.type.numeric and draw.random() < 0.6:
        low, high = Fraction(facts.low), Fraction(facts.high)  # type: ignore[arg-type]  # numbers
        inside = float(low) + draw.random() * float(high - low)
        return inside if facts.type is Type.NUMBER else round(inside)
    return draw.choice(ODD[facts.type])


def _rows(draw: random.Random, table: str, unit: Any, count: int, mood: str, gridded: bool = True) -> list[Row]:
    declared = CATALOG.tables[table]
    return [
        tuple(unit if name == declared.unit else _value(draw, f, mood, gridded) for name, f in declared.columns.items())
        for _ in range(count)
    ]


def rows_of(seed: int, gridded: bool = True) -> dict[str, dict[str, list[Row]]]:
    """The rows of each private table in each version."""
    draw = random.Random(seed)
    first, second = draw.choice((("low", "high"), ("high", "low"), ("high", "mixed"), ("mixed", "mixed")))
    gone = draw.choice(UNITS)
    found: dict[str, dict[str, list[Row]]] = {}
    for table in ("visits", "treatments", "staff"):
        sizes = (0, 1, 1, 2, 5, 12, 40) if table == "visits" else tuple(range(ROWS_PER_PATIENT + 1))
        rest: list[Row] = []
        for unit in (*(unit for unit in UNITS if unit != gone), None):
            if draw.random() < 0.7 and seed % 5:  # every fifth database has nobody else
                rest += _rows(draw, table, unit, draw.choice(sizes[:-1]), "mixed", gridded)
        alone = _rows(draw, table, gone, 1 if table == "staff" else draw.choice(sizes), first, gridded)
        other = _rows(draw, table, gone, 1 if table == "staff" else draw.choice(sizes), second, gridded)
        found[table] = {"whole": [*rest, *alone], "without": rest, "alone": alone, "replaced": [*rest, *other]}
        for rows in found[table].values():
            draw.shuffle(rows)
    return found


def arrow(table: str, rows: Sequence[Row]) -> pa.Table:
    kinds = KINDS[table]
    columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
    return pa.table({n: pa.array(c, TYPES[k]) for (n, k), c in zip(kinds.items(), columns, strict=True)})


def _stored(rows: pa.Table, table: str, seed: int) -> pa.Table:
    """The same people, stored in one of several ways: a text spells a number differently in every row."""
    unit = CATALOG.tables[table].unit
    form = (seed + len(table)) % 3
    if unit is None or form == 0:
        return rows
    spelled = ("{}", "{}.0", "{}.", "{}.000")
    whole = rows[unit].to_pylist()
    texts = [None if who is None else spelled[i % 4].format(who) for i, who in enumerate(whole)]
    exact = [None if who is None else Decimal(who) for who in whole]
    column = pa.array(texts, pa.string()) if form == 1 else pa.array(exact, pa.decimal128(38, 0))
    return rows.set_column(rows.column_names.index(unit), unit, column)


class Family:
    """The four versions of one database in one DuckDB."""

    def __init__(self, seed: int, *, gridded: bool = True) -> None:
        self.rows = rows_of(seed, gridded)
        tables: dict[str, Any] = {}
        for version in VERSIONS:
            for table, found in self.rows.items():
                tables[f"{table} {version}"] = _stored(arrow(table, found[version]), table, seed)
        tables |= {table: arrow(table, public) for table, public in PUBLIC.items()}
        self.engine = DuckDBEngine(tables, threads=1)

    def run(self, bounded: Bounded, version: str) -> Answer:
        return answered(bounded, self.engine.run(replace(bounded, source=_in(bounded.source, version))))

    def norms(self, bounded: Bounded, edges: Mapping[int, Sequence[int]], version: str) -> Exact[Any]:
        return self.engine.norms(replace(bounded, source=_in(bounded.source, version)), edges)

    def close(self) -> None:
        self.engine.close()

    def relation(self, node: Node, version: str) -> Node:
        return _in(node, version)


def _in(node: Node, version: str) -> Node:
    """The same relation over one version's tables."""
    match node:
        case Scan():
            return replace(node, table=f"{node.table} {version}") if node.private else node
        case Filter() | Project() | Group() | Levels() | UnitWindows():
            return replace(node, below=_in(node.below, version))
        case Stack():
            return replace(node, parts=tuple(_in(part, version) for part in node.parts))
        case Join() | Match():
            return replace(node, left=_in(node.left, version), right=_in(node.right, version))
    raise AssertionError(type(node).__name__)


def answered(bounded: Bounded, exact: Exact[Result]) -> Answer:
    """An engine's result by measure and group."""
    result = opened(exact)
    groups = list(zip(*result.groups.keys, strict=True)) if bounded.keys else [()]
    answer = {name: dict(zip(groups, map(int, found), strict=True)) for name, found in result.groups.columns.items()}
    if result.presence is not None:
        answer["presence"] = dict(zip(groups, map(int, result.presence), strict=True))
    for name, table in result.ranks.items():
        places = zip(*table.keys, map(int, table.columns["cell"]), strict=True)
        answer[name] = dict(zip(places, map(int, table.columns["count"]), strict=True))
    return answer
