"""SQL of expressions in DuckDB: equal to what Python says, true to the facts, and of a size that does not explode."""

from collections.abc import Iterator
from random import Random

import duckdb
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.expressions import COLUMNS, ROWS, agree, broken_fact, of_operation, values_sql
from tacit.base import InputError
from tacit.engine import writer
from tacit.engine.dialect import DIALECTS, DUCKDB, POSTGRES, Dialect
from tacit.engine.expression import RENDERS, expression_sql
from tacit.plan.expression import Call, Column, Expression
from tacit.plan.facts import Facts, Type
from tacit.plan.operation import OPERATIONS, Held, call, evaluate

NAMES = sorted(OPERATIONS)


@pytest.fixture(scope="module")
def table() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(f"CREATE TABLE r AS {values_sql(DUCKDB)}")
        yield connection


def results(table: duckdb.DuckDBPyConnection, expressions: list[Call]) -> list[tuple[Held, ...]]:
    chosen = ", ".join(f"{expression_sql(e, DUCKDB)} AS c{i}" for i, e in enumerate(expressions))
    return list(zip(*table.execute(f"SELECT {chosen} FROM r").fetchall(), strict=True))


def check(table: duckdb.DuckDBPyConnection, expressions: list[Call]) -> None:
    for expression, found in zip(expressions, results(table, expressions), strict=True):
        assert broken_fact(expression.facts, found) is None, expression
        assert agree(expression, [evaluate(expression, row) for row in ROWS], found), expression


def test_every_operation_is_written() -> None:
    templates = {name for name, operation in OPERATIONS.items() if operation.sql}
    assert templates | set(RENDERS) == set(OPERATIONS)
    assert templates & set(RENDERS) == {"least", "greatest"}  # of one argument alone they are no template
    assert all(set(dialect.templates) <= templates for dialect in DIALECTS.values())


@pytest.mark.parametrize("name", NAMES)
def test_duckdb_agrees_with_python(table: duckdb.DuckDBPyConnection, name: str) -> None:
    chance = Random(name)
    check(table, [of_operation(chance, name, depth) for depth in (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3)])


@given(st.integers(0, 2**64))
def test_duckdb_agrees_however_operations_are_nested(table: duckdb.DuckDBPyConnection, seed: int) -> None:
    chance = Random(seed)
    expressions = [of_operation(chance, name, 3) for name in chance.sample(NAMES, 12)]
    try:
        check(table, expressions)
    except duckdb.InvalidInputException as error:
        # DuckDB 2.0.0 does not bind 'a' = CASE WHEN x THEN 'b' END, which is never true
        assume("BindBuiltinScalarFunction" not in str(error))
        raise


@pytest.mark.parametrize("name", NAMES)
def test_named_parts_change_nothing(
    table: duckdb.DuckDBPyConnection, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "INLINE", -1)
    chance = Random(name)
    check(table, [of_operation(chance, name, depth) for depth in (0, 1)])


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=str)
@pytest.mark.parametrize("name", ["multiply", "add", "divide", "power", "nullif"])
def test_nesting_does_not_explode(dialect: Dialect, name: str) -> None:
    x: Expression = Column(name="x", facts=COLUMNS["x"])
    for _ in range(30):
        x = call(name, x, Column(name="y", facts=COLUMNS["y"]))
    assert len(expression_sql(x, dialect)) < 30 * 3000


def test_an_operation_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match="no engine has"):
        expression_sql(Call(operation="pg_sleep", arguments=(), facts=Facts(type=Type.NUMBER)), POSTGRES)
