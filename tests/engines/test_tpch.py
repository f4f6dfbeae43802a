"""TPC-H with customers as units, as it is written: before noise, with clips that cut nothing, DuckDB's own answers."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from bench.tpch_data import MORE, PRIVATE, made

from tacit.base.exact import opened
from tacit.engine import open_engine
from tacit.engine.engine import Engine
from tacit.plan.bound import bound
from tacit.plan.contribution import Contribution
from tacit.policy import Policy, load
from tacit.sql import Catalog, lower, parse

SUMS = {  # of each question: a measure that is a plain sum, in its place among the aggregates of the answer
    1: "SELECT l_returnflag, l_linestatus, SUM(l_extendedprice * (1 - l_discount)) AS x FROM lineitem "
    "WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY GROUP BY l_returnflag, l_linestatus",
    5: PRIVATE[5],
    6: PRIVATE[6],
    19: PRIVATE[19],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("tpch"), 0.01)


@pytest.fixture(scope="module")
def policy(place: Path) -> Policy:
    return load(place / "tacit.toml")


@pytest.fixture(scope="module")
def engine(policy: Policy) -> Iterator[Engine]:
    opened_engine = open_engine(policy, reads_keys=True)
    yield opened_engine
    opened_engine.close()


@pytest.mark.parametrize("query", SUMS)
def test_the_sums_are_those_of_duckdb(query: int, place: Path, policy: Policy, engine: Engine) -> None:
    question = lower(parse(SUMS[query]), Catalog.from_policy(policy))
    (part,) = bound(question, norm="l2", contribution=Contribution(rows=Fraction(5000))).parts
    result = opened(engine.run(part))
    (measure,) = part.measures
    sums = [float(int(total) * measure.step) for total in result.groups.columns[measure.name]]
    groups = list(zip(*result.groups.keys, strict=True)) if part.keys else [()]
    found = {group: total for group, total in zip(groups, sums, strict=True) if total}
    with duckdb.connect() as plain:
        for table in policy.tables:
            plain.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{place / table}.parquet')")
        rows = plain.execute(SUMS[query]).fetchall()
    truth = {tuple(row[:-1]): float(row[-1]) for row in rows if row[-1] is not None}
    assert found == pytest.approx(truth, rel=1e-5)
    assert truth


@pytest.mark.parametrize("query", sorted({**PRIVATE, **MORE}))
def test_questions_are_taken_as_they_are_written(query: int, policy: Policy) -> None:
    sql = {**PRIVATE, **MORE}[query]
    assert lower(parse(sql), Catalog.from_policy(policy)).source.private
