"""Every pattern on every awkward text: Python's automaton, DuckDB, PostgreSQL and Spark give the same."""

from collections.abc import Iterator
from typing import Any

import duckdb
import psycopg
import pytest

from support.expressions import EXPRESSIONS, TEXTS, WHOLE_EXPRESSIONS
from support.postgres import Server, postgres
from support.spark import spark
from tacit.engine.dialect import DUCKDB, POSTGRES, SPARK, Dialect
from tacit.engine.expression import expression_sql
from tacit.plan.expression import Column, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.operation import call, evaluate

__all__ = ["postgres", "spark"]

MORE = ["\n", "a\n", "\na", "a\r", "a\u2028", "abcabc", "ABCD", "x" * 99, "x" * 101, "aaaaaaaaab", "]", "-", "\t9"]
CASES = [(each, mode) for each in EXPRESSIONS for mode in ("search", "search folded")]
CASES += [(each, mode) for each in WHOLE_EXPRESSIONS for mode in ("whole", "whole folded")]


def asked() -> Iterator[Expression]:
    for text in (*TEXTS, *MORE):
        yield from (call("regex", constant(text), constant(pattern), constant(mode)) for pattern, mode in CASES)


ASKED = list(asked())
WANTED = [evaluate(each, {}) for each in ASKED]


def statements(dialect: Dialect, many: int = 400) -> Iterator[str]:
    for at in range(0, len(ASKED), many):
        yield f"SELECT {', '.join(expression_sql(each, dialect) for each in ASKED[at : at + many])}"


def test_both_answers_occur() -> None:
    assert 0.2 < sum(map(bool, WANTED)) / len(WANTED) < 0.8


def test_duckdb() -> None:
    with duckdb.connect() as connection:
        assert [each for sql in statements(DUCKDB) for each in connection.execute(sql).fetchall()[0]] == WANTED


def test_postgres(postgres: Server) -> None:
    with postgres.database() as name, psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
        rows = [connection.execute(sql.encode()).fetchall()[0] for sql in statements(POSTGRES)]
        assert [each for row in rows for each in row] == WANTED


def test_spark(spark: Any) -> None:
    texts = [*TEXTS, *MORE]
    spark.createDataFrame(list(enumerate(texts)), "i INT, t STRING").createOrReplaceTempView("texts")
    column = Column(name="t", facts=Facts(type=Type.TEXT))
    made = (call("regex", column, constant(pattern), constant(mode)) for pattern, mode in CASES)
    chosen = ", ".join(expression_sql(each, SPARK) for each in made)
    rows = spark.sql(f"SELECT {chosen} FROM texts ORDER BY i").collect()
    assert [each for row in rows for each in row] == WANTED


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_no_text_takes_long(pattern: str) -> None:
    """What takes engines that go back longer than the age of the universe: here one step for each character."""
    found = call("regex", constant("a" * 100_000 + "!"), constant(pattern), constant("search"))
    assert evaluate(found, {}) is False
