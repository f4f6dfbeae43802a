from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.stats import binomtest

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError
from tacit.noise.logistic import logistic, logistic_bounds, logistics

CASES = [
    (Fraction(1), Fraction(1)),
    (Fraction(1, 10), Fraction(9)),
    (Fraction(5), Fraction(1, 3)),
    (Fraction(0), Fraction(1)),
]


@pytest.mark.parametrize(
    ("gamma", "weight"), [*CASES, (Fraction(30), Fraction(10**12)), (Fraction(0), Fraction(2**70))]
)
@pytest.mark.parametrize("bits", [16, 64, 300])
def test_bounds_enclose_and_are_narrow(gamma: Fraction, weight: Fraction, bits: int) -> None:
    low, high = logistic_bounds(gamma, weight, bits)
    assert high - low <= 4
    truth = 1 / (1 + float(weight) * exp(-gamma))
    assert low / 2**bits <= truth * (1 + 1e-12) + 2.0**-bits
    assert high / 2**bits >= truth * (1 - 1e-12) - 2.0**-bits
    finer = logistic_bounds(gamma, weight, bits + 64)
    assert low << 64 <= finer[0] <= finer[1] <= high << 64


def test_weight_zero_is_certain() -> None:
    assert logistic_bounds(Fraction(3), Fraction(0), 64) == (2**64, 2**64)
    assert logistics(Fraction(3), Fraction(0), 1000, FixedRng()).all()


@pytest.mark.parametrize(("gamma", "weight"), CASES)
def test_law(gamma: Fraction, weight: Fraction) -> None:
    p = 1 / (1 + float(weight) * exp(-gamma))
    many = int(logistics(gamma, weight, 200_000, FixedRng(1)).sum())
    single = sum(logistic(gamma, weight, rng) for rng in [FixedRng(2)] for _ in range(20_000))
    assert binomtest(many, 200_000, p).pvalue > 1e-6
    assert binomtest(single, 20_000, p).pvalue > 1e-6


def test_a_doubtful_word_reads_on_until_the_bounds_decide() -> None:
    gamma, weight = Fraction(1), Fraction(1)
    low, high = logistic_bounds(gamma, weight, 64)
    doubtful = low  # inside [low, high): 64 bits cannot decide
    assert low < high
    finer = logistic_bounds(gamma, weight, 128)
    cut = finer[0] - (doubtful << 64)  # the next 64 bits that decide
    assert 0 < cut < 2**64
    word = doubtful.to_bytes(8, "little")
    assert logistic(gamma, weight, ScriptedRng([word, (cut - 1).to_bytes(8, "little")])) is True
    assert logistic(gamma, weight, ScriptedRng([word, (cut + 8).to_bytes(8, "little")])) is False


def test_negative_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        logistic_bounds(Fraction(-1), Fraction(1), 64)
    with pytest.raises(InputError, match="negative"):
        logistics(Fraction(1), Fraction(-1), 10, FixedRng())


def test_empty() -> None:
    assert logistics(Fraction(1), Fraction(1), 0, FixedRng()).dtype == np.bool_
