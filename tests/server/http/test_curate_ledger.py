"""Verification over HTTP: a whole ledger, a damaged one, and who may see."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from support.service import Running, running


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def verified(clinic: Running, who: str = "otto") -> Any:
    """The result, once it is there."""
    assert clinic.call(who, "POST", "/v1/datasets/clinic/verification").status_code == 202
    for _ in range(600):
        found = clinic.call(who, "GET", "/v1/datasets/clinic/verification").json()["last"]
        if found["state"] != "running":
            return found
        sleep(0.1)
    raise AssertionError("the verification did not end")


def test_a_whole_ledger(clinic: Running) -> None:
    assert clinic.call("otto", "GET", "/v1/datasets/clinic/verification").json() == {"last": None}
    clinic.ask("ana")
    found = verified(clinic)
    assert (found["state"], found["who"], found["findings"]) == ("whole", "otto", [])
    assert found["charges"] == 1
    assert found["entries"] >= 5
    assert found["ended"] >= found["started"]


def test_a_damaged_ledger(clinic: Running, tmp_path: Path) -> None:
    clinic.ask("ana")
    with closing(sqlite3.connect(tmp_path / "clinic.ledger")) as book:
        book.execute("UPDATE tacit_balances SET spent_spend = 0 WHERE holder = 'analyst:ana'")
        book.commit()
    found = verified(clinic, "cora")
    assert found["state"] == "damaged"
    assert any("analyst:ana" in each["what"] for each in found["findings"])


def test_who_may_verify(clinic: Running) -> None:
    for method in ("GET", "POST"):
        assert clinic.call("ana", method, "/v1/datasets/clinic/verification").status_code == 403
        assert clinic.call("otto", method, "/v1/datasets/nowhere/verification").status_code == 404
    assert clinic.call("ana", "GET", "/v1/datasets/clinic/changes").status_code == 403
    assert clinic.call("otto", "GET", "/v1/datasets/nowhere/changes").status_code == 404
    assert clinic.call("cora", "GET", "/v1/datasets/clinic/changes").json() == {"items": [], "next": None}
