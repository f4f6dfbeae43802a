"""The shorter way over links: the same integers as the longer one in every engine, or the longer one is taken."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.databases import answered
from support.postgres import Server, postgres
from support.shop import SHOP, Rows, shop_tables
from support.spark import spark
from tacit.engine import Engine
from tacit.engine.dialect import DUCKDB
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.render import statements
from tacit.engine.spark import SparkEngine
from tacit.engine.unit import StoredTable
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded
from tacit.plan.contribution import Contribution
from tacit.sql import lower, parse

__all__ = ["postgres", "spark"]

FEW = 20


def orders(*pairs: tuple[Any, Any]) -> list[tuple[Any, ...]]:
    return [(who, key, 8.0, "a") for who, key in pairs]


def items(**counts: int) -> list[tuple[Any, ...]]:
    """So many line items of each order, of both signs; `none` are of no order, and `far` of one that is nowhere."""
    keys = {"none": None, "far": 7}
    return [
        (keys[name] if name in keys else int(name[1:]), "x", (-3.5, 8.0, 50.0, 1e9)[i % 4], "abe"[i % 3], i % 6)
        for name, count in counts.items()
        for i in range(count)
    ]


LIGHT = {
    "nobody is over": (orders((1, 0), (2, 1), (2, 2), (3, 3)), items(k0=FEW, k1=10, k2=9, k3=1, none=5)),
    "two are far over": (orders((1, 0), (2, 1), (2, 2), (3, 3), (None, 4)), items(k0=90, k1=15, k2=15, k3=20)),
    "one is over by a row": (orders((1, 0), (2, 1)), [(0, "x", 50.0, "a", 0)] * (FEW + 1) + items(k1=FEW)),
    "nothing is there": (orders((1, 0)), items()),
    "an order of nobody is not asked for": (orders((1, 0), (None, 7)), items(k0=3)),
    "a key is twice, and no item has it": (orders((1, 0), (1, 1), (2, 1)), items(k0=40)),
}
ODD = {
    "an item of no order": (orders((1, 0)), items(k0=40, far=1)),
    "an order of nobody": (orders((1, 0), (None, 1)), items(k0=40, k1=30)),
    "an order of two": (orders((1, 0), (2, 0), (2, 1)), items(k0=15, k1=10)),
    "an order twice of one": (orders((1, 0), (1, 0)), items(k0=15)),
    "as many of nobody as of two": (orders((1, 0), (2, 0)), items(k0=30, far=30)),
}
SQL = (
    "SELECT COUNT(*), SUM(amount), SUM(amount * amount) FROM items",
    "SELECT g.group, COUNT(*), SUM(amount), SUM(amount * amount) FROM items i JOIN goods g ON i.good = g.good "
    "GROUP BY 1",
    "SELECT g.group, COUNT(*), SUM(amount), SUM(CLAMP(amount, 0, 9)) FROM items i LEFT JOIN goods g ON i.good = g.good "
    "WHERE amount > -10 GROUP BY 1",
)


def part_of(sql: str, norm: Any = "l2") -> Bounded:
    said = Contribution(rows=Fraction(FEW))
    (part,) = bound(lower(parse(sql), SHOP), norm=norm, contribution=said).parts
    return replace(part, centres=())


PARTS = [part_of(sql, norm) for sql, norm in zip(SQL, ("l2", "l2", "l1"), strict=True)]


def shop(case: tuple[list[Any], list[Any]]) -> dict[str, pa.Table]:
    rows: Rows = {"orders": case[0], "items": case[1]}
    return shop_tables(rows, replace(SHOP, tables={name: SHOP.tables[name] for name in (*rows, "goods")}), 0)


def compare(engine: Engine, monkeypatch: pytest.MonkeyPatch, part: Bounded) -> None:
    found = answered(part, engine.run(part))
    with monkeypatch.context() as patch:
        patch.setattr("tacit.engine.per_unit.PerUnit.light", lambda self: "")
        assert answered(part, engine.run(part)) == found


def odd(engine: DuckDBEngine, part: Bounded) -> list[int]:
    """The last column of the shorter way."""
    tables = {name: StoredTable(sql=sql, types=engine.columns(name)) for name, sql in engine._tables.items()}
    light = statements(part, DUCKDB, tables).light
    assert light is not None
    return [int(each) for each in engine._catalog.fetch(light)[-1].to_pylist()]


@pytest.mark.parametrize("case", [*LIGHT, *ODD])
def test_both_ways_give_the_same(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine(shop({**LIGHT, **ODD}[case]), threads=1)
    for part in PARTS:
        compare(engine, monkeypatch, part)
        assert any(odd(engine, part)) is (case in ODD), case
    engine.close()


def test_too_many_busy_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of them were held is left to chance, so the longer way is taken."""
    engine = DuckDBEngine(shop(LIGHT["two are far over"]), threads=1)
    for most, over in ((3, False), (2, True)):  # one order of one customer, two of the other
        monkeypatch.setattr("tacit.engine.per_unit.MOST_BUSY", most)
        for part in PARTS[:1]:
            assert any(odd(engine, part)) is over
            compare(engine, monkeypatch, part)
    engine.close()


@pytest.fixture
def in_postgres(postgres: Server) -> Iterator[Callable[[dict[str, pa.Table]], Engine]]:
    kinds = {pa.int64(): "bigint", pa.float64(): "float8", pa.string(): "text", pa.decimal128(38, 0): "numeric(38, 0)"}
    with postgres.database() as name:

        def made(tables: dict[str, pa.Table]) -> Engine:
            with psycopg.connect(postgres.dsn(name)) as connection, connection.cursor() as cursor:
                for table, rows in tables.items():
                    columns = ", ".join(f'"{field.name}" {kinds[field.type]}' for field in rows.schema)
                    cursor.execute(f"DROP TABLE IF EXISTS {table}".encode())
                    cursor.execute(f"CREATE TABLE {table} ({columns})".encode())
                    places = ", ".join("%s" for _ in rows.schema)
                    lines = [tuple(row.values()) for row in rows.to_pylist()]
                    cursor.executemany(f"INSERT INTO {table} VALUES ({places})".encode(), lines)
            return PostgresEngine(postgres.dsn(name), {table: table for table in tables})

        yield made


def here(tables: dict[str, pa.Table]) -> list[Any]:
    engine = DuckDBEngine(tables, threads=1)
    found = [answered(part, engine.run(part)) for part in PARTS]
    engine.close()
    return found


def test_postgres_gives_the_same(in_postgres: Any) -> None:
    for case in ("two are far over", "as many of nobody as of two", "nothing is there"):
        engine = in_postgres(shop({**LIGHT, **ODD}[case]))
        assert [answered(part, engine.run(part)) for part in PARTS] == here(shop({**LIGHT, **ODD}[case])), case
        engine.close()


def test_spark_gives_the_same(spark: Any, tmp_path: Path) -> None:
    for case, some in (("two are far over", PARTS[1:2]), ("an order of two", PARTS[:1])):
        tables = shop({**LIGHT, **ODD}[case])
        for name, rows in tables.items():
            pq.write_table(rows, tmp_path / f"{name}.parquet")
        engine = SparkEngine(spark, {name: tmp_path / f"{name}.parquet" for name in tables})
        expected = dict(zip(map(id, PARTS), here(tables), strict=True))
        assert [answered(part, engine.run(part)) for part in some] == [expected[id(part)] for part in some], case
        engine.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM items",  # one join is as quick
        "SELECT COUNT(*), SUM(amount), SUM(paid) FROM items i JOIN orders o ON i.order_id = o.id",  # names the unit
        "SELECT COUNT(*), SUM(amount), COUNT(DISTINCT code, max_values_per_unit => 2), AVG(amount) FROM items",
    ],
)
def test_where_there_is_no_shorter_way(sql: str) -> None:
    stored = {
        name: StoredTable(sql=name, types=dict.fromkeys(table.columns, "BIGINT")) for name, table in SHOP.tables.items()
    }
    assert statements(part_of(sql), DUCKDB, stored).light is None
