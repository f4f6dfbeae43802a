"""Checks of ledgers in the background: one at a time for a dataset, and none that never ends."""

import threading
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tacit.server.auth.people import Identity
from tacit.server.curate import checks as module
from tacit.server.curate.checks import Checks
from tacit.server.db import State

OTTO = Identity("otto", "auditor")


def ended(checks: Checks, dataset: str = "shop") -> dict[str, Any]:
    for _ in range(600):
        found = checks.last(dataset)
        if found is not None and found["state"] != "running":
            return found
        sleep(0.05)
    raise AssertionError("it did not end")


def test_a_ledger_that_is_not_there(state: State, tmp_path: Path) -> None:
    checks = Checks(state)
    assert checks.last("shop") is None
    checks.start(OTTO, "shop", str(tmp_path / "nowhere.ledger"))
    found = ended(checks)
    assert (found["state"], found["findings"]) == ("failed", [])
    assert checks.last("other") is None
    checks.close()


def test_one_at_a_time_and_stopped_at_the_end(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def endless(where: str, *, begin: Any, tick: Any) -> None:
        begin(100)
        begun.set()
        while True:
            sleep(0.02)
            tick(1)

    monkeypatch.setattr(module, "verify", endless)
    checks = Checks(state)
    first = checks.start(OTTO, "shop", "x")
    assert begun.wait(30)
    assert checks.start(OTTO, "shop", "x")["id"] == first["id"]
    found = checks.last("shop")
    assert found is not None
    assert (found["state"], found["total"]) == ("running", 100)
    checks.close()
    assert ended(checks)["state"] == "failed"


def test_one_without_a_sign_of_life_is_lost(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    monkeypatch.setattr(module, "verify", lambda *_, **__: held.wait(30))
    checks = Checks(state)
    checks.start(OTTO, "shop", "x")
    monkeypatch.setattr(module, "LOST", -1)
    found = checks.last("shop")
    assert found is not None
    assert found["state"] == "lost"
    held.set()
    checks.close()
