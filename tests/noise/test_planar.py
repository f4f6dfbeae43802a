"""Planar noise has exactly its law, in the rare branches too."""

from fractions import Fraction
from math import exp, hypot

import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.mechanism import Pmf
from tacit.noise import planar_laplace, planar_laplaces
from tacit.noise.planar import SLANT, _accepted, _coins

SCALE = Fraction(3, 2)


def law(scale: Fraction, reach: int = 60) -> Pmf:
    weights = {(x, y): exp(-hypot(x, y) / scale) for x in range(-reach, reach + 1) for y in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def test_one_by_one_and_many_at_once_have_the_law() -> None:
    single = [planar_laplace(SCALE, FixedRng(1)) for _ in range(1)]
    rng = FixedRng(2)
    single += [planar_laplace(SCALE, rng) for _ in range(4000)]
    assert p_value(law(SCALE), single) > 1e-6
    many = planar_laplaces(SCALE, 40_000, FixedRng(3))
    assert many.shape == (40_000, 2)
    assert p_value(law(SCALE), map(tuple, many.tolist())) > 1e-6


def test_half_the_scale_is_noticed() -> None:
    many = planar_laplaces(SCALE * Fraction(19, 20), 40_000, FixedRng(4))
    assert p_value(law(SCALE), map(tuple, many.tolist())) < 1e-6


def test_wide_noise_spreads_by_root_three() -> None:
    many = planar_laplaces(Fraction(10**9), 100_000, FixedRng(5)) / 1e9
    assert np.allclose(many.std(axis=0), 3**0.5, rtol=0.02)
    assert np.hypot(*many.T).mean() == pytest.approx(2, rel=0.02)
    assert abs(np.corrcoef(np.abs(many).T)[0, 1]) > 0.02  # the two are not independent, as two Laplaces would be


def test_the_proposal_is_never_too_light() -> None:
    assert 2 * SLANT**2 < 1


@pytest.mark.parametrize("offset", [(1, 1), (7, -7), (3, 4), (0, 5), (-12, 1)])
def test_floats_and_integers_decide_alike(offset: tuple[int, int]) -> None:
    """Words all over the range, and those next to the boundary, which only integers can decide."""
    east, north = offset
    gamma = (hypot(east, north) - float(SLANT) * (abs(east) + abs(north))) / float(SCALE)
    edge = int(exp(-gamma) * 2**64)
    words = [0, 2**64 - 1, *(min(max(edge + step, 0), 2**64 - 1) for step in (-(2**40), -(2**13), 2**13, 2**40))]
    words += [int(word) for word in FixedRng(6).words(50)]

    class Given(FixedRng):
        def words(self, count: int, kind: type[np.unsignedinteger] = np.uint64) -> np.ndarray:
            return np.array(words, dtype=np.uint64)

    found = _coins(np.tile(offset, (len(words), 1)), SCALE, Given())
    assert [bool(each) for each in found] == [_accepted(word, east, north, SCALE, FixedRng(7)) for word in words]


def test_a_word_on_the_boundary_is_decided_by_more_bits() -> None:
    gamma_at_zero = _accepted(2**64 - 1, 0, 0, SCALE, FixedRng(8))
    assert gamma_at_zero  # exp(0) = 1: the first word says nothing else


def test_enormous_scales_are_python_integers() -> None:
    drawn = planar_laplaces(Fraction(2**70), 3, FixedRng(9))
    assert drawn.dtype == object
    assert drawn.shape == (3, 2)


def test_a_scale_must_be_positive() -> None:
    with pytest.raises(InputError, match="scale"):
        planar_laplaces(Fraction(0), 3, FixedRng())
