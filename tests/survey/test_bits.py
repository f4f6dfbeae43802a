"""Unary encoding and subset selection: rates, rounding, packing, and sets of one size."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from support.reports import check_forms
from tacit.base import InputError
from tacit.survey import DirectResponse, OptimizedUnary, SubsetSelection, SymmetricUnary
from tacit.survey.bits import ADDED, CHUNK
from tacit.survey.coin import ONE


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


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_every_size_of_set_has_its_law_in_both_forms(size: int) -> None:
    check_forms(SubsetSelection(epsilon=Fraction(1), categories=6, size=size), 2, few=2000, many=30_000)


@pytest.mark.parametrize("size", [1, 9, 137, 511, 900, 1023])
def test_sets_have_their_size_and_every_answer_its_rate(size: int) -> None:
    protocol = SubsetSelection(epsilon=Fraction(2), categories=1024, size=size)
    reports = protocol.sample(np.full(3000, 77), FixedRng(4))
    protocol.read(reports.tobytes())
    rates = protocol.tally(reports).counts / 3000
    p, q = float(protocol.p), float(protocol.q)
    assert abs(rates[77] - p) < 5 * (p * (1 - p) / 3000) ** 0.5 + 1e-9
    others = np.delete(rates, 77)
    assert np.sum((others - q) ** 2) * 3000 / (q * (1 - q)) == pytest.approx(1023, rel=0.25)
    assert np.mean(others) == pytest.approx((size - rates[77]) / 1023)


def test_one_of_few_is_direct_response() -> None:
    subset = SubsetSelection(epsilon=Fraction(1), categories=6, size=1)
    direct = DirectResponse(epsilon=Fraction(1), categories=6)
    assert (subset.p, subset.q) == (direct.p, direct.q)


@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(3), Fraction(7)])
@pytest.mark.parametrize("categories", [2, 3, 10, 64, 500])
def test_no_other_size_is_better(categories: int, epsilon: Fraction) -> None:
    chosen = SubsetSelection(epsilon=epsilon, categories=categories)
    assert abs(chosen.size - categories / (exp(epsilon) + 1)) <= 2
    every = range(1, categories) if categories < 100 else (1, chosen.size - 1, chosen.size + 1, categories // 2)
    for size in every:
        if 0 < size < categories:
            other = SubsetSelection(epsilon=epsilon, categories=categories, size=size)
            assert chosen.total_error <= other.total_error


def test_the_coins_in_their_order() -> None:
    protocol = SubsetSelection(epsilon=Fraction(1), categories=4, size=2)
    kept, lost = bytes(8), b"\xff" * 8
    # kept: one of the three others 0, 2, 3; a number below 3 reads again at 3, then one below 2
    assert protocol.sample(1, ScriptedRng([kept, b"\x03", b"\x02", b"\x00"])) == bytes([0b0110])
    assert protocol.sample(1, ScriptedRng([lost, b"\x00", b"\x01"])) == bytes([0b1001])


def test_sizes_have_limits() -> None:
    for size in (-1, 4, 9):
        with pytest.raises(InputError, match="size"):
            SubsetSelection(epsilon=Fraction(1), categories=4, size=size)
    with pytest.raises(InputError, match="exactly 2"):
        SubsetSelection(epsilon=Fraction(1), categories=4, size=2).read(b"\x07")
