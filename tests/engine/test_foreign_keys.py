"""What `tacit init` reads of foreign keys, from databases that have them: links by name, and no row."""

from pathlib import Path

import duckdb
import psycopg

from support.postgres import Server, postgres
from tacit.engine.names import Schema, read_schema
from tacit.policy import TableLink
from tacit.policy.write import starter

__all__ = ["postgres"]

TABLES = """
CREATE TABLE customer (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES customer (id));
CREATE TABLE orders (orderkey INTEGER PRIMARY KEY, custkey INTEGER REFERENCES customer (id));
CREATE TABLE supply (part INTEGER, supplier INTEGER, PRIMARY KEY (part, supplier));
CREATE TABLE lineitem (
    orderkey INTEGER REFERENCES orders (orderkey), part INTEGER, supplier INTEGER,
    FOREIGN KEY (part, supplier) REFERENCES supply (part, supplier)
);
"""
LINKS = {
    "orders": (TableLink(column="custkey", table="customer", key="id"),),
    "lineitem": (TableLink(column="orderkey", table="orders", key="orderkey"),),
}


def _made(server: Server, name: str) -> Schema:
    with psycopg.connect(server.dsn(name), autocommit=True) as connection:
        connection.execute(TABLES.encode())
        connection.execute("CREATE SCHEMA other")
        connection.execute('CREATE TABLE other."Returns" (gone INTEGER, "Order" INTEGER REFERENCES orders (orderkey))')
        connection.execute('ALTER TABLE other."Returns" DROP COLUMN gone')
        connection.execute("CREATE TABLE other.orders (orderkey INTEGER PRIMARY KEY)")
    return read_schema(f"postgresql://postgres@/{name}?host={server.folder}")


def test_in_postgres(postgres: Server) -> None:
    """Also in another schema, and where a column was dropped, so that numbers of columns have gaps."""
    with postgres.database() as name:
        found = _made(postgres, name)
    assert found.links == {
        **LINKS,
        "Returns": (TableLink(column="Order", table="orders", key="orderkey"),),
    }
    text = starter(
        found.tables, name="shop", engine="postgres", sources=found.sources, unit_column="id", links=found.links
    )
    assert 'link = { column = "orderkey", table = "orders", key = "orderkey" }' in text
    assert 'link = { column = "custkey", table = "customer", key = "id" }' in text
    assert "supplier" not in "".join(line for line in text.splitlines() if "link = " in line)


def test_in_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLES)
    assert read_schema(str(path)).links == LINKS
