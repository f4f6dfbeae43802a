"""What can be set, and what cannot."""

import pytest

from tacit.server.wire.fault import Fault
from tacit.server.wire.setting import Settings
from tacit.server.wire.statement import (
    Catalogued,
    Command,
    Explain,
    Question,
    Reset,
    Set,
    Show,
    Statement,
    read_statement,
)


def test_one_price_at_a_time() -> None:
    settings = Settings("ana")
    assert settings.offer() == {"confidence": "0.95"}
    settings.set("Tacit.Epsilon", "0.5")
    assert settings.offer() == {"epsilon": "0.5", "confidence": "0.95"}
    settings.set("tacit.rho", "0.01")
    assert settings.offer() == {"rho": "0.01", "confidence": "0.95"}
    settings.set("tacit.rho", None)
    assert settings.offer() == {"confidence": "0.95"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("tacit.epsilon", value) for value in ("0", "-1", "nan", "inf", "1e99", "1e-9999999", "x", "")]
    + [("tacit.confidence", "1"), ("tacit.intervals", "maybe"), ("tacit.other", "1"), ("nothing", "1")]
    + [("server_version", "9"), ("client_encoding", "latin1"), ("standard_conforming_strings", "off")],
)
def test_what_cannot_be_set(name: str, value: str) -> None:
    settings = Settings("ana")
    before = settings.all()
    with pytest.raises(Fault):
        settings.set(name, value)
    assert settings.all() == before


def test_there_is_an_end_to_settings_of_ones_own() -> None:
    settings = Settings("ana")
    for number in range(50):
        settings.set(f"my.setting{number}", "1")
    with pytest.raises(Fault):
        [settings.set(f"my.other{number}", "1") for number in range(1000)]


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
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", Command("BEGIN", "begin")),
        ("ROLLBACK TO SAVEPOINT a", Command("ROLLBACK", "back")),
        ("DEALLOCATE ALL", Command("DEALLOCATE ALL", "deallocate")),
        ('DEALLOCATE "a b"', Command("DEALLOCATE", "deallocate", "a b")),
        ("SELECT count(*) FROM visits", Question("SELECT count(*) FROM visits")),
        ("WITH a AS (SELECT 1 FROM pg_class) SELECT * FROM a, visits", None),
        ("SELECT 1 FROM pg_class c, information_schema.tables t", None),
    ],
)
def test_statements_are_told_apart(sql: str, wanted: Statement | None) -> None:
    found = read_statement(sql)
    if wanted is None:
        assert isinstance(found, Question if "visits" in sql else Catalogued)
    else:
        assert found == wanted


@pytest.mark.parametrize(
    "sql", ["SET", "SET x", "SHOW", "EXPLAIN", "DROP TABLE x", "COPY x FROM STDIN", "-", "SET " * 900]
)
def test_what_is_no_statement_is_refused(sql: str) -> None:
    with pytest.raises(Fault):
        read_statement(sql)
