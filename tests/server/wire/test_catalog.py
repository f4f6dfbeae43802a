"""The catalogue through the clients that look into it: psql, SQLAlchemy, pandas; and that it shows nothing else."""

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


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT load_extension('x')",
        "SELECT readfile('x')",
        "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
        "SELECT printf('%1000000000d', 1)",
        "SELECT name FROM pragma_database_list",
        "SELECT * FROM sqlite_master, pg_class",
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a) SELECT max(x) FROM a",
        "SELECT count(*) FROM pg_type a, pg_type b, pg_type c, pg_type d, pg_type e, pg_type f, pg_type g, pg_type h",
        "SELECT pg_sleep(100)",
        "SELECT pg_read_file('x')",
        "SELECT relname FROM pg_class, LATERAL (SELECT 1) x",
    ],
)
def test_what_is_not_the_catalogues_is_refused(served: Served, sql: str) -> None:
    with served.connect() as connection:
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(sql)
        assert caught.value.diag.sqlstate in ("0A000", "54000")
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_patterns_take_time_in_proportion_to_the_text(served: Served) -> None:
    with served.connect() as connection:
        assert connection.execute("SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' ~ '^(a+)+$'").fetchall() == [
            (False,)
        ]


def test_a_question_that_names_a_catalogue_table_beside_private_ones_goes_to_the_desk(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.1")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"schema|table"):
            connection.execute("SELECT count(*) FROM visits, pg_catalog.pg_class")
