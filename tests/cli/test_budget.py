"""`tacit budget`: gauges that say what was spent, what is left, and what that means."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.books import account, amount, cost, limit, opened, program, terms
from support.policies import CLINIC
from tacit.base import TacitError
from tacit.cli import app
from tacit.ledger import Ledger
from tacit.loss import ZCDP, Cost, Odometer
from tacit.policy import load
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, analyst_holder

DAY = 86_400_000_000
RHO = 10**18


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["budget", *words])
    if result.exception:
        raise result.exception
    return result.output


def answer(*words: str) -> Any:
    (found,) = json.loads(run(*words, "--json"))["accounts"]
    return found


def test_spent_and_left_are_exact_and_the_room_is_bound_by_everything() -> None:
    both = (limit(analyst_holder("alice"), 8), limit(analyst_holder("bob"), 7))
    with opened("a.ledger", terms(total=10, limits=both)) as ledger:
        for n in range(3):
            ledger.charge(account(total=10), cost("1/3"), program(), f"{n}")
        ledger.charge(account("bob", total=10), cost(6), program(), "b")
    found = answer("--ledger", "a.ledger")
    holders = {one["holder"]: one for one in found["holders"]}
    assert list(holders) == ["dataset", "analyst:bob", "analyst:alice"]  # the fullest first
    alice = holders["analyst:alice"]
    assert alice["spent"] == {"epsilon": "1.000000000002", "delta": "0"}  # each third was rounded up
    assert alice["left"] == {"epsilon": "6.999999999998", "delta": "0"}
    assert alice["more_like_the_last"] == 8  # the dataset has 3 − 2e-12 left, of 1/3 each
    assert holders["analyst:bob"]["more_like_the_last"] == 0
    assert holders["dataset"]["spent_ever_epsilon"] == {"epsilon": pytest.approx(7.000000000002), "delta": 0.0}
    assert any("add up to 15, more than the dataset's 10" in note for note in found["notes"])
    text = run("--ledger", "a.ledger", "--analyst", "alice")
    assert "about 8 more queries like your last one" in text
    assert "bob" not in text
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines())


def test_rho_is_read_uniformly_in_time_and_the_limit_as_it_stands() -> None:
    limits = (Limit(holder=DATASET, total=Amount(RHO // 2)), Limit(holder=analyst_holder("ana"), total=Amount(RHO)))
    declared = replace(terms(currency=Currency.RHO, delta=Fraction(1, 10**5)), limits=limits)
    with opened("a.ledger", declared) as ledger:
        whose = Account(people="patients", analyst="ana", limits=limits)
        ledger.charge(whose, Cost(rho=Fraction(1, 10)), program(), "one")
    (whole, _) = answer("--ledger", "a.ledger")["holders"]
    meter = Odometer(delta=Fraction(1, 10**5))
    meter.spend(ZCDP(Fraction(1, 10)))
    assert whole["spent_ever_epsilon"] == {"epsilon": meter.reading.epsilon, "delta": 1e-5}
    assert meter.reading.epsilon > ZCDP(Fraction(1, 10)).epsilon(Fraction(1, 10**5)).upper  # the naive reading
    limit_ = Fraction(whole["recorded_limit"]["rho"])
    assert whole["limit_epsilon"] == ZCDP(limit_).epsilon(Fraction(1, 10**5)).upper
    assert "valid at whatever moment it is read" in " ".join(run("--ledger", "a.ledger").split())


def test_windows_show_the_lifetime_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10**15
    monkeypatch.setattr("tacit.ledger.sqlite.store.time_ns", lambda: now * 1000)
    with opened("a.ledger", terms(total=10, period=DAY, lifetime=amount(16))) as ledger:
        ledger.charge(account(total=10), cost(9), program(), "1")
        now += DAY
        ledger.charge(account(total=10), cost(3), program(), "2")
    found = answer("--ledger", "a.ledger")
    whole = found["holders"][0]
    assert (whole["spent"]["epsilon"], whole["spent_ever"]["epsilon"], whole["left"]["epsilon"]) == ("3", "12", "7")
    assert whole["more_like_the_last"] == 1  # two would fit the window, but not the lifetime
    assert found["window"] == 2
    assert found["window_end"] == "2001-09-11 01:46:40 UTC"
    assert "the same people are in every window" in found["notes"][0]
    text = " ".join(run("--ledger", "a.ledger").split())
    assert "number 2, ends 2001-09-11 01:46:40 UTC" in text
    assert "lifetime limit 16, which no reset refills" in text


def test_the_policy_lowers_what_the_ledger_records(here: Path) -> None:
    (here / "tacit.toml").write_text(CLINIC)
    policy = load("tacit.toml")
    with Ledger.open(policy.ledger()) as ledger:
        ledger.apply(policy.terms())
    assert answer()["notes"] == [note for note in answer()["notes"] if "the policy says" not in note]
    (here / "tacit.toml").write_text(CLINIC.replace("budget = 2.0", "budget = 1.2"))
    found = answer("--policy", "tacit.toml", "--analyst", "ana")
    assert [one["holder"] for one in found["holders"]] == ["dataset", "group:research", "analyst:ana"]
    assert found["holders"][0]["limit"]["rho"] == "1.2"
    assert found["holders"][0]["recorded_limit"]["rho"] == "2"
    assert any("the policy says something else" in note for note in found["notes"])


def test_a_policy_with_an_unset_variable_still_shows_its_budget(here: Path) -> None:
    (here / "tacit.toml").write_text(CLINIC)
    policy = load("tacit.toml")
    with Ledger.open(policy.ledger()) as ledger:
        ledger.apply(policy.terms())
    (here / "tacit.toml").write_text(CLINIC.replace('"clinic.duckdb"', '"${NOT_SET_ANYWHERE}"'))
    assert answer()["people"] == "patients of the clinic"


def test_mistakes_are_named() -> None:
    with opened("a.ledger", terms(), terms("visitors")):
        pass
    cases: dict[tuple[str, ...], str] = {
        (): "There is no tacit.toml here",
        ("--policy", "nope.toml"): "there is no such file",
        ("--ledger", "nope"): "there is no ledger at nope",
        ("--ledger", "a.ledger", "--people", "zed"): 'no account for "zed": it has "patients", "visitors"',
        ("--ledger", "a.ledger", "--analyst", "alice"): "whose account",
        ("--ledger", "a.ledger", "--people", "visitors", "--analyst", "zed"): '"zed" has no line',
    }
    for words, expected in cases.items():
        with pytest.raises(TacitError, match=expected):
            run(*words)
    assert len(json.loads(run("--ledger", "a.ledger", "--json"))["accounts"]) == 2
    assert not Path("nope").exists()


def test_a_sealed_account_and_an_empty_ledger() -> None:
    with opened("a.ledger", terms()) as ledger:
        ledger.charge(account(), cost(1), program(), "one")
        ledger.seal("patients", "done")
    found = answer("--ledger", "a.ledger")
    assert found["sealed"] is True
    assert found["holders"][0]["more_like_the_last"] == 0
    assert "sealed" in run("--ledger", "a.ledger")
    with opened("b.ledger"):
        pass
    assert "no accounts yet" in run("--ledger", "b.ledger")
