"""Hadamard response: signs, the transform, and sizes."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy.linalg import hadamard

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.survey import HadamardResponse
from tacit.survey.hadamard import walsh_hadamard


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
