"""No row changes how another is read: neighbouring sources, written as bytes, read by the shipped reader.

Two sources differ in the rows of one unit, of which every cell is hostile. All other rows must be read alike. A format
is a function that writes rows of cells to a folder and gives what `DuckDBEngine` opens. Spark and PostgreSQL are read
through the scan that every question begins with.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.broken import broken
from support.postgres import Server, postgres
from support.spark import spark
from tacit.base import SourceError
from tacit.engine.dialect import POSTGRES, SPARK
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.postgres import PostgresEngine
from tacit.engine.scan import scan_sql
from tacit.engine.source.copies import Copies
from tacit.engine.source.listing import listed
from tacit.engine.source.tables import FileSource
from tacit.engine.spark import SparkEngine
from tacit.engine.unit import StoredTable
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source
from tacit.policy import Column, ColumnType, Table

__all__ = ["postgres", "spark"]

Row = tuple[str, ...]
TYPES = {
    "who": ColumnType.TEXT,
    "age": ColumnType.INTEGER,
    "cost": ColumnType.FLOAT,
    "day": ColumnType.DATE,
    "seen": ColumnType.TIMESTAMP,
    "word": ColumnType.TEXT,
}
TABLE = Table(unit_column="who", columns={name: Column(type=kind) for name, kind in TYPES.items()})
OTHERS: list[Row] = [  # of everybody else: also odd, and the same in both sources
    ("u0", "1", "0.5", "2026-01-31", "2026-01-31T10:00", "apt #5"),
    ("u1", "2.0", "1e3", "", "2026-01-31", "it's 5\" long, say"),
    ("u2", "", "", "0001-01-01", "", "# no comment"),
    ("u2", "9223372036854775807", "-7", "9999-12-31", "9999-12-31T23:59:59", "two\nlines"),
    ("u3", "abc", "nan", "31.1.2026", "soon", "NULL"),
]
hostile = st.sampled_from(
    [
        *("#0", "# x", "//", "--", "'", '"', '""', '"x', ",", ";", "\t", "|", "\n", "\r\n", "\r", "\\", "\\n", "\\N"),
        *("NULL", "NA", "nan", "inf", "-inf", "", " ", "\ufeff", "0", "-1", "1e999", "9" * 40, "1_000", "0x1f", "1.5"),
        *("\u0663", "true", "2026-01-31", "31/01/2026", "0000-00-00", "99999-01-01", "infinity", "\U0001f600"),
        *("2026-01-31T10:00:00+02:00", "é", "a" * 70, "b'x'", "{}", "[1]", "=1+1", "%s", "$1", "${x}", "pid=1"),
    ]
)
target = st.tuples(hostile, hostile, hostile, hostile, hostile, hostile)


def written(rows: Sequence[Row], delimiter: str) -> bytes:
    """As a careful writer writes: cells are quoted where they have to be."""

    def cell(content: str) -> str:
        needs = any(sign in content for sign in (delimiter, '"', "\r", "\n"))
        return f'"{content.replace(chr(34), chr(34) * 2)}"' if needs else content

    return "".join(delimiter.join(map(cell, row)) + "\n" for row in (tuple(TYPES), *rows)).encode()


def text(ending: str, delimiter: str) -> Callable[[Path, Sequence[Row]], Any]:
    def write(folder: Path, rows: Sequence[Row]) -> Any:
        (folder / f"t{ending}").write_bytes(written(rows, delimiter))
        return read(FileSource(path=folder / f"t{ending}", table=TABLE, copies=Copies(folder / "state")))

    return write


def read(source: FileSource) -> FileSource:
    """As `tacit data import` does."""
    files = listed(source.path)
    assert source.copies is not None
    source.reading(files).read(files.files, source.copies)
    return source


def many_texts(folder: Path, rows: Sequence[Row]) -> Any:
    (folder / "t").mkdir()
    for number, part in enumerate((rows[-1:], rows[:2], rows[2:-1])):  # the last one decides nothing by coming first
        (folder / "t" / f"{number}.csv").write_bytes(written(part, ","))
    return read(FileSource(path=folder / "t", table=TABLE, copies=Copies(folder / "state")))


def arrow(rows: Sequence[Row]) -> pa.Table:
    """The same cells as Arrow has them; what is no number or date becomes one that no engine holds."""
    columns = list(zip(*rows, strict=True))
    return pa.table(
        {
            "who": broken([_bytes(cell) for cell in columns[0]]),
            "age": pa.array([_number(cell) for cell in columns[1]], pa.int64()),
            "cost": pa.array([_float(cell) for cell in columns[2]], pa.float64()),
            "day": pa.array([_day(cell) for cell in columns[3]], pa.int32()).cast(pa.date32()),
            "seen": pa.array([_moment(cell) for cell in columns[4]], pa.timestamp("ms")),
            "word": broken([_bytes(cell) for cell in columns[5]]),
        }
    )


def _bytes(cell: str) -> bytes:
    return b"\xff\xfe" if cell == "\\N" else cell.encode()


def _number(cell: str) -> int | None:
    with suppress(ValueError, OverflowError):
        return max(min(int(float(cell)), 2**63 - 1), -(2**63))
    return None


def _float(cell: str) -> float | None:
    with suppress(ValueError):
        return float(cell)
    return None


def _day(cell: str) -> int:
    with suppress(ValueError):
        return (date.fromisoformat(cell) - date(1970, 1, 1)).days
    return 2**31 - 1


def _moment(cell: str) -> int:
    with suppress(ValueError):
        return int((datetime.fromisoformat(cell).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() * 1000)
    return 2**62


def parquet(folder: Path, rows: Sequence[Row]) -> Any:
    pq.write_table(arrow(rows), folder / "t.parquet", row_group_size=2)
    return FileSource(path=folder / "t.parquet", table=TABLE, copies=Copies(folder / "state"))


def many_parquets(folder: Path, rows: Sequence[Row]) -> Any:
    (folder / "t").mkdir()
    for number, part in enumerate((rows[-1:], rows[:2], rows[2:-1])):
        pq.write_table(arrow(part), folder / "t" / f"{number}.parquet")
    return FileSource(path=folder / "t", table=TABLE, copies=Copies(folder / "state"))


def database(folder: Path, rows: Sequence[Row]) -> Any:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t (who VARCHAR, age VARCHAR, cost DOUBLE, day DATE, seen TIMESTAMP, word VARCHAR)"
        )
        for row in rows:
            values = "?, ?, TRY_CAST(? AS DOUBLE), TRY_CAST(? AS DATE), TRY_CAST(? AS TIMESTAMP), ?"
            connection.execute(f"INSERT INTO t VALUES ({values})", row)
    return folder / "t.duckdb", "t"


FORMATS: dict[str, Callable[[Path, Sequence[Row]], Any]] = {
    "csv": text(".csv", ","),
    "tsv": text(".tsv", "\t"),
    "folder of csv": many_texts,
    "parquet": parquet,
    "folder of parquet": many_parquets,
    "duckdb": database,
    "arrow": lambda folder, rows: arrow(rows),
    "pandas": lambda folder, rows: pd.DataFrame(dict(zip(TYPES, map(list, zip(*rows, strict=True)), strict=True))),
    "polars": lambda folder, rows: pl.DataFrame(dict(zip(TYPES, map(list, zip(*rows, strict=True)), strict=True))),
}


def rows_of(source: Any) -> list[tuple[Any, ...]]:
    """All rows as questions read them: the version first, as the engine does."""
    engine = DuckDBEngine({"t": source}, threads=1)
    try:
        engine.version(["t"])
        columns = ", ".join(f'"{name}"::VARCHAR' for name in TYPES)
        found: list[tuple[Any, ...]] = engine._catalog.connection.execute(
            f"SELECT {columns} FROM memory.main.t"
        ).fetchall()
        return sorted(found, key=repr)
    finally:
        engine.close()


@cache
def alone(name: str) -> tuple[tuple[Any, ...], ...]:
    """Everybody else, without the one who changes."""
    with TemporaryDirectory() as folder:
        return tuple(rows_of(FORMATS[name](Path(folder), OTHERS)))


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40 if os.environ.get("TACIT_TESTS") == "full" else 5, deadline=None)
@given(changed=target)
@example(changed=("#0", "new", "1", "\\N", "99999-01-01", '"'))
@example(changed=("\ufeff", "9" * 40, "inf", "infinity", "infinity", "\\N"))
@example(changed=('"', '"', '"', '"', '"', "\n"))
def test_no_row_changes_how_another_is_read(name: str, changed: Row) -> None:
    who = f"t{changed[0]}" if name != "csv" else changed[0]  # in one format also alone, as the first thing of a line
    with TemporaryDirectory() as folder:
        with_it = rows_of(FORMATS[name](Path(folder), [*OTHERS, (who, *changed[1:])]))
    for row in alone(name):
        with_it.remove(row)  # raises if it was read in another way
    assert len(with_it) == 1


SCAN = Scan(
    table="t",
    columns=tuple(
        Source(name=name, column=name, facts=Facts(type=Type.NUMBER if kind == "float" else Type(kind)))
        for name, kind in TYPES.items()
    ),
    is_private=True,
    unit_name="who",
    unit_type=Type.TEXT,
)


def others_alike(rows_with: Callable[[Sequence[Row]], list[Any]], changed: Row) -> None:
    """Everybody else's rows are the same with and without one more, who has at most one row."""
    found, before = rows_with([*OTHERS, (f"t{changed[0]}", *changed[1:])]), rows_with(OTHERS)
    for row in before:
        found.remove(row)
    assert len(found) <= 1


HOSTILE = (
    ("#0", "new", "1", "\\N", "99999-01-01", '"'),
    ("\ufeff", "9" * 40, "inf", "infinity", "infinity", "\\N"),
    ("\\N", "-1", "nan", "0000-00-00", "0001-01-01", "\U0001f600"),
)


@pytest.mark.parametrize("changed", HOSTILE)
def test_in_spark(spark: Any, changed: Row) -> None:
    check_spark(spark, changed, parquet)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(changed=target)
def test_in_spark_in_full(spark: Any, changed: Row) -> None:
    for write in (parquet, many_parquets):
        check_spark(spark, changed, write)


def check_spark(spark: Any, changed: Row, write: Callable[[Path, Sequence[Row]], Any]) -> None:
    def rows_with(rows: Sequence[Row]) -> list[Any]:
        with TemporaryDirectory() as folder:
            engine = SparkEngine(spark, {"t": write(Path(folder), rows).path})
            with engine._tables["t"].reading(list(TYPES)) as view:
                stored = StoredTable(sql=view, types=engine.columns("t"))
                found = engine._session.sql(scan_sql(SCAN, SPARK, {"t": stored}))
                shown = [f"CAST(`{name}` AS STRING)" for name in found.columns]
                return [tuple(row) for row in found.selectExpr(*shown).collect()]

    others_alike(rows_with, changed)


@pytest.mark.parametrize("number", ["numeric", "float8"])
@settings(max_examples=200 if os.environ.get("TACIT_TESTS") == "full" else 10, deadline=None)
@given(changed=target)
@example(changed=HOSTILE[0])
@example(changed=HOSTILE[1])
def test_in_postgres(postgres: Server, number: str, changed: Row) -> None:
    """What the server does not take for a number, day or moment is the oddest that it takes."""
    odd = {number: "1e-300" if number == "float8" else "1e-400", "date": "infinity", "timestamp": "-infinity"}

    create = f"CREATE TABLE sources (who text, age bigint, cost {number}, day date, seen timestamp, word varchar)"

    def rows_with(rows: Sequence[Row]) -> list[Any]:
        with psycopg.connect(postgres.dsn(), autocommit=True) as connection:

            def taken(cell: str, kind: str) -> str:
                valid = connection.execute("SELECT pg_input_is_valid(%s, %s)", (cell, kind)).fetchone()
                return cell if valid == (True,) else odd[kind]

            connection.execute("DROP TABLE IF EXISTS sources")
            connection.execute(create.encode())
            for who, age, cost, day, seen, word in rows:
                values = (taken(cost, number), taken(day, "date"), taken(seen, "timestamp"))
                connection.execute(
                    "INSERT INTO sources VALUES (%s, %s, %s, %s, %s, %s)", (who, _number(age), *values, word)
                )
        engine = PostgresEngine(postgres.dsn(), {"t": "sources"})
        try:
            stored = StoredTable(sql="public.sources", types=engine.columns("t"))
            columns = engine._within(lambda fetch: fetch(scan_sql(SCAN, POSTGRES, {"t": stored})))
            return [tuple(map(repr, row)) for row in zip(*columns, strict=True)]
        finally:
            engine.close()

    others_alike(rows_with, changed)


RAW = [
    b"1,2,3",
    b'"',
    b'x"y,1,1,1,1,1',
    b'"x"y,1,1,1,1,1',
    b"a,b\rc,1,1,1,1",
    b"a\0,1,1,1,1,1",
    b"\xff,1,1,1,1,1",
    b",,,,,,",
    b"#",
]


@pytest.mark.parametrize("raw", RAW)
@pytest.mark.parametrize("place", ["first", "last", "between"])
def test_a_malformed_row_refuses_the_file_and_tells_no_value(tmp_path: Path, raw: bytes, place: str) -> None:
    lines = written(OTHERS[:3], ",").splitlines(keepends=True)
    lines.insert({"first": 1, "between": 2, "last": len(lines)}[place], raw + b"\n")
    (tmp_path / "t.csv").write_bytes(b"".join(lines))
    with pytest.raises(SourceError, match="line") as caught:
        read(FileSource(path=tmp_path / "t.csv", table=TABLE, copies=Copies(tmp_path / "state")))
    assert "apt" not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_one_row_with_a_comment_sign(tmp_path: Path) -> None:
    """1,500 people with ids #0… and one new row: a sniffing reader took # for comments, and COUNT fell to 1."""
    body = "id,name,x\n" + "".join(f"#{i},n{i},apt #5\n" for i in range(1500))
    for more, many in (("", 1500), ("0,new,1\n", 1501), ("#,#,#\n", 1501)):
        (tmp_path / "t.csv").write_text(body + more)
        engine = DuckDBEngine({"t": tmp_path / "t.csv"}, threads=1)
        found = engine._catalog.connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE x = 'apt #5') FROM memory.main.t"
        )
        assert found.fetchall() == [(many, 1500)]
        engine.close()
