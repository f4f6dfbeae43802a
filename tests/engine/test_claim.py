"""What a policy's tables are read from, by every way that leads to the same file or table."""

import os
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.postgres import Server, postgres
from tacit.engine import claims_of, open_engine
from tacit.engine.claim import tables_behind
from tacit.policy import Claim, Policy, parse
from tacit.policy.source import overlap

__all__ = ["postgres"]

TABLE = pa.table({"pid": [1, 2], "visit": [1, 2]})
HEAD = """
[dataset]
name = "clinic"
engine = "{engine}"
source = "{source}"
[privacy]
currency = "rho"
budget = 1
delta = 1e-6
unit = "person"
"""
BODY = """
[tables.{name}]
{source}
{unit}
[tables.{name}.columns]
pid = {{ type = "integer" }}
visit = {{ type = "integer" }}
"""


def policy(
    folder: Path,
    source: str = "",
    *,
    name: str = "visits",
    unit: str = 'unit_column = "pid"',
    engine: str = "duckdb",
    dataset: str = "data",
) -> Policy:
    own = f'source = "{source}"' if source else ""
    text = HEAD.format(engine=engine, source=dataset) + BODY.format(name=name, source=own, unit=unit)
    return parse(text, folder=folder)


def shared(one: Policy, other: Policy) -> bool:
    return any(overlap(mine, its) for mine in claims_of(one) for its in claims_of(other))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file with many names, and another beside it."""
    (tmp_path / "data").mkdir()
    (tmp_path / "more").mkdir()
    pq.write_table(TABLE, tmp_path / "data" / "visits.parquet")
    pq.write_table(TABLE, tmp_path / "staff.parquet")
    (tmp_path / "link.parquet").symlink_to("data/visits.parquet")
    (tmp_path / "linked").symlink_to("data")
    os.link(tmp_path / "data" / "visits.parquet", tmp_path / "hard.parquet")
    os.link(tmp_path / "data" / "visits.parquet", tmp_path / "more" / "1.parquet")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "x.parquet").symlink_to("../data/visits.parquet")
    return tmp_path


WAYS = ["data/visits.parquet", "link.parquet", "hard.parquet", "data", "linked", "more", "far", "far/../hard.parquet"]


@pytest.mark.parametrize("way", WAYS)
def test_all_ways_to_one_file_are_one(folder: Path, way: str) -> None:
    for other in WAYS:
        assert shared(
            policy(folder, f"./{way}"), policy(folder, f"./{other}", name="people", unit='unit_column = "visit"')
        )
    assert not shared(policy(folder, f"./{way}"), policy(folder, "./staff.parquet"))


def test_a_folder_of_tables_is_each_table_alone(folder: Path) -> None:
    pq.write_table(TABLE, folder / "data" / "staff.parquet")
    assert shared(policy(folder), policy(folder, "./hard.parquet"))
    assert not shared(policy(folder), policy(folder, name="staff"))


def test_a_copy_cannot_be_seen(folder: Path) -> None:
    (folder / "copy.parquet").write_bytes((folder / "hard.parquet").read_bytes())
    assert not shared(policy(folder, "./copy.parquet"), policy(folder, "./hard.parquet"))


def test_units_and_public_tables(folder: Path) -> None:
    units = {
        'unit_column = "PID"': {'column "pid"'},
        "each_row_is_a_unit = true": {"each row"},
        "": {None},
    }
    for said, expected in units.items():
        assert {claim.unit for claim in claims_of(policy(folder, "./hard.parquet", unit=said))} == expected
    assert claims_of(policy(folder, "./hard.parquet", unit="public = true")) == ()


def test_names_that_no_ledger_takes(folder: Path) -> None:
    place = folder / ("x" * 200) / ("y" * 200) / ("z" * 200) / ("v" * 200) / ("w" * 200)
    place.mkdir(parents=True)
    pq.write_table(TABLE, place / "a\nb.parquet")
    (folder / "short").symlink_to(place)
    found = claims_of(policy(folder, "./short"))
    assert len(found) == 3
    assert all(claim.place.isprintable() and len(claim.place) < 100 for claim in found)


def test_a_table_in_memory_is_named_by_its_people(folder: Path) -> None:
    declared = policy(folder, dataset="nowhere")
    engine = open_engine(policy(folder, "./hard.parquet"))
    try:
        found = claims_of(declared, engine)
    finally:
        engine.close()
    assert Claim("memory:clinic", "visits", 'column "pid"') in found
    assert claims_of(declared) == (Claim(f"file:{folder.resolve()}/nowhere", "", 'column "pid"'),)


def test_stores_of_objects(folder: Path) -> None:
    wide = policy(folder, "s3a://Bucket/visits/", engine="spark", dataset="local[2]")
    fine = policy(folder, "s3://bucket/visits/1.parquet", engine="spark", dataset="local[2]")
    assert shared(wide, fine)
    assert not shared(wide, policy(folder, "s3://bucket/visits2/1.parquet", engine="spark", dataset="local[2]"))


def test_catalogs_of_spark_by_the_full_name(folder: Path) -> None:
    names = ["visits", "default.visits", "spark_catalog.default.Visits"]
    policies = [policy(folder, name, engine="spark", dataset="local[2]") for name in names]
    assert all(shared(one, other) for one in policies for other in policies)
    assert not shared(policies[0], policy(folder, "other.visits", engine="spark", dataset="local[2]"))


# --- DuckDB files


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (pid INTEGER, visit INTEGER)")
        connection.execute("CREATE TABLE staff (pid INTEGER, visit INTEGER)")
        connection.execute('CREATE SCHEMA "old"')
        connection.execute('CREATE TABLE "old".visits (pid INTEGER, visit INTEGER)')
        connection.execute("CREATE VIEW Recent AS WITH staff AS (SELECT * FROM visits) SELECT * FROM staff")
        connection.execute("CREATE VIEW twice AS SELECT r.* FROM recent r JOIN old.visits o USING (pid)")
        connection.execute("CREATE VIEW numbers AS SELECT range::INTEGER AS pid FROM range(3)")
    return path


def test_a_view_is_what_it_reads(database: Path) -> None:
    assert tables_behind(database, "main.visits") == []
    assert tables_behind(database, "main.recent") == ["main.visits"]
    assert sorted(tables_behind(database, "main.twice")) == ["main.recent", "main.visits", "old.visits"]
    assert tables_behind(database, "main.numbers") == [""]


def test_tables_of_one_duckdb_file(database: Path) -> None:
    os.link(database, database.with_name("hard.db"))
    folder = database.parent
    visits = policy(folder, dataset="clinic.duckdb")
    for same in ("visits", "main.VISITS", "recent", "twice"):
        for file in ("clinic.duckdb", "hard.db"):
            other = policy(folder, dataset=file, name="people").tables["people"]
            assert other.private
            assert shared(visits, policy(folder, same, dataset=file, name="people")), same
    assert not shared(visits, policy(folder, "staff", dataset="clinic.duckdb", name="people"))
    assert not shared(visits, policy(folder, "old.visits", dataset="clinic.duckdb", name="people"))
    assert shared(visits, policy(folder, "numbers", dataset="clinic.duckdb", name="people"))  # of what?


def test_it_is_looked_at_while_it_is_open(database: Path) -> None:
    declared = policy(database.parent, "recent", dataset="clinic.duckdb")
    engine = open_engine(declared)
    try:
        assert {claim.part for claim in claims_of(declared, engine)} == {"main.recent", "main.visits"}
    finally:
        engine.close()


# --- PostgreSQL


def test_tables_and_views_of_postgresql(postgres: Server, tmp_path: Path) -> None:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection:
            for statement in (
                "CREATE TABLE visits (pid int, visit int)",
                "CREATE TABLE staff (pid int, visit int)",
                "CREATE VIEW recent AS SELECT * FROM visits",
                "CREATE VIEW again AS SELECT * FROM recent",
                "CREATE MATERIALIZED VIEW kept AS SELECT * FROM again",
                "CREATE TABLE years (pid int, visit int) PARTITION BY RANGE (visit)",
                "CREATE TABLE year_1 PARTITION OF years FOR VALUES FROM (0) TO (10)",
            ):
                connection.execute(statement.encode())
        url = f"postgresql://postgres@/{name}?host={postgres.folder}"
        alias = f"postgresql://postgres@/{name}?host={postgres.folder}/../{postgres.folder.name}&port=5432"

        def found(table: str, place: str = url) -> tuple[Claim, ...]:
            declared = policy(tmp_path, table, engine="postgres", dataset=place)
            engine = open_engine(declared)
            try:
                return claims_of(declared, engine)
            finally:
                engine.close()

        visits = found("visits")
        assert {claim.part for claim in visits if claim.place.startswith("postgresql://")} == {"public.visits"}
        numbered = [claim for claim in visits if not claim.place.startswith("postgresql://")]
        assert len(numbered) == 1
        assert all(claim.unit == 'column "pid"' for claim in visits)
        for table in ("public.visits", "recent", "again", "kept"):
            for place in (url, alias):
                others = [claim for claim in found(table, place) if not claim.place.startswith("postgresql://")]
                assert any(overlap(numbered[0], other) for other in others), table
        assert not any(overlap(mine, its) for mine in visits for its in found("staff"))
        assert any(overlap(mine, its) for mine in found("years") for its in found("year_1"))
