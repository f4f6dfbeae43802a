"""What a quote tells for free: constants that a column never is, and answers that would be noise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.hospital import hospital
from tacit.base import InputError
from tacit.desk.quote import Hint
from tacit.session import Quote, Session

POPULATION = "least = 0\npopulation = 5000"


@pytest.fixture(params=["rho", "epsilon", "mu_squared"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(hospital(tmp_path, currency=request.param, least=POPULATION), "ana") as opened:
        yield opened


def quote(session: Session, sql: str, amount: float = 1.0) -> Quote:
    offer: dict[str, Any] = {session.policy.privacy.currency.value: amount}
    return session.quote(sql, **offer)


def hints(session: Session, sql: str, amount: float = 1.0) -> list[tuple[str, str]]:
    return [(hint.kind, hint.words) for hint in quote(session, sql, amount).hints]


COUNT = "SELECT COUNT(*) FROM visits"
NOT_A_WARD = "is not among the declared values of ward"
KNOWN = "they are 'a', 'b', 'c', 'd'"


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("ward = 'A'", ("key", "'A' is not among the declared values of ward: did you mean 'a'?")),
        ("'A' = ward", ("key", "'A' is not among the declared values of ward: did you mean 'a'?")),
        ("ward <> 'zzz'", ("key", f"'zzz' {NOT_A_WARD}: {KNOWN}")),
        ("ward IN ('a', 'north')", ("key", f"'north' {NOT_A_WARD}: {KNOWN}")),
        ("UPPER(ward) = 'a'", ("key", "'a' is not among the declared values of upper(ward): did you mean 'A'?")),
        ("CASE ward WHEN 'e' THEN TRUE ELSE FALSE END", ("key", f"'e' {NOT_A_WARD}: {KNOWN}")),
        ("age = 200", ("range", "age lies between 0 and 110, so it is never 200")),
        ("age IN (3, -1)", ("range", "age lies between 0 and 110, so it is never -1")),
        ("day = DATE '2023-01-01'", ("range", "day lies between 2024-01-01 and 2024-03-31, so it is never 2023-01-01")),
    ],
)  # fmt: skip
def test_a_constant_that_a_column_never_is_is_told(session: Session, condition: str, told: tuple[str, str]) -> None:
    assert hints(session, f"{COUNT} WHERE {condition}") == [told]
    assert hints(session, f"{COUNT} WHERE {condition} AND ({condition} OR urgent)") == [told]  # once
    inner = f"(SELECT * FROM visits WHERE {condition}) AS v"
    assert hints(session, f"SELECT COUNT(*) FROM {inner}") == [told]
    assert hints(session, f"SELECT COUNT(*) FILTER (WHERE {condition}) FROM visits") == [told]


@pytest.mark.parametrize(
    "condition",
    ["ward = 'a'", "ward IN ('a', 'd')", "drug = 'zzz'", "age = 50", "urgent = TRUE", "ward IS NULL", "age > 200"],
)
def test_what_may_be_is_not_told(session: Session, condition: str) -> None:
    assert hints(session, f"{COUNT} WHERE {condition}") == []


@pytest.mark.parametrize("aggregate", ["COUNT(*)", "SUM(cost)", "AVG(cost)", "VARIANCE(cost)", "MEDIAN(cost)"])
@pytest.mark.parametrize("clip", ["20", '"private"'])
def test_an_answer_that_would_be_noise_is_told_with_what_it_would_take(
    tmp_path: Path, aggregate: str, clip: str
) -> None:
    sql = f"SELECT {aggregate} AS n FROM visits"
    for currency, little in (("epsilon", 1e-5), ("rho", 1e-9)):
        folder = tmp_path / currency
        folder.mkdir()
        with Session(hospital(folder, currency=currency, clip=clip, least=POPULATION), "ana") as session:
            found = quote(session, sql, little)
            (hint,) = [hint for hint in found.hints if hint.kind == "noise"]
            assert hint.words.startswith("n would be noise: its error is ")
            needed = _number(hint)
            assert hint.words.endswith(f"ask for {currency} ≥ {needed}")
            for enough in (float(needed), 1.0):
                kinds = [hint.kind for hint in quote(session, sql, enough).hints]
                assert kinds == (["profile"] if clip == '"private"' else [])


def _number(hint: Hint) -> str:
    return hint.words.rsplit(" ", 1)[1]


def test_below_one_in_n_nothing_can_be_learned(session: Session) -> None:
    if session.policy.privacy.currency.value == "epsilon":
        assert [
            hint.kind for hint in quote(session, "SELECT COUNT(DISTINCT patient_id) FROM visits", 1 / 5000).hints
        ] == ["noise"]


def test_what_no_budget_buys_is_told_so(tmp_path: Path) -> None:
    with Session(hospital(tmp_path, currency="epsilon", limit=1, least="least = 0\npopulation = 1"), "ana") as session:
        (hint,) = session.quote("SELECT COUNT(DISTINCT patient_id) AS n FROM visits", epsilon=0.0001).hints
        assert not hint.data["enough"]
        assert hint.words.endswith("which is more than the whole budget")


def test_without_a_declared_population_nothing_is_compared(tmp_path: Path) -> None:
    with Session(hospital(tmp_path, currency="epsilon"), "ana") as session:
        assert session.quote(COUNT, epsilon=1e-6).hints == ()


def test_hints_are_data_both_ways(session: Session) -> None:
    found = quote(session, f"{COUNT} WHERE ward = 'A' AND age = 200", 1e-9)
    assert [hint.kind for hint in found.hints] == ["range", "key", "noise"]
    assert [Hint.from_json(hint.json()) for hint in found.hints] == list(found.hints)
    assert [hint["words"] for hint in found.json()["hints"]] == list(found.notes[:3])
    strange = {"kind": "new", "words": "something", "more": 1}
    assert Hint.from_json(strange).words == "something"
    assert Hint.from_json(strange).json() == strange


def test_the_same_question_in_other_words_is_found_again(session: Session) -> None:
    amount: dict[str, Any] = {session.policy.privacy.currency.value: 0.5}
    first = session.ask(f"{COUNT} WHERE age > 77", **amount)
    again = session.ask("SELECT COUNT(*) AS n FROM visits AS v WHERE 77 < v.age", **amount)
    assert not first.cached
    assert again.cached
    assert again.table["n"].to_pylist() == first.table["count(*)"].to_pylist()


@pytest.mark.parametrize("failure", [OverflowError("of a double"), InputError("nothing fits")])
def test_a_price_in_epsilon_that_cannot_be_computed_fails_no_quote(
    session: Session, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """A count of numbers up to 1e300 has noise beyond doubles there, and none in rho."""
    amount: dict[str, Any] = {session.policy.privacy.currency.value: 25.0}
    job = session.job(COUNT, **amount)

    def price(*_: Any, **__: Any) -> None:
        raise failure

    monkeypatch.setattr("tacit.sql.hints.price", price)
    assert not [hint for hint in session.quote(job).hints if hint.kind == "cheaper"]


def test_a_budget_for_few_questions_is_told_of_epsilon(session: Session, tmp_path: Path) -> None:
    """The budget is 50: two of these are fewer than log(1/δ), a hundred are not."""
    currency = session.policy.privacy.currency
    few = [hint for hint in quote(session, COUNT, 25.0).hints if hint.kind == "cheaper"]
    assert not [hint for hint in quote(session, COUNT, 0.5).hints if hint.kind == "cheaper"]
    if currency == "epsilon":
        assert not few
        return
    (hint,) = few
    assert (hint.data["currency"], hint.data["questions"]) == (currency.value, 2)
    ratio = float(hint.data["ratio"])
    promise = session.policy.privacy.promise.epsilon(session.policy.privacy.delta).upper
    (tmp_path / "other").mkdir()
    with Session(hospital(tmp_path / "other", currency="epsilon", limit=400), "ana") as other:
        (there,) = other.quote(COUNT, epsilon=promise / 2).expected
    (here,) = quote(session, COUNT, 25.0).expected
    assert here.error is not None
    assert there.error is not None
    assert there.error / here.error == pytest.approx(ratio, abs=0.02)
    assert ratio < 1
