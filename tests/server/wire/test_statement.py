"""Statements are told apart by their first words, and what is none is refused."""

import pytest

from tacit.server.problem import Fault
from tacit.server.wire.statement import (
    Ask,
    Browse,
    CloseCursor,
    Command,
    Copy,
    Declare,
    Explain,
    Fetch,
    Reset,
    Set,
    Show,
    Statement,
    read_statement,
)
from tacit.server.wire.value import CopyForm


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SET tacit.epsilon = 0.5", Set("tacit.epsilon", "0.5")),
        ("set session TACIT.rho to '0.1'", Set("TACIT.rho", "0.1")),
        ("SET LOCAL statement_timeout = DEFAULT", Set("statement_timeout", None)),
        ("SET datestyle TO ISO, MDY", Set("datestyle", "ISO, MDY")),
        ('SET search_path = "a", public', Set("search_path", "a, public")),
        ("SET TIME ZONE 'UTC'", Set("timezone", "UTC")),
        ("SET NAMES 'UTF8'", Set("client_encoding", "UTF8")),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", Command("SET")),
        ("RESET ALL", Reset(None)),
        ("RESET tacit.epsilon", Reset("tacit.epsilon")),
        ("SHOW tacit.budget", Show("tacit.budget")),
        ("show transaction isolation level", Show("transaction_isolation")),
        ("EXPLAIN SELECT 1", Explain("SELECT 1")),
        ("/* a */ explain (format json, costs off) SELECT 1", Explain("SELECT 1", True)),
        ("/* explain this */ EXPLAIN SELECT 1", Explain("SELECT 1")),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", Command("BEGIN", "begin")),
        ("ROLLBACK TO SAVEPOINT a", Command("ROLLBACK", "back")),
        ("DEALLOCATE ALL", Command("DEALLOCATE ALL", "deallocate")),
        ('DEALLOCATE "a b"', Command("DEALLOCATE", "deallocate", "a b")),
        ("SELECT count(*) FROM visits", Ask("SELECT count(*) FROM visits")),
        ("WITH a AS (SELECT 1 FROM pg_class) SELECT * FROM a, visits", None),
        ("SELECT 1 FROM pg_class c, information_schema.tables t", None),
    ],
)
def test_statements_are_told_apart(sql: str, wanted: Statement | None) -> None:
    found = read_statement(sql)
    if wanted is None:
        assert isinstance(found, Ask if "visits" in sql else Browse)
    else:
        assert found == wanted


@pytest.mark.parametrize(
    "sql", ["SET", "SET x", "SHOW", "EXPLAIN", "DROP TABLE x", "COPY x FROM STDIN", "-", "SET " * 900]
)
def test_what_is_no_statement_is_refused(sql: str) -> None:
    with pytest.raises(Fault):
        read_statement(sql)


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("FETCH c", Fetch("c")),
        ("fetch next from C", Fetch("c")),
        ("FETCH 7 FROM c", Fetch("c", 7)),
        ("FETCH FORWARD 7 IN c", Fetch("c", 7)),
        ("FETCH ALL c", Fetch("c", None)),
        ("MOVE FORWARD ALL IN c", Fetch("c", None, True)),
        ('FETCH FORWARD FROM "A ""b"', Fetch('A "b')),
        ("CLOSE ALL", CloseCursor(None)),
        ("CLOSE c", CloseCursor("c")),
        ("DECLARE c CURSOR FOR SELECT count(*) FROM visits", Declare("c", Ask(" SELECT count(*) FROM visits"))),
        (
            "declare c insensitive no scroll cursor with hold for WITH x AS (SELECT 1 FROM visits) SELECT 1 FROM x",
            Declare("c", Ask(" WITH x AS (SELECT 1 FROM visits) SELECT 1 FROM x"), hold=True),
        ),
    ],
)
def test_cursors_are_told_apart(sql: str, wanted: object) -> None:
    assert read_statement(sql) == wanted


@pytest.mark.parametrize(
    "sql",
    [
        "FETCH",
        "FETCH PRIOR FROM c",
        "FETCH BACKWARD 2 FROM c",
        "FETCH -1 FROM c",
        "FETCH 0 FROM c",
        "FETCH ABSOLUTE 3 FROM c",
        "FETCH 1 2 FROM c",
        "CLOSE",
        "CLOSE a b",
        "DECLARE",
        "DECLARE c",
        "DECLARE c CURSOR",
        "DECLARE 'c' CURSOR FOR SELECT 1",
        "DECLARE c BINARY CURSOR FOR SELECT 1",
        "DECLARE c CURSOR FOR DELETE FROM visits",
        "DECLARE c CURSOR FOR",
        "DECLARE c TABLE FOR SELECT 1",
    ],
)
def test_what_is_no_cursor_is_refused(sql: str) -> None:
    with pytest.raises(Fault):
        read_statement(sql)


@pytest.mark.parametrize(
    ("options", "form"),
    [
        ("", CopyForm()),
        ("WITH CSV HEADER", CopyForm(format="csv", header=True)),
        ("(FORMAT csv, HEADER off, NULL 'x''y')", CopyForm(format="csv", null="x'y")),
        ("(format 'binary')", CopyForm(format="binary")),
        ("(DELIMITER E'\\t', ENCODING 'utf-8')", CopyForm(delimiter="\t")),
        ("WITH DELIMITER AS '|' NULL AS ''", CopyForm(delimiter="|", null="")),
        ("(FORMAT csv, QUOTE '^', ESCAPE '\\')", CopyForm(format="csv", quote="^", escape="\\")),
    ],
)
def test_options_of_copy_in_both_spellings(options: str, form: CopyForm) -> None:
    found = read_statement(f"COPY (SELECT count(*) FROM visits) TO STDOUT {options}")
    assert found == Copy(Ask("SELECT count(*) FROM visits"), form)


@pytest.mark.parametrize(
    "options",
    ["(FORMAT parquet)", "(DELIMITER 'ab')", "(FORCE_QUOTE *)", "(QUOTE '')", "(NULL 5)", "(ENCODING 'latin1')", "(X)"],
)
def test_options_of_copy_that_are_refused(options: str) -> None:
    with pytest.raises(Fault):
        read_statement(f"COPY (SELECT count(*) FROM visits) TO STDOUT {options}")
