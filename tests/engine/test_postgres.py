"""PostgreSQL: read-only, settings fixed, types as they are, and failures that say nothing."""

import threading
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import psycopg
import pytest

from support.postgres import Server, postgres
from tacit.base import EngineError, InputError, TacitError
from tacit.base.exact import opened
from tacit.engine import Limits, Stopped, Watch
from tacit.engine.postgres import PostgresEngine
from tacit.plan.bounded import Bounded, Clip, Key, Measure
from tacit.plan.expression import Column
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan, Source

__all__ = ["postgres"]

KEYS = {
    "text": Facts(type=Type.TEXT),
    "flag": Facts(type=Type.BOOLEAN, domain=(False, True)),
    "day": Facts(type=Type.DATE),
    "at": Facts(type=Type.TIMESTAMP),
    "small": Facts(type=Type.INTEGER),
}
COST = Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(10))


def question(key: str, table: str = "visits", step: Fraction = Fraction(1, 2)) -> Bounded:
    columns = (
        Source(name="who", column="Who Is", facts=Facts(type=Type.TEXT)),
        Source(name=key, column=key, facts=KEYS[key]),
        Source(name="cost", column="cost", facts=COST),
    )
    return Bounded(
        source=Scan(table=table, columns=columns, is_private=True, unit_name="who"),
        keys=(Key(name=key, expression=Column(name=key, facts=KEYS[key])),),
        measures=(Measure(name="cost", value=Column(name="cost", facts=COST), step=step, low=0, high=20),),
        clips=(Clip(names=("cost",), scales=(Fraction(1),), norm="l2", bound=Fraction(12)),),
    )


@pytest.fixture
def dsn(postgres: Server) -> Iterator[str]:
    with postgres.database() as name:
        with psycopg.connect(postgres.dsn(name)) as connection:
            connection.execute("CREATE SCHEMA clinic")
            connection.execute(
                'CREATE TABLE clinic.visits ("Who Is" varchar(10), text text, flag boolean, day date, at timestamp, '
                "small smallint, cost numeric)"
            )
            rows = [
                ("ann", "x", True, "2024-02-29", "2024-02-29 12:00:00.000001", 1, Decimal("1e400")),
                ("ann", "x", False, "infinity", "-infinity", -1, Decimal("2.5")),
                ("ANN", "X", None, "0044-03-15 BC", None, None, Decimal("NaN")),
                ("bob", None, True, None, "294276-01-01", 1, Decimal(99)),
                (None, "x", True, None, None, 1, Decimal(9)),
            ]
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO clinic.visits VALUES (%s, %s, %s, %s, %s, %s, %s)", rows)
        yield postgres.dsn(name)


@pytest.fixture
def engine(dsn: str) -> Iterator[PostgresEngine]:
    opened_engine = PostgresEngine(dsn, {"visits": "clinic.visits", "gone": "clinic.gone"}, limits=Limits(seconds=20))
    yield opened_engine
    opened_engine.close()


@pytest.mark.parametrize("key", KEYS)
def test_every_type_of_key_comes_back(engine: PostgresEngine, key: str) -> None:
    table = opened(engine.run(question(key))).groups
    found = {str(value): int(n) for value, n in zip(table.keys[0], table.columns["cost"], strict=True)}
    assert (
        found
        == {
            "text": {
                "x": 5,
                "X": 0,
                "None": 11,
            },  # 1e400 is no double; bob is over his bound of 12, with the slack of one
            "flag": {"True": 11, "False": 5, "None": 0},
            "day": {"2024-02-29": 0, "None": 16},
            "at": {"2024-02-29 12:00:00.000001": 0, "None": 16},
            "small": {"1": 11, "-1": 5, "None": 0},
        }[key]
    )


def test_it_writes_nothing(engine: PostgresEngine) -> None:
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        engine._within(lambda fetch: fetch("DELETE FROM clinic.visits"))
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        engine._seats._free[0].connection.execute("CREATE TABLE clinic.mine (a int)")


def test_settings_are_fixed_whatever_the_role_says(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ALTER ROLE postgres SET DateStyle = 'German, DMY'")
        connection.execute("ALTER ROLE postgres SET search_path = 'clinic'")
    try:
        engine = PostgresEngine(dsn, {"visits": "clinic.visits"})
        shown = engine._within(
            lambda fetch: [fetch(f"SHOW {name}")[0][0] for name in ("DateStyle", "search_path", "TimeZone")]
        )
        assert shown == ["ISO, YMD", "pg_catalog", "UTC"]
        engine.close()
    finally:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("ALTER ROLE postgres RESET ALL")


def test_failures_say_nothing(engine: PostgresEngine) -> None:
    with pytest.raises(EngineError) as caught:
        engine.run(question("text", table="gone"))
    assert str(caught.value) == "the engine could not answer; the charge stands"
    assert caught.value.__context__ is None
    assert opened(engine.run(question("text"))).groups.keys  # the connection is as good as new


def test_a_statement_that_takes_too_long_ends(dsn: str) -> None:
    engine = PostgresEngine(dsn, {}, limits=Limits(seconds=0.05))
    with pytest.raises(psycopg.errors.QueryCanceled):
        engine._within(lambda fetch: fetch("SELECT pg_sleep(30)"))
    engine.close()


def test_a_running_question_can_be_stopped(engine: PostgresEngine) -> None:
    watch = Watch()
    stop = threading.Timer(0.3, watch.stop)
    stop.start()
    with pytest.raises(Stopped):
        engine._asked(watch, lambda instance: instance.within(lambda fetch: fetch("SELECT pg_sleep(20)")))
    stop.join()


def test_a_lost_connection_is_made_again(engine: PostgresEngine, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (engine._seats._free[0].connection.info.backend_pid,))
    assert opened(engine.run(question("text"))).groups.keys


def test_versions_never_claim_that_nothing_changed(engine: PostgresEngine) -> None:
    assert engine.version(["visits"]) != engine.version(["visits"])


def test_columns_are_named_with_their_types(engine: PostgresEngine) -> None:
    found = engine.columns("visits")
    assert found["Who Is"] == "character varying(10)"
    assert found["cost"] == "numeric"
    with pytest.raises(InputError):
        engine.columns("nothing")


def test_tiny_values_over_wide_steps_do_not_fail(dsn: str) -> None:
    """PostgreSQL alone calls a quotient too small for a double an error."""
    with psycopg.connect(dsn) as connection:
        connection.execute('CREATE TABLE public.tiny ("Who Is" text, text text, cost float8)')
        connection.execute("INSERT INTO public.tiny VALUES ('a', 'x', 5e-324), ('b', 'x', 'Infinity'), ('c', 'x', 7)")
    engine = PostgresEngine(dsn, {"visits": "tiny"})
    table = opened(engine.run(question("text", step=Fraction(7, 3)))).groups
    assert table.columns["cost"].tolist() == [3]
    engine.close()


def test_no_server_is_an_error_without_the_address() -> None:
    with pytest.raises(TacitError, match="cannot be reached") as caught:
        PostgresEngine("host=/nowhere user=secret_name dbname=x", {})
    assert "secret_name" not in str(caught.value)
    assert caught.value.__context__ is None
