"""Every operation in every engine on the values that break things: no error, true facts, and equal results."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import psycopg
import pytest

from support.expressions import COLUMNS, NUMBERS, ROWS, agree, broken_fact, of_operation, values_sql
from support.postgres import Server, postgres
from support.spark import spark
from tacit.engine.dialect import DUCKDB, POSTGRES, SPARK, Dialect
from tacit.engine.expression import expression_sql
from tacit.plan.expression import Call, Column
from tacit.plan.moments import number
from tacit.plan.operation import OPERATIONS, Held, call, evaluate

__all__ = ["postgres", "spark"]

NAMES = sorted(OPERATIONS)
BATCHES = [NAMES[i : i + 10] for i in range(0, len(NAMES), 10)]
Run = Callable[[str], list[tuple[Held, ...]]]


@pytest.fixture(scope="module")
def in_duckdb() -> Iterator[Run]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE r AS {values_sql(DUCKDB)}")
        yield lambda sql: connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def in_postgres(postgres: Server) -> Iterator[Run]:
    with postgres.database() as name, psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE r AS {values_sql(POSTGRES)}".encode())
        yield lambda sql: connection.execute(sql.encode()).fetchall()


@pytest.fixture(scope="module")
def in_spark(spark: Any) -> Iterator[Run]:
    schema = ", ".join(f"{name} {SPARK.type_name(facts.type)}" for name, facts in COLUMNS.items())
    frame = spark.createDataFrame([tuple(row.values()) for row in ROWS], schema).coalesce(1).persist()
    frame.createOrReplaceTempView("r")
    yield lambda sql: [tuple(row) for row in spark.sql(sql).collect()]
    spark.catalog.dropTempView("r")
    frame.unpersist()


def check(run: Run, dialect: Dialect, expressions: list[Call]) -> None:
    chosen = ", ".join(f"{expression_sql(e, dialect)} AS c{i}" for i, e in enumerate(expressions))
    results = zip(*run(f"SELECT {chosen} FROM r"), strict=True)
    for expression, found in zip(expressions, results, strict=True):
        assert broken_fact(expression.facts, found) is None, expression
        assert agree(expression, [evaluate(expression, row) for row in ROWS], found), expression


def some(names: list[str], count: int) -> list[Call]:
    chance = Random(" ".join(names))
    return [of_operation(chance, name, depth) for name in names for depth in (0, 0, 1, 2)[:count]]


@pytest.mark.parametrize("names", BATCHES, ids=lambda names: names[0])
def test_duckdb(in_duckdb: Run, names: list[str]) -> None:
    check(in_duckdb, DUCKDB, some(names, 4))


@pytest.mark.parametrize("names", BATCHES, ids=lambda names: names[0])
def test_postgres(in_postgres: Run, names: list[str]) -> None:
    check(in_postgres, POSTGRES, some(names, 4))


@pytest.mark.parametrize("names", BATCHES, ids=lambda names: names[0])
def test_spark(in_spark: Run, names: list[str]) -> None:
    check(in_spark, SPARK, some(names, 2))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "power"])
def test_postgres_may_compute_with_constants_before_it_reads(in_postgres: Run, name: str) -> None:
    """It does so even where the arm of a CASE is never reached, so that no guard of a row helps."""
    column = Column(name="x", facts=COLUMNS["x"])
    constants = [number(Fraction(value)) for value in NUMBERS]
    check(in_postgres, POSTGRES, [call(name, *pair) for each in constants for pair in ((each, column), (column, each))])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_many_more_in_every_engine(in_duckdb: Run, in_postgres: Run, in_spark: Run, seed: int) -> None:
    chance = Random(seed)
    expressions = [of_operation(chance, name, chance.choice((0, 1, 2, 3))) for name in chance.sample(NAMES, 20)]
    check(in_duckdb, DUCKDB, expressions)
    check(in_postgres, POSTGRES, expressions)
    for expression in range(0, len(expressions), 5):
        check(in_spark, SPARK, expressions[expression : expression + 5])
