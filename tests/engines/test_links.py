"""Links in every engine: whose a row is, to the last unit, with keys that are there twice, or nowhere."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.databases import Answer, answered
from support.postgres import Server, postgres
from support.shop import ALONG, PAIRED, SHOP, questions, shop_rows, shop_tables
from support.spark import spark
from tacit.base import InputError
from tacit.engine import Engine
from tacit.engine.dialect import DUCKDB
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.relation import relation_sql
from tacit.engine.spark import SparkEngine
from tacit.engine.unit import StoredTable
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded
from tacit.plan.contribution import Contribution
from tacit.plan.node import Join, Scan
from tacit.sql import Catalog, lower, parse

__all__ = ["postgres", "spark"]

SEED = 7
CATALOGS = {"one column": SHOP, "two columns": PAIRED}
NATIVE = {
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.decimal128(38, 0): "numeric(38, 0)",
}


def data(catalog: Catalog, seed: int = SEED, *, texts: bool = False) -> dict[str, pa.Table]:
    return shop_tables(shop_rows(seed, paired=catalog is PAIRED)["whole"], catalog, seed, texts=texts)


def parts(catalog: Catalog) -> list[Bounded]:
    made = (
        bound(lower(parse(sql), catalog), norm=norm, contribution=Contribution(rows=Fraction(3)))  # type: ignore[arg-type]
        for number, sql in enumerate(questions(catalog))
        for norm in [("l2", "l1")[number % 2]]
    )
    found = (part for question in made for part in question.parts)
    return [replace(part, centres=()) for part in found if part.clips]


def answers(engine: Engine, asked: Sequence[Bounded]) -> Iterator[Answer]:
    return (answered(part, engine.run(part)) for part in asked)


def compare(engine: Engine, catalog: Catalog, asked: Sequence[Bounded]) -> None:
    here = DuckDBEngine(data(catalog), threads=1)
    try:
        for part, one, two in zip(asked, answers(here, asked), answers(engine, asked), strict=True):
            assert one == two, part
    finally:
        here.close()
        engine.close()


@pytest.mark.parametrize("catalog", CATALOGS.values(), ids=CATALOGS)
def test_postgres_gives_the_same_integers(postgres: Server, catalog: Catalog) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection, connection.cursor() as cursor:
            for table, rows in data(catalog).items():
                columns = ", ".join(f'"{field.name}" {NATIVE[field.type]}' for field in rows.schema)
                cursor.execute(f"CREATE TABLE {table} ({columns})".encode())
                places = ", ".join("%s" for _ in rows.schema)
                lines = [tuple(row.values()) for row in rows.to_pylist()]
                cursor.executemany(f"INSERT INTO {table} VALUES ({places})".encode(), lines)
        engine = PostgresEngine(postgres.dsn(name), {table: table for table in catalog.tables})
        compare(engine, catalog, parts(catalog))


@pytest.mark.parametrize(("catalog", "some"), [(SHOP, 5), (PAIRED, 6)], ids=CATALOGS)
def test_spark_gives_the_same_integers(spark: Any, tmp_path: Path, catalog: Catalog, some: int) -> None:
    compare(_in_spark(spark, tmp_path, catalog), catalog, parts(catalog)[::some])


@pytest.mark.slow
@pytest.mark.parametrize("catalog", CATALOGS.values(), ids=CATALOGS)
def test_spark_gives_the_same_integers_for_all(spark: Any, tmp_path: Path, catalog: Catalog) -> None:
    compare(_in_spark(spark, tmp_path, catalog), catalog, parts(catalog))


def _in_spark(spark: Any, folder: Path, catalog: Catalog) -> SparkEngine:
    for table, rows in data(catalog).items():
        pq.write_table(rows, folder / f"{table}.parquet")
    return SparkEngine(spark, {table: folder / f"{table}.parquet" for table in catalog.tables})


def owners(seed: int) -> dict[str, Counter[tuple[Any, int]]]:
    """Whose the rows of each linked table are, as the theorem says: a row by its number, once for each way."""
    rows = shop_rows(seed, paired=False)["whole"]
    orders = [(order[0], order[1]) for order in rows["orders"] if order[0] is not None and order[1] is not None]

    def reached(keys: list[tuple[Any, Any]], lines: list[tuple[Any, ...]]) -> Counter[tuple[Any, int]]:
        return Counter((who, i) for i, line in enumerate(lines) for who, key in keys if line[0] == key)

    items = reached(orders, rows["items"])
    codes = [(who, rows["items"][i][1]) for (who, i), n in items.items() for _ in range(n)]
    return {
        "items": items,
        "parcels": reached(orders, rows["parcels"]),
        "returns": reached([(who, code) for who, code in codes if code is not None], rows["returns"]),
    }


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_row_is_everybodys_it_leads_to(seed: int) -> None:
    """Counted by hand: rows by unit, in each linked table."""
    engine = DuckDBEngine(data(SHOP, seed, texts=True), threads=1)
    tables = {name: StoredTable(sql=sql, types=engine.columns(name)) for name, sql in engine._tables.items()}
    try:
        for table, expected in owners(seed).items():
            read = relation_sql(SHOP.scan(table, ()), DUCKDB, tables)
            found = engine._catalog.fetch(f'SELECT "tacit unit" AS u, COUNT(*) AS n FROM ({read}) AS r GROUP BY 1')
            counted = {int(unit): n for unit, n in zip(*(column.to_pylist() for column in found), strict=True)}
            by_unit: Counter[Any] = Counter()
            for (who, _), n in expected.items():
                by_unit[who] += n
            assert counted == dict(by_unit), table
    finally:
        engine.close()


@pytest.mark.parametrize("sql", ALONG)
def test_a_join_along_a_link_reads_no_table_twice(sql: str) -> None:
    """The unit comes from the joined table: what is linked is not looked up again."""
    source = lower(parse(sql), SHOP).source
    along = [node for node in source.walk() if isinstance(node, Join) and node.along is not None]
    linked = [node for node in source.walk() if isinstance(node, Scan) and node.path is not None]
    assert len(along) == len(linked)
    stored = {
        name: StoredTable(
            sql=f"<{name}>",
            types={column: "BIGINT" if facts.type.numeric else "VARCHAR" for column, facts in table.columns.items()},
        )
        for name, table in SHOP.tables.items()
    }
    written = relation_sql(source, DUCKDB, stored)
    assert all(written.count(f"<{scan.table}>") == 1 for scan in source.walk() if isinstance(scan, Scan))


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_join_along_a_link_has_the_rows_that_sql_has(seed: int) -> None:
    """Of units that have an order each: what is compared is the join itself."""
    rows = shop_rows(seed, paired=False)["whole"]
    engine = DuckDBEngine(data(SHOP, seed, texts=True), threads=1)
    try:
        (part,) = bound(
            lower(parse("SELECT COUNT(*) FROM items i JOIN orders o ON i.order_id = o.id"), SHOP),
            norm="l1",
            contribution=Contribution(rows=Fraction(10**6)),
        ).parts
        (count,) = answered(part, engine.run(part)).values()
    finally:
        engine.close()
    matched = sum(item[0] == order[1] for item in rows["items"] for order in rows["orders"] if None not in order[:2])
    assert count[()] == matched * part.measures[0].high


def test_a_link_whose_table_is_missing() -> None:
    engine = DuckDBEngine({name: rows for name, rows in data(SHOP).items() if name != "orders"}, threads=1)
    (part,) = bound(
        lower(parse("SELECT COUNT(*) FROM items"), SHOP), norm="l1", contribution=Contribution(rows=Fraction(3))
    ).parts
    with pytest.raises(InputError, match="'orders' was not given to this engine"):
        engine.run(part)
    engine.close()


def test_rows_that_would_lose_their_unit_are_refused() -> None:
    """An engine does not trust a plan: a linked side that is kept has rows without a match."""
    source = lower(parse(ALONG[0]), SHOP).source
    (join,) = (node for node in source.walk() if isinstance(node, Join))
    stored = {
        name: StoredTable(sql=name, types=dict.fromkeys(table.columns, "BIGINT")) for name, table in SHOP.tables.items()
    }
    with pytest.raises(InputError, match="cannot be the linked ones"):
        relation_sql(replace(join, kind="left"), DUCKDB, stored)
