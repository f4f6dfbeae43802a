"""Sensitivities: what is given is kept, what is not is never guessed."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError, Sensitivity, SensitivityError


def test_a_scalar_has_one_size_in_every_norm() -> None:
    one = Sensitivity.scalar(0.1)
    assert one.l1 == one.l2 == one.linf == Fraction(0.1)  # more noise: the greater reading of 0.1
    assert one.dimension == 1
    assert Sensitivity.of(one, "l1") is one


def test_a_bare_number_bounds_one_norm_in_any_dimension() -> None:
    assert Sensitivity.of(2, "l1") == Sensitivity(l1=Fraction(2))
    assert Sensitivity.of(2, "l2") == Sensitivity(l2=Fraction(2))
    assert Sensitivity.of(2, "linf") == Sensitivity(linf=Fraction(2))
    assert Sensitivity.of(2, "l2") != Sensitivity.scalar(2)


def test_the_greatest_coordinate_is_bounded_by_any_norm() -> None:
    assert Sensitivity(l1=Fraction(3)).linf == 3
    assert Sensitivity(l1=Fraction(3), l2=Fraction(2)).linf == 2
    assert Sensitivity(l2=Fraction(2), linf=Fraction(1)).linf == 1


@given(st.lists(st.fractions(-100, 100), min_size=1, max_size=5))
def test_the_greatest_coordinate_really_is(vector: list[Fraction]) -> None:
    linf = Sensitivity(l1=sum((abs(x) for x in vector), Fraction(0))).require("linf")
    assert linf >= max(abs(x) for x in vector)


def test_a_norm_that_was_not_given_is_refused_not_guessed() -> None:
    with pytest.raises(SensitivityError, match=r"l1 sensitivity is not known.*Sensitivity\(l1="):
        Sensitivity(l2=Fraction(1)).require("l1")
    with pytest.raises(SensitivityError, match="l2 sensitivity"):
        Sensitivity(l1=Fraction(1)).require("l2")
    with pytest.raises(SensitivityError, match="at least one"):
        Sensitivity()
    with pytest.raises(SensitivityError, match="sensitivity is missing"):
        Sensitivity.of(None, "l1")


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "x", True])
def test_bad_sizes_are_refused_by_name(bad: Any) -> None:
    with pytest.raises(InputError, match="sensitivity"):
        Sensitivity.scalar(bad)
    with pytest.raises(InputError, match="sensitivity l2"):
        Sensitivity(l2=bad)


def test_how_it_prints() -> None:
    assert str(Sensitivity(l1=Fraction(3), l2=Fraction(5, 3))) == "l1=3, l2=5/3, linf=5/3"


norm = st.none() | st.fractions(min_value=0)


@given(norm, norm, st.fractions(min_value=0), st.none() | st.integers(1, 10**9))
def test_a_stored_sensitivity_comes_back_equal(
    l1: Fraction | None, l2: Fraction | None, linf: Fraction, dimension: int | None
) -> None:
    one = Sensitivity(l1=l1, l2=l2, linf=linf, dimension=dimension)
    assert Sensitivity.from_json(json.loads(json.dumps(one.json()))) == one


def test_how_it_is_stored() -> None:
    stored = {"l1": "3", "l2": "5/3", "linf": "5/3", "dimension": None}
    assert Sensitivity(l1=Fraction(3), l2=Fraction(5, 3)).json() == stored


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"l1": 1}, "sensitivity l1"),
        ({"l1": 1.0}, "sensitivity l1"),
        ({"l2": "0.5"}, "sensitivity l2"),
        ({"l2": "-1"}, "sensitivity l2"),
        ({"linf": None}, "linf"),
        ({"dimension": "1"}, "dimension"),
        ({"dimension": 1.0}, "dimension"),
        ({"dimension": True}, "dimension"),
        ({"dimension": 0}, "dimension"),
        ({"l3": "1"}, "unknown 'l3'"),
    ],
)
def test_a_stored_sensitivity_is_read_strictly(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Sensitivity.from_json({**Sensitivity.scalar(1).json(), **change})


def test_a_stored_sensitivity_says_everything() -> None:
    stored = Sensitivity.scalar(1).json()
    del stored["dimension"]
    with pytest.raises(InputError, match="lacks dimension"):
        Sensitivity.from_json(stored)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "x"])
def test_a_dimension_is_a_positive_whole_number(bad: Any) -> None:
    with pytest.raises(InputError, match="sensitivity dimension"):
        Sensitivity(l1=Fraction(1), dimension=bad)
