"""Names and types, and no values."""

from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from tacit.base import InputError, TacitError
from tacit.engine import read_schema

__all__ = ["postgres"]  # a fixture

SECRET = "hush-hush-4711"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    table = pa.table({"id": pa.array([1], pa.int64()), "note": [SECRET], "cost": pa.array([1.5])})
    pq.write_table(table, tmp_path / "visits.parquet")
    (tmp_path / "wards.csv").write_text(f'\ufeff"the ward",beds\n{SECRET},"12\n', encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not data")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE visits (id BIGINT, cost DECIMAL(9,2), mood ENUM ('hush-hush-4711', 'b'))")
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.visits (a DATE); CREATE TABLE old.labs (b BLOB)")
        connection.execute("INSERT INTO visits VALUES (1, 2, 'hush-hush-4711')")
    return tmp_path


def test_parquet(data: Path) -> None:
    schema = read_schema(data / "visits.parquet")
    assert schema.tables == {"visits": {"id": "int64", "note": "string", "cost": "double"}}
    assert schema.files == {"visits": str(data / "visits.parquet")}


def test_csv_has_names_and_no_types(data: Path) -> None:
    assert read_schema(data / "wards.csv").tables == {"wards": {"the ward": "", "beds": ""}}


def test_a_folder_is_a_table_for_each_file(data: Path) -> None:
    schema = read_schema(data)
    assert list(schema.tables) == ["visits", "wards"]
    assert SECRET not in repr(schema)


def test_duckdb(data: Path) -> None:
    schema = read_schema(data / "clinic.duckdb")
    assert schema.tables == {
        "visits": {"id": "BIGINT", "cost": "DECIMAL(9,2)", "mood": "enum"},
        "labs": {"b": "BLOB"},
        "old_visits": {"a": "DATE"},
    }
    assert schema.sources == {"labs": "old.labs", "old_visits": "old.visits"}
    assert SECRET not in repr(schema)


def test_values_are_not_read_even_where_they_are_broken(data: Path) -> None:
    """The rows of a Parquet file are overwritten: whoever reads them fails."""
    path = data / "visits.parquet"
    raw = path.read_bytes()
    path.write_bytes(raw[:4] + b"\0" * 60 + raw[64:])
    assert read_schema(path).tables["visits"]["id"] == "int64"


@pytest.mark.parametrize("name", ["no.parquet", "notes.txt", "bad.parquet", "bad.duckdb", "twice.csv", "empty.csv"])
def test_what_cannot_be_read(data: Path, name: str) -> None:
    (data / "bad.parquet").write_bytes(b"PAR1 nothing")
    (data / "bad.duckdb").write_bytes(b"nothing" * 999)
    (data / "twice.csv").write_text("a,a\n")
    (data / "empty.csv").write_text("")
    with pytest.raises(InputError, match=name):
        read_schema(data / name)


def test_urls(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only postgresql://"):
        read_schema("s3://bucket/x.parquet")
    with pytest.raises(InputError, match="no Parquet or CSV files"):
        read_schema(tmp_path)
    with pytest.raises(TacitError) as caught:
        read_schema(f"postgresql://ana:{SECRET}@127.0.0.1:1/x")
    assert str(caught.value).startswith("postgresql://localhost:1/x: cannot be reached")
    assert SECRET not in str(caught.value)


def test_postgres(postgres: Server) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection:
            connection.execute("CREATE TABLE visits (id bigint, cost numeric(9,2), at timestamptz, note text)")
            connection.execute("CREATE SCHEMA old; CREATE TABLE old.labs (b bytea)")
        schema = read_schema(postgres.url(name))
    assert schema.engine == "postgres"
    assert schema.sources == {"labs": "old.labs"}
    assert schema.tables["visits"] == {
        "id": "bigint", "cost": "numeric", "at": "timestamp with time zone", "note": "text"
    }  # fmt: skip
