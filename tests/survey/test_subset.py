"""Subset selection: sizes, coins, and that all sets of one kind are equally likely."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from support.reports import check_forms
from tacit.base import InputError
from tacit.survey import DirectResponse, SubsetSelection


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
