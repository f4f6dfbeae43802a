"""Planar Laplace: its guarantee, its error, and what it refuses. Laws are in tests/laws."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError, Relation
from tacit.loss import ZCDP, Pure
from tacit.mechanism import PlanarLaplace
from tacit.mechanism.planar import radius_within


def test_loss_is_distance_over_scale() -> None:
    assert PlanarLaplace(scale=Fraction(4)).loss(3).bound == Fraction(3, 4)
    with pytest.raises(InputError, match="replace"):
        PlanarLaplace(scale=Fraction(4)).loss(3, relation=Relation.ADD_REMOVE)


def test_noise_for_a_loss() -> None:
    assert PlanarLaplace.from_loss(Pure(Fraction(1, 2)), sensitivity=3).scale == 6
    with pytest.raises(InputError, match="pure"):
        PlanarLaplace.from_loss(ZCDP(1), sensitivity=3)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.95, 0.9999])
def test_the_radius_inverts_the_share_within_it(level: float) -> None:
    radius = radius_within(level)
    assert 1 - (1 + radius) * exp(-radius) == pytest.approx(level, rel=1e-9)


def test_error_is_attained() -> None:
    mechanism = PlanarLaplace(scale=Fraction(10**6))
    far = np.hypot(*mechanism.sample(np.zeros((20_000, 2), dtype=np.int64), FixedRng(1)).T)
    assert (far <= mechanism.error(0.9)).mean() == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("value", [(1.5, 2.0), (1,), [[1, 2, 3]], "ab", 3, [[True, False]]])
def test_what_is_no_place_is_refused_before_anything_is_drawn(value: object) -> None:
    with pytest.raises(InputError, match="pair of whole numbers"):
        PlanarLaplace(scale=Fraction(2)).sample(value, ScriptedRng([]))


def test_a_wide_law_cannot_be_listed() -> None:
    with pytest.raises(InputError, match="too many points"):
        PlanarLaplace(scale=Fraction(1000)).pmf((0, 0))
