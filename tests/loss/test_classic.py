"""Textbook composition against exact sums, brute force and the other accountants."""

from fractions import Fraction
from itertools import product
from math import comb, exp, expm1, inf, log, sqrt

import numpy as np
import pytest

from tacit.base import InputError, LossError, Relation, RelationError
from tacit.loss import GDP, PLD, ZCDP, Approx, Pure
from tacit.loss.classic import (
    advanced,
    basic,
    bounded_range_delta,
    bounded_range_epsilon,
    bounded_range_zcdp,
    clt_epsilon,
    clt_sampled_gaussian_epsilon,
    optimal_delta,
    optimal_epsilon,
    parallel,
    worst,
)
from tacit.loss.mu import pure_mu_squared
from tacit.loss.renyi import RDP


def test_basic_and_advanced() -> None:
    assert basic("0.1", "1e-8", count=100) == (10.0, 1e-6)
    epsilon, delta = advanced("0.1", "1e-8", count=100, spare="1e-6")
    assert epsilon == pytest.approx(0.1 * sqrt(200 * log(1e6)) + 10 * expm1(0.1), rel=1e-12)
    assert delta == pytest.approx(2e-6)


@pytest.mark.parametrize(("epsilon", "delta", "count"), [("0.3", "0", 7), ("1", "0.01", 4), ("2", "0.001", 9)])
def test_optimal_is_the_formula_of_kairouz_oh_and_viswanath(epsilon: str, delta: str, count: int) -> None:
    """At (k − 2i)ε, in exact arithmetic but for the exponentials."""
    e, d, k = Fraction(epsilon), Fraction(delta), count
    for i in range(k // 2 + 1):
        terms = (
            comb(k, index) * (Fraction(exp((k - index) * e)) - Fraction(exp((k - 2 * i + index) * e)))
            for index in range(i)
        )
        leaked = sum(terms, Fraction(0)) / Fraction(1 + exp(e)) ** k
        exact = float(1 - (1 - d) ** k * (1 - leaked))
        found = optimal_delta(epsilon, delta, count=k, at=(k - 2 * i) * e)
        assert found.lower * (1 - 1e-11) <= exact <= found.upper * (1 + 1e-11)


def test_optimal_reference_values() -> None:
    found = optimal_epsilon("0.1", count=100, target="1e-6")
    assert found.upper == pytest.approx(4.774567588, abs=2e-9)
    assert found.upper - found.lower < 1e-10
    many = optimal_epsilon("1e-4", count=10**6, target="1e-6")
    assert many.lower <= 0.396856887 <= many.upper + 1e-9
    assert many.upper == pytest.approx(0.396856887, rel=1e-7)
    assert optimal_epsilon("1", "1e-3", count=3, target="1e-3").upper == inf
    assert optimal_epsilon("1", count=3, target=0).upper == pytest.approx(3)


def test_optimal_agrees_with_the_composition_of_dominating_pairs() -> None:
    for e, d, k, target in (("0.5", "0", 20, "1e-5"), ("0.2", "1e-8", 50, "1e-6")):
        pairs, closed = (k * Approx(e, d)).epsilon(target), optimal_epsilon(e, d, count=k, target=target)
        assert pairs.lower <= closed.upper
        assert closed.lower <= pairs.upper
        assert closed.upper <= advanced(e, d, count=k, spare=Fraction(target) - k * Fraction(d))[0]


def two_point_delta(epsilon: float, tops: tuple[float, ...], at: float) -> float:
    """δ of mechanisms whose losses are t or t − ε, by listing all outcomes."""
    total = 0.0
    for choice in product((0, 1), repeat=len(tops)):
        loss, mass = 0.0, 1.0
        for low, t in zip(choice, tops, strict=True):
            p = (1 - exp(t - epsilon)) / (1 - exp(-epsilon))  # of the loss t
            loss, mass = loss + t - low * epsilon, mass * (1 - p if low else p)
        total += max(0.0, mass * (1 - exp(at - loss)))
    return total


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("at", [0.0, 0.3, 0.9])
def test_bounded_range_is_the_worst_of_all_two_point_mechanisms(count: int, at: float) -> None:
    epsilon = 1.0
    found = bounded_range_delta(1, count=count, at=Fraction(str(at)))
    grid = np.linspace(0, epsilon, {1: 1001, 2: 101, 3: 31}[count])
    brute = max(two_point_delta(epsilon, tops, at) for tops in product(grid, repeat=count))
    assert brute <= found.upper * (1 + 1e-12)
    assert found.upper == pytest.approx(brute, rel=5e-3)


def test_bounded_range_is_cheaper_than_pure() -> None:
    pure = optimal_epsilon("0.1", count=100, target="1e-6").upper
    chosen = bounded_range_epsilon("0.1", count=100, target="1e-6").upper
    assert chosen == pytest.approx(2.246026212, abs=1e-8)
    assert chosen < bounded_range_zcdp("0.1", count=100).epsilon("1e-6").upper < pure
    assert bounded_range_zcdp(2, count=3) == ZCDP("1.5", mu_squared=3 * pure_mu_squared(Fraction(1)))


def test_a_limit_theorem_is_labelled_as_one() -> None:
    run = clt_sampled_gaussian_epsilon("1.1", rate=256 / 60000, steps=14063, target="1e-5")
    assert not run.rigorous
    assert run.upper < 2.3816  # below the truth: why it is no guarantee
    assert not clt_epsilon("0.1", count=100, target="1e-6").rigorous
    assert clt_epsilon("0.01", count=10_000, target="1e-6").upper == pytest.approx(
        optimal_epsilon("0.01", count=10_000, target="1e-6").upper, rel=5e-3
    )


def test_one_part_pays_under_add_remove_and_two_under_replace() -> None:
    assert parallel([Pure(1), Pure(2), Pure("0.5")]) == Pure(2)
    assert parallel([ZCDP(1), ZCDP(2, delta="1e-6")]) == ZCDP(2, delta="1e-6")
    assert parallel([GDP(1), GDP(2)]) == GDP(2)
    replaced = {"relation": Relation.REPLACE}
    still = [Pure(0, relation=Relation.REPLACE)]
    assert parallel([Pure(1), Pure(2)], within=still, **replaced) == Pure(3, relation=Relation.REPLACE)
    assert parallel([Pure(2), Pure(2), Pure(1)], within=still, **replaced) == Pure(4, relation=Relation.REPLACE)
    assert parallel([Pure(1), Pure(2)], relation=Relation.REPLACE) == Pure(4, relation=Relation.REPLACE)
    assert parallel([ZCDP(1), ZCDP(2)], relation=Relation.REPLACE) == ZCDP(8, relation=Relation.REPLACE)


def test_parallel_samples_under_replace() -> None:
    """One part pays for a vector that becomes its opposite, two for a unit that goes from one into the other."""
    replaced = Relation.REPLACE
    one, other = GDP(1).sampled("0.1"), GDP("0.5").sampled("0.2")
    changed = GDP(2, relation=replaced).sampled("0.1", clipped=True)
    assert parallel([one], relation=replaced) == changed
    for parts in ([one, one], [one, other], [one, Pure("0.1")]):
        cover = parallel(parts, relation=replaced)
        first, second = (part.parts[0][0] for part in parts)
        moved = PLD.of(((first, 1), (second.reversed(), 1)), relation=replaced)
        for delta in (1e-3, 1e-6):
            assert cover.epsilon(delta).rigorous
            assert cover.epsilon(delta).upper >= max(moved.epsilon(delta).lower, changed.epsilon(delta).lower)
    still, coin = [Pure(0, relation=replaced)], Pure(1).sampled("0.1")
    assert parallel([coin, coin], within=still, relation=replaced) == Pure(2 * coin.bound, relation=replaced)


def test_parallel_refuses_what_it_cannot_know() -> None:
    with pytest.raises(RelationError, match="enters or leaves"):
        parallel([Pure(1), Pure(1, relation=Relation.REPLACE)])
    with pytest.raises(RelationError, match="units"):
        parallel([Pure(1), Pure(2, unit="user")])
    with pytest.raises(RelationError, match="within"):
        parallel([Pure(1)], relation=Relation.REPLACE, within=[Pure(1)])
    with pytest.raises(InputError, match="within"):
        parallel([Pure(1)], within=[Pure(1, relation=Relation.REPLACE)])
    with pytest.raises(InputError, match="empty"):
        parallel([])


def test_the_worst_of_unlike_losses_covers_each() -> None:
    losses = [Pure(1), ZCDP("0.3"), GDP("0.9"), RDP.implied_by(GDP(1).sampled("0.5"))]
    cover = worst(losses)
    for loss in losses:
        for delta in (1e-3, 1e-8):
            assert loss.epsilon(delta).lower <= cover.epsilon(delta).upper
    with pytest.raises(LossError):
        worst([RDP([2], [1]), RDP([3], [1])])
