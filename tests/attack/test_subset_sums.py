"""Bits from sums: each way of solving against what it is defined to minimise."""

from itertools import product
from math import sqrt

import numpy as np
import pytest

from tacit.attack.reconstruction import METHODS, reconstruct
from tacit.attack.subset_sums import Array, least_absolute, least_largest, least_squares, posterior
from tacit.base import InputError

SUM = {"L1": least_absolute, "L-infinity": least_largest}


def asked(people: int, queries: int, error: float, seed: int = 0) -> tuple[Array, Array, Array]:
    source = np.random.default_rng(seed)
    secret = source.integers(0, 2, people)
    rows = source.integers(0, 2, (queries, people))
    return secret, rows, rows @ secret + source.uniform(-error, error, queries)


@pytest.mark.parametrize("method", METHODS)
def test_almost_exact_answers_give_everything(method: str) -> None:
    secret, rows, answers = asked(40, 160, 0.2)
    found = reconstruct(rows, answers, method=method, bound=0.2 if method == "message passing" else None)  # type: ignore[arg-type]  # a str from the list of them
    assert found.bits.tolist() == secret.tolist()
    assert found.share(secret) == 1


def test_least_squares_is_numpys() -> None:
    _, rows, answers = asked(30, 120, 4)
    exact = np.linalg.lstsq(rows.astype(float), answers, rcond=None)[0]
    assert least_squares(rows.astype(float), answers) == pytest.approx(exact, abs=1e-3)


def test_programmes_find_the_least() -> None:
    """No vertex or middle of the cube has a smaller error, and hundreds of points near the solution have none."""
    _, rows, answers = asked(6, 30, 2)
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
    _, rows, answers = asked(120, 480, 5)
    assert np.abs(rows @ least_largest(rows.astype(float), answers) - answers).max() <= 5 * 1.001


@pytest.mark.parametrize("kind", ["bound", "sigma"])
def test_messages_are_calibrated(kind: str) -> None:
    """Of bits said to be 1 with chance p, a share of about p are: the posterior means what it says."""
    said, true = [], []
    for seed in range(12):
        source = np.random.default_rng(seed)
        secret, rows, answers = asked(200, 800, 0, seed)
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
    secret, rows, answers = asked(40, 160, 0.2)
    with pytest.raises(InputError, match="shape"):
        reconstruct(rows, answers).share(secret[:-1])
