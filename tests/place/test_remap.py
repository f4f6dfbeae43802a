"""Remapping moves reports to where people are, and gets closer on average."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.place import GeoLaplace, distance, remapped

TOWNS = np.array([[52.2053, 0.1218], [52.2300, 0.1200], [52.1900, 0.1500], [52.2100, 0.0900]])


def test_reports_come_closer_to_the_truth() -> None:
    mechanism = GeoLaplace.protecting(radius=300)
    truth = TOWNS[np.arange(4000) % 4]
    reports = mechanism.sample(truth, FixedRng(1))
    moved = remapped(reports, TOWNS, epsilon=mechanism.epsilon)
    assert distance(moved, truth).mean() < 0.9 * distance(reports, truth).mean()
    assert {tuple(place) for place in moved.tolist()} <= {tuple(place) for place in TOWNS.tolist()}


def test_weights_pull() -> None:
    between = TOWNS[:2].mean(axis=0)
    for heavy in (0, 1):
        weights = [100 if i == heavy else 1 for i in range(2)]
        assert np.array_equal(remapped(between, TOWNS[:2], epsilon="0.001", weights=weights)[0], TOWNS[heavy])


def test_what_cannot_be_used_is_refused() -> None:
    for weights in ([1], [0, 0], [1, -1], [1, float("nan")]):
        with pytest.raises(InputError, match="weights"):
            remapped((0, 0), TOWNS[:2], epsilon="0.001", weights=weights)
    with pytest.raises(InputError, match="candidates"):
        remapped((0, 0), np.zeros((5000, 2)), epsilon="0.001")
