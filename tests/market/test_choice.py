"""One option for all: the law over all small markets, and the mixture in which the truth is best for everybody."""

from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from support.channel import p_value
from tacit.base import InputError
from tacit.market import Choosing, choose, line_costs


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("epsilon", [0.2, 1, 2])
def test_no_report_changes_the_odds_by_more(epsilon: float, count: int) -> None:
    """One option or two, every market of two people on a grid, every lie: the odds, and what the lie saves."""
    plan, worst = Choosing(options=3, largest=1, epsilon=epsilon, count=count), 0.0
    rows = list(product((0.0, 0.5, 1.0), repeat=3))
    laws = {pair: plan.law(pair) for pair in product(rows, repeat=2)}
    for (first, second), lie in product(laws, rows):
        honest, lying = laws[first, second], laws[lie, second]
        worst = max(worst, float(np.abs(np.log(honest / lying)).max()))
        own = np.array([min(first[option] for option in some) for some in plan.sets])
        assert float((honest - lying) @ own) <= plan.gain * (1 + 1e-9)
        assert 1 - float(honest @ own) >= exp(-epsilon) * (1 - float(lying @ own)) - 1e-12
    assert (0.6 if count == 1 else 0.4) * epsilon <= worst <= epsilon * (1 + 1e-9)


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
        assert gain <= plan.gain + 1e-12


def test_a_referendum() -> None:
    """A street chooses among three plans. One household shouts as loud as it can; it gains next to nothing."""
    costs = np.random.default_rng(8).uniform(size=(200, 3))
    costs[0] = [0.4, 0.5, 0.6]
    plan = Choosing(options=3, largest=1, epsilon="0.5")
    assert 0 <= plan.largest_gain(costs, 0) < 0.01
    assert plan.truth == "a false report saves at most 0.124 of the largest cost on average"


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


def test_what_cannot_be_is_refused() -> None:
    for costs in ([[0.5, float("nan")]], [[-1, 0]], [0.5, 0.2], [[0.5]], [["a", 1]], [[1, 2], [1]]):
        with pytest.raises(InputError, match=r"costs must be|options to choose"):
            choose(costs, largest=1, epsilon=1)
    with pytest.raises(InputError, match="sets of options"):
        choose(np.zeros((2, 60)), count=20, largest=1, epsilon=1)
