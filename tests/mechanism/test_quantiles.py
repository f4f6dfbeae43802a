"""Many quantiles: exact law of the whole tree, its price under both relations, order, ties and rank error."""

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from support.channel import check, max_log_ratio
from support.fixed_rng import FixedRng
from tacit.base import InputError, LatticeError, LossError, Relation
from tacit.loss import ZCDP, Approx, Pure
from tacit.loss.mu import ranges_mu_squared
from tacit.mechanism.mechanism import Example
from tacit.mechanism.quantile import Quantile
from tacit.mechanism.quantiles import Quantiles

ALARM = 1e-6
QUARTILES: Any = ("1/4", "1/2", "3/4")


def mechanism(quantiles: Any = QUARTILES, lower: Any = 0, upper: Any = 3, scale: Any = 1, **options: Any) -> Quantiles:
    return Quantiles(quantiles=quantiles, lower=lower, upper=upper, scale=scale, **options)


@pytest.mark.parametrize("example", Quantiles.examples())
def test_claims_hold_and_are_attained(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("spread", [1, 2])
@pytest.mark.parametrize("quantiles", [QUARTILES, ("1/10", "1/2"), ("0", "1/3", "1")])
def test_no_small_neighbours_break_the_claim(quantiles: Any, spread: int) -> None:
    m = mechanism(quantiles, upper=2, scale="1/2", spread=spread)
    datasets = [data for n in range(3) for data in combinations_with_replacement(range(3), n)]
    laws = {data: m.pmf(list(data)) for data in datasets}
    for relation in Relation:
        claim = float(m.loss(relation=relation).bound)
        for data in datasets:
            for i in range(len(data)):
                rest = data[:i] + data[i + 1 :]
                others = [rest] if relation is Relation.ADD_REMOVE else [tuple(sorted((*rest, y))) for y in range(3)]
                for other in others:
                    assert max_log_ratio(laws[data], laws[other]) <= claim * (1 + 1e-9)


def test_loss_follows_the_dearest_branch() -> None:
    even = mechanism(scale=2)  # every split is even: 1/scale a level
    assert even.levels == 2
    assert even.loss() == Pure(1)
    assert even.loss(relation=Relation.REPLACE) == Pure(2, relation=Relation.REPLACE)
    assert even.concentrated() == ZCDP(2 * Fraction(1, 32), mu_squared=ranges_mu_squared(2 * Fraction(1, 4)))
    assert even.loss(sensitivity=3) == Pure(3)
    # 4/5 first, then 3/5 within it, which is 3/4 of it
    assert mechanism(("3/5", "4/5")).loss() == Pure(Fraction(16 + 15, 10))
    # a row that leaves one half for the other pays 2 at the root and 1 + 1 below; one that stays, 2 + 2
    assert mechanism().loss(relation=Relation.REPLACE) == Pure(4, relation=Relation.REPLACE)
    # below 1/2 lie 1/100 and 2/100 of all; above it 1/2 + 1/100 and 99/100
    skew = mechanism(("1/100", "1/50", "1/2", "51/100", "99/100"))
    assert skew.levels == 3
    assert skew.loss() == Pure(skew_price())
    centiles = mechanism(tuple(Fraction(k, 128) for k in range(1, 128)))
    assert centiles.loss() == Pure(7)
    assert centiles.loss(relation=Relation.REPLACE).bound == 2 + 6 + 6


def skew_price() -> Fraction:
    """By hand: left 1/50 (24/25 of one half), then 1/2 of it; right 99/100 (49/50), then 1/100 over 49/100."""
    left = 2 * Fraction(24, 25) + 1
    right = 2 * Fraction(49, 50) + 2 * Fraction(48, 49)
    return 1 + max(left, right)


def test_one_quantile_is_the_single_mechanism() -> None:
    data = [1, 1, 4, 6]
    many = mechanism(("2/5",), upper=7, spread=1)
    one = Quantile(quantile=Fraction(2, 5), lower=Fraction(0), upper=Fraction(7), scale=Fraction(1))
    assert many.pmf(data) == pytest.approx({(y,): p for y, p in one.pmf(data).items()}, rel=1e-12)
    assert many.loss() == one.loss()


@pytest.mark.parametrize("data", [[], [2], [1, 1, 1], [0, 1, 3]])
@pytest.mark.parametrize("spread", [1, 2])
def test_samples_follow_the_pmf(data: list[int], spread: int) -> None:
    m, rng, draws = mechanism(scale="3/4", spread=spread), FixedRng(1), 800
    law = m.pmf(data)
    assert sum(law.values()) == pytest.approx(1, rel=1e-12)
    seen = dict.fromkeys(law, 0)
    for _ in range(draws):
        seen[tuple(m.sample(data, rng))] += 1
    p, counts = np.array(list(law.values())), np.array(list(seen.values()))
    often = p * draws > 5
    observed = np.append(counts[often], counts[~often].sum() + 5)
    expected = np.append(p[often] * draws, p[~often].sum() * draws + 5)
    assert chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > ALARM


def test_answers_are_in_order_and_on_the_lattice() -> None:
    m = mechanism([k / 20 for k in range(1, 20)], lower=-1, upper=1, scale=2, granularity=0.25)
    for seed in range(20):
        answers = m.sample([-0.5, 0.25, 0.25, 1.0, 40.0], FixedRng(seed))
        assert answers == sorted(answers)
        assert all(-1 <= y <= 1 and 4 * y == int(4 * y) for y in answers)


def test_heavy_ties_are_shared_by_both_sides() -> None:
    data = [2] * 490 + [5] * 500 + [9] * 10
    m = mechanism(("1/10", "1/4", "2/5", "1/2", "3/4", "9/10"), upper=20, scale="1/4")
    for seed in range(10):
        assert m.sample(data, FixedRng(seed)) == [2, 2, 2, 5, 5, 5]


def test_rank_error_holds() -> None:
    rng = FixedRng(2)
    values = (rng.words(4000) >> np.uint64(44)).astype(np.int64)  # below 2^20, few ties
    m = mechanism(tuple(Fraction(k, 10) for k in range(1, 10)), upper=2**20, scale=3)
    e = m.error(0.95, ties=2)
    worst = []
    for _ in range(40):
        answers = m.sample(values, rng)
        misses = [
            max((values < y).sum() - q * 4000, q * 4000 - (values <= y).sum(), 0)
            for q, y in zip(m.quantiles, answers, strict=True)
        ]
        worst.append(float(max(misses)))
    assert max(worst) <= e
    assert max(worst) > e / 50  # the bound is about what happens, not vacuous


def test_error_formula_and_its_inverse() -> None:
    m = mechanism(upper=9, scale=2, spread=10)
    assert m.error(0.9, ties=3) == pytest.approx(2 * 2 * np.log(3 * 100 / 0.1) + 3, rel=1e-12)
    options: dict[str, Any] = {"quantiles": QUARTILES, "lower": 0, "upper": 9, "spread": 10}
    found = Quantiles.from_error(50, confidence=0.9, ties=3, **options)
    assert 50 * (1 - 1e-9) < found.error(0.9, ties=3) <= 50
    with pytest.raises(InputError, match="error"):
        Quantiles.from_error(2, ties=3, **options)


def test_noise_for_a_guarantee() -> None:
    for relation in Relation:
        loss = Pure("0.7", relation=relation)
        m = Quantiles.from_loss(loss, quantiles=[0.1, 0.5, 0.75], lower=0, upper=10, sensitivity=2)
        assert m.loss(sensitivity=2, relation=relation) == loss
    for wrong in (Approx(1, 1e-6), Pure(0), ZCDP(1)):
        with pytest.raises(InputError, match="Pure"):
            Quantiles.from_loss(wrong, quantiles=[0.5], lower=0, upper=10)


def test_a_hundred_thousand_values_and_many_quantiles() -> None:
    rng = FixedRng(3)
    values = (rng.words(10**5) >> np.uint64(32)).astype(np.int64)
    m = mechanism(tuple(Fraction(k, 100) for k in range(1, 100)), upper=2**32, scale=2)
    answers = m.sample(values, rng)
    ranks = np.searchsorted(np.sort(values), answers)
    assert np.abs(ranks - 1000 * np.arange(1, 100)).max() <= m.error(1 - 1e-9)


def test_enormous_lattices() -> None:
    m = mechanism(lower=-(2**80), upper=2**80)
    assert m.sample([2**70] * 1000, FixedRng(5)) == [2**70] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantiles": ()}, "quantiles"),
        ({"quantiles": (0.5, 0.5)}, "quantiles"),
        ({"quantiles": (0.5, 0.25)}, "quantiles"),
        ({"quantiles": (0.5, 1.25)}, "quantiles"),
        ({"spread": 0}, "spread"),
        ({"lower": 5, "upper": 1}, "lower"),
        ({"scale": -1}, "scale"),
    ],
)
def test_refuses_parameters(options: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"quantiles": (0.5,), "lower": 0, "upper": 10, "scale": 1}
    with pytest.raises(InputError, match=message):
        Quantiles(**(good | options))


def test_refuses_values_and_long_lists() -> None:
    with pytest.raises(LatticeError):
        mechanism().sample([0.5])
    with pytest.raises(InputError, match="finite"):
        mechanism().sample([float("nan")])
    with pytest.raises(LossError, match="fewer"):
        mechanism(upper=10**6).pmf([1])
