"""One option for all: the law over all small markets, and the mixture in which the truth is best for everybody."""

from fractions import Fraction
from itertools import product
from math import exp, expm1
from typing import Any

import numpy as np
import pytest

from support.channel import p_value
from tacit.base import InputError
from tacit.market import Choosing, ImposingGap, Truthful, choose, line_costs


@pytest.mark.parametrize("epsilon", [0.2, 1, 2])
def test_no_report_changes_the_odds_by_more(epsilon: float) -> None:
    plan, worst = Choosing(options=3, largest=1, epsilon=epsilon), 0.0
    rows = list(product((0.0, 0.5, 1.0), repeat=3))
    laws = {pair: plan.law(pair) for pair in product(rows, repeat=2)}
    for (first, second), lie in product(laws, rows):
        worst = max(worst, float(np.abs(np.log(laws[first, second] / laws[lie, second])).max()))
    assert 0.6 * epsilon <= worst <= epsilon * (1 + 1e-9)


def test_what_is_drawn_has_the_law() -> None:
    plan, costs = Choosing(options=3, largest=1, epsilon=3), [[0, 1, 0.5], [0.2, 0.1, 1]]
    law: dict[Any, float] = dict(enumerate(plan.law(costs).tolist()))
    assert p_value(law, [plan.draw(costs) for _ in range(4000)]) > 1e-6


@pytest.mark.parametrize("epsilon", [0.5, 3])
def test_the_best_lie_is_the_best_of_all(epsilon: float) -> None:
    """Every lie on a grid, of every small market: none saves more, and what it saves is within the bound."""
    plan, grid = Choosing(options=3, largest=1, epsilon=epsilon), (0.0, 0.5, 1.0)
    for true, other in product(product(grid, repeat=3), repeat=2):
        honest = float(plan.law([true, other]) @ np.array(true))
        lies = [float(plan.law([lie, other]) @ np.array(true)) for lie in product(grid, repeat=3)]
        gain = plan.largest_gain([true, other], 0)
        assert gain == pytest.approx(honest - min(lies), abs=1e-9)
        assert 1 - honest >= exp(-epsilon) * (1 - min(lies)) - 1e-12


def test_a_referendum() -> None:
    """A street chooses among three plans. One household shouts as loud as it can; it gains next to nothing."""
    costs = np.random.default_rng(8).uniform(size=(200, 3))
    costs[0] = [0.4, 0.5, 0.6]
    plan = Choosing(options=3, largest=1, epsilon="0.5")
    assert 0 <= plan.largest_gain(costs, 0) < 0.01
    assert plan.truth.startswith("whoever reports the truth expects at least 60.7 %")


def test_places_on_a_line() -> None:
    """With many people the chosen place is near the median, and two places are one in each half."""
    people = np.random.default_rng(3).uniform(size=3000)
    places = np.arange(11) / 10
    costs = line_costs(people.tolist(), places.tolist())
    assert abs(places[choose(costs, largest=1, epsilon=1).outcome["option"]] - 0.5) <= 0.1
    low, high = choose(costs, count=2, largest=1, epsilon=1).outcome["options"]
    assert abs(places[low] - 0.25) <= 0.15
    assert abs(places[high] - 0.75) <= 0.15


def test_costs_beyond_the_largest_count_as_that() -> None:
    plan = Choosing(options=2, largest=1, epsilon=1)
    assert (plan.scores([[5, 0], [1, 1]]) == plan.scores([[1, 0], [1, 1]])).all()


def facility(points: int) -> Any:
    """Utility of each type for two places, by which of them it goes to: one less the distance."""
    at = np.arange(points) / (points - 1)
    pairs = list(product(range(points), repeat=2))
    return np.array([[[1 - abs(at[t] - at[s]) for s in pair] for pair in pairs] for t in range(points)])


@pytest.mark.parametrize(("points", "gap"), [(5, 0.02), (10, 1 / 450), (20, 1 / 3800)])
def test_the_gap_of_two_places_on_a_line(points: int, gap: float) -> None:
    assert ImposingGap(utility=facility(points)).gap == pytest.approx(gap, rel=1e-6)


def test_the_truth_is_dominant_over_all_lies_of_all_markets() -> None:
    """Two people of three types, three options, by listing: no lie is worth anything; with half the share one is."""
    utility = facility(3)
    imposing = ImposingGap(utility=utility)
    plan = Choosing(options=utility.shape[1], largest=1, epsilon="0.5")
    mixed = Truthful(gap=imposing.gap, epsilon="0.5")
    own = utility.max(axis=2)  # left alone, everybody reacts as is best
    reacts = utility.argmax(axis=2)

    def expected(share: Fraction, true: int, told: int, other: int) -> float:
        law = plan.law([1 - own[told], 1 - own[other]])
        free = float(law @ own[true])
        forced = float(np.mean([utility[true, s, reacts[told, s]] for s in range(utility.shape[1])]))
        return float(share) * forced + (1 - float(share)) * free

    for true, told, other in product(range(3), repeat=3):
        assert expected(mixed.share, true, true, other) >= expected(mixed.share, true, told, other) - 1e-12
    assert mixed.dominant(mixed.share) >= 0.5 * (1 - 1e-6)
    assert float(mixed.share) == pytest.approx(expm1(0.5) / (imposing.gap + expm1(0.5)), rel=1e-6)
    with pytest.raises(InputError, match="share must be at least"):
        Truthful(gap=imposing.gap, epsilon="0.5", share=mixed.share * Fraction(9, 10))


def test_what_cannot_be_is_refused() -> None:
    for costs in ([[0.5, float("nan")]], [[-1, 0]], [0.5, 0.2], [[0.5]]):
        with pytest.raises(InputError, match=r"costs must be|options to choose"):
            choose(costs, largest=1, epsilon=1)
    with pytest.raises(InputError, match="sets of options"):
        choose(np.zeros((2, 60)), count=20, largest=1, epsilon=1)
    with pytest.raises(InputError, match="react alike"):
        _ = ImposingGap(utility=np.ones((2, 3, 2))).gap
    with pytest.raises(InputError, match="from 0 to 1"):
        _ = ImposingGap(utility=2 * np.ones((2, 3, 2))).gap
