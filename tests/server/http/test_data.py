"""What is declared, what was spent and when, and what a price means, as data."""

from collections.abc import Iterator
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest

from support.service import Running, running
from tacit.ledger import Entry, Ledger
from tacit.loss import ZCDP, Approx, Pure
from tacit.policy import Currency, load
from tacit.server.http import data
from tacit.server.http.data import history_json


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as found:
        yield found


def test_a_budget_says_what_it_is_stated_at_and_where_its_chain_is(clinic: Running) -> None:
    before = clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()
    name = clinic.ask("ana").json()["id"]
    found = clinic.call("ana", "GET", "/v1/datasets/clinic/budget").json()
    assert (found["currency"], found["delta"], found["period"]) == ("epsilon", "1/1000000", None)
    assert (found["window"], found["window_end"], found["sealed"]) == (1, None, False)
    assert found["seq"] > before["seq"]
    assert found["head"] != before["head"]
    proof = clinic.call("ana", "GET", f"/v1/releases/{name}/proof").json()
    assert (found["seq"], found["head"]) == (proof["seq"], proof["digest"])


def test_whoever_watches_sees_the_smaller_of_the_declared_and_the_recorded_limit(clinic: Running) -> None:
    policy = clinic.service.config.datasets[0]
    policy.write_text(policy.read_text().replace("[analysts.ben]\nlimit = 2", "[analysts.ben]\nlimit = 1"))
    for who in ("ben", "otto", "cora"):
        holders = clinic.call(who, "GET", "/v1/datasets/clinic/budget").json()["holders"]
        assert {each["holder"]: each["limit"]["epsilon"] for each in holders}["analyst:ben"] == "1"


def test_a_window_is_told_in_microseconds(clinic: Running) -> None:
    policy = clinic.service.config.datasets[0]
    policy.write_text(policy.read_text().replace("delta = 1e-6", 'delta = 1e-6\nreset = "90 days"'))
    declared = load(policy)
    with Ledger.open(declared.ledger()) as ledger:
        ledger.apply(declared.terms())
    found = clinic.call("otto", "GET", "/v1/datasets/clinic/budget").json()
    assert found["period"] == 90 * 86_400 * 10**6
    assert found["window_end"] is not None


HISTORY = "/v1/datasets/clinic/history"
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
            found = clinic.call(who, "GET", HISTORY).json()
            assert found["currency"] == "epsilon"
            return [(each["analyst"], each["spent"]["epsilon"]) for each in found["items"]]

        assert told("ana") == [("ana", "0.5"), ("ana", "0.125")]
        assert told("ben") == [("ben", "0.25")]
        assert told("otto") == told("cora") == [("ana", "0.5"), ("ben", "0.25"), ("ana", "0.125")]
        assert clinic.call("zoe", "GET", HISTORY).status_code == 404
        assert clinic.call("ana", "GET", HISTORY).json()["whole"] is True
        monkeypatch.setattr(data, "MOST", 2)
        assert told("otto") == [("ben", "0.25"), ("ana", "0.125")]
        assert clinic.call("otto", "GET", HISTORY).json()["whole"] is False
        _nothing_of_the_questions(clinic)


def _nothing_of_the_questions(clinic: Running) -> None:
    text = clinic.call("otto", "GET", HISTORY).text
    assert "visits" not in text
    assert "program" not in text


MEANING = "/v1/datasets/clinic/meaning"


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


def test_odds_and_beliefs_of_an_epsilon(lasting: Running) -> None:
    found = lasting.call("ana", "GET", MEANING, params={"epsilon": "0.5"}).json()
    assert found["odds_factor"] == pytest.approx(exp(0.5))
    assert found["odds_factor"] >= exp(0.5)
    assert (found["unit"], found["delta"]) == ("patient", 0)
    assert "one particular patient was in the data" in found["sentence"]
    assert "Odds move by a factor of at most 1.65." in found["words"][0]
    assert found["sentence"] == Pure(Fraction(1, 2), unit="patient").meaning().sentence


def test_the_delta_of_a_quote_is_the_exception_that_is_stated(lasting: Running) -> None:
    given = {"epsilon": "0.3", "delta": "0.0000001", "prior": "0.01"}
    found = lasting.call("ana", "GET", MEANING, params=given).json()
    assert found["delta"] == 1e-7
    assert "one in 10,000,000" in found["sentence"]
    loss = Approx(Fraction(3, 10), Fraction(1, 10**7), unit="patient")
    assert found["sentence"] == loss.meaning(Fraction(1, 100), delta=Fraction(1, 10**7)).sentence


@pytest.mark.parametrize("slack", ["0", "0.0000001", "0.01"])
def test_a_rho_is_stated_at_the_delta_of_the_policy_or_above_its_own(lasting: Running, slack: str) -> None:
    found = lasting.call("ana", "GET", MEANING, params={"rho": "0.01", "delta": slack}).json()
    assert found["delta"] == max(1e-6, 2 * float(slack))
    assert found["odds_factor"] is not None
    assert found["epsilon"] >= ZCDP(Fraction(1, 100), delta=Fraction(slack)).epsilon(found["delta"]).lower


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"epsilon": "1", "rho": "1"},
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": "inf"},
        {"epsilon": "1e400"},
        {"epsilon": "1", "delta": "1"},
        {"epsilon": "1", "delta": "-1"},
        {"epsilon": "1", "prior": "1"},
    ],
    ids=str,
)
def test_what_is_no_price_is_refused(lasting: Running, given: dict[str, str]) -> None:
    assert lasting.call("ana", "GET", MEANING, params=given).status_code == 422


def test_a_huge_price_promises_nothing_and_is_no_error(lasting: Running) -> None:
    found = lasting.call("ana", "GET", MEANING, params={"epsilon": "1000000"}).json()
    assert found["odds_factor"] is None
    assert found["posterior"] == {"lower": 0, "upper": 1}


def test_a_dataset_that_is_not_theirs_is_not_there(lasting: Running) -> None:
    hidden = lasting.call("zoe", "GET", MEANING, params={"epsilon": "1"})
    missing = lasting.call("zoe", "GET", "/v1/datasets/nothing/meaning", params={"epsilon": "1"})
    assert (hidden.status_code, missing.status_code) == (404, 404)
    assert hidden.json()["detail"].replace("clinic", "nothing") == missing.json()["detail"]
    assert lasting.call("otto", "GET", MEANING, params={"epsilon": "1"}).status_code == 200
    assert lasting.call(None, "GET", MEANING, params={"epsilon": "1"}).status_code == 401
