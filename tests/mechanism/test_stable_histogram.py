from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from support.channel import check, hockey_stick
from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.loss import Approx
from tacit.mechanism import DiscreteLaplace, Example
from tacit.mechanism.stable_histogram import StableHistogram


@pytest.mark.parametrize("example", StableHistogram.examples(), ids=str)
def test_claims(example: Example) -> None:
    check(example)


@pytest.mark.parametrize("strategy", ["laplace", "gaussian"])
def test_every_pair_of_one_key_holds(strategy: Any) -> None:
    m = StableHistogram(epsilon=Fraction(2), delta=Fraction("1e-4"), strategy=strategy)
    for n in range(3 * m.threshold()):
        left, right = m.pmf({"a": n}), m.pmf({"a": n + 1})
        assert hockey_stick(left, right, 2.0) <= 1e-4 * (1 + 1e-9)


def test_all_ways_a_unit_with_two_keys_may_come_hold() -> None:
    m = StableHistogram(epsilon=Fraction(8), delta=Fraction("1e-3"), partitions=2)
    for a in (0, 1, 3):
        for b in (0, 2):
            left, right = m.pmf({"a": a, "b": b}), m.pmf({"a": a + 1, "b": b + 1})
            assert hockey_stick(left, right, 8.0) <= 1e-3 * (1 + 1e-9)


@pytest.mark.parametrize("strategy", ["laplace", "gaussian"])
def test_sample_has_the_law_of_pmf(strategy: Any) -> None:
    m = StableHistogram(epsilon=Fraction(2), delta=Fraction("1/20"), strategy=strategy)
    value, rng, rounds = {"x": m.threshold()}, FixedRng(1), 10_000
    seen: Counter[Any] = Counter(tuple(m.sample(value, rng).items()) for _ in range(rounds))
    law = m.pmf(value)
    assert seen.keys() <= law.keys()
    common = [o for o in law if law[o] * rounds >= 20]
    observed = [seen[o] for o in common] + [rounds - sum(seen[o] for o in common)]
    expected = [law[o] * rounds for o in common] + [rounds * (1 - sum(law[o] for o in common))]
    assert len(common) > 3
    assert chisquare(observed, expected, sum_check=False).pvalue > 1e-7


def test_only_keys_that_someone_has_and_only_above_the_threshold() -> None:
    m = StableHistogram(epsilon=Fraction(1), delta=Fraction("1e-6"))
    value = {f"k{i:04}": i % 40 for i in range(4000)}
    shown = m.sample(value, FixedRng(2))
    assert shown.keys() <= {key for key, count in value.items() if count}
    assert min(shown.values()) >= m.threshold()
    assert sum(value[key] == 39 for key in shown) == 100  # far above the threshold all are shown
    assert all(type(count) is int for count in shown.values())
    assert m.sample({}, FixedRng()) == {}


def test_the_order_of_the_data_does_not_show() -> None:
    m = StableHistogram(epsilon=Fraction(1), delta=Fraction("1e-6"))
    for keys in (["b", "a", "c"], [10, 9, 2], [("x", 2), ("x", 1), None]):
        one = dict.fromkeys(keys, 1000)
        other = dict.fromkeys(reversed(keys), 1000)
        assert list(m.sample(one, FixedRng())) == list(m.sample(other, FixedRng()))
    assert list(m.sample({"b": 1000, "a": 1000}, FixedRng())) == ["a", "b"]


@pytest.mark.parametrize(
    "value", [[1, 2], {"a": -1}, {"a": 1.5}, {"a": True}, {"a": None}, {float("nan"): 3}, {"a": 2**63}]
)
def test_bad_values(value: Any) -> None:
    with pytest.raises(InputError):
        StableHistogram(epsilon=Fraction(1), delta=Fraction("1e-6")).sample(value, FixedRng())


def test_parameters_loss_and_error() -> None:
    m = StableHistogram.from_loss(Approx(1, Fraction("1e-6")), partitions=3)
    assert m == StableHistogram(epsilon=Fraction(1), delta=Fraction("1e-6"), partitions=3)
    assert m.loss() == Approx(1, Fraction("1e-6"))
    assert m.noise == DiscreteLaplace(scale=Fraction(3))
    assert m.error() == m.noise.error()
    assert m.error(keys=50) > m.error()
    wrong: list[dict[str, Any]] = [{"strategy": "optimal"}, {"epsilon": 0}, {"delta": 1}, {"partitions": 0}]
    for change in wrong:
        with pytest.raises(InputError, match=next(iter(change))):
            StableHistogram(**({"epsilon": 1, "delta": 1e-6} | change))


def test_a_number_of_numpy_counts_too() -> None:
    m = StableHistogram(epsilon=Fraction(1), delta=Fraction("1e-6"))
    counts: dict[str, Any] = {"a": np.int64(1000)}
    assert m.sample(counts, FixedRng()).keys() == {"a"}
