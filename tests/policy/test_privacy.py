"""The total, and what it means when it is spent."""

from datetime import timedelta
from fractions import Fraction

import pytest

from tacit.base import PolicyError, PrivacyWarning
from tacit.policy import Amount, Currency, Dataset, Policy, Privacy


def test_slack_is_half_for_rho_and_all_for_epsilon() -> None:
    assert Privacy(currency=Currency.RHO, budget=Fraction(1), delta=Fraction(1, 10**6)).own_delta == Fraction(
        1, 2 * 10**6
    )
    assert Privacy(currency=Currency.EPSILON, budget=Fraction(1), delta=Fraction(1, 10**6)).own_delta == Fraction(
        1, 10**6
    )
    assert Privacy(currency=Currency.EPSILON, budget=Fraction(1)).own_delta == 0


def test_the_total_is_in_whole_numbers_rounded_down() -> None:
    privacy = Privacy(currency=Currency.EPSILON, budget=Fraction(2, 3), delta=Fraction(1, 3))
    assert privacy.total == Amount(666_666_666_666, 333_333_333_333_333_333_333_333_333_333)


def test_the_promise_covers_what_programs_spend_of_delta() -> None:
    privacy = Privacy(currency=Currency.RHO, budget=Fraction(1, 2), delta=Fraction(1, 10**6), slack=Fraction(4, 10**7))
    loss = privacy.promise
    assert loss.epsilon(privacy.delta).upper < 6
    assert loss.epsilon(Fraction(4, 10**7)).upper == float("inf"), "nothing is promised without more than the slack"


def test_a_lifetime_states_its_own_delta() -> None:
    privacy = Privacy(
        currency=Currency.RHO,
        budget=Fraction(1),
        delta=Fraction(1, 10**6),
        reset=timedelta(days=90),
        lifetime=Fraction(5),
    )
    assert privacy.ever == Amount(5 * 10**18, 5 * 10**24 // 2)
    found = privacy.promise_ever
    assert found is not None
    loss, delta = found
    assert delta == Fraction(3, 10**6), "half a millionth to convert, and five windows of half a millionth"
    assert loss.epsilon(delta).upper > privacy.promise.epsilon(privacy.delta).upper


def test_a_lifetime_whose_delta_reaches_one_is_refused() -> None:
    with pytest.raises(PolicyError, match="over a lifetime delta would reach 1"):
        Privacy(
            currency=Currency.EPSILON,
            budget=Fraction(1),
            delta=Fraction(1, 2),
            reset=timedelta(days=1),
            lifetime=Fraction(2),
        )


def test_a_delta_too_large_for_the_population_is_warned_of() -> None:
    privacy = Privacy(currency=Currency.RHO, budget=Fraction(1), delta=Fraction(1, 100), population=100)
    with pytest.warns(PrivacyWarning, match="not below 1/population"):
        Policy(dataset=Dataset(name="x"), privacy=privacy)
