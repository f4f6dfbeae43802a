"""One quantile: law over lattice points, guarantee under both relations, rank error, ties, and what it refuses."""

from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from support.channel import check, max_log_ratio
from support.fixed_rng import FixedRng
from tacit.base import InputError, LatticeError, LossError, Relation
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism.mechanism import Example
from tacit.mechanism.quantile import Quantile

ALARM = 1e-6


def mechanism(quantile: Any = 0.5, lower: Any = 0, upper: Any = 10, scale: Any = 1, **options: Any) -> Quantile:
    return Quantile(quantile=quantile, lower=lower, upper=upper, scale=scale, **options)


@pytest.mark.parametrize("example", Quantile.examples())
def test_claims_hold_and_are_attained(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("quantile", ["0", "1/4", "1/2", "2/3", "1"])
def test_no_small_neighbours_break_the_claim(quantile: str) -> None:
    m = mechanism(Fraction(quantile), upper=4, scale="1/2")
    datasets = [data for n in range(4) for data in combinations_with_replacement(range(5), n)]
    laws = {data: m.pmf(list(data)) for data in datasets}
    for relation in Relation:
        claim = float(m.loss(relation=relation).bound)
        for data in datasets:
            for i in range(len(data)):
                rest = data[:i] + data[i + 1 :]
                others = [rest] if relation is Relation.ADD_REMOVE else [tuple(sorted((*rest, y))) for y in range(5)]
                for other in others:
                    assert max_log_ratio(laws[data], laws[other]) <= claim * (1 + 1e-9)


def test_loss_is_exact() -> None:
    m = mechanism(Fraction(1, 10), scale=3)
    assert m.loss() == Pure(Fraction(6, 10))
    assert m.loss(relation=Relation.REPLACE) == Pure(Fraction(2, 3), relation=Relation.REPLACE)
    assert m.loss(sensitivity=5, unit="user") == Pure(3, unit="user")
    assert m.concentrated().rho == Fraction(36, 800)
    assert m.concentrated().mu_squared is not None


def test_pmf_is_the_definition() -> None:
    data = [2, 2, 2, 5, 9]
    law = mechanism("0.3", scale=2).pmf(data)  # target rank 1.5
    misses = {y: max(sum(x < y for x in data) - 1.5, 1.5 - sum(x <= y for x in data), 0) for y in range(11)}
    assert [misses[y] for y in (0, 1, 2, 3, 5, 6, 10)] == [1.5, 1.5, 0, 1.5, 1.5, 2.5, 3.5]
    total = sum(exp(-miss / 2) for miss in misses.values())
    assert law == pytest.approx({y: exp(-miss / 2) / total for y, miss in misses.items()}, rel=1e-13)


DATA = [[], [4], [0, 10], [3, 3, 3, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [1, 2, 2, 7, 7, 7], [-50, 2, 900]]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("quantile", ["0", "5/7"])
def test_samples_follow_the_pmf(data: list[int], quantile: str) -> None:
    m, rng, draws = mechanism(Fraction(quantile)), FixedRng(1), 1200
    seen = np.bincount([int(m.sample(data, rng)) for _ in range(draws)], minlength=11)
    law = np.array(list(m.pmf(data).values()))
    often = law * draws > 5
    assert seen[~often].sum() < 40
    assert chisquare(seen[often], law[often] / law[often].sum() * seen[often].sum()).pvalue > ALARM


def test_a_lattice_of_tenths_in_any_order() -> None:
    m, rng = mechanism(lower="-0.5", upper=0.5, granularity=0.1), FixedRng(2)
    data = np.array([0.3, -0.4, 0.1])
    law, draws = m.pmf(data), 2000
    assert list(law) == [k / 10 for k in range(-5, 6)]
    seen = dict.fromkeys(law, 0)
    for _ in range(draws):
        seen[m.sample(data[[1, 2, 0]], rng)] += 1
    assert chisquare(list(seen.values()), np.array(list(law.values())) / sum(law.values()) * draws).pvalue > ALARM


def test_ties_are_not_split() -> None:
    data = [5] * 1000
    for quantile in ("0.1", "0.5", "0.9"):
        assert mechanism(quantile, scale=5).sample(data, FixedRng(3)) == 5


def test_rank_error_holds_and_is_nearly_needed() -> None:
    m = mechanism(upper=999, scale=4)
    e = m.error(0.9)
    assert e == pytest.approx(4 * log(1000 / 0.1), rel=1e-12)
    n = 2 * (int(e) + 1)  # half the data at each of two neighbouring points: all others miss by n/2
    law = m.pmf([500] * (n // 2) + [501] * (n // 2))
    assert 0.02 < 1 - law[500] - law[501] <= 0.1


def test_noise_for_a_guarantee_and_for_an_error() -> None:
    bounds = {"lower": 0, "upper": 100, "granularity": Fraction(1, 2)}
    for relation in Relation:
        m = Quantile.from_loss(Pure("0.3", relation=relation), quantile=0.9, sensitivity=2, **bounds)
        assert m.loss(sensitivity=2, relation=relation) == Pure("0.3", relation=relation)
    m = Quantile.from_error(7, quantile=0.5, confidence=0.8, **bounds)
    assert 7 * (1 - 1e-9) < m.error(0.8) <= 7


def test_a_million_values() -> None:
    rng = FixedRng(4)
    values = (rng.words(10**6) >> np.uint64(24)).astype(np.int64)  # up to 2^40
    m = mechanism(0.25, upper=2**40, scale=10)
    answer = m.sample(values, rng)
    assert abs(int((values < answer).sum()) - 250_000) <= m.error(1 - 1e-9)


def test_enormous_and_fine_lattices() -> None:
    far = mechanism(lower=-(2**80), upper=2**80)
    assert far.sample([2**70] * 400, FixedRng(5)) == 2**70
    fine = mechanism("0.1234567890123456789", upper=1, granularity=Fraction(1, 2**40))
    assert 0 <= fine.sample(np.linspace(0, 1, 2**10 + 1), FixedRng(5)) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantile": 1.5}, "quantile"),
        ({"quantile": float("nan")}, "quantile"),
        ({"lower": 10}, "lower"),
        ({"lower": 11}, "lower"),
        ({"upper": float("inf")}, "upper"),
        ({"upper": Fraction(21, 2)}, "upper"),
        ({"scale": 0}, "scale"),
        ({"granularity": 0}, "granularity"),
    ],
)
def test_refuses_parameters(options: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"quantile": 0.5, "lower": 0, "upper": 10, "scale": 1}
    with pytest.raises(InputError, match=message):
        Quantile(**(good | options))


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([0.5], LatticeError),
        ([float("nan")], InputError),
        ([float("inf")], InputError),
        ([[1]], InputError),
        (3, InputError),
    ],
)
def test_refuses_values(values: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        mechanism().sample(values)


def test_refuses_guarantees_it_cannot_give() -> None:
    for loss in (Approx(1, 1e-6), Pure(0), ZCDP(1)):
        with pytest.raises(InputError, match="Pure"):
            Quantile.from_loss(loss, quantile=0.5, lower=0, upper=1)
    for rows in (0, "1/2"):
        with pytest.raises(InputError, match="sensitivity"):
            mechanism().loss(sensitivity=rows)
    with pytest.raises(LossError, match="coarser"):
        mechanism(upper=10**7).pmf([])
