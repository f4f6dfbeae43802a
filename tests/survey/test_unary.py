"""Unary encoding: rates, rounding and packing."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError
from tacit.survey import OptimizedUnary, SymmetricUnary
from tacit.survey.coin import ONE
from tacit.survey.frequency import ADDED, CHUNK


def test_the_rates_are_those_of_the_literature_rounded_on_the_private_side() -> None:
    optimized, symmetric = (kind(epsilon=Fraction(1), categories=9) for kind in (OptimizedUnary, SymmetricUnary))
    assert optimized.p == Fraction(1, 2)
    assert float(optimized.q) == pytest.approx(1 / (exp(1) + 1), rel=1e-15)
    assert optimized.q * (1 + Fraction(exp(1))) > 1 - Fraction(1, 10**14)
    assert float(symmetric.p) == pytest.approx(exp(0.5) / (exp(0.5) + 1), rel=1e-15)
    assert symmetric.p + symmetric.q == 1


def test_the_error_of_one_share_is_wangs() -> None:
    """4e^ε/(e^ε − 1)² for optimized and e^(ε/2)/(e^(ε/2) − 1)² for symmetric unary encoding, over n."""
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(3)):
        e = exp(epsilon)
        optimized = OptimizedUnary(epsilon=epsilon, categories=9).deviation(reports=100) ** 2
        symmetric = SymmetricUnary(epsilon=epsilon, categories=9).deviation(reports=100) ** 2
        assert optimized == pytest.approx(4 * e / (e - 1) ** 2 / 100)
        assert symmetric == pytest.approx(e**0.5 / (e**0.5 - 1) ** 2 / 100)


def test_bits_are_told_in_turn_from_the_lowest_bit_of_the_first_byte() -> None:
    protocol = OptimizedUnary(epsilon=Fraction(1), categories=10)
    heads, tails = bytes(8), b"\xff" * 8
    assert protocol.sample(3, ScriptedRng([heads] + [tails] * 9)) == b"\x01\x00"
    assert protocol.sample(3, ScriptedRng([tails] * 9 + [heads])) == b"\x00\x02"
    fair = (ONE // 2 - 1).to_bytes(8, "big")  # heads of the true answer's coin only
    assert protocol.sample(3, ScriptedRng([fair] * 10)) == b"\x08\x00"


@pytest.mark.parametrize("categories", [3, 8, 100, 5000])
@pytest.mark.parametrize("count", [1, ADDED, ADDED + 1, 2 * ADDED + 7, CHUNK // 100 + 300])
def test_a_tally_counts_every_bit(categories: int, count: int) -> None:
    protocol = OptimizedUnary(epsilon=Fraction(4), categories=categories)
    reports = protocol.sample(np.zeros(min(count, 700) if categories == 5000 else count, dtype=int), FixedRng(3))
    bits = np.unpackbits(reports["bits"], axis=1, bitorder="little")
    assert protocol.tally(reports).counts.tolist() == bits.sum(axis=0, dtype=int)[:categories].tolist()
    assert not bits[:, categories:].any()


def test_what_is_too_much_to_list_or_to_send() -> None:
    with pytest.raises(InputError, match="too many to list"):
        OptimizedUnary(epsilon=Fraction(1), categories=21).law(0)
    with pytest.raises(InputError, match="at most 65536"):
        SymmetricUnary(epsilon=Fraction(1), categories=65_537)
