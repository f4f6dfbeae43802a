"""Which budget: the odds hold for the policy that is proposed, and the accuracy for the questions that were counted."""

from fractions import Fraction
from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tacit.base import InputError
from tacit.cli import app
from tacit.loss import ZCDP
from tacit.mechanism import DiscreteGaussian
from tacit.policy import parse
from tacit.policy.choose import CONFIDENCE, BudgetChoice, choose_budget

DATASET = '[dataset]\nname = "x"\n'


def choice(**changes: object) -> BudgetChoice:
    values: dict[str, object] = {"people": 10_000, "error": 50, "questions": 50, "belief": "90"}
    return choose_budget(**(values | changes))  # type: ignore[arg-type]  # what users pass is checked there


@given(
    people=st.integers(2, 10**7),
    error=st.integers(20, 5000),
    questions=st.integers(1, 2000),
    belief=st.integers(55, 99),
    rows=st.integers(1, 20),
)
@settings(max_examples=25)
def test_the_policy_that_is_proposed_keeps_the_odds(
    people: int, error: int, questions: int, belief: int, rows: int
) -> None:
    found = choice(people=people, error=error, questions=questions, belief=belief, rows=rows)
    privacy = parse(DATASET + found.toml).privacy
    odds = log(belief / (100 - belief))
    assert privacy.promise.epsilon(privacy.delta).upper <= odds * (1 + 1e-9)
    assert privacy.delta * 100 * people <= 1
    if found.fits:
        assert privacy.budget >= found.wanted * Fraction(999, 1000)  # written with four digits
    else:
        assert found.possible < questions


def test_a_count_is_as_near_as_it_was_asked_to_be() -> None:
    found = choice(rows=3)
    noise = DiscreteGaussian.from_loss(ZCDP(found.price), sensitivity=3)
    assert noise.error(CONFIDENCE) <= 50
    assert DiscreteGaussian.from_loss(ZCDP(found.price * Fraction(9, 10)), sensitivity=3).error(CONFIDENCE) > 50


def test_what_does_not_fit_says_three_ways_out() -> None:
    found = choice(error=20)
    assert not found.fits
    text = " ".join(found.words())
    assert f"the odds allow {found.possible:,} such counts" in text
    assert f"within ± {found.nearest:,.0f} keep the odds" in text
    assert "Or tolerate other odds" in text
    assert choice(error=found.nearest + 1).fits


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"belief": "50"}, "no answer keeps it at 50"),
        ({"belief": "0.9"}, "in per cent, at least 51 and below 100, not 0.9"),
        ({"belief": 100}, "below 100"),
        ({"error": 0}, "error"),
        ({"error": 2, "rows": 5}, "less than what one person counts"),
        ({"people": "many"}, "people must be"),
        ({"questions": 0}, "questions"),
        ({"people": 10**13}, "at most"),
    ],
)
def test_mistakes_are_told(changes: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        choice(**changes)


def test_the_command_line_says_the_same() -> None:
    result = CliRunner().invoke(app, ["account", "choose", "--people", "10000", "--error", "50", "--json"])
    assert result.exit_code == 0, result.output
    assert choice().toml.splitlines()[3] in result.output.replace("\\n", "\n")
