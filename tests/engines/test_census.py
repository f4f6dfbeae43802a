"""A census in every engine: the same counts, and one person moves the counts of each query by √2 and no further."""

import pickle
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from support.census import AGES, HISPANIC, LEVELS, QUERIES, RACES, country, people
from support.fixed_rng import FixedRng
from support.postgres import Server, postgres
from support.spark import spark
from support.tree import SOURCE
from tacit.base import Relation
from tacit.base.exact import opened
from tacit.census.allocation import moved_by, shares_of, steps_of
from tacit.census.invariants import invariants_of
from tacit.census.measure import SparseCounts, bounded_census, measured
from tacit.census.schema import CellSchema
from tacit.census.topdown import top_down
from tacit.engine import Engine
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = ["postgres", "spark"]

SPINE = country(2, 2, 3)
COLUMNS: Mapping[str, tuple[Any, ...]] = {"race": RACES, "age": AGES, "hisp": HISPANIC, "grade": (1, 2, 3)}
SCHEMA = CellSchema(categories=COLUMNS, recodes={}, zeros=({"race": "other", "age": "minor"},))
TYPES = {"block": "text", "race": "text", "age": "text", "hisp": "text", "grade": "bigint"}
SCAN = Scan(
    table="people",
    columns=(
        Source(name="block", column="block", facts=Facts(type=Type.TEXT, nullable=False)),
        *(
            Source(
                name=name,
                column=name,
                facts=Facts(type=Type.INTEGER if name == "grade" else Type.TEXT, domain=values, nullable=False),
            )
            for name, values in COLUMNS.items()
        ),
    ),
    is_private=True,
)
BOUNDED = bounded_census(SCAN, "block", list(COLUMNS), 1)
HELD = invariants_of({"block.vacant": [SPINE.names[-1][0]]}, SPINE, SCHEMA)  # public, and people in it count nowhere

# whoever takes the place of the first person: of another state or cell, of no place there is, of no category, or NULL
OTHERS: list[tuple[Any, ...]] = [
    ("b011002", "black", "adult", "yes", 3),
    ("b000001", "white", "minor", "no", 1),
    ("b000000", "white", "adult", "no", 2),
    ("nowhere", "white", "adult", "no", 2),
    ("b011002", "martian", "adult", "no", 2),
    ("b011002", "other", "minor", "no", 2),
    ("b011002", "white", None, "no", 2),
    (None, "white", "adult", "no", 2),
    ("b011002", "white", "adult", "no", 9),
    ("B011002", "White", "adult ", "no", 1),
]


def rows() -> list[tuple[Any, ...]]:
    made = people(SPINE, seed=4, size=6, vacant=0.1)
    grades = np.random.default_rng(1).integers(1, 4, made.num_rows).tolist()
    columns = [made.column(name).to_pylist() for name in ("block", "race", "age", "hisp")]
    return [("b000001", "white", "adult", "no", 1), *zip(*columns, grades, strict=True)]


def table(people: list[tuple[Any, ...]]) -> pa.Table:
    kinds = {"text": pa.string(), "bigint": pa.int64()}
    columns = zip(*people, strict=True)
    return pa.table({name: pa.array(c, kinds[kind]) for (name, kind), c in zip(TYPES.items(), columns, strict=True)})


def versions() -> list[list[tuple[Any, ...]]]:
    whole = rows()
    return [whole, whole[1:], *([other, *whole[1:]] for other in OTHERS)]


def dense(engine: Engine) -> dict[tuple[str, str], Any]:
    counts = SparseCounts.of(opened(engine.run(BOUNDED)), HELD)
    return {pair: counts.dense(*pair) for pair in product(LEVELS, [*QUERIES, "grade*race"])}


@pytest.fixture(scope="module")
def expected() -> list[dict[tuple[str, str], Any]]:
    """By DuckDB, once, and the first also by hand."""
    found = []
    for version in versions():
        engine = DuckDBEngine({"people": table(version)}, threads=1)
        found.append(dense(engine))
        engine.close()
    return found


def test_counts_are_those_of_the_rows(expected: list[dict[tuple[str, str], Any]]) -> None:
    places = {name: place for place, name in enumerate(SPINE.names[-1])}
    for version, found in zip(versions(), expected, strict=True):
        total, detail = np.zeros(len(places), dtype=int), 0
        for block, race, age, hisp, grade in version:
            given = zip((race, age, hisp, grade), COLUMNS.values(), strict=True)
            allowed = block in places and all(value in values for value, values in given)
            if allowed and block != SPINE.names[-1][0] and (race, age) != ("other", "minor"):
                total[places[block]] += 1
                detail += 1
        assert found["block", "total"][:, 0].tolist() == total.tolist()
        assert found["state", "detail"].sum() == detail


def moved(one: Mapping[tuple[str, str], Any], other: Mapping[tuple[str, str], Any]) -> int:
    """The square of the furthest that any query at any level moves, in l2."""
    return max(int(((one[pair] - other[pair]) ** 2).sum()) for pair in one)


def check(found: list[dict[tuple[str, str], Any]]) -> None:
    whole, without, *replaced = found
    assert moved(whole, without) == 1 == moved_by(Relation.ADD_REMOVE, 1) ** 2
    squares = [moved(whole, each) for each in replaced]
    assert max(squares) == 2
    assert isclose(float(moved_by(Relation.REPLACE, 1)) ** 2, 2)
    assert moved_by(Relation.REPLACE, 1) ** 2 >= 2
    assert min(squares) == 1  # whoever comes into no place only leaves one


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def found(request: pytest.FixtureRequest, expected: Any, tmp_path: Path) -> Iterator[list[dict[tuple[str, str], Any]]]:
    if request.param == "duckdb":
        yield expected
    elif request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        answers = []
        with server.database() as name:
            for version in versions():
                with psycopg.connect(server.dsn(name)) as direct:
                    columns = ", ".join(f"{column} {kind}" for column, kind in TYPES.items())
                    direct.execute(f"DROP TABLE IF EXISTS people; CREATE TABLE people ({columns})".encode())
                    direct.cursor().executemany(b"INSERT INTO people VALUES (%s, %s, %s, %s, %s)", version)
                engine = PostgresEngine(server.dsn(name), {"people": "people"})
                answers.append(dense(engine))
                engine.close()
        yield answers
    else:
        session = request.getfixturevalue("spark")
        answers = []
        for number, version in enumerate(versions()):
            path = tmp_path / f"people{number}.parquet"
            pa.parquet.write_table(table(version), path)
            answers.append(dense(SparkEngine(session, {"people": path})))
        yield answers


def test_one_person_moves_every_query_by_so_much(found: Any, expected: Any) -> None:
    check(found)
    for here, there in zip(found, expected, strict=True):
        assert all(np.array_equal(here[pair], there[pair]) for pair in here)


def test_families_are_solved_on_spark_as_here(spark: Any) -> None:
    """What each family needs is sent to it, and nothing else: a country is solved on as many machines as there are."""
    data = people(SPINE, seed=4, size=30)
    here = DuckDBEngine({"people": data.append_column("grade", pa.array([1] * data.num_rows))}, threads=1)
    counts = SparseCounts.of(opened(here.run(BOUNDED)), HELD)
    here.close()
    shares = shares_of(SPINE, SCHEMA, QUERIES, None)
    noisy = measured(counts, steps_of(shares, 1, Relation.REPLACE, 1), tuple(shares), FixedRng(1))

    places = [str(SOURCE.parent), *sys.path]  # on a cluster tacit is installed; a worker here is told where it is

    def work(data: bytes) -> bytes:
        sys.path.extend(places)
        function, batch = pickle.loads(data)
        return pickle.dumps(function(batch))

    def sent(function: Any, batches: Any) -> Any:
        packed = [pickle.dumps((function, batch)) for batch in batches]
        found = spark.sparkContext.parallelize(packed, 2).map(work).collect()
        return [pickle.loads(each) for each in found]

    one, other = (top_down(noisy, counts.held(HELD), spread=spread) for spread in (map, sent))
    assert len(one.count) > 50
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("place", "cell", "count"))
