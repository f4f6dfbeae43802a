"""Who spent how much when."""

from pathlib import Path

import pytest

from support.service import Running, running
from tacit.ledger import Entry
from tacit.policy import Currency
from tacit.server.http import data as api_history
from tacit.server.http.data import history_json

PLACE = "/v1/datasets/clinic/history"
TOTAL = "SELECT COUNT(*) AS n FROM visits"


def charge(seq: int, analyst: str) -> Entry:
    body = f'{{"analyst":"{analyst}","delta":"0","spend":"{seq}00000000000"}}'
    return Entry(people="p", seq=seq, kind="charge", time=seq, body=body, digest=b"")


def test_a_charge_that_was_given_back_is_not_there() -> None:
    void = Entry(people="p", seq=3, kind="void", time=3, body='{"charge":1,"kind":"void"}', digest=b"")
    limit = Entry(people="p", seq=4, kind="limit", time=4, body="{}", digest=b"")
    entries = [charge(1, "ana"), charge(2, "ben"), void, limit, charge(5, "ana")]
    assert [each["seq"] for each in history_json(entries, Currency("epsilon"), None)] == [2, 5]
    own = history_json(entries, Currency("epsilon"), "ana")
    assert own == [{"seq": 5, "time": 5, "analyst": "ana", "spent": {"epsilon": "0.5", "delta": "0"}}]


def test_analysts_see_their_own_charges_and_who_watches_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as clinic:
        for who, amount in (("ana", 0.5), ("ben", 0.25), ("ana", 0.125)):
            clinic.ask(who, TOTAL, epsilon=amount).raise_for_status()

        def told(who: str) -> list[tuple[str, str]]:
            found = clinic.call(who, "GET", PLACE).json()
            assert found["currency"] == "epsilon"
            return [(each["analyst"], each["spent"]["epsilon"]) for each in found["items"]]

        assert told("ana") == [("ana", "0.5"), ("ana", "0.125")]
        assert told("ben") == [("ben", "0.25")]
        assert told("otto") == told("cora") == [("ana", "0.5"), ("ben", "0.25"), ("ana", "0.125")]
        assert clinic.call("zoe", "GET", PLACE).status_code == 404
        assert clinic.call("ana", "GET", PLACE).json()["whole"] is True
        monkeypatch.setattr(api_history, "MOST", 2)
        assert told("otto") == [("ben", "0.25"), ("ana", "0.125")]
        assert clinic.call("otto", "GET", PLACE).json()["whole"] is False
        _nothing_of_the_questions(clinic)


def _nothing_of_the_questions(clinic: Running) -> None:
    text = clinic.call("otto", "GET", PLACE).text
    assert "visits" not in text
    assert "program" not in text
