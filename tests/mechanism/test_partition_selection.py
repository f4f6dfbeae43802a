from fractions import Fraction
from math import exp
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import binomtest

from support.channel import check, hockey_stick
from support.fixed_rng import FixedRng
from tacit.base import InputError, Relation
from tacit.loss import Approx, Pure
from tacit.mechanism import Example
from tacit.mechanism.partition_selection import PartitionSelection, _optimal

STRATEGIES = ("optimal", "laplace", "gaussian")
PARAMETERS = [
    (1, "1e-5", 1),
    ("1/10", "1e-3", 1),
    (5, "1e-8", 1),
    ("1/3", "1/3", 1),
    (3, "1e-6", 4),
    (1, "0.9", 1),
    (40, "1e-9", 1),
]


def selection(epsilon: Any, delta: str, partitions: int, strategy: Any) -> PartitionSelection:
    return PartitionSelection(
        epsilon=Fraction(epsilon), delta=Fraction(delta), partitions=partitions, strategy=strategy
    )


def recurrence(m: PartitionSelection, upto: int) -> list[mpmath.mpf]:
    """The definition: the most that both directions of (ε, δ) allow."""
    with mpmath.workdps(60):
        e = mpmath.exp(mpmath.mpf(m.epsilon.numerator) / m.epsilon.denominator / m.partitions)
        d = mpmath.mpf(m.delta.numerator) / m.delta.denominator / m.partitions
        law = [mpmath.mpf(0)]
        for _ in range(upto):
            law.append(min(e * law[-1] + d, 1 - (1 - law[-1] - d) / e, mpmath.mpf(1)))
    return law


@pytest.mark.parametrize("example", PartitionSelection.examples(), ids=str)
def test_claims(example: Example) -> None:
    check(example)


@pytest.mark.parametrize(("epsilon", "delta", "partitions"), PARAMETERS)
def test_the_optimal_closed_form_is_the_recurrence(epsilon: Any, delta: str, partitions: int) -> None:
    m = selection(epsilon, delta, partitions, "optimal")
    last = m.threshold()
    for n, p in enumerate(recurrence(m, last + 3)):
        law = m.pmf(n)
        assert law[True] == pytest.approx(float(p), rel=1e-12)
        assert law[False] == pytest.approx(float(1 - p), rel=1e-12)
    assert m.keeps(last) == 1
    assert m.pmf(last - 1)[False] > 0


@pytest.mark.parametrize(("epsilon", "delta", "partitions"), PARAMETERS)
def test_the_sampler_tabulates_the_recurrence(epsilon: Any, delta: str, partitions: int) -> None:
    """The enclosures that decide outcomes hold the true probability and are as narrow as 200 bits should be."""
    m = selection(epsilon, delta, partitions, "optimal")
    table = list(_optimal(*m._share)._cumulative(200))
    law = recurrence(m, len(table))
    with mpmath.workdps(60):
        for (low, high), p in zip(table, law[1:], strict=True):
            assert high - low <= 2
            assert abs(mpmath.mpf(low) - p * mpmath.mpf(2) ** 200) < mpmath.mpf(2) ** 40


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("epsilon", "delta", "partitions"), PARAMETERS)
def test_every_pair_of_neighbours_holds(epsilon: Any, delta: str, partitions: int, strategy: Any) -> None:
    m = selection(epsilon, delta, partitions, strategy)
    each_epsilon, each_delta = float(m.epsilon) / partitions, float(m.delta) / partitions
    if strategy == "gaussian":
        each_epsilon, each_delta = float(m.epsilon), float(m.delta)  # l2: one key alone is well within all of it
    worst = 0.0
    for n in range(m.threshold() + 30):
        left, right = m.pmf(n), m.pmf(n + 1)
        delta_found = hockey_stick(left, right, each_epsilon)
        assert delta_found <= each_delta * (1 + 1e-9) + 1e-15
        worst = max(worst, delta_found)
        assert m.keeps(n) <= m.keeps(n + 1)
    if strategy == "optimal":
        assert worst == pytest.approx(each_delta, rel=1e-6)
    assert m.keeps(0) == 0
    assert m.keeps(1) <= each_delta * (1 + 1e-12)


@pytest.mark.parametrize("strategy", ["laplace", "gaussian"])
@pytest.mark.parametrize(("epsilon", "delta", "partitions"), PARAMETERS)
def test_the_threshold_is_the_least(epsilon: Any, delta: str, partitions: int, strategy: Any) -> None:
    """One lower, and a key of a single unit would show too often."""
    m = selection(epsilon, delta, partitions, strategy)
    if m.threshold() > 1:
        shown = (
            m.noise.tail(m.threshold() - 3) / 2 if m.threshold() > 2 else 1 - m.noise.tail(0) / 2
        )  # Pr[1 + Z ≥ threshold − 1]
        assert shown > float(m._hidden) * (1 - 1e-6)


def test_optimal_keeps_at_least_as_much_as_the_others() -> None:
    best, laplace, gauss = (selection(1, "1e-6", 1, s) for s in STRATEGIES)
    for n in range(60):
        assert best.keeps(n) >= laplace.keeps(n) * (1 - 1e-12)
        assert best.keeps(n) >= gauss.keeps(n) * (1 - 1e-12)
    assert best.needed() < laplace.needed() < gauss.needed()
    assert best.keeps(best.needed()) >= 0.95 > best.keeps(best.needed() - 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("epsilon", "delta", "partitions"), [(1, "1e-2", 1), (2, "1/10", 2), ("1/4", "1/50", 1)])
def test_sample_has_the_law_of_pmf(epsilon: Any, delta: str, partitions: int, strategy: Any) -> None:
    m = selection(epsilon, delta, partitions, strategy)
    rng, top = FixedRng(1), m.threshold() + 3
    for n in range(0, top, max(1, top // 12)):
        kept = int(m.sample(np.full(20_000, n), rng).sum())
        assert binomtest(kept, 20_000, m.keeps(n)).pvalue > 1e-7
    assert binomtest(sum(m.sample(3, rng) for _ in range(2000)), 2000, m.keeps(3)).pvalue > 1e-7


def test_nobody_s_key_is_never_kept() -> None:
    for strategy in STRATEGIES:
        m = selection("1/2", "0.99", 1, strategy)
        assert not m.sample(np.zeros(10_000, dtype=int), FixedRng()).any()
        assert m.sample(np.zeros((2, 3), dtype=int), FixedRng()).shape == (2, 3)
        assert m.sample([], FixedRng()).size == 0


@pytest.mark.parametrize("value", [-1, 1.5, float("nan"), "a", True, None, [1, -1], [2.0], 2**63])
def test_bad_counts(value: Any) -> None:
    with pytest.raises(InputError, match="counts"):
        selection(1, "1e-6", 1, "optimal").sample(value, FixedRng())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"partitions": 0}, "partitions"),
        ({"strategy": "best"}, "strategy"),
        ({"epsilon": Fraction(1, 10**8)}, "too small"),
        ({"epsilon": float("nan")}, "epsilon"),
    ],
)
def test_bad_parameters(change: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        PartitionSelection(**({"epsilon": 1, "delta": 1e-6} | change))


def test_loss() -> None:
    m = selection(1, "1e-6", 3, "optimal")
    assert m.loss(unit="user") == Approx(1, Fraction("1e-6"), unit="user")
    twice = m.loss(relation=Relation.REPLACE)
    assert twice.relation is Relation.REPLACE
    assert twice.bound == 2
    assert float(twice.slack) == pytest.approx((1 + exp(1)) * 1e-6)
    with pytest.raises(InputError, match="partitions"):
        m.loss(1)


def test_from_loss() -> None:
    m = PartitionSelection.from_loss(Approx(1, Fraction("1e-6")), strategy="laplace", partitions=2)
    assert m == selection(1, "1e-6", 2, "laplace")
    with pytest.raises(InputError, match="delta"):
        PartitionSelection.from_loss(Pure(1))
    with pytest.raises(InputError, match="relation"):
        PartitionSelection.from_loss(Approx(1, Fraction("1e-6"), relation=Relation.REPLACE))


def test_optimal_has_no_noise() -> None:
    with pytest.raises(InputError, match="adds no noise"):
        _ = selection(1, "1e-6", 1, "optimal").noise
