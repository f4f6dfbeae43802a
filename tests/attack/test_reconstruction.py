"""Reconstruction: the linear means by themselves, that it works below √n, and that what tacit adds stops it."""

from itertools import product
from math import sqrt

import numpy as np
import pytest

from tacit.attack.reconstruction import (
    METHODS,
    Array,
    Method,
    least_absolute,
    least_largest,
    least_squares,
    posterior,
    private_sums,
    reconstruct,
    stage,
)
from tacit.base import InputError


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


SUM = {"L1": least_absolute, "L-infinity": least_largest}


def sums_of(people: int, queries: int, error: float, seed: int = 0) -> tuple[Array, Array, Array]:
    source = np.random.default_rng(seed)
    secret = source.integers(0, 2, people)
    rows = source.integers(0, 2, (queries, people))
    return secret, rows, rows @ secret + source.uniform(-error, error, queries)


@pytest.mark.parametrize("method", METHODS)
def test_almost_exact_answers_give_everything(method: str) -> None:
    secret, rows, answers = sums_of(40, 160, 0.2)
    found = reconstruct(rows, answers, method=method, bound=0.2 if method == "message passing" else None)  # type: ignore[arg-type]  # a str from the list of them
    assert found.bits.tolist() == secret.tolist()
    assert found.share(secret) == 1


def test_least_squares_is_numpys() -> None:
    _, rows, answers = sums_of(30, 120, 4)
    exact = np.linalg.lstsq(rows.astype(float), answers, rcond=None)[0]
    assert least_squares(rows.astype(float), answers) == pytest.approx(exact, abs=1e-3)


def test_programmes_find_the_least() -> None:
    """No vertex or middle of the cube has a smaller error, and hundreds of points near the solution have none."""
    _, rows, answers = sums_of(6, 30, 2)
    grid = np.array(list(product((0, 0.5, 1), repeat=6)))
    source = np.random.default_rng(1)
    for name, order in (("L1", 1), ("L-infinity", np.inf)):
        point = SUM[name](rows.astype(float), answers)
        least = np.linalg.norm(rows @ point - answers, ord=order)
        near = np.clip(point + source.normal(0, 0.05, (500, 6)), 0, 1)
        others = np.linalg.norm(rows @ np.concatenate([grid, near]).T - answers[:, None], ord=order, axis=0)
        assert least <= others.min() * (1 + 2e-3)
        assert ((point >= 0) & (point <= 1)).all()


def test_the_largest_error_is_kept_below_the_noise() -> None:
    """The truth itself has no error above the noise, so the least largest error is below it as well."""
    _, rows, answers = sums_of(120, 480, 5)
    assert np.abs(rows @ least_largest(rows.astype(float), answers) - answers).max() <= 5 * 1.001


@pytest.mark.parametrize("kind", ["bound", "sigma"])
def test_messages_are_calibrated(kind: str) -> None:
    """Of bits said to be 1 with chance p, a share of about p are: the posterior means what it says."""
    said, true = [], []
    for seed in range(12):
        source = np.random.default_rng(seed)
        secret, rows, answers = sums_of(200, 800, 0, seed)
        size = 2.5 * sqrt(200)
        noise = source.uniform(-size, size, 800) if kind == "bound" else source.normal(0, size / sqrt(3), 800)
        given = {"bound": size} if kind == "bound" else {"sigma": size / sqrt(3)}
        said.append(posterior(rows.astype(float), answers + noise, **given))
        true.append(secret)
    chance, bit = np.concatenate(said), np.concatenate(true)
    for low in (0.05, 0.25, 0.5, 0.75):
        there = (chance >= low) & (chance < low + 0.2)
        assert there.sum() > 50
        assert bit[there].mean() == pytest.approx(chance[there].mean(), abs=0.12)


@pytest.mark.parametrize(
    ("queries", "answers", "options", "said"),
    [
        ([1, 0], [1], {}, "a matrix"),
        ([[1, 0], [0, 1]], [1], {}, "each of the 2 queries"),
        ([[2, 0]], [1], {}, "0 and 1 only"),
        ([[1, 0]], [float("nan")], {}, "finite"),
        ([[1, 0]], [1], {"method": "guess"}, "no method"),
        ([[1, 0]], [1], {"method": "message passing"}, "how large the noise is"),
        ([[1, 0]], [1], {"method": "message passing", "bound": 0}, "how large the noise is"),
        ([[1, 0]], [1], {"method": "message passing", "bound": 1, "sigma": 1}, "how large the noise is"),
    ],
)
def test_wrong_inputs_are_named(queries: object, answers: object, options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        reconstruct(queries, answers, **options)  # type: ignore[arg-type]  # wrong on purpose


def test_a_truth_of_another_length_is_refused() -> None:
    secret, rows, answers = sums_of(40, 160, 0.2)
    with pytest.raises(InputError, match="shape"):
        reconstruct(rows, answers).share(secret[:-1])
