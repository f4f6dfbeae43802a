"""The three errors of one question are those of the mechanisms, and keep their order."""

from fractions import Fraction
from math import sqrt

import pytest

from tacit.mechanism import DiscreteLaplace
from tacit.survey import DirectResponse
from tacit.survey.plan import beside


def test_each_error_is_that_of_its_mechanism() -> None:
    for categories, scale in ((2, 1), (5, 2)):
        (row,) = beside(categories=categories, epsilon=1, delta=1e-6, reports=[1000])
        weights = DiscreteLaplace(scale=Fraction(scale)).weights()
        noise = sqrt(2 * sum(w * z * z for z, w in enumerate(weights)))
        assert row.central == pytest.approx(noise / 1000, rel=1e-9)
        assert row.local == DirectResponse(epsilon=Fraction(1), categories=categories).deviation(reports=1000)
        assert row.shuffle == DirectResponse(epsilon=row.local_epsilon, categories=categories).deviation(reports=1000)


def test_trust_buys_accuracy_and_more_people_widen_the_gap() -> None:
    few, many = beside(categories=2, epsilon=1, delta=1e-6, reports=[100, 100_000])
    for row in (few, many):
        assert row.central < row.shuffle < row.local
    assert many.local / many.shuffle > 20 > few.local / few.shuffle
    assert few.local / many.local == pytest.approx(sqrt(1000), rel=1e-9), "local error falls like 1/sqrt(n)"
    assert few.central / many.central == pytest.approx(1000, rel=1e-9), "central error like 1/n"
    assert 1 <= few.local_epsilon < many.local_epsilon
