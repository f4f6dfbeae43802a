"""A few places and times: who is alone with them, and who is found behind planar Laplace noise."""

from math import log

import numpy as np
import pytest

from tacit.attack.movements import KNOWN, matched, stage, town, unique
from tacit.attack.population import chance
from tacit.base import InputError


def test_alone_or_not_by_hand() -> None:
    at = np.array([[1, 2, 3], [1, 2, 4], [1, 5, 3]])
    assert not unique(at, 0, np.array([0, 1]))
    assert not unique(at, 0, np.array([0, 2]))
    assert unique(at, 0, np.array([1, 2]))


def test_the_nearest_are_matched() -> None:
    places = np.array([[[0.0, 0.0], [9.0, 0.0]], [[0.0, 3.0], [5.0, 0.0]]])
    assert matched(places, np.array([[0.0, 0.0], [5.0, 1.0]]), np.array([0, 1])) == 1  # 4 + 0, not 0 + 4.1
    assert matched(places, np.array([[0.0, 0.0]]), np.array([0])) == 0


def test_people_sleep_at_home() -> None:
    made = town(50, chance(1))
    nights = made.at[:, :7]
    usual = np.array([np.bincount(row).argmax() for row in nights])
    assert (nights == usual[:, None]).mean() > 0.9
    assert made.places.shape == (50, 168, 2)


def test_the_stage() -> None:
    outcome = stage(people=400)
    found, four = outcome.facts["found"], KNOWN.index(4)
    exact, near, wide, widest, week = found.values()
    assert outcome.undefended.success == exact[four] > 0.85
    assert exact == sorted(exact), "whoever is alone with some hours is alone with more of them"
    assert near[four] > 0.6, "noise that protects a place alone does not hide the person"
    assert near[four] > wide[four] > widest[four]
    assert max(widest[: four + 1]) < 0.1
    assert max(week) < 0.05
    spent = outcome.facts["epsilon of a week for 1 km"]
    assert spent["the whole week protects 1 km"] <= log(2)
    assert spent["each report protects 1 km"] > 100
    assert outcome.plot().to_dict()["layer"]
    with pytest.raises(InputError, match="people"):
        stage(people=1)
