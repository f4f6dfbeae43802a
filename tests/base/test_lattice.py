"""The lattice: what lies on it, what does not, and that rounding costs what `sensitivity` says."""

from decimal import Decimal
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, Lattice, LatticeError, Sensitivity

lattice_of: Any = Lattice  # called here with what its signature does not promise to take
TENTHS, INTEGERS = lattice_of(Fraction(1, 10)), lattice_of(Fraction(1))
STEPS = st.sampled_from([Fraction(g) for g in ("1", "1/10", "1/100", "1/8", "3", "2/7", "1/3", "7/10")])


def test_a_granularity_is_the_decimal_that_was_written() -> None:
    assert lattice_of(0.1).granularity == Fraction(1, 10)
    assert lattice_of("0.01").granularity == Fraction(1, 100)
    for bad in (0, -1, float("nan"), None):
        with pytest.raises(InputError, match="granularity"):
            lattice_of(bad)


@pytest.mark.parametrize("value", [0.7, "0.7", Fraction(7, 10), Decimal("0.7"), np.float64(0.7)])
def test_seven_tenths_of_every_kind(value: object) -> None:
    assert TENTHS.steps(value) == 7
    assert type(TENTHS.steps(value)) is int


@given(STEPS, st.integers(-(2**48) + 1, 2**48 - 1))
def test_steps_and_value_are_inverse(granularity: Fraction, steps: int) -> None:
    lattice = lattice_of(granularity)
    value = lattice.value(steps)
    assert lattice.steps(value) == steps
    assert lattice.steps(np.array([value, value])).tolist() == [steps, steps]
    assert lattice.steps(steps * granularity) == steps
    assert abs(float(lattice.values(np.array([steps]))[0]) - value) <= 2 * float(np.spacing(abs(float(value))))


@given(STEPS, st.floats(-1e15, 1e15))
def test_scalars_and_arrays_agree_on_what_is_on_the_lattice(granularity: Fraction, value: float) -> None:
    lattice = lattice_of(granularity)
    for candidate in (value, float(lattice.round(value)), float(np.nextafter(float(lattice.round(value)), 1e300))):
        try:
            expected = lattice.steps(candidate)
        except LatticeError:
            with pytest.raises(LatticeError):
                lattice.steps(np.array([candidate]))
        else:
            assert lattice.steps(np.array([candidate])).tolist() == [expected]


@pytest.mark.parametrize("value", [0.75, 0.7000000000000001, Fraction(1, 3), "0.05", [0.7, 0.75], np.array([0.75])])
def test_values_off_the_lattice_are_refused_not_rounded(value: object) -> None:
    with pytest.raises(LatticeError, match=r"not a multiple of the granularity 1/10.*Lattice\.round"):
        TENTHS.steps(value)


def test_a_float_too_coarse_to_name_a_step_is_refused() -> None:
    """Near 2^53 several tenths share a double: only an exact multiple is taken."""
    assert TENTHS.steps(2.0**53) == 10 * 2**53
    with pytest.raises(LatticeError):
        TENTHS.steps(2.0**50 + 0.25)
    with pytest.raises(LatticeError):
        TENTHS.steps(np.array([2.0**50 + 0.25]))
    assert INTEGERS.steps(1e23) == int(1e23)  # the double itself, not 10^23
    assert INTEGERS.steps(np.array([1e23])).tolist() == [int(1e23)]


def test_single_precision_is_not_taken_for_what_it_resembles() -> None:
    assert TENTHS.steps(np.array([0.5, 2.0], np.float32)).tolist() == [5, 20]
    for value in (np.float32(0.7), np.array([0.7], np.float32), np.array([1234567.875], np.float32)):
        with pytest.raises(LatticeError):
            TENTHS.steps(value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.array([1.0, np.nan]), [1.0, -np.inf]])
def test_nan_and_infinity_are_refused(bad: object) -> None:
    for lattice in (INTEGERS, TENTHS):
        with pytest.raises(InputError, match="finite"):
            lattice.steps(bad)


@pytest.mark.parametrize("bad", [np.array(["1"]), np.array([True]), [None], np.array([1j]), "x", None, True])
def test_what_is_not_numeric_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="value"):
        INTEGERS.steps(bad)


def test_integer_arrays_of_every_kind() -> None:
    for kind in (np.int8, np.int32, np.int64, np.uint8, np.uint64):
        steps = INTEGERS.steps(np.array([[1, 2], [3, 4]], kind))
        assert isinstance(steps, np.ndarray)
        assert steps.dtype == np.int64
        assert steps.tolist() == [[1, 2], [3, 4]]
    large = INTEGERS.steps(np.array([2**64 - 1, 0], np.uint64))
    assert isinstance(large, np.ndarray)
    assert large.dtype == object
    assert large.tolist() == [2**64 - 1, 0]
    assert TENTHS.steps(np.array([3, -4])).tolist() == [30, -40]
    with pytest.raises(LatticeError):
        lattice_of(Fraction(2)).steps(np.array([2, 3]))
    assert lattice_of(Fraction(10)).steps(np.array([20.0, -30.0])).tolist() == [2, -3]
    assert INTEGERS.steps(np.array([])).shape == (0,)


def test_object_arrays_and_lists_keep_every_digit() -> None:
    mixed = np.array([Fraction(1, 10), "0.2", Decimal("0.3"), 10**30], dtype=object)
    assert TENTHS.steps(mixed).tolist() == [1, 2, 3, 10**31]
    assert INTEGERS.steps([2**60 + 1, 5.0]).tolist() == [2**60 + 1, 5]
    assert INTEGERS.steps([2**63, -1]).tolist() == [2**63, -1]
    assert INTEGERS.steps([2**70 + 1, 1]).tolist() == [2**70 + 1, 1]
    assert TENTHS.steps((0.1, 0.2, 0.3)).tolist() == [1, 2, 3]


def test_values_of_arrays() -> None:
    assert INTEGERS.values(np.array([1, 2])).dtype == np.int64
    assert TENTHS.values(np.array([1, 7])).tolist() == [0.1, 0.7]
    assert lattice_of(Fraction(10)).values(np.array([1, 2**62])).tolist() == [10, 10 * 2**62]
    assert TENTHS.values(np.array([2**60 + 10])).tolist() == [float(Fraction(2**60 + 10, 10))]
    assert TENTHS.values(np.array([10**30], dtype=object)).tolist() == [1e29]


def test_rounding_goes_to_the_nearest_halves_upward() -> None:
    assert INTEGERS.round(2.5) == 3
    assert INTEGERS.round(-2.5) == -2
    assert INTEGERS.round(2.4999999) == 2
    assert TENTHS.round("0.15") == 0.2
    assert TENTHS.round(0.15) == 0.1  # the double 0.15 lies below the half
    with pytest.raises(InputError, match="finite"):
        TENTHS.round(float("nan"))


REAL = st.one_of(st.floats(-1e6, 1e6), st.fractions(-1000, 1000))


@given(STEPS, REAL, st.fractions(0, 5), st.fractions(-1, 1))
def test_rounding_moves_neighbours_no_further_than_said(g: Fraction, x: float, size: Fraction, move: Fraction) -> None:
    lattice = lattice_of(g)
    y = Fraction(x) + size * move
    apart = abs(int(lattice.steps(lattice.round(x))) - int(lattice.steps(lattice.round(y))))
    assert apart * g <= lattice.sensitivity(size).require("l1")


def test_rounding_two_doubles_moves_them_no_further_than_said() -> None:
    """Read as decimals these two would be two steps apart, though the doubles differ by less than one."""
    x, y = 0.15, 0.049999999999999996
    assert Fraction(x) - Fraction(y) <= Fraction(1, 10)
    assert (TENTHS.round(x), TENTHS.round(y)) == (0.1, 0.0)
    assert TENTHS.sensitivity(Fraction(1, 10)).l1 == Fraction(1, 10)


def test_the_bound_on_rounding_is_attained() -> None:
    """Power: 1.2 steps really can become two, so anything less than ⌈x⌉ would be wrong."""
    assert INTEGERS.sensitivity("1.2").l1 == 2
    assert INTEGERS.round("1.6") - INTEGERS.round("0.4") == 2
    assert INTEGERS.sensitivity(1).l1 == 1


@given(st.lists(st.tuples(st.fractions(-50, 50), st.fractions(-3, 3)), min_size=2, max_size=5), STEPS)
def test_rounding_vectors(pairs: list[tuple[Fraction, Fraction]], g: Fraction) -> None:
    lattice = lattice_of(g)
    moves = [d for _, d in pairs]
    l2 = Fraction(sqrt(sum(d * d for d in moves))) + Fraction(1, 10**9)
    true = Sensitivity(l1=sum((abs(d) for d in moves), Fraction(0)), l2=l2, linf=max(abs(d) for d in moves))
    rounded = lattice.sensitivity(true, dimension=len(pairs))
    steps = [abs(int(lattice.steps(lattice.round(x + d))) - int(lattice.steps(lattice.round(x)))) for x, d in pairs]
    assert sum(steps) * g <= rounded.require("l1")
    assert sum(s * s for s in steps) * g * g <= rounded.require("l2") ** 2
    assert max(steps) * g <= rounded.require("linf")


def test_unknown_norms_stay_unknown_and_dimensions_are_checked() -> None:
    rounded = INTEGERS.sensitivity(Sensitivity(l2=Fraction(1)), dimension=4)
    assert rounded.l1 is None
    assert rounded.l2 is not None
    assert 3 <= rounded.l2 < Fraction("3.00001")
    for bad in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="dimension"):
            INTEGERS.sensitivity(1, dimension=bad)
