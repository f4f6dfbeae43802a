"""Direct response: its rates, its coins in their order, and its error."""

from fractions import Fraction
from math import exp

import pytest

from support.fixed_rng import ScriptedRng
from tacit.survey import DirectResponse


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
