"""The short way: the same request again is answered from memory, and nothing it rests on may have changed."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.service import COUNT, Running, running
from tacit.server.ask.datasets import Desk
from tacit.server.ask.opened import Opened
from tacit.server.auth.identify import recognised

ASK, QUOTE = "/v1/datasets/clinic/ask", "/v1/datasets/clinic/quote"
BODY = {"sql": COUNT, "epsilon": 0.1}


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What went the long way."""
    gone: list[str] = []
    for name in ("ask", "quoting"):
        first = getattr(Desk, name)

        def noted(self: Desk, *given: Any, _first: Any = first, _name: str = name, **more: Any) -> Any:
            gone.append(_name)
            return _first(self, *given, **more)

        monkeypatch.setattr(Desk, name, noted)
    return gone


def spent(clinic: Running) -> int:
    opened = clinic.service.desk._opened["clinic"]
    balance = opened.ledger.standing(opened.policy.dataset.identity).balance("dataset")
    assert balance is not None
    return balance.spent.spend


def test_an_answer_again_is_the_same_and_free_and_says_so(clinic: Running, long: list[str]) -> None:
    first = clinic.call("ana", "POST", ASK, json=BODY)
    paid = spent(clinic)
    again = clinic.call("ana", "POST", ASK, json=BODY)
    assert long == ["ask"]
    assert (first.json()["cached"], again.json()["cached"]) == (False, True)
    assert {**first.json(), "cached": True} == again.json()
    assert again.headers["tacit-release"] == first.headers["tacit-release"]
    assert again.headers["tacit-cached"] == "true"
    assert again.headers["content-type"] == "application/json"
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert spent(clinic) == paid


def test_a_quote_again_knows_what_was_spent_since(clinic: Running, long: list[str]) -> None:
    before = clinic.call("ana", "POST", QUOTE, json=BODY).json()
    assert clinic.call("ana", "POST", QUOTE, json=BODY).json() == before
    clinic.call("ana", "POST", ASK, json=BODY)
    after = clinic.call("ana", "POST", QUOTE, json=BODY).json()
    assert long == ["quoting", "ask"]
    assert float(before["left"]["epsilon"]) - float(after["left"]["epsilon"]) == pytest.approx(0.1)
    assert (before["answered"], after["answered"]) == (False, True)
    assert {**after, "left": before["left"], "answered": False} == before


def test_a_quote_again_says_when_it_is_too_much(clinic: Running) -> None:
    large = {"sql": COUNT, "epsilon": 1.9}
    assert clinic.call("ana", "POST", QUOTE, json=large).json()["enough"]
    clinic.call("ana", "POST", ASK, json=BODY)
    clinic.call("ana", "POST", ASK, json={**BODY, "epsilon": 0.05})
    assert not clinic.call("ana", "POST", QUOTE, json=large).json()["enough"]


def test_each_form_and_each_person_has_its_own(clinic: Running) -> None:
    for _ in range(2):
        plain = clinic.call("ana", "POST", ASK, json=BODY)
        table = clinic.call("ana", "POST", ASK, json=BODY, headers={"Accept": "text/csv"})
        other = clinic.call("ben", "POST", ASK, json=BODY)
        assert plain.headers["content-type"] == "application/json"
        assert table.headers["content-type"].startswith("text/csv")
        assert plain.json()["rows"] != other.json()["rows"]
        assert str(plain.json()["rows"][0][1]) in table.text


@pytest.mark.parametrize("path", [ASK, QUOTE])
def test_a_token_that_was_revoked_gets_nothing_more(clinic: Running, path: str) -> None:
    for _ in range(2):
        assert clinic.call("ana", "POST", path, json=BODY).status_code == 200
    clinic.service.people.revoke(clinic.tokens["ana"])
    assert clinic.call("ana", "POST", path, json=BODY).status_code == 401


@pytest.mark.parametrize("path", [ASK, QUOTE])
def test_somebody_who_was_barred_gets_nothing_more(clinic: Running, path: str) -> None:
    for _ in range(2):
        assert clinic.call("ana", "POST", path, json=BODY).status_code == 200
    clinic.service.people.bar("ana")
    assert clinic.call("ana", "POST", path, json=BODY).status_code == 401


@pytest.mark.parametrize("path", [ASK, QUOTE])
def test_a_policy_that_changed_is_asked_again(clinic: Running, path: str, long: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        assert clinic.call("ben", "POST", path, json=BODY).status_code == 200
    policy = tmp_path / "tacit.toml"
    policy.write_text(policy.read_text().replace("[analysts.ben]", "[analysts.bertha]"))
    assert clinic.call("ben", "POST", path, json=BODY).status_code == 404
    assert len(long) == 1


def test_a_limit_that_was_lowered_shows_in_the_next_quote(clinic: Running, tmp_path: Path) -> None:
    for _ in range(2):
        assert clinic.call("ana", "POST", QUOTE, json=BODY).json()["left"]["epsilon"] == "1.9"
    policy = tmp_path / "tacit.toml"
    policy.write_text(policy.read_text().replace("[analysts.ana]\nlimit = 2", "[analysts.ana]\nlimit = 0.5"))
    assert clinic.call("ana", "POST", QUOTE, json=BODY).json()["left"]["epsilon"] == "0.4"


def test_data_that_changed_are_a_new_question(clinic: Running, long: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        clinic.call("ana", "POST", ASK, json=BODY)
    paid = spent(clinic)
    os.utime(tmp_path / "visits.parquet", ns=(1, 1))
    assert clinic.call("ana", "POST", ASK, json=BODY).json()["cached"] is False
    assert spent(clinic) == 2 * paid
    assert long == ["ask", "ask"]


def test_data_that_changed_on_the_way_are_not_remembered(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    first, times = Desk.ask, iter(range(1, 100))

    def moved(self: Desk, *given: Any, **more: Any) -> Any:
        found = first(self, *given, **more)
        os.utime(Path(self._opened["clinic"].path).parent / "visits.parquet", ns=(1, next(times)))
        return found

    monkeypatch.setattr(Desk, "ask", moved)
    for _ in range(2):
        assert clinic.call("ana", "POST", ASK, json=BODY).json()["cached"] is False


def test_requests_are_counted_on_the_short_way(tmp_path: Path, long: list[str]) -> None:
    with running(tmp_path, rate=5) as clinic:
        found = [clinic.call("ana", "POST", ASK, json=BODY).status_code for _ in range(7)]
    assert found == [200] * 5 + [429] * 2
    assert long == ["ask"]


@pytest.mark.parametrize("name", ["Idempotency-Key", "Prefer"])
def test_a_request_of_its_own_goes_the_long_way(clinic: Running, long: list[str], name: str) -> None:
    clinic.call("ana", "POST", ASK, json=BODY)  # known from now on
    for _ in range(2):
        assert clinic.call("ana", "POST", ASK, json=BODY, headers={name: "wait=5"}).status_code == 200
    assert long == ["ask"] * 3


def test_a_question_is_read_anew_if_a_byte_differs(clinic: Running, long: list[str]) -> None:
    clinic.call("ana", "POST", QUOTE, json=BODY)
    clinic.call("ana", "POST", QUOTE, json={**BODY, "epsilon": 0.2})
    clinic.call("ana", "POST", f"{QUOTE}?x=1", json=BODY)
    answer = clinic.call("ana", "POST", QUOTE, json=BODY, headers={"content-type": "text/plain"})
    assert answer.status_code == 422
    assert len(long) == 3


def test_a_role_that_may_not_ask_is_told_so(clinic: Running) -> None:
    assert clinic.call("ana", "POST", ASK, json=BODY).status_code == 200
    assert clinic.call("otto", "POST", ASK, json=BODY).status_code == 403
    assert clinic.call(None, "POST", ASK, json=BODY).status_code == 401


def test_a_forged_request_of_a_browser_is_refused(clinic: Running) -> None:
    link = clinic.service.people.link("ana")
    with clinic.client() as browser:
        browser.post("/signin", data={"link": link})
        guard = browser.get("/v1/me").json()["csrf"]
        for _ in range(2):
            assert browser.post(ASK, json=BODY, headers={"X-CSRF-Token": guard}).status_code == 200
        assert browser.post(ASK, json=BODY).status_code == 403
        evil = {"X-CSRF-Token": guard, "Origin": "https://evil.example"}
        assert browser.post(ASK, json=BODY, headers=evil).status_code == 403


def test_where_looking_takes_long_it_is_done_in_a_thread(clinic: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Opened, "inline", property(lambda _: False))
    threads: set[str] = set()
    first = recognised

    def noted(*given: Any) -> Any:
        threads.add(threading.current_thread().name)
        return first(*given)

    monkeypatch.setattr("tacit.server.lane.recognised", noted)
    for _ in range(2):
        assert clinic.call("ana", "POST", ASK, json=BODY).status_code == 200
    assert clinic.call("ana", "POST", ASK, json=BODY).json()["cached"] is True
    assert all("AnyIO" in name for name in threads)
