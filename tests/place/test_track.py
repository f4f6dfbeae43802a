"""A track spends one budget, refuses beyond it, and says what its reports tell together."""

import pytest

from support.fixed_rng import FixedRng, ScriptedRng, drawing_from
from tacit.base import ExhaustedError, InputError
from tacit.place import GeoLaplace, Track


def test_a_budget_is_counted_and_held() -> None:
    mechanism = GeoLaplace.protecting(radius=200)
    track = Track(mechanism, budget=3 * mechanism.loss(200).bound, radius=200)
    assert track.warning() is None
    for made in range(1, 4):
        with drawing_from(FixedRng(made)):
            track.report((48.0, 2.0))
        assert track.loss().bound == made * mechanism.loss(200).bound
    assert track.left == 0
    assert "averages the noise away" in str(track.warning())
    with pytest.raises(ExhaustedError, match="3 reports"), drawing_from(ScriptedRng([])):
        track.report((48.0, 2.0))
    assert track.reports == 3


def test_a_failed_report_is_paid_all_the_same() -> None:
    """Whether a place can be reported may depend on it."""
    track = Track(GeoLaplace.protecting(radius=200), budget=10, radius=200)
    with pytest.raises(InputError):
        track.report((99, 0))
    assert track.reports == 1


def test_a_budget_below_one_report_is_refused() -> None:
    with pytest.raises(InputError, match="one report costs"):
        Track(GeoLaplace.protecting(radius=200), budget="0.1", radius=200)
