"""Cursors of SQL: asked and paid for once, at the first rows; forward only; gone with their transaction."""

from fractions import Fraction

import psycopg
import pytest

from support.wire import Served
from tacit.server.problem import Fault
from tacit.server.wire.door import Cursors
from tacit.server.wire.statement import Ask, Declare
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
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DECLARE c CURSOR FOR SELECT age FROM visits")
        connection.execute("ROLLBACK")


def test_there_is_an_end_to_them() -> None:
    cursors, fields = Cursors(), [WireField("n", KINDS["int8"])]
    for number in range(100):
        cursors.declare(Declare(str(number), Ask("SELECT 1")), fields)
    with pytest.raises(Fault, match="100 cursors"):
        cursors.declare(Declare("more", Ask("SELECT 1")), fields)
    with pytest.raises(Fault, match="already"):
        cursors.declare(Declare("1", Ask("SELECT 1")), fields)
