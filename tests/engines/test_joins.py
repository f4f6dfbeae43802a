"""Joins on keys that are declared unique: in every engine a private row has at most one match, whatever is stored."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.clipping import clip
from support.postgres import Server, postgres
from support.spark import spark
from tacit.base import InputError
from tacit.base.exact import opened
from tacit.engine.dialect import DUCKDB
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.engine import Engine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.render import statements
from tacit.engine.spark import SparkEngine
from tacit.engine.unit import StoredTable
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded, Measure
from tacit.plan.contribution import Contribution
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Join, Scan, Source
from tacit.sql import AskableTable, Catalog, lower, parse

__all__ = ["postgres", "spark"]

TEXT, WHOLE, NUMBER = (Facts(type=kind) for kind in (Type.TEXT, Type.INTEGER, Type.NUMBER))
BEDS = Facts(type=Type.INTEGER, low=0, high=90)
CATALOG = Catalog(
    tables={
        "staff": AskableTable(
            row_is_unit=True,
            columns={"ward": TEXT, "code": NUMBER, "pay": Facts(type=Type.INTEGER, low=0, high=8, step=Fraction(1))},
        ),
        "posts": AskableTable(
            private=False,
            columns={"post": TEXT, "code": NUMBER, "beds": BEDS, "open": Facts(type=Type.BOOLEAN)},
            unique=frozenset({"post", "code"}),
        ),
    }
)
STAFF = [("a", 0.0, 1), ("a", -0.0, 2), ("b", 1.5, 3), ("c", 2.0, 4), (None, None, 5), ("A", 7.0, 6), ("d", 8.0, 7)]
POSTS = [
    ("a", 0.0, 10, True),
    ("b", 1.5, 20, True),
    ("b", -0.0, 30, False),  # b is there twice, and so is zero
    ("c", 2.0, None, None),
    (None, None, 40, True),
    (None, None, 50, True),
    ("d", 8.0, 95, False),
]
# what a left join makes of each member of the staff: the beds of the one post, or NULL
BY_POST = {10: 3, None: 18, 90: 7}  # beds to the sum of pay
INNER_BY_CODE = {20: 3, None: 4, 90: 7}


def planned(sql: str) -> Bounded:
    question = lower(parse(sql), CATALOG)
    (part,) = bound(question, norm="l2", contribution=Contribution()).parts
    return part


QUESTIONS = {
    "post": (planned("SELECT beds, SUM(pay) AS s FROM staff LEFT JOIN posts ON ward = post GROUP BY beds"), BY_POST),
    "code": (
        planned("SELECT beds, SUM(pay) AS s FROM staff s JOIN posts p ON s.code = p.code GROUP BY beds"),
        INNER_BY_CODE,
    ),
}


def check(engine: Engine) -> None:
    for bounded, expected in QUESTIONS.values():
        result = opened(engine.run(bounded))
        (column,) = result.groups.columns.values()
        assert dict(zip(result.groups.keys[0], column.tolist(), strict=True)) == expected
    open_ = planned("SELECT open, COUNT(*) AS n FROM staff LEFT JOIN posts ON ward = post GROUP BY open")
    result = opened(engine.run(open_))
    (column,) = result.groups.columns.values()
    assert dict(zip(result.groups.keys[0], column.tolist(), strict=True)) == {True: 2, False: 1, None: 4}


def tables() -> dict[str, pa.Table]:
    kinds = {
        "staff": {"ward": pa.string(), "code": pa.float64(), "pay": pa.int64()},
        "posts": {"post": pa.string(), "code": pa.float64(), "beds": pa.int64(), "open": pa.bool_()},
    }
    rows: dict[str, list[Any]] = {"staff": STAFF, "posts": POSTS}
    return {
        name: pa.table(
            {n: pa.array(c, k) for (n, k), c in zip(kinds[name].items(), zip(*rows[name], strict=True), strict=True)}
        )
        for name in kinds
    }


def test_duckdb_matches_each_row_once() -> None:
    engine = DuckDBEngine(tables(), threads=1)
    check(engine)
    engine.close()


@pytest.mark.parametrize("times", [1, 2, 50])
def test_duplicates_of_public_rows_multiply_nothing(times: int) -> None:
    data = tables()
    data["posts"] = pa.concat_tables([data["posts"]] * times)
    engine = DuckDBEngine(data, threads=1)
    count = planned("SELECT COUNT(*) AS n, SUM(pay) AS s FROM staff LEFT JOIN posts ON ward = post")
    found = {name: column.tolist() for name, column in opened(engine.run(count)).groups.columns.items()}
    engine.close()
    assert sorted(found.values()) == [[len(STAFF)], [sum(pay for _, _, pay in STAFF)]]


def test_postgres_matches_each_row_once(postgres: Server) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE staff (ward text, code float8, pay bigint)")
            cursor.execute("CREATE TABLE posts (post text, code float8, beds bigint, open boolean)")
            cursor.executemany("INSERT INTO staff VALUES (%s, %s, %s)", STAFF)
            cursor.executemany("INSERT INTO posts VALUES (%s, %s, %s, %s)", POSTS)
        engine = PostgresEngine(postgres.dsn(name), {"staff": "staff", "posts": "posts"})
        try:
            check(engine)
        finally:
            engine.close()


def test_spark_matches_each_row_once(spark: Any, tmp_path: Path) -> None:
    for name, table in tables().items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    engine = SparkEngine(spark, {name: tmp_path / f"{name}.parquet" for name in tables()})
    check(engine)
    engine.close()


def test_private_sides_are_not_made_unique() -> None:
    one, two = (Source(name=name, column=name, facts=WHOLE) for name in ("one", "two"))
    left, right = (Scan(table="t", columns=(s,), is_private=True, unit_name=s.name) for s in (one, two))
    keys = (Column(name="one", facts=WHOLE), Column(name="two", facts=WHOLE))
    joined = Join(kind="inner", left=left, right=right, on=(keys,), unique=True)
    bounded = Bounded(source=joined, keys=(), measures=(Measure(name="n"),), clips=(clip("l2", Fraction(1), "n"),))
    with pytest.raises(InputError, match="only public rows"):
        statements(bounded, DUCKDB, {"t": StoredTable(sql="t", types={"one": "BIGINT", "two": "BIGINT"})})
