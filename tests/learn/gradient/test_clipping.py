"""Whatever the lengths are, what is scaled is no longer than promised."""

from fractions import Fraction
from math import hypot

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.learn.gradient import Clipping, Flat, Normalised, PerLayer
from tacit.learn.rounding import SLACK

LAYERS = ("a", "b", "c")
LENGTHS = st.lists(st.floats(0, 1e150), min_size=3, max_size=3)
CLIPPINGS = st.sampled_from(
    [
        Flat(1),
        Flat(0.1),
        Flat(1e-6),
        PerLayer({"a": 0.1, "b": 1, "c": 3}),
        PerLayer.even(1, LAYERS),
        Normalised(),
        Normalised(1e-9),
    ]
)


@given(LENGTHS, CLIPPINGS)
def test_the_scaled_gradient_is_no_longer_than_the_length(lengths: list[float], clipping: Clipping) -> None:
    squares = torch.tensor([[each**2] for each in lengths], dtype=torch.float64)
    factors = clipping.scale(squares, LAYERS)[:, 0].tolist()
    scaled = hypot(*(factor * length for factor, length in zip(factors, lengths, strict=True)))
    assert scaled <= float(clipping.length()) * (1 + 1e-12)
    assert all(0 <= factor <= max(1.0, 1 / float(getattr(clipping, "gamma", 1))) for factor in factors)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_lengths_that_are_not_finite_have_factor_zero(bad: float) -> None:
    squares = torch.tensor([[1.0, 1.0], [bad, 4.0], [1.0, 1.0]])
    for clipping in (Flat(1), PerLayer.even(1, LAYERS), Normalised()):
        found = clipping.scale(squares, LAYERS)
        assert not found[:, 0].any()
        assert found[:, 1].all()


def test_sensitivity_counts_the_slack() -> None:
    assert Flat(Fraction(3, 2)).sensitivity() == Fraction(3, 2) * (1 + SLACK)
    assert Normalised().sensitivity() == 1 + SLACK
    assert Fraction(5) <= PerLayer({"a": 3, "b": 4}).length() <= 5 + Fraction(1, 10**11)
    assert Fraction(1) - Fraction(1, 10**11) <= PerLayer.even(1, LAYERS).length() <= 1 + Fraction(1, 10**11)


@pytest.mark.parametrize("clip", [0, -1, float("nan"), float("inf"), "x", None])
def test_lengths_must_be_positive(clip: object) -> None:
    with pytest.raises(InputError, match="clip"):
        Flat(clip)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="gamma"):
        Normalised(clip)  # type: ignore[arg-type]


def test_layers_must_fit() -> None:
    with pytest.raises(InputError, match="no length for the layer 'b'"):
        PerLayer({"a": 1}).fits(("a", "b"))
    with pytest.raises(InputError, match="names 'c'"):
        PerLayer({"a": 1, "c": 1}).fits(("a",))
    with pytest.raises(InputError, match="empty"):
        PerLayer({})
