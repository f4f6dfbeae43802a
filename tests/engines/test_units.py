"""One person is one unit and two people are two, however each engine stored them, in groups, counts and joins."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from support.spark import spark
from tacit.base import Relation
from tacit.base.exact import opened
from tacit.engine import Limits, import_tables, open_engine
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.engine import Engine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.spark import SparkEngine
from tacit.plan.contribution import Contribution
from tacit.plan.facts import Facts, Type
from tacit.plan.price import Budget, price
from tacit.policy import parse as parse_policy
from tacit.sql import AskableTable, Catalog, lower, parse

__all__ = ["postgres", "spark"]

X = Facts(type=Type.INTEGER, low=0, high=10)


class Case(NamedTuple):
    """Two columns of ids that are stored in two ways, what they are declared as, and how many units they are.

    `both` of the units are in both tables.
    """

    left: tuple[str, list[str]]
    right: tuple[str, list[str]]
    declared: Type | None
    units: tuple[int, int]
    both: int


BIG = str(2**53 + 1)
NEXT = str(2**53)
ENDS = [str(-(2**63)), str(2**63 - 1)]
UUIDS = ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"]
IN_POSTGRES = {
    "widths": Case(("smallint", ["3", "-7", "NULL"]), ("bigint", ["3", "-7", BIG, NEXT]), None, (2, 4), 2),
    "numeric": Case(
        ("numeric", ["7", "7.0", "7.00", "'NaN'", "'Infinity'", "1e-400", "1e400", "0", "0.000"]),
        ("numeric(30,2)", ["7", "0.00", "8.5"]),
        None,
        (4, 3),
        2,
    ),
    "declared decimal": Case(
        ("numeric", ["7.00", BIG, NEXT, "7.5", "'NaN'"]), ("bigint", ["7", BIG, NEXT]), Type.NUMBER, (4, 3), 3
    ),
    "whole numerics": Case(
        ("numeric(50,0)", ["7", BIG, NEXT, "1e37", "1e38", "'NaN'"]), ("bigint", ["7", BIG, *ENDS]), None, (4, 4), 2
    ),
    "padding": Case(
        ("char(6)", ["'ab'", "'ab  '", "'c'"]), ("text", ["'ab'", "'c'", "'c '"]), None, (2, 3), 2
    ),
    "collation": Case(('text COLLATE "POSIX"', ["'a'", "'A'", "'ä'"]), ("varchar(9)", ["'A'"]), None, (3, 1), 1),
    "uuid": Case(("uuid", UUIDS), ("uuid", UUIDS[:1]), None, (1, 1), 1),
    "uuid as text": Case(("uuid", UUIDS), ("text", UUIDS), Type.TEXT, (1, 2), 1),
    "dates": Case(
        ("date", ["'0044-03-15 BC'", "'infinity'", "'2024-01-01'"]), ("date", ["'2024-01-01'"]), None, (3, 1), 1
    ),
    "days": Case(
        ("timestamp", ["'2024-01-01 10:00'", "'2024-01-01 11:00'", "'infinity'"]),
        ("date", ["'2024-01-01'", "'infinity'"]),
        Type.DATE,
        (2, 2),
        2,
    ),
    "zones": Case(
        ("timestamptz", ["'2024-01-01 12:00+02'", "'2024-01-01 10:00Z'", "'4714-11-24 BC'"]),
        ("timestamp(3)", ["'2024-01-01 10:00'"]),
        None,
        (2, 1),
        1,
    ),
    "booleans": Case(("boolean", ["true", "false", "NULL"]), ("boolean", ["true"]), Type.BOOLEAN, (2, 1), 1),
    "bytes": Case(("bytea", ["'\\x00ff'", "'\\x00'", "'\\x'"]), ("bytea", ["'\\x00ff'"]), None, (3, 1), 1),
}  # fmt: skip

WIDE = str(10**38 - 1)
IN_DUCKDB = {
    "widths": Case(("TINYINT", ["3", "-7"]), ("BIGINT", ["3", "-7", BIG, NEXT]), None, (2, 4), 2),
    "unsigned": Case(
        ("UBIGINT", [str(2**64 - 1), str(2**63), BIG, NEXT]), ("BIGINT", [BIG, *ENDS]), None, (4, 3), 1
    ),
    "huge": Case(
        ("UHUGEINT", [str(2**128 - 1), WIDE, "7"]), ("HUGEINT", [str(2**127 - 1), WIDE, "-7", "7"]), None, (2, 3), 2
    ),
    "whole decimals": Case(("DECIMAL(38,0)", [WIDE, "7", BIG]), ("BIGINT", ["7", BIG, NEXT]), None, (3, 3), 2),
    "decimals": Case(
        ("DECIMAL(3,3)", ["0.5", "-0.5", "0"]), ("DECIMAL(38,10)", ["0.5", "-0.5", "0", "7"]), None, (3, 4), 3
    ),
    "declared decimal": Case(
        ("DECIMAL(20,2)", ["7", BIG, NEXT, "7.25"]), ("BIGINT", ["7", BIG, NEXT]), Type.NUMBER, (4, 3), 3
    ),
    "texts of numbers": Case(
        ("VARCHAR", ["'3'", "'3.0'", "'+3'", "'003.'", f"'{BIG}'", f"'{BIG}.00'", "'abc'", "'3.5'", "''", "'1e1'",
                     f"'{'9' * 39}'", "'NaN'", "' 3'"]),
        ("BIGINT", ["3", BIG, NEXT, "4", "10"]),
        Type.INTEGER,
        (2, 5),
        2,
    ),
    "texts": Case(("VARCHAR COLLATE NOCASE", ["'a'", "'A'", "'a '"]), ("VARCHAR", ["'A'", "'3.0'"]), None, (3, 2), 1),
    "enum": Case(("ENUM('a', 'b')", ["'a'", "'b'"]), ("VARCHAR", ["'b'", "'B'"]), None, (2, 2), 1),
    "uuid": Case(("UUID", UUIDS), ("UUID", UUIDS[:1]), None, (1, 1), 1),
    "uuid as text": Case(("UUID", UUIDS), ("VARCHAR", UUIDS), Type.TEXT, (1, 2), 1),
    "seconds": Case(
        ("TIMESTAMP_S", ["'2024-01-01 10:00'", "'1969-12-31'"]),
        ("TIMESTAMP", ["'2024-01-01 10:00'", "'infinity'"]),
        None,
        (2, 2),
        1,
    ),
    "zones": Case(
        ("TIMESTAMPTZ", ["'2024-01-01 12:00+02'", "'2024-01-01 10:00Z'"]),
        ("TIMESTAMP_MS", ["'2024-01-01 10:00'"]),
        None,
        (1, 1),
        1,
    ),
    "days": Case(
        ("TIMESTAMP", ["'2024-01-01 10:00'", "'2024-01-01 11:00'"]), ("DATE", ["'2024-01-01'"]), Type.DATE, (1, 1), 1
    ),
    "booleans": Case(("BOOLEAN", ["true", "false"]), ("BOOLEAN", ["true"]), Type.BOOLEAN, (2, 1), 1),
    "bytes": Case(("BLOB", ["'\\x00\\xFF'", "'\\x00'"]), ("BLOB", ["'\\x00'"]), None, (2, 1), 1),
}  # fmt: skip

IN_SPARK: dict[str, tuple[pa.Array, pa.Array, Type | None, tuple[int, int], int]] = {
    "widths": (pa.array([3, -7], pa.int8()), pa.array([3, -7, 2**53 + 1, 2**53], pa.int64()), None, (2, 4), 2),
    "whole decimals": (
        pa.array([Decimal(10**38 - 1), Decimal(7), Decimal(2**53 + 1)], pa.decimal128(38, 0)),
        pa.array([7, 2**53 + 1, 2**53], pa.int64()), None, (3, 3), 2,
    ),
    "decimals": (
        pa.array([Decimal("0.5"), Decimal("-0.5"), Decimal(0), Decimal("0.000")], pa.decimal128(3, 3)),
        pa.array([Decimal("0.5"), Decimal("-0.5"), Decimal(0), Decimal("1e-18")], pa.decimal128(38, 18)),
        None, (3, 4), 3,
    ),
    "declared decimal": (
        pa.array([Decimal("7.00"), Decimal("7.25"), Decimal(2**53 + 1)], pa.decimal128(20, 2)),
        pa.array([7, 2**53 + 1, 2**53], pa.int64()), Type.NUMBER, (3, 3), 2,
    ),
    "texts": (pa.array(["a", "A", "a "]), pa.array(["A", "b"]), None, (3, 2), 1),
    "bytes": (pa.array([b"\0\xff", b"\0"]), pa.array([b"\0"]), None, (2, 1), 1),
    "booleans": (pa.array([True, False, None]), pa.array([True]), Type.BOOLEAN, (2, 1), 1),
}  # fmt: skip


def catalog(declared: Type | None) -> Catalog:
    known = {} if declared is None else {"who": Facts(type=declared)}
    return Catalog(
        tables={name: AskableTable(unit="who", unit_type=declared, columns={**known, "x": X}) for name in ("l", "r")}
    )


def count(engine: Engine, sql: str, declared: Type | None) -> int:
    """The exact count that a question asks for, before noise; no unit is clipped."""
    question = lower(parse(sql), catalog(declared))
    how: dict[str, Any] = {
        "relation": Relation.ADD_REMOVE,
        "unit": "person",
        "contribution": Contribution(rows=Fraction(10_000)),
    }
    part = price(question, Budget(currency="epsilon", amount=Fraction(1)), **how).parts[0]
    (measure,) = part.measures
    steps = opened(engine.run(part)).groups.columns[measure.name].sum()
    assert steps % measure.high == 0
    return int(steps) // measure.high


def check(engine: Engine, declared: Type | None, units: tuple[int, int], both: int) -> None:
    assert tuple(count(engine, f"SELECT COUNT(DISTINCT who) FROM {t}", declared) for t in "lr") == units
    assert count(engine, "SELECT COUNT(DISTINCT l.who) FROM l JOIN r ON l.who = r.who", declared) == both
    grouped = "(SELECT who, MIN(x) AS y FROM l GROUP BY who) AS g"
    assert count(engine, f"SELECT COUNT(*) FROM {grouped}", declared) == units[0]
    assert count(engine, f"SELECT COUNT(DISTINCT g.who) FROM {grouped} JOIN r ON g.who = r.who", declared) == both


def rows_sql(column: tuple[str, list[str]]) -> str:
    kind, values = column
    return " UNION ALL ".join(f"SELECT CAST({value} AS {kind.partition(' COLLATE')[0]}), 1" for value in values)


@pytest.mark.parametrize("name", IN_DUCKDB)
def test_duckdb(name: str, tmp_path: Path) -> None:
    case, path = IN_DUCKDB[name], tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        for table, column in zip("lr", case[:2], strict=True):
            connection.execute(f"CREATE TABLE {table} (who {column[0]}, x INTEGER)")
            connection.execute(f"INSERT INTO {table} {rows_sql(column)}")
    engine = DuckDBEngine({"l": (path, "l"), "r": (path, "r")}, threads=1)
    try:
        check(engine, *case[2:])
    finally:
        engine.close()


POLICY = """
[dataset]
name = "people"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
"""
TABLE = """
[tables.{0}]
source = "{0}.csv"
unit_column = "who"
clip_rows = 9
[tables.{0}.columns.who]
type = "{1}"
[tables.{0}.columns.x]
type = "integer"
bounds = [0, 10]
"""


@pytest.mark.parametrize(
    ("declared", "units", "both"), [(Type.INTEGER, (3, 3), 2), (Type.TEXT, (7, 4), 2)], ids=["integer", "text"]
)
def test_text_files(declared: Type, units: tuple[int, int], both: int, tmp_path: Path) -> None:
    """3 and 3.0 are one number and two texts; abc is no number, and fails nothing."""
    rows = {"l": ("3", "3.0", "003", "abc", "3.5", BIG, "7"), "r": ("3.0", "+3", BIG, NEXT)}
    for table, ids in rows.items():
        (tmp_path / f"{table}.csv").write_text("who,x\n" + "".join(f"{who},1\n" for who in (*ids, "")))
    policy = parse_policy(POLICY + "".join(TABLE.format(table, declared) for table in rows), folder=tmp_path)
    import_tables(policy)
    engine = open_engine(policy)
    try:
        check(engine, declared, units, both)
    finally:
        engine.close()


@pytest.mark.parametrize("name", IN_POSTGRES)
def test_postgres(postgres: Server, name: str) -> None:
    case = IN_POSTGRES[name]
    with postgres.database() as database:
        with psycopg.connect(postgres.dsn(database), autocommit=True) as connection:
            for table, column in zip("lr", case[:2], strict=True):
                connection.execute(f"CREATE TABLE {table} (who {column[0]}, x integer)".encode())
                connection.execute(f"INSERT INTO {table} {rows_sql(column)}".encode())
        engine = PostgresEngine(postgres.dsn(database), {"l": "l", "r": "r"}, limits=Limits(seconds=60))
        try:
            check(engine, *case[2:])
        finally:
            engine.close()


@pytest.mark.parametrize("name", IN_SPARK)
def test_spark(spark: Any, name: str, tmp_path: Path) -> None:
    case = IN_SPARK[name]
    for table, column in zip("lr", case[:2], strict=True):
        pq.write_table(pa.table({"who": column, "x": pa.array([1] * len(column), pa.int32())}), tmp_path / table)
    engine = SparkEngine(spark, {table: tmp_path / table for table in "lr"})
    try:
        check(engine, *case[2:])
    finally:
        engine.close()
