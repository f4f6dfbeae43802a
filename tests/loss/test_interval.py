"""An interval as a number: it never claims more privacy than is proven."""

from fractions import Fraction
from operator import ge, gt, le, lt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import LossError
from tacit.loss import ZCDP, Cost, Interval, Pure

numbers = st.floats(min_value=-10, max_value=10)
triples = st.tuples(numbers, numbers, numbers).map(lambda found: sorted(found))


def test_it_is_written_rounded_and_read_as_its_upper_end() -> None:
    e = Interval(1.0, 1.256)
    assert (f"{e:.2f}", round(e, 2), float(e), round(e)) == ("1.26", 1.26, 1.256, 1)
    assert f"{e}" == "Interval(lower=1.0, upper=1.256, rigorous=True)"


def test_a_comparison_inside_the_interval_is_false_both_ways() -> None:
    e = Interval(1.0, 2.0)
    assert e < 3
    assert e <= 2
    assert e < 3
    assert e > Fraction(1, 2)
    assert e >= 1
    assert e > 0.5
    for compare in (lt, le, gt, ge):
        assert not compare(e, 1.5)
        assert not compare(1.5, e)
    assert e < Interval(2.5, 3.0)
    assert e <= Interval(2.0, 3.0)
    assert not e < Interval(2.0, 3.0)
    assert not e < Interval(1.5, 3.0)


@given(triples, numbers)
def test_what_is_true_of_an_interval_is_true_of_every_value_in_it(ends: list[float], other: float) -> None:
    low, value, high = ends
    for compare in (lt, le, gt, ge):
        if compare(Interval(low, high), other):
            assert compare(value, other)


@pytest.mark.parametrize("other", ["2", None, [1]])
def test_only_numbers_compare(other: Any) -> None:
    with pytest.raises(TypeError):
        _ = Interval(1.0, 2.0) < other


def test_an_approximation_is_not_compared() -> None:
    rough = Interval(1.0, 2.0, rigorous=False)
    for pair in ((rough, 3), (Interval(0.0, 0.5), rough)):
        with pytest.raises(LossError, match="proves nothing"):
            _ = pair[0] < pair[1]


def test_a_loss_tells_what_it_costs() -> None:
    e = ZCDP(Fraction(1, 2)).epsilon(1e-6)
    assert 5 < float(e) < 6
    assert e < 6
    assert not e < 5


def test_times_from_either_side() -> None:
    assert Pure(1) * 3 == 3 * Pure(1)
    assert (ZCDP(1) * 2) == 2 * ZCDP(1)
    assert Cost(epsilon=Fraction(1)) * 4 == 4 * Cost(epsilon=Fraction(1))
