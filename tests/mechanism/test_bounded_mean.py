from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from support.channel import check
from support.fixed_rng import FixedRng
from tacit.base import InputError, Relation
from tacit.loss import ZCDP, Approx, Loss, Pure
from tacit.mechanism import DiscreteGaussian, DiscreteLaplace, Example, Laplace
from tacit.mechanism.bounded_mean import BoundedMean, Mean, Range, total

AGES = np.arange(10_000) % 101


def mean_of(lower: int, upper: int, **parts: Any) -> Any:
    return BoundedMean(lower=Fraction(lower), upper=Fraction(upper), **parts)


def priced(loss: Loss, **arguments: Any) -> Any:
    return BoundedMean.from_loss(loss, **arguments)


def laplace(scale: int) -> DiscreteLaplace:
    return DiscreteLaplace(scale=Fraction(scale))


def gauss_of(sigma: int) -> DiscreteGaussian:
    return DiscreteGaussian(sigma=Fraction(sigma))


@pytest.mark.parametrize("example", BoundedMean.examples(), ids=str)
def test_claims(example: Example) -> None:
    check(example)


@pytest.mark.parametrize(("epsilon", "scale", "bound"), [(0.5, 0.02, 0.06), (1, 0.01, 0.03)])
def test_worked_example_of_ages(epsilon: float, scale: float, bound: float) -> None:
    m = priced(Pure(epsilon), lower=0, upper=100, relation=Relation.REPLACE, n=10_000)
    assert m.sum_noise.scale / 10_000 == Fraction(str(scale))
    assert m.error() == pytest.approx(bound, rel=2e-3)
    assert m.loss().bound == Fraction(epsilon)
    assert m.loss().relation is Relation.REPLACE


def test_losses() -> None:
    m = mean_of(0, 10, sum_noise=laplace(20), count_noise=laplace(4))
    assert m.loss().bound == Fraction(5, 20) + Fraction(1, 4)
    assert (m.loss().relation, m.loss().unit) == (Relation.ADD_REMOVE, "row")
    replaced = m.loss(relation=Relation.REPLACE, unit="user")
    assert (replaced.bound, replaced.relation, replaced.unit) == (Fraction(1, 2), Relation.REPLACE, "user")
    odd = mean_of(0, 11, sum_noise=laplace(20), count_noise=laplace(4))
    assert odd.loss().bound == Fraction(6, 20) + Fraction(1, 4)  # no midpoint on the lattice
    gauss = mean_of(0, 10, sum_noise=gauss_of(20), count_noise=gauss_of(4))
    assert ZCDP.implied_by(gauss.loss()).rho == Fraction(5, 20) ** 2 / 2 + Fraction(1, 4) ** 2 / 2
    public = mean_of(0, 10, sum_noise=gauss_of(20), n=5)
    assert ZCDP.implied_by(public.loss()).rho == Fraction(10, 20) ** 2 / 2
    assert public.loss().relation is Relation.REPLACE
    with pytest.raises(InputError, match="public"):
        public.loss(relation=Relation.ADD_REMOVE)
    with pytest.raises(InputError, match="bounds"):
        m.loss(1)


@pytest.mark.parametrize("bounds", [(0, 100), (-3, 4), ("0.1", "0.7"), (10**6, 10**6 + 1)])
def test_from_loss_costs_what_was_asked(bounds: tuple[Any, Any]) -> None:
    lower, upper = (Fraction(b) for b in bounds)
    for share in (Fraction(1, 2), Fraction(1, 5)):
        m = priced(Pure(1), lower=lower, upper=upper, count_share=share)
        assert m.loss().bound == 1
    m = priced(ZCDP(Fraction(1, 8)), lower=lower, upper=upper)
    moved = m.range.reach * m.range.step / m.sum_noise.sigma, 1 / m.count_noise.sigma
    assert Fraction(1, 8) * (1 - Fraction(1, 10**9)) <= sum(x**2 for x in moved) / 2 <= Fraction(1, 8)


@pytest.mark.parametrize("count", [None, DiscreteLaplace(scale=Fraction(1, 2))])
def test_sample_has_the_law_of_pmf(count: DiscreteLaplace | None) -> None:
    sums = Laplace(scale=Fraction(1, 2), granularity=Fraction(1, 2))
    m = mean_of(0, 2, sum_noise=sums, count_noise=count, n=None if count else 3)
    values, rng, rounds = [0.5, 2, 9], FixedRng(1), 6_000
    seen: Counter[Any] = Counter(m.sample(values, rng) for _ in range(rounds))
    law = m.pmf(values)
    common = [o for o in law if law[o] * rounds >= 20]
    assert len(common) > 5
    observed = [seen[o] for o in common] + [rounds - sum(seen[o] for o in common)]
    expected = [law[o] * rounds for o in common] + [rounds * (1 - sum(law[o] for o in common))]
    assert chisquare(observed, expected, sum_check=False).pvalue > 1e-7


@pytest.mark.parametrize("loss", [Pure(1), ZCDP(Fraction(1, 10))], ids=str)
@pytest.mark.parametrize("size", [3, 40, 2000])
@pytest.mark.parametrize("public", [True, False])
def test_intervals_and_errors_cover(loss: Pure | ZCDP, size: int, public: bool) -> None:
    values = np.linspace(-20, 70, size)  # some are clamped
    truth = float(np.clip(values, 0, 100).mean())
    kind: dict[str, Any] = {"relation": Relation.REPLACE, "n": size} if public else {}
    m = priced(loss, lower=0, upper=100, **kind)
    rng, rounds, step = FixedRng(size), 400, float(m.range.step)
    found = [m.sample(values, rng) for _ in range(rounds)]
    covered = sum(low - step <= truth <= high + step for low, high in (r.interval(0.8) for r in found))
    error = m.error(0.8) if public else m.error(0.8, count=size)
    near = sum(abs(r.value - truth) <= error + step for r in found)
    assert binom.cdf(covered, rounds, 0.8) > 1e-6
    assert binom.cdf(near, rounds, 0.8) > 1e-6
    if size == 2000:  # neither is so wide as to be idle
        assert covered < rounds or not public
        assert error < 20


def test_nearly_unbiased() -> None:
    m, rng = priced(Pure(1), lower=0, upper=100), FixedRng(3)
    values = np.array([m.sample(AGES, rng).value for _ in range(500)])
    assert values.mean() == pytest.approx(AGES.mean(), abs=6 * values.std() / 500**0.5)


def test_a_hopeless_count_stays_within_the_bounds() -> None:
    m = priced(Pure(0.01), lower=-1, upper=1)
    rng = FixedRng(4)
    for _ in range(200):
        found = m.sample([1.0], rng)
        assert -1 <= found.lower <= found.value <= found.upper <= 1
    assert m.sample([], rng).noisy_count != 0.5
    assert Mean(5.0, -3.0, m).value == 1.0
    assert m.error(count=1) == 2.0


def test_clamping_rounding_and_kinds() -> None:
    span = Range.of(0, 1, Fraction(1, 10))
    assert (span.low, span.high, span.centre, span.reach) == (0, 10, 5, 5)
    assert span.centred([-3, 0.04, 0.06, 0.5, 7]).tolist() == [-5, -5, -4, 0, 5]
    assert span.centred([Fraction(1, 3), 2]).tolist() == [-2, 5]
    assert span.centred(np.array([True, False])).tolist() == [5, -5]
    assert span.centred([]).size == 0
    inward = Range.of("0.05", "0.98", Fraction(1, 10))
    assert (inward.low, inward.high) == (1, 9)


def test_totals_are_exact_beyond_int64() -> None:
    values = np.full(1000, 2**60, dtype=np.int64)
    assert total(values, 2**60) == 1000 * 2**60
    assert total(values, 2**61) == 1000 * 2**60


@pytest.mark.parametrize("value", [[1, float("nan")], [float("inf")], 3, [[1, 2]], ["a"], [None, 1]])
def test_bad_values(value: Any) -> None:
    with pytest.raises(InputError, match="value"):
        priced(Pure(1), lower=0, upper=1).sample(value, FixedRng())


def test_a_public_n_must_be_right() -> None:
    m = priced(Pure(1), lower=0, upper=1, relation=Relation.REPLACE, n=3)
    with pytest.raises(InputError, match="n is 3"):
        m.sample([1, 0], FixedRng())


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"lower": 1, "upper": 1}, "lower"),
        ({"lower": 2, "upper": 1}, "lower"),
        ({"lower": float("nan"), "upper": 1}, "lower"),
        ({"lower": 0, "upper": float("inf")}, "upper"),
        ({"lower": 0, "upper": 1, "granularity": 5}, "granularity"),
        ({"lower": 0, "upper": 1, "granularity": Fraction(1, 2**50)}, "granularity"),
        ({"lower": 0, "upper": 1, "relation": "replace"}, "n is missing"),
        ({"lower": 0, "upper": 1, "n": 5}, "either count_noise"),
        ({"lower": 0, "upper": 1, "count_share": 1}, "count_share"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        priced(Pure(1), **arguments)


def test_more_bad_arguments() -> None:
    with pytest.raises(InputError, match="loss must be"):
        priced(Approx(1, Fraction("1e-6")), lower=0, upper=1)
    with pytest.raises(InputError, match="either"):
        mean_of(0, 1, sum_noise=laplace(1))
    with pytest.raises(InputError, match="holds the integers"):
        mean_of(
            0,
            1,
            sum_noise=laplace(1),
            count_noise=Laplace(scale=Fraction(1), granularity=Fraction(2, 3)),
        )
    with pytest.raises(InputError, match="count is missing"):
        priced(Pure(1), lower=0, upper=1).error()
