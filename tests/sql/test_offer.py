"""What is offered: amounts, errors to reach, and quotes that say what comes of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.accepted import FOLDER

from support.fixed_rng import FixedRng, drawing_from
from support.hospital import hospital
from tacit.base import InputError, OverBudget, Refused, Unpriced
from tacit.policy import Currency, load
from tacit.policy.decide import least_price
from tacit.policy.read import PolicyFile
from tacit.session import Session
from tacit.sql import Catalog, lower, parse
from tacit.sql.offer import contribution_of

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(params=["rho", "epsilon", "mu_squared"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(hospital(tmp_path, currency=request.param), "ana") as opened:
        yield opened


def of(session: Session, amount: float) -> dict[str, Any]:
    """So much, in what the dataset is paid for in."""
    return {session.policy.privacy.currency.value: amount}


def spend(quote: Any) -> float:
    (amount,) = [known for name in Currency if (known := getattr(quote.cost, name)) is not None]
    return float(amount)


@pytest.mark.parametrize("sql", [COUNT, "SELECT ward, SUM(cost) AS s, COUNT(*) AS n FROM visits GROUP BY ward"])
@pytest.mark.parametrize("error", [30, 500, 20_000])
def test_an_error_is_reached_and_not_overpaid(session: Session, sql: str, error: float) -> None:
    try:
        quote = session.quote(sql, error=error)
    except OverBudget:
        with pytest.raises(OverBudget):
            session.ask(sql, error=error)
        full = session.quote(sql, **of(session, 39.99))
        assert max(line.error or 0 for line in full.expected) > error
        return
    assert max(line.error or 0 for line in quote.expected) <= error
    less = session.quote(sql, **of(session, spend(quote) * 0.997))
    assert max(line.error or 0 for line in less.expected) > error
    assert session.quote(sql, error=error).cost == quote.cost  # the same each time, so that it is found again


def test_what_was_expected_is_what_comes(session: Session) -> None:
    with drawing_from(FixedRng(1)):
        answer = session.ask(COUNT, error=60)
    low, high = answer.interval("n")
    assert low is not None
    assert high is not None
    assert high - low == pytest.approx(120, abs=3)
    wide = session.quote(COUNT, error=60, confidence=0.5)
    assert spend(wide) < spend(session.quote(COUNT, error=60))


def test_errors_that_nobody_knows_in_advance_are_not_promised(session: Session) -> None:
    for sql in ("SELECT AVG(cost) AS a FROM visits", "SELECT MEDIAN(cost) AS a FROM visits"):
        with pytest.raises(Refused, match="error of a is not known in advance"):
            session.quote(sql, error=5)


def test_one_offer_at_a_time(session: Session) -> None:
    with pytest.raises(InputError, match="not rho and error"):
        session.quote(COUNT, rho=1, error=5)
    with pytest.raises(Unpriced, match="say how much to spend"):
        session.quote(COUNT)
    if session.policy.privacy.currency == "epsilon":
        with pytest.raises(Refused, match="paid for in epsilon"):
            session.quote(COUNT, rho=1)
    else:
        assert spend(session.quote(COUNT, epsilon=1)) < 0.1
        wrong: dict[str, Any] = {"mu_squared" if session.policy.privacy.currency == "rho" else "rho": 1}
        with pytest.raises(Refused, match=f"paid for in {session.policy.privacy.currency}: offer a .* or an epsilon"):
            session.quote(COUNT, **wrong)


def test_an_epsilon_buys_less_noise_in_mu_squared_than_in_rho(tmp_path: Path) -> None:
    """σ is 0.93 of what it is in ρ, and what is charged is all that was offered."""
    errors = {}
    for currency in ("rho", "mu_squared"):
        (tmp_path / currency).mkdir()
        with Session(hospital(tmp_path / currency, currency=currency), "ana") as session:
            quote = session.quote(COUNT, epsilon=1)
            (line,) = quote.expected
            assert line.error is not None
            errors[currency] = line.error
            full = session.quote(COUNT, **of(session, 2))
            assert spend(full) == pytest.approx(2, rel=2e-6)
            assert spend(full) <= 2
    assert errors["mu_squared"] / errors["rho"] == pytest.approx(0.932, abs=0.01)


def test_intervals_of_quantiles_are_for_95_percent(session: Session) -> None:
    with pytest.raises(Refused, match=r"MEDIAN\(cost\).*confidence=0.95 or less"):
        session.ask("SELECT MEDIAN(cost) FROM visits", confidence=0.99, **of(session, 1))
    assert session.ask("SELECT MEDIAN(cost) FROM visits", confidence=0.9, **of(session, 1)).confidence == 0.9


def test_a_quote_can_be_read(session: Session) -> None:
    currency = session.policy.privacy.currency.value
    quote = session.quote("SELECT ward, COUNT(*) AS n, MIN(age) AS m FROM visits GROUP BY ward", **of(session, 1))
    text = repr(quote)
    assert f"costs {currency} 1; {currency} 39" in text
    assert "would be left" in text
    assert "± " in text
    assert "MIN(age)" in text
    assert "<td>n</td>" in quote._repr_html_()
    data = quote.json()
    assert data["enough"] is True
    assert data["expected"][0]["column"] == "n"
    session.ask(COUNT, **of(session, 39.5))
    assert "does not allow it" in repr(session.quote(COUNT, **of(session, 1)))


# --- the least price


@pytest.fixture(params=["rho", "epsilon", "mu_squared"])
def frugal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """The hospital with the usual least price: a thousandth of ana's limit of 40."""
    with Session(hospital(tmp_path, currency=request.param, least=""), "ana") as opened:
        yield opened


@pytest.mark.parametrize("offered", [1e-9, 0.001, 0.0399])
def test_a_cheaper_question_is_raised_to_the_least_price(frugal: Session, offered: float) -> None:
    quote, least = frugal.quote(COUNT, **of(frugal, offered)), frugal.quote(COUNT, **of(frugal, 0.04))
    assert spend(quote) == pytest.approx(0.04)
    assert (quote.cost, quote.expected) == (least.cost, least.expected)
    (hint,) = quote.hints
    assert (hint.kind, hint.data["least"]) == ("raised", "1/25")
    assert quote.notes[0] == hint.words
    assert "is less than the least price of a question" in hint.words
    assert not least.hints
    assert not frugal.quote(COUNT, **of(frugal, 0.05)).hints


def test_what_is_charged_is_what_the_quote_says(frugal: Session) -> None:
    before = float(getattr(frugal.left(), frugal.policy.privacy.currency.value))
    answer = frugal.ask(COUNT, **of(frugal, 0.0001))
    after = float(getattr(frugal.left(), frugal.policy.privacy.currency.value))
    assert before - after == pytest.approx(0.04)
    assert "least price" in answer.notes[0]
    again = frugal.ask(COUNT, **of(frugal, 0.0002))  # the same program, so the same answer, and free
    assert again.cached
    assert again.table == answer.table
    assert frugal.ask(COUNT, **of(frugal, 0.04)).cached


def test_the_price_of_an_error_is_raised_too(frugal: Session) -> None:
    quote = frugal.quote(COUNT, error=10**6)
    assert spend(quote) == pytest.approx(0.04)
    assert max(line.error or 0 for line in quote.expected) < 10**5
    assert [hint.kind for hint in quote.hints] == ["raised"]
    assert "raised" not in {hint.kind for hint in frugal.quote(COUNT, error=20).hints}


def test_a_thousand_questions_are_the_most(tmp_path: Path) -> None:
    with Session(hospital(tmp_path, currency="epsilon", limit=1, least="least = 0.3"), "ana") as session:
        asked = 0
        while session.quote(f"SELECT COUNT(*) FROM visits WHERE age > {asked}", epsilon=1e-9).enough:
            session.ask(f"SELECT COUNT(*) FROM visits WHERE age > {asked}", epsilon=1e-9)
            asked += 1
        assert asked == 3
        with pytest.raises(OverBudget):
            session.ask("SELECT COUNT(*) FROM visits WHERE age > 50", epsilon=1e-9)


def test_plans_of_analysts_with_other_least_prices_are_other_plans(tmp_path: Path) -> None:
    policy = load(hospital(tmp_path, currency="epsilon", least=""))
    with Session(policy, "ana") as ana:
        bob = ana.for_analyst("bob", Catalog.from_policy(policy))
        costs = [spend(session.quote("SELECT COUNT(*) FROM wards w JOIN visits v ON w.ward = v.ward", epsilon=1e-6))
                 for session in (ana, ana)]  # fmt: skip
        assert costs[0] == costs[1] == pytest.approx(0.04)
        assert least_price(policy, policy.analysts["bob"]) < least_price(policy, policy.analysts["ana"])
        assert bob._plans is ana._plans


PUBLIC = PolicyFile.read(FOLDER / "policy.toml").policy
PUBLIC_CATALOG = Catalog.from_policy(PUBLIC)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT COUNT(*) FROM customers", 1),
        ("SELECT COUNT(*) FROM customers c JOIN orders o ON c.customer_id = o.customer_id", 20),
        ("SELECT COUNT(*) FROM orders o JOIN impressions i ON o.customer_id = i.user_id", 20),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 7) COUNT(*) FROM orders", 7),
    ],
)
def test_a_table_of_one_row_each_says_nothing_of_a_join(sql: str, rows: int) -> None:
    assert contribution_of(PUBLIC, lower(parse(sql), PUBLIC_CATALOG), {}).rows == rows
