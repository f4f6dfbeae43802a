"""Conditions said of stored columns, and moved below joins: the same rows in every engine, whatever is stored."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.clipping import clip
from support.databases import answered
from support.postgres import Server, postgres
from support.shop import PAIRED, SHOP, Shop, questions
from support.spark import spark
from tacit.engine.dialect import DUCKDB, POSTGRES, SPARK
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.engine import Engine
from tacit.engine.expression import expression_sql
from tacit.engine.once import looked_up
from tacit.engine.postgres import PostgresEngine
from tacit.engine.push import pushed
from tacit.engine.relation import relation_sql
from tacit.engine.scan import compared_columns, scan_sql
from tacit.engine.spark import SparkEngine
from tacit.engine.stored import stored_condition
from tacit.engine.unit import StoredTable
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded, Measure
from tacit.plan.contribution import Contribution
from tacit.plan.expression import Column, Expression, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Join, Node, Scan, Source
from tacit.plan.operation import call, canonical_call
from tacit.sql import lower, parse

__all__ = ["postgres", "spark"]

FACTS = {
    "whole": Facts(type=Type.INTEGER, low=0, high=10),
    "sure": Facts(type=Type.INTEGER, low=0, high=10, nullable=False),
    "any": Facts(type=Type.INTEGER),
    "listed": Facts(type=Type.INTEGER, domain=(1, 2, 5), low=1, high=5),
    "number": Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(1, 10)),
    "exact": Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(8), step=Fraction(1, 4)),
    "open": Facts(type=Type.NUMBER),
    "day": Facts(type=Type.DATE, low=date(2020, 1, 5), high=date(2020, 2, 5)),
    "moment": Facts(type=Type.TIMESTAMP, low=datetime(2020, 1, 1), high=datetime(9999, 1, 1, microsecond=1)),
    "word": Facts(type=Type.TEXT),
    "kind": Facts(type=Type.TEXT, domain=("a", "b"), nullable=False),
}
VALUES: dict[str, list[Any]] = {
    "whole": [None, -1, 0, 1, 5, 9, 10, 11, 2**41, -(2**41), 2**62],
    "sure": [None, -1, 0, 1, 5, 9, 10, 11, 2**41, 3, 3],
    "any": [None, -1, 0, 2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 2**62, 7, 8, 9],
    "listed": [None, 0, 1, 2, 3, 4, 5, 6, 2**62, 1, 5],
    "number": [None, -0.5, 0.0, -0.0, 0.05, 0.07, 0.1, 0.2, float("nan"), float("inf"), 1e300],
    "exact": [None, 0.1, 0.124, 0.125, 0.3, 3.9, 8.0, 8.1, -1.0, float("-inf"), 4.0],
    "open": [None, 0.0, 1.5, -1.5, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 5e-324, 2.5],
    "day": [None, *(date(2020, 1, day) for day in (1, 4, 5, 6, 20)), date(2020, 2, 4), date(2020, 2, 5),
            date(2020, 2, 6), date(1, 1, 1), date(9999, 12, 31)],
    "moment": [None, datetime(2019, 12, 31), datetime(2020, 1, 1), datetime(2020, 1, 1, 0, 0, 0, 1),
               datetime(2021, 5, 5), datetime(9998, 12, 31, 23, 59, 59, 999999), datetime(9999, 1, 1),
               datetime(9999, 1, 1, microsecond=1), datetime(9999, 1, 1, microsecond=2),
               datetime(9999, 12, 31), datetime(1, 1, 1)],
    "word": [None, "", "a", "A", "b", "ä", "a ", "c'd", "b", "a", "\\"],
    "kind": ["a", "b", "c", None, "A", "a", "b", "a", "", "b", "a"],
}  # fmt: skip
STORED = {
    Type.INTEGER: (pa.int64(), "bigint"),
    Type.NUMBER: (pa.float64(), "float8"),
    Type.DATE: (pa.date32(), "date"),
    Type.TIMESTAMP: (pa.timestamp("us"), "timestamp"),
    Type.TEXT: (pa.string(), "text"),
}
SIGNS = ("eq", "lt", "le", "gt", "ge")


def column(name: str) -> Column:
    return Column(name=name, facts=FACTS[name])


SCAN = Scan(
    table="odd",
    columns=tuple(Source(name=name, column=name, facts=facts) for name, facts in FACTS.items() if name != "sure"),
    is_private=True,
)
SURE = replace(SCAN, columns=tuple(Source(name=n, column=n, facts=FACTS[n]) for n in ("sure", "word")))
ENDS: dict[str, list[Any]] = {
    "whole": [-1, 0, 1, Fraction(9, 2), 9, 10, 11, Fraction(3) + Fraction(1, 2**60)],
    "any": [0, 2**53, -(2**53), 7, Fraction(15, 2)],
    "listed": [0, 1, 3, 5, 6],
    "number": [Fraction(-1), 0, Fraction(1, 20), Fraction(7, 100), Fraction(1, 10), Fraction(1, 5)],
    "exact": [0, Fraction(1, 8), Fraction(1, 4), 4, 8, 9],
    "open": [0, Fraction(3, 2), Fraction(-3, 2), Fraction(10**308)],
    "day": [date(2020, 1, day) for day in (4, 5, 6)] + [date(2020, 2, day) for day in (4, 5, 6)],
    "moment": [datetime(2020, 1, 1), datetime(2020, 1, 1, 0, 0, 0, 1), datetime(9999, 1, 1),
               datetime(9999, 1, 1, microsecond=1), datetime(9999, 1, 1, microsecond=2)],
    "word": ["a", "A", "a ", "c'd", "\\", ""],
    "kind": ["a", "c"],
}  # fmt: skip


def compared(name: str) -> list[Expression]:
    made: list[Expression] = []
    for end in ENDS["whole" if name == "sure" else name]:
        fixed = constant(end)
        made += [canonical_call(sign, column(name), fixed) for sign in SIGNS]
        made.append(call("lt", fixed, column(name)))
        made.append(canonical_call("not", canonical_call("ge", column(name), fixed)))
    fixed_ends = [constant(end) for end in ENDS["whole" if name == "sure" else name]]
    made.append(call("between", column(name), fixed_ends[1], fixed_ends[-2] if len(fixed_ends) > 2 else fixed_ends[1]))
    made.append(call("in", column(name), *fixed_ends[:2]))
    made.append(call("in", column(name), *fixed_ends[:2], constant(None)))
    made.append(call("is_not_null", column(name)))
    return made


def joined() -> list[Expression]:
    """Of several columns at once, and of a constant that is worked out."""
    one, two = canonical_call("ge", column("whole"), constant(1)), canonical_call("eq", column("word"), constant("a"))
    three = canonical_call("lt", column("number"), constant(Fraction(1, 20)))
    later = call("date_add", constant(date(2020, 1, 5)), constant(1), constant("day"))
    return [
        call("and", one, two),
        call("or", one, two),
        call("or", call("and", one, two), call("and", three, one)),
        call("or", one, canonical_call("lt", column("any"), column("listed"))),
        call("and", canonical_call("ge", column("day"), later), one),
    ]


NAMES = [name for name in FACTS if name != "sure"]
CONDITIONS = [*(each for name in NAMES for each in compared(name)), *joined()]
OF_SURE = [*compared("sure"), call("or", *compared("sure")[:2], canonical_call("eq", column("word"), constant("a")))]


def filtered(scan: Scan, condition: Expression) -> Bounded:
    return Bounded(
        source=Filter(below=scan, condition=condition),
        keys=(),
        measures=(Measure(name="n"),),
        clips=(clip("l2", 10**6, "n", exempt=True),),
    )


EVERY = [*(filtered(SCAN, each) for each in CONDITIONS), *(filtered(SURE, each) for each in OF_SURE)]
ASKED = EVERY if os.environ.get("TACIT_TESTS") == "full" else EVERY[::3]  # eight of each end: all of their kinds


def odd() -> pa.Table:
    return pa.table({name: pa.array(cells, STORED[FACTS[name].type][0]) for name, cells in VALUES.items()})


def counts(engine: Engine, asked: Sequence[Bounded]) -> list[int]:
    return [sum(answered(part, engine.run(part))["n"].values()) for part in asked]


@pytest.fixture(scope="module")
def truth() -> list[int]:
    """Conditions asked of rows that were read, as they are written."""
    engine = DuckDBEngine({"odd": odd()}, threads=1)
    tables = {"odd": StoredTable(sql=engine._tables["odd"], types=engine.columns("odd"))}
    found = []
    for part in ASKED:
        assert isinstance(part.source, Filter)
        assert isinstance(part.source.below, Scan)
        read, condition = scan_sql(part.source.below, DUCKDB, tables), expression_sql(part.source.condition, DUCKDB)
        (column,) = engine._catalog.fetch(f"SELECT COUNT(*) AS n FROM ({read}) AS r WHERE {condition}")
        found += column.to_pylist()
    engine.close()
    return found


def test_duckdb_takes_the_rows_that_the_condition_takes(truth: list[int]) -> None:
    engine = DuckDBEngine({"odd": odd()}, threads=1)
    assert counts(engine, ASKED) == truth
    engine.close()
    assert len(set(truth)) > 5


def test_postgres_takes_the_same(truth: list[int], postgres: Server) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection, connection.cursor() as cursor:
            columns = ", ".join(f'"{each}" {STORED[facts.type][1]}' for each, facts in FACTS.items())
            cursor.execute(f"CREATE TABLE odd ({columns})".encode())
            places = ", ".join("%s" for _ in FACTS)
            lines = zip(*(VALUES[each] for each in FACTS), strict=True)
            cursor.executemany(f"INSERT INTO odd VALUES ({places})".encode(), list(lines))
        engine = PostgresEngine(postgres.dsn(name), {"odd": "odd"})
        assert counts(engine, ASKED) == truth
        engine.close()


def test_spark_takes_the_same(truth: list[int], spark: Any, tmp_path: Path) -> None:
    pq.write_table(odd(), tmp_path / "odd.parquet")
    engine = SparkEngine(spark, {"odd": tmp_path / "odd.parquet"})
    some = [*range(0, len(ASKED), 12), *range(len(CONDITIONS) - 5, len(CONDITIONS))]
    assert counts(engine, [ASKED[i] for i in some]) == [truth[i] for i in some]
    engine.close()


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK], ids=str)
def test_what_is_said_of_stored_columns(dialect: Any) -> None:
    types = {Type.INTEGER: "BIGINT", Type.NUMBER: "DECIMAL(15, 2)", Type.DATE: "DATE", Type.TEXT: "VARCHAR"}
    tables = {"odd": StoredTable(sql="odd", types={n: types.get(f.type, "TIMESTAMP") for n, f in FACTS.items()})}
    columns = compared_columns(SCAN, dialect, tables)

    def said(sign: str, name: str, end: Any) -> tuple[str, bool] | None:
        found = stored_condition(canonical_call(sign, column(name), constant(end)), columns, dialect)
        return None if found is None else (found.sql.partition(" AND")[0], found.exact)

    day = 'CAST("day" AS DATE)' if dialect is not SPARK else "CAST(`day` AS DATE)"
    assert said("ge", "day", date(2020, 1, 6)) == (f"{day} >= DATE '2020-01-06'", True)
    assert said("ge", "day", date(2020, 1, 5)) is None  # every value fulfils it, also those below
    assert said("eq", "exact", Fraction(1, 4)) is None  # reading rounds it
    assert said("eq", "kind", "c") is None  # no value is that
    near = said("ge", "number", Fraction(1, 20))
    assert near is not None
    assert near[1] is dialect.total  # a decimal may be a hair below the double that it is read as
    if not dialect.total:
        assert float(near[0].rsplit(" ", 1)[1]) < 0.05


def test_a_domain_is_kept_where_an_expression_may_see_other_texts() -> None:
    """PostgreSQL may compute an expression before it asks for rows, and then it must not fail."""
    tables = {"odd": StoredTable(sql="odd", types=dict.fromkeys(FACTS, "text"))}
    scan = replace(SCAN, columns=(Source(name="kind", column="kind", facts=FACTS["kind"]),))
    asked = Filter(below=scan, condition=canonical_call("eq", column("kind"), constant("a")))
    for dialect in (DUCKDB, POSTGRES, SPARK):
        assert ("IN (" in relation_sql(asked, dialect, tables)) is not dialect.any_text


QUESTIONS = [(catalog, sql) for catalog in (SHOP, PAIRED) for sql in questions(catalog)]
MORE = (
    "SELECT COUNT(*), SUM(amount), SUM(paid) FROM items i LEFT JOIN orders o ON i.order_id = o.id "
    "WHERE paid IS NULL OR paid > 0",
    "SELECT g.group, SUM(amount) FROM items i LEFT JOIN goods g ON i.good = g.good "
    "WHERE (g.group = 'a' AND amount > 0) OR g.group IS NULL GROUP BY 1",
    "SELECT SUM(amount) FROM items i JOIN goods g ON i.good = g.good WHERE g.group = 'a' AND i.kind = 'a'",
    "SELECT COUNT(*) FROM orders o JOIN items i ON o.id = i.order_id WHERE o.customer = 2 "
    "OR (o.customer > 2 AND amount > 0)",
)


@pytest.mark.parametrize("number", range(3))
def test_moved_conditions_change_no_answer(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for catalog, sql in [*QUESTIONS, *((SHOP, sql) for sql in MORE)][number::3]:
        shop = Shop(number, catalog)
        parts = bound(lower(parse(sql), catalog), norm="l2", contribution=Contribution(rows=Fraction(3))).parts
        for part in (replace(part, centres=()) for part in parts if part.clips):
            moved = shop.run(part, "whole")
            with monkeypatch.context() as patch:
                patch.setattr("tacit.engine.render.pushed", lambda node: node)
                assert shop.run(part, "whole") == moved, sql
        shop.close()


def asked_of(node: Node) -> set[str]:
    """The tables that are asked for some of their rows."""
    return {n.below.table for n in node.walk() if isinstance(n, Filter) and isinstance(n.below, Scan)}


def test_conditions_are_moved_to_their_tables() -> None:
    source = lower(parse(MORE[2]), SHOP).source
    joins = [node for node in source.walk() if isinstance(node, Join)]
    assert all(join.unique for join in joins)
    kept = pushed(source)
    assert "goods" not in asked_of(kept)  # which keys are there twice follows from all rows
    (join,) = joins
    eased = pushed(replace(source, below=replace(join, unique=False)) if isinstance(source, Filter) else source)
    goods = [
        n for n in eased.walk() if isinstance(n, Filter) and isinstance(n.below, Scan) and n.below.table == "goods"
    ]
    assert goods


def test_public_keys_are_counted_first() -> None:
    join = next(n for n in lower(parse(MORE[2]), SHOP).source.walk() if isinstance(n, Join))
    tables = {
        name: StoredTable(sql=name, types=dict.fromkeys(SHOP.tables[name].columns, "BIGINT")) for name in SHOP.tables
    }
    seen: list[str] = []

    def fetch(count: int) -> Any:
        def answer(sql: str) -> list[list[int]]:
            seen.append(sql)
            return [[count]]

        return answer

    once, twice = (looked_up(join, fetch(count), DUCKDB, tables) for count in (0, 1))
    assert not [n for n in once.walk() if isinstance(n, Join) and n.unique]
    assert twice == join
    assert all("items" not in sql and "orders" not in sql for sql in seen)  # public rows alone
    assert "HAVING" in relation_sql(twice, DUCKDB, tables)
    assert "HAVING" not in relation_sql(once, DUCKDB, tables)
