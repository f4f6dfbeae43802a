"""Cells of a synthetic table are counted alike on every engine, also where the rows of one unit weigh 1 together."""

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from support.spark import spark
from tacit.base import Relation
from tacit.base.exact import opened
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.engine import Engine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.plan.operation import evaluate
from tacit.synth.columns import ColumnChoices, open_columns
from tacit.synth.counts import ONE, ExactCounts, Reach, marginal_question

__all__ = ["postgres", "spark"]

FACTS = {
    "age": Facts(type=Type.INTEGER, low=0, high=99, step=Fraction(1)),
    "cost": Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(100)),
    "ward": Facts(type=Type.TEXT, domain=("east", "it's west")),
    "smoker": Facts(type=Type.BOOLEAN, domain=(False, True)),
    "born": Facts(type=Type.DATE, low=date(1950, 1, 1), high=date(2009, 12, 31)),
}
NAMES = tuple(FACTS)
CREATED = "who text, age bigint, cost float8, ward text, smoker boolean, born date"
SCAN = Scan(
    table="visits",
    columns=(
        Source(name="who", column="who", facts=Facts(type=Type.TEXT)),
        *(Source(name=name, column=name, facts=facts) for name, facts in FACTS.items()),
    ),
    is_private=True,
    unit_name="who",
    unit_type=Type.INTEGER,
)
DOMAIN, _ = open_columns(SCAN, NAMES, ColumnChoices(bins={"age": 5, "cost": 4, "born": 6}), selects=False)
REACH = Reach(one=ONE, relation=Relation.ADD_REMOVE)


def _rows() -> list[tuple[Any, ...]]:
    """People with one to four rows, values missing, outside bounds, and unknown."""
    source, found = np.random.default_rng(5), []
    for who in range(60):
        for _ in range(int(source.integers(1, 5))):
            age = None if source.random() < 0.1 else int(source.integers(-5, 110))
            cost = None if source.random() < 0.1 else float(source.integers(-10, 120)) / 2 * 2
            ward = source.choice(["east", "it's west", "nowhere"])
            smoker = [True, False, None][int(source.integers(0, 3))]
            found.append((str(who), age, cost, str(ward), smoker, date(1950 + int(source.integers(0, 60)), 3, 1)))
    return found


ROWS = _rows()


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    kinds = [pa.string(), pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.date32()]
    columns = [pa.array([row[at] for row in ROWS], kind) for at, kind in enumerate(kinds)]
    file = tmp_path / "visits.parquet"
    pq.write_table(pa.table(columns, names=["who", *NAMES]), file)
    found: Engine
    if request.param == "duckdb":
        found = DuckDBEngine({"visits": file})
    elif request.param == "spark":
        found = SparkEngine(request.getfixturevalue("spark"), {"visits": file})
    else:
        server: Server = request.getfixturevalue("postgres")
        with server.database() as name:
            with psycopg.connect(server.dsn(name)) as direct:
                direct.execute(f"CREATE TABLE visits ({CREATED})".encode())
                direct.cursor().executemany(b"INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s)", ROWS)
            found = PostgresEngine(server.dsn(name), {"visits": "visits"})
            yield found
            found.close()
        return
    yield found
    found.close()


def expected(clique: tuple[int, ...]) -> Any:
    """By the definition of expressions, row by row: of r rows with c in a cell a unit counts c/r, rounded down."""
    table = np.zeros([DOMAIN.sizes[place] for place in clique], np.int64)
    for who in {row[0] for row in ROWS}:
        own = np.zeros_like(table)
        rows = [row for row in ROWS if row[0] == who]
        for row in rows:
            cells = []
            for place in clique:
                name, value = NAMES[place], row[1 + place]
                facts = FACTS[name]
                if name in ("age", "cost") and value is not None:
                    value = min(max(value, facts.low), facts.high)
                if facts.domain is not None and value not in facts.domain:
                    value = None
                column = DOMAIN.columns[place]
                read = marginal_question(SCAN, DOMAIN, (place,), REACH).keys[0].expression
                cells.append(int(evaluate(read, {column.name: value})))  # type: ignore[arg-type]  # a number
            own[tuple(cells)] += 1
        table += np.floor(own * ONE / len(rows)).astype(np.int64)
    return table


def test_marginals_are_alike_on_every_engine(engine: Engine) -> None:
    counts = ExactCounts(DOMAIN, lambda clique: opened(engine.run(marginal_question(SCAN, DOMAIN, clique, REACH))))
    for clique in ((0,), (1, 2), (2, 3), (0, 4), (0, 2, 3)):
        found = counts[clique]
        units = len({row[0] for row in ROWS})
        assert np.abs(found - expected(clique)).max() <= units  # each rounded down once, by doubles or exactly
        assert found.sum() <= units * ONE
        assert found.sum() >= units * ONE - found.size * units


def test_one_unit_adds_at_most_one(engine: Engine) -> None:
    """What all units add up to is never more than their number, whatever is counted."""
    question = marginal_question(SCAN, DOMAIN, (0, 1, 2, 3, 4), REACH)
    total = int(opened(engine.run(question)).groups.columns["units"].sum())
    assert total <= len({row[0] for row in ROWS}) * ONE
