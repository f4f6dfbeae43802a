"""The bounds hold at every sample size: their error is summed exactly, over every outcome."""

from math import comb, exp, inf, log

import numpy as np
import pytest
from scipy.stats import beta, binom

from support.fixed_rng import FixedRng
from tacit.auditor.certify import (
    allocated,
    better_form,
    bound,
    coins,
    detectable,
    expected,
    lower,
    rarest,
    shown,
    two_counts,
    upper,
)

TAIL = 0.05


def test_clopper_pearson_is_the_beta_quantile_rounded_outward() -> None:
    for k, n in ((1, 9), (3, 100), (70_000, 80_000)):
        low, high = float(beta.ppf(0.01, k, n - k + 1)), float(beta.ppf(0.99, k + 1, n - k))
        assert low * (1 - 1e-8) < float(lower(k, n, 0.01)) < low
        assert high < float(upper(k, n, 0.01)) < high * (1 + 1e-8)
    assert float(lower(0, 10, 0.01)) == 0
    assert float(upper(10, 10, 0.01)) == 1


def test_two_counts_share_the_error() -> None:
    low, high = float(beta.ppf(TAIL / 2, 50, 51)), float(beta.ppf(1 - TAIL / 2, 11, 90))
    found = float(two_counts(50, 100, 10, 100, delta=0.01, tail=TAIL))
    assert found == pytest.approx(log((low - 0.01) / high), rel=1e-6)


def test_coins_have_all_of_the_error() -> None:
    for k in (5, 100, 4000):
        share = TAIL ** (1 / k)  # the lower bound when all of them fell on one side
        assert float(coins(k, 0, tail=TAIL)) == pytest.approx(log(share / (1 - share)), rel=1e-6)
    low = float(beta.ppf(TAIL, 70, 31))
    assert float(coins(70, 30, tail=TAIL)) == pytest.approx(log(low / (1 - low)), rel=1e-6)
    # the form in use keeps back what throwing coins again may cost
    assert bound("coins", 70, 1, 30, 1, delta=0.0, tail=TAIL) == float(coins(70, 30, tail=TAIL * 0.99))


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("q", [0.02, 0.2, 0.5])
@pytest.mark.parametrize("epsilon", [0.1, 0.6])
def test_two_counts_err_at_most_as_often_as_they_say(epsilon: float, q: float, delta: float) -> None:
    """At p = e^ε q + δ exactly, the chance of a bound above ε, over all pairs of counts."""
    n, p = 40, min(1.0, exp(epsilon) * q + delta)
    k = np.arange(n + 1)
    bounds = two_counts(k[:, None], n, k[None, :], n, delta=delta, tail=TAIL)
    chances = binom.pmf(k, n, p)[:, None] * binom.pmf(k, n, q)[None, :]
    assert chances[bounds > epsilon].sum() <= TAIL


def chance_of_error(p: float, q: float, total: int, tail: float) -> float:
    """The chance that `coins` says more than log(p/q): over the number of outputs in the event, and their sides."""
    error = 0.0
    for seen in range(total + 1):
        k = np.arange(seen + 1)
        high = coins(k, seen - k, tail=tail) > log(p / q)
        error += binom.pmf(seen, total, (p + q) / 2) * binom.pmf(k, seen, p / (p + q))[high].sum()
    return float(error)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5 / exp(1)), (0.9, 0.7), (0.05, 0.01), (1.0, 0.5)])
def test_coins_err_at_most_as_often_as_they_say(p: float, q: float) -> None:
    assert chance_of_error(p, q, 60, TAIL) <= TAIL


def test_a_binomial_of_fixed_sizes_would_not_do() -> None:
    """Why coins are thrown: with n outputs on each side, a share given the total is not p/(p + q)."""
    n, p, q = 12, 0.9, 0.45
    k = np.arange(n + 1)
    weights = np.array(
        [
            comb(n, i) * p**i * (1 - p) ** (n - i) * comb(n, 10 - i) * q ** (10 - i) * (1 - q) ** (n - 10 + i)
            for i in range(11)
        ]
    )
    share = float((weights * k[:11]).sum() / weights.sum() / 10)
    assert abs(share - p / (p + q)) > 0.05


def test_coins_are_fair_and_fit() -> None:
    rng = FixedRng(1)
    for size in (40, 641, 5000):
        drawn = np.array([allocated(size, rng) for _ in range(400)])
        assert drawn.max() <= size
        totals = drawn.sum(axis=1)
        assert len(set(totals.tolist())) == 1
        spread = (drawn[:, 0] - totals[0] / 2).mean() / np.sqrt(totals[0] / 4 / 400)
        assert abs(spread) < 5
        assert 0.8 < drawn[:, 0].std() / np.sqrt(totals[0] / 4) < 1.2
    assert allocated(3, rng) == (0, 0)


def test_the_form_is_the_one_that_promises_more() -> None:
    assert better_form(0.5, 0.18, 1000, delta=0.0, tail=TAIL) == "coins"
    assert better_form(0.95, 0.9, 1000, delta=0.0, tail=TAIL) == "two counts"
    assert better_form(0.5, 0.18, 1000, delta=0.01, tail=TAIL) == "two counts"
    by_coins = expected("coins", 0.5, 0.18, 1000, delta=0.0, tail=TAIL)
    assert by_coins > expected("two counts", 0.5, 0.18, 1000, delta=0.0, tail=TAIL)


def test_a_bound_is_never_negative() -> None:
    assert bound("two counts", 0, 10, 5, 10, delta=0.0, tail=TAIL) == 0
    assert bound("coins", 0, 0, 0, 0, delta=0.0, tail=TAIL) == 0
    assert bound("coins", 1, 9, 3, 9, delta=0.0, tail=TAIL) == 0


def test_what_is_detectable_is_shown_and_less_is_not() -> None:
    for delta in (0.0, 0.01):
        form = better_form(0.5, 0.18, 2000, delta=delta, tail=TAIL)
        least = detectable(form, 0.5, 2000, claimed=1.0, delta=delta, tail=TAIL)
        assert 1.1 < least < 1.6

        def said(epsilon: float, form: str = form, delta: float = delta) -> bool:
            q = (0.5 - delta) * exp(-epsilon)
            return shown("coins" if form == "coins" else "two counts", 0.5, q, 2000, claimed=1, delta=delta, tail=TAIL)

        assert said(least)
        assert not said(0.98 * least)
    assert detectable("two counts", 0.5, 5, claimed=1.0, delta=0.0, tail=TAIL) == inf
    assert detectable("two counts", 0.001, 10_000, claimed=1.0, delta=0.01, tail=TAIL) == inf


def test_power_is_what_it_says() -> None:
    """The chance of a bound above the claim, at the loss that is called detectable, summed exactly."""
    n, p, claimed = 400, 0.3, 1.0
    least = detectable("two counts", p, n, claimed=claimed, delta=0.0, tail=TAIL)
    k = np.arange(n + 1)
    found = two_counts(k[:, None], n, k[None, :], n, delta=0.0, tail=TAIL) > claimed
    chances = binom.pmf(k, n, p)[:, None] * binom.pmf(k, n, p * exp(-least))[None, :]
    assert chances[found].sum() >= 0.95


def test_more_samples_reach_rarer_events() -> None:
    rare = [rarest(2.0, size, claimed=1.0, delta=0.0, tail=TAIL) for size in (20, 1000, 100_000)]
    assert rare[0] == 1
    assert rare[0] > rare[1] > rare[2]
