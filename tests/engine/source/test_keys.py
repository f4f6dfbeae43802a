"""Keys that links lead to: known to have no value twice before anybody asks, in this very version of the data."""

from pathlib import Path

import duckdb
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from support.postgres import Server, postgres
from tacit.base import PolicyError, SourceError
from tacit.engine import open_engine
from tacit.policy import Policy, load

__all__ = ["postgres"]

POLICY = """
[dataset]
name = "shop"
engine = "{engine}"
source = "{source}"
[privacy]
unit = "customer"
currency = "rho"
budget = 1
delta = 1e-6
[tables.orders]
unit_column = "customer"
[tables.orders.columns.id]
type = "{type}"
[tables.items]
link = {{ column = "order_id", table = "orders", key = "id" }}
[tables.items.columns.order_id]
type = "{type}"
"""


def policy(folder: Path, source: str, *, engine: str = "duckdb", kind: str = "integer") -> Policy:
    file = folder / "tacit.toml"
    file.write_text(POLICY.format(source=source, engine=engine, type=kind))
    return load(file)


def written(folder: Path, orders: str) -> None:
    parquet(f"SELECT * FROM (VALUES {orders}) AS o (id, customer)", folder / "orders.parquet")
    parquet("SELECT * FROM (VALUES (1), (2)) AS i (order_id)", folder / "items.parquet")


def parquet(sql: str, path: Path) -> None:
    duckdb.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")


def test_files_wait_for_the_curators_look_at_each_version(tmp_path: Path) -> None:
    written(tmp_path, "(1, 7), (2, 8)")
    declared = policy(tmp_path, ".")
    with pytest.raises(SourceError, match=r"nothing says that no value of it is there twice.*tacit check --data"):
        open_engine(declared)
    open_engine(declared, reads_keys=True).close()
    engine = open_engine(declared)
    written(tmp_path, "(1, 7), (2, 8), (3, 9)")
    with pytest.raises(SourceError, match="in the data as it is now"):
        engine.version(["items", "orders"])
    engine.close()


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "(1, 7), (1, 8)")
    with pytest.raises(SourceError, match="has values that are there twice"):
        open_engine(policy(tmp_path, "."), reads_keys=True)


def test_keys_are_compared_as_links_compare_them(tmp_path: Path) -> None:
    """Two texts that are one number."""
    written(tmp_path, "('1', 7), ('01.0', 8)")
    parquet("SELECT '1' AS order_id", tmp_path / "items.parquet")
    open_engine(policy(tmp_path, ".", kind="text"), reads_keys=True).close()
    with pytest.raises(SourceError, match="has values that are there twice"):
        open_engine(policy(tmp_path, "."), reads_keys=True)


@pytest.mark.parametrize(("key", "known"), [("PRIMARY KEY", True), ("UNIQUE", True), ("", False)])
def test_a_constraint_of_duckdb_is_enough(tmp_path: Path, key: str, known: bool) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as made:
        made.execute(f"CREATE TABLE orders (id INTEGER {key}, customer INTEGER, UNIQUE (id, customer))")
        made.execute("CREATE TABLE items (order_id INTEGER)")
    declared = policy(tmp_path, "shop.duckdb")
    if known:
        open_engine(declared).close()
    else:
        with pytest.raises(SourceError, match="make it a primary key"):
            open_engine(declared)


@pytest.mark.parametrize(
    ("statement", "known"),
    [
        ("ALTER TABLE orders ADD PRIMARY KEY (id)", True),
        ("CREATE UNIQUE INDEX i ON orders (id)", True),
        ("CREATE UNIQUE INDEX i ON orders (id) WHERE customer > 3", False),
        ("CREATE UNIQUE INDEX i ON orders (id, customer)", False),
        ("CREATE UNIQUE INDEX i ON orders ((id + 1))", False),
        ("CREATE UNIQUE INDEX i ON orders (id); CREATE TABLE more () INHERITS (orders)", False),
        ("SELECT 1", False),
    ],
)
def test_a_constraint_of_postgres_is_needed(postgres: Server, tmp_path: Path, statement: str, known: bool) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection:
            connection.execute("CREATE TABLE orders (id integer, customer integer)")
            connection.execute("CREATE TABLE items (order_id integer)")
            connection.execute(statement.encode())
        at = conninfo_to_dict(postgres.dsn(name))
        url = f"postgresql://{at['user']}@/{at['dbname']}?host={at['host']}"
        declared = policy(tmp_path, url, engine="postgres")
        if known:
            open_engine(declared).close()
        else:
            with pytest.raises(PolicyError, match="does not hold that no value of it is there twice"):
                open_engine(declared, reads_keys=True)
