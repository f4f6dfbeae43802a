"""Intervals of numbers that are seen only because they passed a threshold hold as often as they say."""

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest

from tacit.plan.bounded import Recipe
from tacit.sql.estimate import estimate, stretch
from tacit.sql.stored import Noisy
from tacit.sql.threshold import depth

SIZE, LEAST = 20.0, 150.0
COUNT = Recipe(name="n", function="count", inputs=("m0",), half=1, low=Fraction(0), whole=True)


def seen(truth: int, kind: Literal["gaussian", "laplace"]) -> Noisy:
    """What is seen of many draws of one true count."""
    draw = np.random.default_rng(truth)
    noise = draw.normal(0, SIZE, 400_000) if kind == "gaussian" else draw.laplace(0, SIZE, 400_000)
    values = np.rint(truth + noise)
    return Noisy(values[values >= LEAST][:20_000], kind, SIZE, least=LEAST)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("truth", [75, 110, 140, 150, 170, 200, 400])
def test_intervals_of_shown_counts_hold(truth: int, kind: Literal["gaussian", "laplace"]) -> None:
    noisy = seen(truth, kind)
    assert len(noisy.values) > 20
    found = estimate(COUNT, {"m0": noisy}, confidence=0.9)
    held = np.mean((found.low <= truth) & (truth <= found.high))
    assert held >= 0.9 - 3 * (0.09 / len(noisy.values)) ** 0.5
    if truth == 400:
        assert held < 0.925  # far above the threshold nothing is wider than it must be
    if truth <= 110:  # without the threshold they are wrong whenever they are seen
        plain = estimate(COUNT, {"m0": replace(noisy, least=None)}, confidence=0.9)
        assert np.mean((plain.low <= truth) & (truth <= plain.high)) < 0.8


MADE = {"step": Fraction(1), "half": 1, "inputs": ("m0", "m1")}
AVERAGE = Recipe(name="a", function="avg", low=Fraction(-1), high=Fraction(1), **MADE)  # type: ignore[arg-type]  # of many
SUM = Recipe(name="s", function="sum", middle=Fraction(1), **MADE)  # type: ignore[arg-type]  # of many


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("mean", [-1.0, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("truth", [75, 100, 125, 150, 175, 200, 300])
def test_intervals_of_sums_and_averages_beside_such_a_count_hold(
    truth: int, mean: float, kind: Literal["gaussian", "laplace"]
) -> None:
    count = seen(truth, kind)
    draw = np.random.default_rng(7)
    noise = draw.normal(0, SIZE, count.values.size) if kind == "gaussian" else draw.laplace(0, SIZE, count.values.size)
    measures = {"m0": count, "m1": Noisy(mean * truth + noise, kind, SIZE)}
    for recipe, true in ((AVERAGE, mean), (SUM, mean * truth + truth)):
        found = estimate(recipe, measures, confidence=0.9)
        held = np.mean((found.low - 1e-9 <= true) & (true <= found.high + 1e-9))
        assert held >= 0.9 - 3 * (0.09 / count.values.size) ** 0.5, recipe.function


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_depth(kind: Literal["gaussian", "laplace"]) -> None:
    noisy = Noisy(np.array([LEAST, LEAST + 10, LEAST + 300, LEAST + 3000]), kind, SIZE, least=LEAST)
    deep = depth(noisy, 0.95)
    assert deep[0] == pytest.approx(LEAST + 0.5)  # just at the threshold it may be nearly nothing
    assert (np.diff(noisy.values - deep) >= -1e-6).all()
    plain = {"gaussian": 1.96, "laplace": np.log(20)}[kind] * SIZE
    assert deep[-1] == pytest.approx(plain + 0.5, rel=1e-3)
    assert stretch(noisy, 0.95)[-1] == pytest.approx(1, abs=0.02)
    assert stretch(noisy, 0.95)[0] > 2
    assert (stretch(replace(noisy, least=None), 0.95) == 1).all()
