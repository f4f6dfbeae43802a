"""COPY (question) TO STDOUT, as psycopg, psql and PostgreSQL itself read it; and nothing but questions is copied."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.postgres import Server, postgres
from support.wire import Served
from tacit.server.wire.value import KINDS, CopyForm, WireField, copy_lines

__all__ = ["postgres"]

WARDS = "SELECT ward, count(*) AS n FROM visits WHERE age >= 4 GROUP BY ward"


def copy(connection: "psycopg.Connection[Any]", options: str, sql: str = WARDS) -> bytes:
    with connection.cursor().copy(f"COPY ({sql}) TO STDOUT {options}".encode()) as found:
        return b"".join(bytes(part) for part in found)


def test_the_same_rows_as_asked(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        rows = connection.execute(WARDS).fetchall()
        texts = [["" if value is None else str(value) for value in row] for row in rows]
        found = list(csv.reader(io.StringIO(copy(connection, "WITH (FORMAT csv, HEADER true)").decode())))
        assert found == [["ward", "n"], *texts]
        assert list(csv.reader(io.StringIO(copy(connection, "CSV DELIMITER ';'").decode()), delimiter=";")) == texts
        plain = copy(connection, "").decode()
        assert plain == "".join("{}\t{}\n".format(row[0] or "\\N", row[1]) for row in rows)
        with connection.cursor().copy(f"COPY ({WARDS}) TO STDOUT (FORMAT binary)".encode()) as binary:
            binary.set_types(["text", "int8"])
            assert list(binary.rows()) == rows
        assert connection.execute("SELECT 1").fetchall() == [(1,)]  # the connection goes on


def test_psql_writes_a_file(served: Served, tmp_path: Path) -> None:
    out = tmp_path / "answer.csv"
    done = served.psql("SET tacit.epsilon = 0.5", f"\\copy ({WARDS}) to '{out}' with (format csv, header)")
    assert done.returncode == 0, done.stderr
    assert "COPY 3" in done.stdout
    assert out.read_text().startswith("ward,n\n")


def test_a_fault_is_told_before_anything_comes(served: Served) -> None:
    with served.connect() as connection:
        for sql, kind in (
            ("COPY visits TO STDOUT", psycopg.errors.InsufficientPrivilege),
            ("COPY visits FROM STDIN", psycopg.errors.InsufficientPrivilege),
            ("COPY (SELECT age FROM visits) TO STDOUT", psycopg.errors.InsufficientPrivilege),
            ("COPY (SELECT count(*) FROM visits) TO '/etc/passwd'", psycopg.errors.SyntaxError),
            ("COPY (SELECT count(*) FROM visits) TO PROGRAM 'sh'", psycopg.errors.SyntaxError),
        ):
            with pytest.raises(kind):
                connection.execute(sql.encode())
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            copy(connection, "", "SELECT count(*) AS n FROM visits WHERE age > 98")  # no price is set
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


FIELDS = [WireField("a, b", KINDS["text"]), WireField("n", KINDS["float8"]), WireField("l", KINDS["text[]"])]
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["", "\\N", "\\.", '"', "a,b", "\r\n", "NULL", "\\", "\t|"]
)
ROWS = st.lists(st.tuples(st.none() | TEXTS, st.none() | st.floats(allow_nan=False), st.lists(TEXTS, max_size=3)))
FORMS = st.sampled_from(
    [
        CopyForm(),
        CopyForm(format="csv"),
        CopyForm(format="binary"),
        CopyForm(delimiter="|", null="<none>"),
        CopyForm(format="csv", escape="\\"),
    ]
)
OPTIONS = {"format": "FORMAT {}", "delimiter": "DELIMITER '{}'", "null": "NULL '{}'", "escape": "ESCAPE '{}'"}


@pytest.fixture(scope="module")
def reader(postgres: Server) -> "Iterator[psycopg.Connection[Any]]":
    with psycopg.connect(postgres.dsn()) as connection:
        connection.execute("CREATE TEMPORARY TABLE got (a text, n float8, l text[])")
        yield connection


@given(rows=ROWS, form=FORMS)
def test_postgresql_reads_it_back(
    reader: "psycopg.Connection[Any]", rows: list[tuple[Any, ...]], form: CopyForm
) -> None:
    given = {name: getattr(form, name) for name in OPTIONS if getattr(form, name)}
    spelled = ", ".join(OPTIONS[name].format(value) for name, value in given.items())
    reader.execute("TRUNCATE got")
    with reader.cursor().copy(f"COPY got (a, n, l) FROM STDIN ({spelled})".encode()) as into:
        into.write(b"".join(copy_lines(form, FIELDS, rows)))
    assert reader.execute("SELECT a, n, l FROM got ORDER BY ctid").fetchall() == rows
