"""What can be set, and what cannot."""

import threading

import psycopg
import pytest

from support.seats import all_taken, endless
from support.service import asked
from support.wire import Clinic, Served
from tacit.engine import Watch
from tacit.server.ask.datasets import Cancelled
from tacit.server.problem import Fault
from tacit.server.wire.setting import Settings, alarm, milliseconds


def test_one_price_at_a_time() -> None:
    settings = Settings("ana")
    assert settings.offer() == {"confidence": "0.95"}
    settings.set("Tacit.Epsilon", "0.5")
    assert settings.offer() == {"epsilon": "0.5", "confidence": "0.95"}
    settings.set("tacit.rho", "0.01")
    assert settings.offer() == {"rho": "0.01", "confidence": "0.95"}
    settings.set("tacit.rho", None)
    settings.set("tacit.mu_squared", "0.02")
    assert settings.offer() == {"mu_squared": "0.02", "confidence": "0.95"}
    settings.set("tacit.mu_squared", None)
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
    ("text", "wanted"),
    [("0", 0), ("250", 250), ("5s", 5000), ("2 min", 120_000), ("1h", 3_600_000), ("10us", 1), ("1.5s", 1500)],
)
def test_durations(text: str, wanted: int) -> None:
    assert milliseconds(text) == wanted


@pytest.mark.parametrize("text", ["", "soon", "-1", "5 years", "25d", "1e3", "nan", "9" * 40])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(Fault, match="is a duration"):
        milliseconds(text)


def test_the_alarm_is_off_when_it_is_over() -> None:
    watch = Watch()
    with alarm(watch, 1):
        for _ in range(1000):
            if watch.stopped:
                break
            threading.Event().wait(0.01)
    assert watch.stopped
    other = Watch()
    with alarm(other, 60_000), alarm(other, 0):
        pass
    assert not other.stopped


def test_a_question_that_takes_longer_is_stopped_and_not_paid_twice(clinic: Clinic, served: Served) -> None:
    engine = clinic.datasets._opened["clinic"].engine
    sql = "SELECT count(*) AS n FROM visits WHERE age < 44"
    with served.connect() as connection:
        connection.execute("SET tacit.epsilon = 0.25")
        connection.execute("SET statement_timeout = '100ms'")
        assert connection.execute("SHOW statement_timeout").fetchall() == [("100",)]
        with endless(engine), pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(sql.encode())
        connection.execute("SET statement_timeout = 0")
        before = connection.execute("SHOW tacit.budget").fetchall()
        assert connection.execute(sql.encode()).fetchall()
        assert connection.execute("SHOW tacit.budget").fetchall() == before
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("SET statement_timeout = 'soon'")


def test_a_stop_while_an_answer_waits_for_the_grid_is_a_stop(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the moment at which stopping comes too late would tell when the engine was done, grid or no grid."""
    who = clinic.people.named("ana")
    assert who is not None
    watch = Watch()
    monkeypatch.setattr(clinic.datasets, "padding", 0.25)
    monkeypatch.setattr("tacit.server.ask.datasets.sleep", lambda _: watch.stop())
    sql = "SELECT count(*) AS n FROM visits WHERE age < 55"
    with pytest.raises(Cancelled):
        asked(clinic.datasets, who, "clinic", sql, epsilon="0.25", watch=watch)
    left = clinic.datasets.left(who, "clinic")
    assert asked(clinic.datasets, who, "clinic", sql, epsilon="0.25").value() is not None
    assert clinic.datasets.left(who, "clinic") == left


def test_who_waits_for_a_turn_can_stop(clinic: Clinic) -> None:
    who = clinic.people.named("ana")
    assert who is not None
    watch = Watch()
    with all_taken(clinic.datasets._opened["clinic"].engine):  # somebody else is being served
        timer = threading.Timer(0.05, watch.stop)
        timer.start()
        with pytest.raises(Cancelled):
            asked(
                clinic.datasets,
                who,
                "clinic",
                "SELECT count(*) AS n FROM visits WHERE age < 56",
                epsilon="0.25",
                watch=watch,
            )
        timer.join()
