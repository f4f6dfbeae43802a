"""/healthz says no when nobody could be answered, says why in a word, and costs little to ask."""

import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from support.service import Running, running
from tacit.base import EngineError, LedgerError
from tacit.engine import Watch
from tacit.server.ops import service


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr(service, "FRESH", 0.02)  # with 0 nobody would ever know, and all would wait
    with running(tmp_path) as found:
        yield found


def told(clinic: Running) -> tuple[int, dict[str, Any]]:
    answer = clinic.call(None, "GET", "/healthz")
    return answer.status_code, answer.json()


def wrong(*reasons: str) -> tuple[int, dict[str, Any]]:
    return 503, {"status": "unavailable", "reasons": list(reasons)}


def until(clinic: Running, what: tuple[int, dict[str, Any]]) -> None:
    """A look may have begun before the change."""
    end = monotonic() + 60
    while told(clinic) != what:
        assert monotonic() < end, told(clinic)
        sleep(0.02)


OK = (200, {"status": "ok"})


def test_all_is_well(clinic: Running) -> None:
    assert told(clinic) == OK


def test_data_that_are_gone(clinic: Running, tmp_path: Path) -> None:
    file = tmp_path / "visits.parquet"
    away = file.rename(tmp_path / "away")
    until(clinic, wrong("engine"))
    assert "visits" not in clinic.call(None, "GET", "/healthz").text
    away.rename(file)
    until(clinic, OK)


def test_rules_that_cannot_be_read(clinic: Running, tmp_path: Path) -> None:
    policy = tmp_path / "tacit.toml"
    good = policy.read_text()
    policy.write_text("[dataset")
    until(clinic, wrong("rules"))
    policy.write_text(good)
    until(clinic, OK)


def test_a_ledger_that_cannot_be_written(clinic: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "clinic.ledger"
    away = book.rename(tmp_path / "away")
    until(clinic, wrong("ledger"))
    away.rename(book)
    until(clinic, OK)
    monkeypatch.setattr("tacit.ledger.sqlite.store.ROOM", 1 << 80)
    until(clinic, wrong("ledger"))


def test_an_engine_that_is_stuck_answers_nobody_and_charges_nobody(
    clinic: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every place is held by a question that does not end although it was told to."""
    monkeypatch.setattr("tacit.engine.watch.STUCK", 0.0)
    engine: Any = clinic.service.datasets._opened["clinic"].engine
    held = [Watch() for _ in range(engine.limits.at_once)]
    for watch in held:
        engine._seats._enter(watch)
    assert told(clinic) == OK  # busy is not broken
    for watch in held:
        watch.stop()
    until(clinic, wrong("engine"))
    assert clinic.ask("ana").status_code == 503
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()["left"]["epsilon"] == "2"
    for watch in held:
        engine._seats._free_place(watch)
    until(clinic, OK)
    assert clinic.ask("ana").status_code == 200


def test_a_database_that_is_away(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clinic.service.state, "ready", lambda: False)
    until(clinic, wrong("database"))


def test_many_who_ask_cause_one_look_at_a_time(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FRESH", 60.0)
    looks, most, lock = [0], [0], threading.Lock()
    engine = clinic.service.datasets._opened["clinic"].engine

    def slow() -> None:
        with lock:
            looks[0] += 1
            most[0] = max(most[0], looks[0])
        sleep(0.2)

    monkeypatch.setattr(engine, "ready", slow)
    clinic.service.health._at = float("-inf")
    threads = [threading.Thread(target=told, args=(clinic,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert looks[0] == 1


def test_a_look_that_does_not_end_is_a_finding(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(service, "LATE", 0.2)
    monkeypatch.setattr(service, "PATIENCE", 0.05)
    monkeypatch.setattr(clinic.service.datasets._opened["clinic"].engine, "ready", lambda: over.wait(60))
    until(clinic, wrong("slow"))
    over.set()


def test_every_kind_of_failure_counts(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = clinic.service.datasets._opened["clinic"]
    for error, what, word in (
        (EngineError(), opened.engine, "engine"),
        (RuntimeError("patient 4711"), opened.engine, "engine"),
        (LedgerError("away"), opened.ledger, "ledger"),
    ):

        def fails(error: Exception = error) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(what, "ready", fails)
            until(clinic, wrong(word))
    until(clinic, OK)
