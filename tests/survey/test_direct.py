"""Direct response, coin flips and Hadamard response: their rates, their coins in their order, and their error."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from scipy.linalg import hadamard

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError
from tacit.survey import CoinFlip, DirectResponse, HadamardResponse
from tacit.survey.direct import walsh_hadamard


@pytest.mark.parametrize("categories", [2, 10, 1000])
def test_the_rates(categories: int) -> None:
    protocol = DirectResponse(epsilon=Fraction(1), categories=categories)
    assert float(protocol.p) == pytest.approx(exp(1) / (exp(1) + categories - 1), rel=1e-14)
    assert protocol.p + (categories - 1) * protocol.q == 1
    e, k = exp(1), categories
    assert protocol.deviation(reports=50) ** 2 == pytest.approx((e + k - 2) / (e - 1) ** 2 / 50, rel=1e-9)


def test_the_coins_in_their_order() -> None:
    protocol = DirectResponse(epsilon=Fraction(1), categories=6)
    kept, lost = bytes(8), b"\xff" * 8
    assert protocol.sample(3, ScriptedRng([kept])) == b"\x03"
    assert protocol.sample(3, ScriptedRng([lost, b"\x02"])) == b"\x02"
    assert protocol.sample(3, ScriptedRng([lost, b"\x03"])) == b"\x04"
    assert protocol.sample(3, ScriptedRng([lost, b"\x05", b"\xff", b"\x00"])) == b"\x00"  # 5 and 7 are drawn again


def test_with_two_answers_the_other_needs_no_number() -> None:
    protocol = DirectResponse(epsilon=Fraction(1), categories=2)
    assert protocol.sample(True, ScriptedRng([b"\xff" * 8])) == b"\x00"
    threshold = protocol.device["keep"]
    assert protocol.sample(1, ScriptedRng([(threshold - 1).to_bytes(8, "big")])) == b"\x01"
    assert protocol.sample(1, ScriptedRng([threshold.to_bytes(8, "big")])) == b"\x00"


def test_reports_of_many_answers_are_little_endian() -> None:
    protocol = DirectResponse(epsilon=Fraction(1), categories=70_000)
    report = protocol.sample(66_000, ScriptedRng([bytes(8)]))
    assert report == (66_000).to_bytes(4, "little")
    assert protocol.read(report).tolist() == [66_000]


def test_two_fair_coins_cost_log_three() -> None:
    protocol = CoinFlip()
    assert (protocol.p, protocol.q) == (Fraction(3, 4), Fraction(1, 4))
    assert float(protocol.loss().bound) == pytest.approx(log(3), rel=1e-15)
    tally = protocol.tally(np.array([1] * 400 + [0] * 600, dtype=protocol.dtype))
    assert protocol.estimate(tally).value[1] == pytest.approx(0.3)


def test_the_two_coins_in_their_order() -> None:
    heads, tails = bytes(8), b"\x80" + bytes(7)
    for answer in (0, 1):
        assert CoinFlip().sample(answer, ScriptedRng([heads])) == bytes([answer])
        assert CoinFlip().sample(answer, ScriptedRng([tails, b"\x02"])) == b"\x00"
        assert CoinFlip().sample(answer, ScriptedRng([tails, b"\x03"])) == b"\x01"


def test_truth_is_rounded_down_and_cannot_vanish() -> None:
    assert CoinFlip(truth=Fraction(1, 3)).truth < Fraction(1, 3)
    for wrong in (0, 1, Fraction(1, 1 << 65)):
        with pytest.raises(InputError, match="truth"):
            CoinFlip(truth=Fraction(wrong))


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_the_transform_is_the_product_with_the_matrix(size: int) -> None:
    numbers = (FixedRng(1).words(size, np.uint8).astype(int) - 100) * 10**9
    assert walsh_hadamard(numbers).tolist() == (hadamard(size) @ numbers).tolist()


@pytest.mark.parametrize("categories", [2, 3, 4, 7, 8, 100])
def test_support_counts_reports_that_have_the_answers_sign(categories: int) -> None:
    protocol = HadamardResponse(epsilon=Fraction(1), categories=categories)
    assert categories < protocol.places <= 2 * categories
    reports = protocol.sample(np.arange(1000) % categories, FixedRng(2))
    signs = hadamard(protocol.places)
    place, told = reports.astype(int) // 2, 1 - 2 * (reports.astype(int) % 2)
    expected = [int(np.sum(signs[place, answer + 1] == told)) for answer in range(categories)]
    assert protocol.support(protocol.tally(reports)).tolist() == expected


def test_a_report_is_the_place_and_the_sign() -> None:
    protocol = HadamardResponse(epsilon=Fraction(1), categories=5)
    kept, lost = bytes(8), b"\xff" * 8
    assert protocol.sample(2, ScriptedRng([b"\xf9", kept])) == b"\x03"  # 1 and 3 share one 1: a minus
    assert protocol.sample(2, ScriptedRng([b"\x01", lost])) == b"\x02"
    assert protocol.sample(2, ScriptedRng([b"\x07", kept])) == b"\x0e"  # 7 and 3 share two


def test_the_error_of_one_share() -> None:
    """((e^ε + 1)/(e^ε − 1))² over n, whatever the share."""
    for epsilon in (Fraction(1, 2), Fraction(2)):
        e = exp(epsilon)
        found = HadamardResponse(epsilon=epsilon, categories=9).deviation(reports=100) ** 2
        assert found == pytest.approx(((e + 1) / (e - 1)) ** 2 / 100, rel=1e-9)
