"""Reconstruction: it works below √n, and what tacit adds to as many answers stops it."""

from math import sqrt

import numpy as np
import pytest

from tacit.attack.reconstruction import Method, private_sums, reconstruct, stage
from tacit.attack.subset_sums import Array


def asked(people: int, seed: int) -> tuple[Array, Array, Array]:
    source = np.random.default_rng(seed)
    secret = source.integers(0, 2, people, dtype=np.int8)
    rows = source.integers(0, 2, (4 * people, people), dtype=np.int8)
    return secret, rows, rows.astype(np.float32) @ secret.astype(np.float32)


def recovered(people: int, error: float, method: Method, seed: int) -> float:
    secret, rows, sums = asked(people, seed)
    noisy = sums + np.random.default_rng(100 + seed).uniform(-error, error, len(sums))
    return reconstruct(rows, noisy, method=method, bound=error if method == "message passing" else None).share(secret)


@pytest.mark.parametrize(("error", "bar"), [(sqrt(1000) / 2, 0.98), (sqrt(1000), 0.87), (100, 0.68)])
def test_a_thousand_people(error: float, bar: float) -> None:
    assert np.mean([recovered(1000, error, "message passing", seed) for seed in range(3)]) >= bar


@pytest.mark.slow
@pytest.mark.parametrize(("error", "bar"), [(sqrt(1000) / 2, 0.98), (sqrt(1000), 0.86), (100, 0.66)])
def test_a_thousand_people_by_linear_programme(error: float, bar: float) -> None:
    assert np.mean([recovered(1000, error, "L-infinity", seed) for seed in range(2)]) >= bar


@pytest.mark.slow
@pytest.mark.parametrize(("method", "bar"), [("least squares", 0.9), ("message passing", 0.98)])
def test_five_thousand_people(method: Method, bar: float) -> None:
    assert recovered(5000, sqrt(5000) / 2, method, 0) >= bar


def test_tacit_keeps_the_bits_near_chance() -> None:
    """With epsilon 1 for all answers; with a hundred, the attack works again, so it was the noise."""
    right = {1.0: 0, 100.0: 0}
    for seed in range(6):
        secret, rows, sums = asked(200, seed)
        for epsilon in right:
            answers, sigma = private_sums(sums, epsilon=epsilon)
            right[epsilon] += int(
                (reconstruct(rows, answers, method="message passing", sigma=sigma).bits == secret).sum()
            )
    assert 0.44 < right[1.0] / 1200 < 0.60
    assert right[100.0] / 1200 > 0.9


def test_the_noise_covers_all_answers_together() -> None:
    """Twice as many answers for the same budget have √2 times the noise."""
    some, more = (private_sums(np.zeros(count), epsilon=1)[1] for count in (400, 800))
    assert more / some == pytest.approx(sqrt(2), rel=1e-3)
    answers, sigma = private_sums(np.full(4000, 7), epsilon=1)
    assert answers.std() == pytest.approx(sigma, rel=0.08)
    assert answers.mean() == pytest.approx(7, abs=0.1 * sigma)


def test_the_stage() -> None:
    told: list[float] = []
    outcome = stage(people=100, rounds=2, progress=told.append)
    assert told == [0.5, 1.0]
    assert outcome.undefended.success > 0.9
    assert 0.33 < outcome.defended.success < 0.73
    assert outcome.facts["queries"] == 400
    assert "epsilon 1" in outcome.remarks[0]
    assert outcome.plot().to_dict()["hconcat"]
