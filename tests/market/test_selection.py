"""Selection games: the imposing mixture as it runs, and that no lie of any small market gains anything by it."""

from fractions import Fraction
from itertools import product
from math import expm1, tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.channel import p_value
from tacit.base import InputError
from tacit.market import Billboard, ImposingGap, Selecting, Truthful, line_utility, select
from tacit.session import Session

from .test_pricing import sale_of


@pytest.mark.parametrize(("points", "gap"), [(5, 0.02), (10, 1 / 450), (20, 1 / 3800)])
def test_the_gap_of_two_places_on_a_line(points: int, gap: float) -> None:
    assert ImposingGap(utility=line_utility(points)).gap == pytest.approx(gap, rel=1e-6)


def random_game(seed: int) -> Any:
    chance = np.random.default_rng(seed)
    while True:
        game = chance.random((int(chance.integers(2, 4)), int(chance.integers(2, 5)), int(chance.integers(2, 4))))
        if len(np.unique(game.argmax(axis=2), axis=0)) == len(game):  # no two types that react alike
            return game


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 3])
@pytest.mark.parametrize("game", [line_utility(3), line_utility(4), *map(random_game, range(6))])
def test_the_truth_is_dominant_over_all_lies_of_all_markets(game: Any, epsilon: float) -> None:
    """Two people, every pair of types, every lie: none is worth anything by the law of the code, and by adding up."""
    plan = Selecting(utility=game, epsilon=epsilon)
    types = range(len(game))
    for true, told, other in product(types, repeat=3):
        honest, lying = (plan.expected_utility([each, other], 0, true) for each in (true, told))
        assert honest >= lying - 1e-12
        forced, free = plan.law([told, other])
        best = game[told].argmax(axis=1)
        by_hand = sum(forced[s] * game[true, s, best[s]] + free[s] * game[true, s].max() for s in range(len(forced)))
        assert lying == pytest.approx(by_hand)
        assert plan.largest_gain([true, other], 0) <= 1e-12


def test_imposing_less_would_let_a_lie_pay() -> None:
    """The share that is asked for is not far from the least: with a tenth of it a lie gains in some market."""
    plan = Selecting(utility=[[[1, 0.9], [0, 0.1]], [[0.4, 0.5], [0.6, 0.5]], [[0, 0.1], [0.9, 1]]], epsilon=4)
    assert max(plan.largest_gain(pair, 0) for pair in product(range(len(plan.utility)), repeat=2)) <= 1e-12
    object.__setattr__(plan, "share", plan.share / 10)
    assert max(plan.largest_gain(pair, 0) for pair in product(range(3), repeat=2)) > 1e-4


@pytest.mark.parametrize("epsilon", [0.2, 1, 3])
def test_the_law_keeps_its_epsilon_whatever_one_reports(epsilon: float) -> None:
    """All three may be of any type, or silent: what is imposed or chosen tells at most ε of the first one's report, and
    two laws lie no further apart than tanh(ε/4)."""
    plan, types = Selecting(utility=random_game(3), epsilon=epsilon), [None, 0, 1]
    laws = {given: plan.law(given) for given in product(types, repeat=3)}
    near = far = 0.0
    for (own, *others), lie in product(laws, types):
        here, there = laws[own, *others], laws[lie, *others]
        near = max(near, float(np.abs(np.log(here / there)).max()))
        far = max(far, float(np.abs(here[1] - there[1]).sum() / 2 / (1 - plan.share)))
    assert 0 < near <= epsilon * (1 + 1e-9)
    assert 0 < far <= tanh(epsilon / 4) * (1 + 1e-9)
    assert plan.loss.bound <= Fraction(str(epsilon))


def test_what_is_drawn_has_the_law() -> None:
    plan, types = Selecting(utility=random_game(1), epsilon=4, share="0.95"), [0, 1, None]
    chances = np.ndenumerate(plan.law(types))
    law: dict[Any, float] = {(not row, int(place)): float(chance) for (row, place), chance in chances}
    outcomes = [plan.play(plan.read(types), lambda _: None) for _ in range(3000)]
    drawn = [(each["imposed"], each["option"]) for each in outcomes]
    assert p_value(law, drawn) > 1e-6
    other: dict[Any, float] = {(not imposed, option): p for (imposed, option), p in law.items()}
    assert p_value(other, drawn) < 1e-6


def test_the_least_share_and_the_epsilon_that_it_allows() -> None:
    """By the condition of the paper for any private choice, and by the smaller one for the choice that is made here."""
    gap = ImposingGap(utility=line_utility(5)).gap
    paper, ours = Truthful(gap=gap, epsilon="0.5"), Selecting(utility=line_utility(5), epsilon="0.5")
    assert float(paper.share) == pytest.approx(expm1(0.5) / (gap + expm1(0.5)), rel=1e-6)
    assert float(ours.share) == pytest.approx(tanh(0.125) / (gap + tanh(0.125)), rel=1e-6)
    assert 0.5 * (1 - 1e-6) <= paper.dominant(paper.share) <= 0.5 * (1 + 1e-6)
    assert 0.5 * (1 - 1e-6) <= ours.dominant(ours.share) <= 0.5 * (1 + 1e-6)
    for wrong in (
        lambda: Truthful(gap=gap, epsilon="0.5", share=paper.share * Fraction(9, 10)),
        lambda: Selecting(utility=line_utility(5), epsilon="0.5", share=ours.share * Fraction(9, 10)),
    ):
        with pytest.raises(InputError, match="share must be at least"):
            wrong()


def test_what_one_does_follows_from_one_s_own_report(tmp_path: Path) -> None:
    game = line_utility(4)
    with Session(sale_of(tmp_path), "cora") as session:
        sale = select([0, 3, None, 1, 2], game, epsilon=1, session=session, table="bids", unit="bidder")
        assert session.left().epsilon == 1
    board = Billboard(plan=sale.plan, outcome=sale.outcome)
    for agent, own in enumerate([0, 3, None, 1, 2]):
        told = board.for_agent(own, agent)
        assert told == sale.for_agent(agent)
        best = None if own is None else int(game[own, told["option"]].argmax())
        assert told["reaction"] == best
    assert "no lie gains anything" in board.truth


def test_what_is_no_game_is_refused() -> None:
    for utility, words in (
        (np.ones((2, 3, 2)), "react alike"),
        (2 * np.ones((2, 3, 2)), "from 0 to 1"),
        (np.ones((2, 3)), "each reaction"),
        (np.ones((1, 3, 2)), "two or more types"),
        (np.full((2, 3, 2), np.nan), "each reaction"),
        (np.ones((2, 0, 2)), "each reaction"),
    ):
        with pytest.raises(InputError, match=words):
            Selecting(utility=utility, epsilon=1)
    for types in ([7], [-1], [0.5], ["a"], [[0]], [[0], [0, 1]]):
        with pytest.raises(InputError, match="reports must be types"):
            select(types, line_utility(3), epsilon=1)  # type: ignore[arg-type]
