"""The catalogue through the clients that look into it: psql, SQLAlchemy, pandas; and that it shows nothing else."""

import re
from typing import Any

import pandas
import psycopg
import pytest
from sqlalchemy import MetaData, create_engine, func, inspect, select, text

from support.wire import Served

LOOKING = r"\d|\dt|\dt+|\d+ wards|\dn|\dn+|\l|\du|\dv|\di|\ds|\dm|\df|\dT|\dx|\z|\dp visits|\d *|\conninfo"


@pytest.mark.parametrize("command", LOOKING.split("|"))
def test_psql_can_look_around(served: Served, command: str) -> None:
    found = served.psql(command)
    assert found.returncode == 0
    assert "ERROR" not in found.stderr


def test_psql_shows_what_is_declared_and_nothing_else(served: Served) -> None:
    tables = served.psql(r"\dt").stdout
    assert "visits" in tables
    assert "wards" in tables
    assert "payroll" not in tables  # which ana may not ask
    columns = served.psql(r"\d+ visits").stdout
    rows = [line.split("|") for line in columns.splitlines() if "|" in line][1:]
    assert [(row[0].strip(), row[1].strip()) for row in rows] == [
        ("patient_id", "bigint"),
        ("cost", "numeric"),
        ("age", "bigint"),
        ("ward", "text"),
        ("day", "date"),
        ("urgent", "boolean"),
    ]  # and not the hidden one
    assert "bounds = [0, 50]" in columns
    assert "not null" in columns
    assert "payroll" in served.psql(r"\dt", name="cleo").stdout


def test_psql_says_when_there_is_no_such_table(served: Served) -> None:
    assert 'Did not find any relation named "payroll"' in served.psql(r"\d payroll").stderr


def test_sqlalchemy_reflects_and_asks(served: Served) -> None:
    token = served.clinic.tokens["ana"].text
    url = f"postgresql+psycopg://ana:{token}@127.0.0.1:{served.port}/clinic"
    engine = create_engine(url, connect_args={"options": "-c tacit.epsilon=0.5"})
    try:
        seen = inspect(engine)
        assert seen.get_table_names() == ["visits", "wards"]
        assert seen.get_view_names() == []
        assert seen.has_table("visits")
        assert not seen.has_table("payroll")
        assert not seen.get_indexes("visits")
        assert not seen.get_foreign_keys("visits")
        assert not seen.get_unique_constraints("visits")
        assert seen.get_pk_constraint("visits")["constrained_columns"] == []
        metadata = MetaData()
        metadata.reflect(engine)
        visits = metadata.tables["visits"]
        assert [(column.name, str(column.type), column.nullable) for column in visits.columns] == [
            ("patient_id", "BIGINT", True),
            ("cost", "NUMERIC", False),
            ("age", "BIGINT", False),
            ("ward", "TEXT", True),
            ("day", "DATE", True),
            ("urgent", "BOOLEAN", False),
        ]
        question = select(visits.c.ward, func.count().label("n")).where(visits.c.age > 30).group_by(visits.c.ward)
        with engine.connect() as connection:
            assert {row.ward for row in connection.execute(question)} == {"east", "west", None}
            frame = pandas.read_sql(text("SELECT ward, sum(age) AS s FROM visits GROUP BY ward"), connection)
        assert list(frame.columns) == ["ward", "s"]
    finally:
        engine.dispose()


def test_the_information_schema(served: Served) -> None:
    with served.connect() as connection:
        found = connection.execute(
            "SELECT table_name, count(*) FROM information_schema.columns WHERE table_schema = %s GROUP BY 1 ORDER BY 1",
            ("public",),
        ).fetchall()
        assert found == [("visits", 6), ("wards", 1)]
        names = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_type LIKE 'BASE%'")
        assert {name for (name,) in names} == {"visits", "wards"}
        sizes = connection.execute("SELECT reltuples FROM pg_class WHERE relname = ANY(%s)", (["visits"],)).fetchall()
        assert sizes == [(-1.0,)]  # how many rows there are is not told


REFUSED = {
    "SELECT load_extension('x')": "42883",
    "SELECT readfile('x')": "42883",
    "SELECT randomblob(1000000000)": "42883",
    "SELECT zeroblob(1000000000)": "42883",
    "SELECT printf('%1000000000d', 1)": "42883",
    "SELECT sqlite_version()": "42883",
    "SELECT pg_sleep(100)": "42883",
    "SELECT pg_read_file('x')": "42883",
    "SELECT nosuch(1)": "42883",
    "SELECT pg_catalog.nosuch(1)": "42883",
    "SELECT lower('a', 'b')": "42601",
    "SELECT substring('a')": "42883",
    "SELECT * FROM read_csv('/etc/passwd')": "42883",
    "SELECT * FROM read_csv_auto('/etc/passwd')": "42883",
    "SELECT * FROM read_parquet('x')": "42883",
    "SELECT * FROM pg_ls_dir('/')": "42883",
    "SELECT * FROM pg_catalog.pg_ls_dir('/')": "42883",
    "SELECT * FROM nosuch()": "42883",
    "SELECT count(*) FROM nosuch(1, 2) AS n(a, b)": "42883",
    "SELECT c.relname FROM pg_class c, nosuch(c.oid) AS n": "42883",
    "SELECT relname FROM pg_class WHERE oid IN (SELECT n FROM nosuch(1) AS n)": "42883",
    "WITH a AS (SELECT * FROM nosuch(1)) SELECT * FROM a": "42883",
    "SELECT * FROM ROWS FROM (nosuch(1))": "0A000",
    "SELECT * FROM json_each('[1]')": "42883",
    "SELECT * FROM dblink('x', 'y') AS t(a int)": "42883",
    "COPY (SELECT * FROM read_csv('/etc/passwd')) TO STDOUT": "42883",
    "DECLARE c CURSOR FOR SELECT * FROM read_csv('/etc/passwd')": "42883",
    "SELECT * FROM unnest(ARRAY['a', 'b'])": "0A000",
    "SELECT unnest(ARRAY['a', 'b'])": "0A000",
    "SELECT generate_series(1, 3)": "0A000",
    "SELECT * FROM generate_series(1, 10, 2)": "0A000",
    "SELECT relname, n FROM pg_class, generate_series(1, relnatts) AS n": "0A000",
    "SELECT oid, unnest(relacl) FROM pg_class": "0A000",
    "SELECT (ROW(1, 2)).f1": "0A000",
    "SELECT (current_schemas(true))[1:2]": "0A000",
    "SELECT name FROM pragma_database_list": None,
    "SELECT * FROM sqlite_master, pg_class": None,
    "SELECT * FROM pg_catalog.sqlite_master": "42P01",
    "SELECT * FROM information_schema.nosuch": "42P01",
    "SELECT * FROM pg_nosuch": "42P01",
    "SELECT * FROM pg_stat_activity": "42P01",
    "SELECT * FROM pg_authid, pg_class": "42P01",
    "SELECT attname FROM pg_attribute WHERE attrelid = 'nosuch'::regclass": "42P01",
    "SELECT attname FROM pg_attribute WHERE attrelid = 'elsewhere.visits'::regclass": "42P01",
    "SELECT 'nosuch'::regtype": "42704",
    "SELECT 'nosuch'::regnamespace": "3F000",
    "SELECT '5'::nosuch": "42704",
    "SELECT nosuch FROM pg_class": "42703",
    'SELECT "nosuch" FROM pg_class': "42703",
    "SELECT oid FROM pg_class a, pg_type b": "42702",
    "SELECT current_setting('nosuch')": "42704",
    "SELECT relname FROM pg_class WHERE relname ~ '('": "2201B",
    "SELECT relname FROM pg_class TABLESAMPLE SYSTEM (1)": "0A000",
    "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a) SELECT max(x) FROM a": "54000",
    "SELECT count(*) FROM generate_series(1, 1000000000)": "54000",
    "SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_type d, pg_type e, pg_type f, pg_type g": "54000",
    "SELECT relname FROM pg_class, LATERAL (SELECT 1) x": "0A000",
    "SELECT pg_size_pretty(5)": "0A000",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_the_catalogues_is_an_error_and_never_an_empty_answer(served: Served, sql: str) -> None:
    with served.connect(autocommit=True) as connection:
        for prepared in (None, ()):  # by both protocols
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(sql.replace("%", "%%").encode() if prepared is not None else sql.encode(), prepared)
            assert REFUSED[sql] in (None, caught.value.diag.sqlstate), caught.value
            told = f"{caught.value.diag.message_primary} {caught.value.diag.message_hint}"
            assert "sqlite" not in told.lower().replace("sqlite_master", "").replace("sqlite_version", "")
            assert not re.search(r"Error|Exception|[a-z][A-Z][a-z]+\(", told.replace("SQLAlchemy", ""))
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_functions_with_rows_give_the_rows_they_mean(served: Served) -> None:
    with served.connect() as connection:

        def rows(sql: str) -> list[tuple[Any, ...]]:
            return connection.execute(sql.encode()).fetchall()

        assert rows("SELECT n FROM generate_series(1, 3) AS s(n)") == [("1",), ("2",), ("3",)]
        assert rows("SELECT count(*) FROM generate_series(3, 1)") == [(0,)]
        assert rows("SELECT (current_schemas(true))[1], array_upper(current_schemas(true), 1)") == [("public", 1)]
        assert rows("SELECT c.relname, o FROM pg_class c, unnest(c.reloptions) AS o") == []
        assert rows("SELECT k FROM pg_index i, unnest(i.indkey) WITH ORDINALITY AS x(k, place)") == []
        assert rows("SELECT to_regclass('nosuch'), current_setting('nosuch', true)") == [(None, None)]


def test_patterns_take_time_in_proportion_to_the_text(served: Served) -> None:
    with served.connect() as connection:
        assert connection.execute("SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' ~ '^(a+)+$'").fetchall() == [
            (False,)
        ]


def test_a_question_that_names_a_catalogue_table_beside_private_ones_goes_to_the_desk(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.1")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"schema|table"):
            connection.execute("SELECT count(*) FROM visits, pg_catalog.pg_class")
