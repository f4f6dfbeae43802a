"""Cursors of SQL: asked and paid for once, at the first rows; forward only; gone with their transaction."""

from fractions import Fraction

import psycopg
import pytest

from support.wire import Served
from tacit.server.wire.cursor import CloseCursor, Cursors, Declare, Fetch
from tacit.server.wire.fault import Fault
from tacit.server.wire.statement import Ask, read_statement
from tacit.server.wire.value import KINDS, WireField

WARDS = "SELECT ward, count(*) AS n FROM visits WHERE age >= {} GROUP BY ward"


def spent(served: Served) -> Fraction:
    with served.connect() as connection:
        rows = connection.execute("SHOW tacit.budget").fetchall()
    return next((Fraction(str(row[3])) for row in rows if row[0] == "analyst:ana"), Fraction(0))


def test_psycopgs_own_cursors(served: Served) -> None:
    before = spent(served)
    with served.connect(autocommit=False) as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        with connection.cursor("rows") as cursor:
            cursor.execute("SELECT ward, count(*) AS n FROM visits WHERE age >= %s GROUP BY ward", [2])
            assert [column.name for column in cursor.description or ()] == ["ward", "n"]
            assert spent(served) == before  # described, not asked
            first = cursor.fetchone()
            assert spent(served) == before + Fraction(1, 2)
            rest = cursor.fetchmany(10)
            assert cursor.fetchall() == []
        found = connection.execute(WARDS.format(2)).fetchall()
    assert [first, *rest] == found
    assert len(found) == 3
    assert spent(served) == before + Fraction(1, 2)


@pytest.mark.parametrize("binary", [False, True])
def test_rows_come_in_the_form_that_fetch_asks_for(served: Served, binary: bool) -> None:
    with served.connect(autocommit=False) as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        connection.execute(f"DECLARE c NO SCROLL CURSOR FOR {WARDS.format(3)}")
        found = connection.execute("FETCH ALL FROM c", binary=binary).fetchall()
        assert found == connection.execute(WARDS.format(3), binary=binary).fetchall()


def test_they_end_with_the_transaction_unless_they_are_held(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.5")
        with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
            connection.execute("DECLARE c CURSOR FOR SELECT count(*) FROM visits")
        connection.execute('DECLARE "my cursor" CURSOR WITH HOLD FOR SELECT relname FROM pg_class ORDER BY 1')
        for ending in ("COMMIT", "ROLLBACK"):
            connection.execute("BEGIN")
            connection.execute("DECLARE C CURSOR FOR SELECT 1")
            assert connection.execute("FETCH c").fetchall() == [(1,)]
            connection.execute(ending)
            with pytest.raises(psycopg.errors.InvalidCursorName):
                connection.execute("FETCH c")
        assert connection.execute('FETCH FORWARD 1 IN "my cursor"').fetchall() == [("visits",)]
        assert connection.execute('MOVE 1 FROM "my cursor"').statusmessage == "MOVE 1"
        assert connection.execute('FETCH ALL FROM "my cursor"').fetchall() == []
        assert connection.execute('CLOSE "my cursor"').statusmessage == "CLOSE CURSOR"
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute('CLOSE "my cursor"')


def test_a_question_that_is_refused_is_refused_when_it_is_declared(served: Served) -> None:
    with served.connect() as connection:
        connection.execute("BEGIN")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            connection.execute("DECLARE c CURSOR FOR SELECT age FROM visits")
        connection.execute("ROLLBACK")


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
def test_they_are_told_apart(sql: str, wanted: object) -> None:
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
def test_what_is_none_is_refused(sql: str) -> None:
    with pytest.raises(Fault):
        read_statement(sql)


def test_there_is_an_end_to_them() -> None:
    cursors, fields = Cursors(), [WireField("n", KINDS["int8"])]
    for number in range(100):
        cursors.declare(Declare(str(number), None), fields)
    with pytest.raises(Fault, match="100 cursors"):
        cursors.declare(Declare("more", None), fields)
    with pytest.raises(Fault, match="already"):
        cursors.declare(Declare("1", None), fields)
