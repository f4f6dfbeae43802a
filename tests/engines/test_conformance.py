"""One suite for three engines: every question gives the same integers, before noise, to the last unit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.conformance import CHOSEN, QUESTIONS, answers, into_files, into_postgres
from support.postgres import Server, postgres
from support.spark import spark
from tacit.engine import Limits
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine

__all__ = ["postgres", "spark"]

Answers = list[dict[str, dict[tuple[Any, ...], int]]]
QUICK = QUESTIONS[1::8]  # of Spark, which takes a second for each statement


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return into_files(tmp_path_factory.mktemp("clinic"))


@pytest.fixture(scope="module")
def in_duckdb(files: dict[str, Path]) -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(files, threads=2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def in_postgres(postgres: Server) -> Iterator[PostgresEngine]:
    with postgres.database() as name:
        engine = PostgresEngine(postgres.dsn(name), into_postgres(postgres.dsn(name)), limits=Limits(seconds=60))
        yield engine
        engine.close()


@pytest.fixture(scope="module")
def in_spark(spark: Any, files: dict[str, Path]) -> Iterator[SparkEngine]:
    engine = SparkEngine(spark, files)
    yield engine
    engine.close()


def same(one: Answers, two: Answers) -> None:
    """Equal in every part, measure and group; said of the first that differs, since a whole answer is long."""
    assert len(one) == len(two)
    for number, (first, second) in enumerate(zip(one, two, strict=True)):
        assert first.keys() == second.keys()
        for name in first:
            groups = first[name].keys() | second[name].keys()
            differing = {g: (first[name].get(g), second[name].get(g)) for g in groups}
            assert {g: pair for g, pair in differing.items() if pair[0] != pair[1]} == {}, (number, name)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_duckdb_and_postgres(in_duckdb: DuckDBEngine, in_postgres: PostgresEngine, sql: str) -> None:
    found = answers(in_duckdb, sql)
    assert found
    assert "nobody" in sql or any(value for part in found for groups in part.values() for value in groups.values())
    same(found, answers(in_postgres, sql))


@pytest.mark.parametrize("sql", QUICK)
def test_spark(in_duckdb: DuckDBEngine, in_spark: SparkEngine, sql: str) -> None:
    same(answers(in_duckdb, sql, [CHOSEN]), answers(in_spark, sql, [CHOSEN]))


@pytest.mark.slow
@pytest.mark.parametrize("sql", QUESTIONS)
def test_spark_in_full(in_duckdb: DuckDBEngine, in_spark: SparkEngine, sql: str) -> None:
    same(answers(in_duckdb, sql), answers(in_spark, sql))


def test_the_list_is_long_and_has_no_question_twice() -> None:
    assert len(set(QUESTIONS)) == len(QUESTIONS) >= 60


def test_a_difference_of_one_is_seen(in_duckdb: DuckDBEngine) -> None:
    found = answers(in_duckdb, QUESTIONS[0])
    other = answers(in_duckdb, QUESTIONS[0])
    same(found, other)
    group = next(iter(other[-1]["m1"]))
    other[-1]["m1"][group] += 1
    with pytest.raises(AssertionError):
        same(found, other)


@pytest.mark.parametrize("largest", [50.0, 1e9, float("inf")])
def test_what_others_stored_does_not_change_how_no_number_is_read(tmp_path: Path, largest: float) -> None:
    """DuckDB decides comparisons by the range in a file's footer, which leaves NaN out, unless told otherwise."""
    found = []
    for name, nothing in (("with", float("nan")), ("without", None)):
        path = tmp_path / f"{name}.parquet"
        columns = {"who": list(range(22)), "x": [nothing] * 20 + [3.0, largest], "word": [None] * 22}
        pq.write_table(pa.table(columns), path)
        engine = DuckDBEngine({"nobody": path})
        try:
            found.append(answers(engine, "SELECT SUM(x) FROM nobody"))
        finally:
            engine.close()
    same(*found)
    assert found[0][1]["m1"][()] > 0
