from collections import Counter
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from support.channel import check
from support.fixed_rng import FixedRng
from tacit.base import InputError, Relation
from tacit.loss import ZCDP, Loss, Pure
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Example, Gaussian, Laplace
from tacit.mechanism.bounded_variance import BoundedVariance, Variance


def variance_of(lower: int, upper: int, **parts: Any) -> Any:
    return BoundedVariance(lower=Fraction(lower), upper=Fraction(upper), **parts)


def priced(loss: Loss, **arguments: Any) -> Any:
    return BoundedVariance.from_loss(loss, **arguments)


def laplace(scale: int) -> DiscreteLaplace:
    return DiscreteLaplace(scale=Fraction(scale))


def gauss_of(sigma: int) -> DiscreteGaussian:
    return DiscreteGaussian(sigma=Fraction(sigma))


@pytest.mark.parametrize("example", BoundedVariance.examples(), ids=str)
def test_claims(example: Example) -> None:
    check(example)


def test_replaced_gaussians_have_exactly_the_stated_rho() -> None:
    """D_2 = 2ρ on the worst neighbours: a scale that is off by a little would show."""
    found: list[float] = []
    for example in BoundedVariance.examples():
        if isinstance(example.claim, ZCDP):
            p, q = example.mechanism.pmf(example.left), example.mechanism.pmf(example.right)
            found.append(log(sum(a * a / q[o] for o, a in p.items() if o in q)) / (2 * float(example.claim.rho)))
    assert len(found) == 3
    assert max(found) == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("upper", [1, 2, 5, 12])
@pytest.mark.parametrize(("first", "second"), [(1, 1), (10, 1), (1, 10), (3, 7), (2, 100), (100, 1)])
@pytest.mark.parametrize("gauss", [True, False])
def test_losses_against_every_pair_of_values(upper: int, first: int, second: int, gauss: bool) -> None:
    """All neighbours, enumerated."""
    kind: Any = gauss_of if gauss else laplace
    m = variance_of(0, upper, sum_noise=kind(first), square_noise=kind(second), n=1)
    power = 2 if gauss else 1

    def cost(move: int, squared: int, counted: int = 0) -> Fraction:
        sizes = (abs(Fraction(move, first)), abs(Fraction(squared, second)), Fraction(counted, 3))
        return sum((size**power for size in sizes), Fraction(0)) / power

    def stated(loss: Any) -> Any:
        if gauss:
            return loss.rho if isinstance(loss, ZCDP) else ZCDP.implied_by(loss).rho
        return loss.bound

    parts = {x: m._parts([x]) for x in range(upper + 1)}
    worst = max(cost(parts[a][1] - parts[b][1], parts[a][0] - parts[b][0]) for a, b in product(parts, parts))
    assert stated(m.loss()) == worst
    counted = variance_of(0, upper, sum_noise=kind(first), square_noise=kind(second), count_noise=kind(3))
    assert stated(counted.loss()) == max(cost(moved, squares, 1) for squares, moved, _ in parts.values())


@pytest.mark.parametrize("kind", [{}, {"relation": Relation.REPLACE, "n": 50}], ids=["add", "replace"])
@pytest.mark.parametrize("bounds", [(0, 100), (Fraction("0.1"), Fraction("0.7")), (-5, 6)])
def test_from_loss_costs_what_was_asked(kind: dict[str, Any], bounds: tuple[Fraction, Fraction]) -> None:
    m = priced(Pure(1), lower=bounds[0], upper=bounds[1], **kind)
    assert m.loss().bound == 1
    m = priced(ZCDP(Fraction(1, 8)), lower=bounds[0], upper=bounds[1], **kind)
    if kind:
        rho = m.loss().rho
    else:
        rho = m._cost(m.range.reach, m.range.reach**2 - m._offset) + 1 / m.count_noise.sigma**2 / 2
    assert Fraction(1, 8) * (1 - Fraction(1, 10**9)) <= rho <= Fraction(1, 8)


def test_sample_has_the_law_of_pmf() -> None:
    half = DiscreteLaplace(scale=Fraction(1, 2))
    m = variance_of(0, 4, sum_noise=half, square_noise=half, n=2)
    values, rng, rounds = [1, 9], FixedRng(1), 6_000
    seen: Counter[Any] = Counter(m.sample(values, rng) for _ in range(rounds))
    law = m.pmf(values)
    common = [o for o in law if law[o] * rounds >= 20]
    assert len(common) > 5
    observed = [seen[o] for o in common] + [rounds - sum(seen[o] for o in common)]
    expected = [law[o] * rounds for o in common] + [rounds * (1 - sum(law[o] for o in common))]
    assert chisquare(observed, expected, sum_check=False).pvalue > 1e-7


@pytest.mark.parametrize("loss", [Pure(1), ZCDP(Fraction(1, 10))], ids=str)
@pytest.mark.parametrize("size", [5, 200, 5000])
@pytest.mark.parametrize("public", [True, False])
def test_intervals_cover(loss: Pure | ZCDP, size: int, public: bool) -> None:
    values = np.linspace(-20, 70, size)
    truth = float(np.clip(values, 0, 100).var())
    kind: dict[str, Any] = {"relation": Relation.REPLACE, "n": size} if public else {}
    m, rng, rounds = priced(loss, lower=0, upper=100, **kind), FixedRng(size), 300
    found = [m.sample(values, rng) for _ in range(rounds)]
    covered = sum(low - 1e-2 <= truth <= high + 1e-2 for low, high in (r.interval(0.8) for r in found))
    assert binom.cdf(covered, rounds, 0.8) > 1e-6
    assert all(0 <= r.lower <= r.value <= r.upper <= 2500 for r in found[:20])
    if size == 5000:
        assert np.mean([r.value for r in found]) == pytest.approx(truth, rel=0.01)
        assert found[0].upper - found[0].lower < 100


def test_parts_are_exact_integers_beyond_int64() -> None:
    step = Fraction(1, 2**35)
    m = variance_of(
        0,
        1,
        sum_noise=Laplace(scale=Fraction(1), granularity=step),
        square_noise=Laplace(scale=Fraction(1), granularity=step**2 / 4),
        n=2000,
    )
    squares, moved, count = m._parts(np.ones(2000))
    assert (squares, moved, count) == (2000 * (2**68 - 2**67) * 4, 2000 * 2**34, 2000)
    small = variance_of(0, 6, sum_noise=laplace(1), square_noise=laplace(1), n=3)
    assert small._parts([0, 3, 7]) == (9 + 0 + 9 - 3 * 4, 0, 3)


def test_a_release_without_noise_to_speak_of_is_the_variance() -> None:
    values = [0.0, 1.0, 4.0, 10.0]
    m = priced(Pure(10**6), lower=0, upper=8)
    assert m.sample(values, FixedRng()).value == pytest.approx(np.var([0, 1, 4, 8]), abs=1e-3)
    assert Variance(1e9, 0.0, -5.0, m).value == 16


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"sum_noise": laplace(1), "square_noise": gauss_of(1), "n": 2}, "all Laplace"),
        ({"sum_noise": laplace(1), "square_noise": laplace(1)}, "either"),
        (
            {
                "sum_noise": Gaussian(sigma=Fraction(1), granularity=Fraction(1, 2)),
                "square_noise": gauss_of(1),
                "n": 2,
            },
            "square_noise",
        ),
    ],
)
def test_bad_parts(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        variance_of(0, 4, **arguments)


def test_bad_values_and_arguments() -> None:
    m = priced(Pure(1), lower=0, upper=1, relation=Relation.REPLACE, n=2)
    for bad in ([float("nan"), 1], [1], 1):
        with pytest.raises(InputError, match="value"):
            m.sample(bad, FixedRng())
    with pytest.raises(InputError, match="bounds"):
        m.loss(1)
    with pytest.raises(InputError, match="lower"):
        priced(Pure(1), lower=1, upper=0)
