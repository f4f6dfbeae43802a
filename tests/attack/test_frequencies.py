"""Membership from frequencies: the test has the power that theory gives it, and none to speak of against tacit."""

from math import sqrt

import numpy as np
import pytest

from tacit.attack.frequencies import accuse, expected_power, homer, log_ratio, private_frequencies, stage
from tacit.attack.population import Array
from tacit.base import InputError


def people(source: np.random.Generator, reference: Array, count: int) -> Array:
    return source.binomial(2, reference, (count, len(reference)))


def powers(sites: int, size: int, epsilon: float | None, rounds: int, seed: int = 0) -> dict[str, float]:
    """Shares of members and outsiders accused, over several studies."""
    source = np.random.default_rng(seed)
    inside, outside = [], []
    for _ in range(rounds):
        reference = source.uniform(0.05, 0.95, sites)
        members = people(source, reference, size)
        published, sigma = members.mean(axis=0) / 2, 0.0
        if epsilon is not None:
            published, sigma = private_frequencies(members.sum(axis=0), people=size, epsilon=epsilon)
        tried = np.concatenate([members, people(source, reference, size)])
        controls = people(source, reference, 1_000)
        told = accuse(
            tried, published=published, reference=reference, controls=controls, people=size, sigma=sigma
        ).accused
        inside.append(told[:size].mean())
        outside.append(told[size:].mean())
    return {"members": float(np.mean(inside)), "outsiders": float(np.mean(outside))}


@pytest.mark.parametrize(("sites", "size"), [(400, 100), (1_000, 100), (1_000, 400)])
def test_power_is_what_theory_says(sites: int, size: int) -> None:
    found = powers(sites, size, None, rounds=6)
    assert found["members"] == pytest.approx(expected_power(sites=sites, people=size), abs=0.08)
    assert found["outsiders"] == pytest.approx(0.05, abs=0.03)


def test_ten_times_as_many_sites_find_everybody() -> None:
    assert powers(4_000, 100, None, rounds=1)["members"] > 0.99


def test_tacit_leaves_it_near_chance() -> None:
    """At epsilon 1 no test may find more than e times the false alarms, 13.6 %; this one finds hardly more than 5 %."""
    found = powers(1_000, 200, 1.0, rounds=6)
    assert found["members"] < 0.12
    assert powers(1_000, 200, 1_000.0, rounds=1)["members"] > 0.5  # it was the noise


def test_scores_by_hand() -> None:
    published, reference = np.array([0.75, 0.25]), np.array([0.5, 0.5])
    persons = np.array([[2, 0], [0, 2], [1, 1]])
    assert homer(persons, published, reference).tolist() == [0.5, -0.5, -0.5]
    high, low = 4 * np.log(1.5), 4 * np.log(0.5)
    assert log_ratio(persons, published, reference, people=10) == pytest.approx([high, low, (high + low) / 2])


def test_with_little_noise_both_forms_order_people_alike() -> None:
    source = np.random.default_rng(3)
    reference = source.uniform(0.3, 0.7, 500)
    members = people(source, reference, 300)
    published = members.mean(axis=0) / 2
    exact = log_ratio(members, published, reference, people=300)
    normal = log_ratio(members, published, reference, people=300, sigma=1e-6)
    assert np.corrcoef(exact, normal)[0, 1] > 0.99


def test_the_noise_covers_all_sites_together() -> None:
    _, few = private_frequencies(np.zeros(100), people=50, epsilon=1)
    published, many = private_frequencies(np.full(400, 30), people=50, epsilon=1)
    assert many / few == pytest.approx(2, rel=1e-3)
    assert published.std() == pytest.approx(many, rel=0.2)
    assert published.mean() == pytest.approx(0.3, abs=5 * many / sqrt(400))


GOOD = {"genotypes": [[0, 1]], "published": [0.4, 0.5], "reference": [0.5, 0.5], "controls": [[1, 2]], "people": 9}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"genotypes": [0, 1]}, "a matrix"),
        ({"genotypes": [[0, 3]]}, "0, 1 and 2 only"),
        ({"controls": [[1, 2, 0]]}, "must be the same"),
        ({"published": [0.4]}, "2 finite numbers"),
        ({"published": [0.4, float("nan")]}, "2 finite numbers"),
        ({"reference": [0.0, 0.5]}, "strictly between"),
        ({"alarms": 0}, "between 0 and 1"),
        ({"test": "guess"}, "no test"),
        ({"people": 0}, "at least 1"),
        ({"sigma": -1}, "at least 0"),
    ],
)
def test_wrong_inputs_are_named(change: dict[str, object], said: str) -> None:
    given = {**GOOD, **change}
    genotypes = given.pop("genotypes")
    with pytest.raises(InputError, match=said):
        accuse(genotypes, **given)  # type: ignore[arg-type]  # wrong on purpose


def test_the_stage() -> None:
    told: list[float] = []
    outcome = stage(progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    assert outcome.undefended.success > 0.75
    assert outcome.defended.success < 0.16
    by_sites = outcome.facts["by_sites"]
    assert by_sites["log ratio"][-1] > 0.95 > 0.5 > by_sites["log ratio"][0]
    assert outcome.plot().to_dict()["hconcat"]
    with pytest.raises(InputError, match="at least 200 people"):
        stage(people=100)
