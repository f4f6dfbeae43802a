"""Intervals hold as often as they say, for either kind of noise, and closed forms agree with their definitions."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from support.clinic import CLINIC
from tacit.base import Relation
from tacit.plan.bounded import Recipe
from tacit.plan.contribution import Contribution
from tacit.plan.price import Budget, price
from tacit.sql import lower, parse
from tacit.sql.estimate import estimate, expected, value_of, width
from tacit.sql.stored import Noisy

HALF, STEP = 1000, Fraction(1, 10)  # values in 0..200 around 100
ROUNDS = 20_000


def recipe(function: str, inputs: int) -> Recipe:
    low = {"avg": Fraction(0), "sum": None}.get(function, Fraction(0))
    high = Fraction(200) if function == "avg" else None
    names = tuple(f"m{i}" for i in range(inputs))
    whole = function == "count"
    return Recipe(name="x", function=function, inputs=names, step=STEP, half=HALF, middle=Fraction(100), low=low,
                  high=high, whole=whole)  # fmt: skip


def noisy(truth: list[float], kind: str, size: float) -> dict[str, Noisy]:
    law = np.random.default_rng(7)  # of its own for each test, so that their order does not matter
    draw = law.normal if kind == "gaussian" else law.laplace
    return {f"m{i}": Noisy(value + draw(0, size, ROUNDS), kind, size) for i, value in enumerate(truth)}  # type: ignore[arg-type]  # of two


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
@pytest.mark.parametrize(
    ("function", "rows", "noise"),
    [("count", 500, 30), ("sum", 500, 30), ("avg", 500, 30), ("avg", 90, 30), ("avg", 30, 30), ("var_pop", 2000, 30),
     ("var_samp", 2000, 30), ("stddev_samp", 2000, 30)],
)  # fmt: skip
def test_intervals_hold_as_often_as_they_say(
    function: str, rows: int, noise: float, kind: str, confidence: float
) -> None:
    first, squares = 0.3, 0.4  # of mean and mean square, in halves of the range
    truth = [rows * HALF, rows * HALF * first, rows * HALF * (squares - 0.5)]
    inputs = {"count": 1, "sum": 2, "avg": 2}.get(function, 3)
    size = noise * HALF * (1 if kind == "gaussian" else 0.7)
    found = estimate(recipe(function, inputs), noisy(truth[:inputs], kind, size), confidence=confidence)
    exact = value_of(recipe(function, inputs), [np.array([value]) for value in truth[:inputs]])[0]
    held = np.mean((found.low <= exact) & (exact <= found.high))
    assert held >= confidence - 0.01
    if rows >= 90:  # where the count is hardly known, intervals are the whole range and hold more often
        assert held <= confidence + (0.025 if rows >= 500 else 0.04)
    assert (found.low <= found.high).all()


def test_the_gaussian_ratio_is_fiellers() -> None:
    """Each end is where the noise of first − t·count just explains what was seen."""
    measures = {
        "m0": Noisy(np.array([200_000.0]), "gaussian", 9000.0),
        "m1": Noisy(np.array([90_000.0]), "gaussian", 9000.0),
    }
    found = estimate(recipe("avg", 2), measures)
    for end in (found.low[0], found.high[0]):
        t = (end - 100) / 100
        assert abs(90_000 - t * 200_000) == pytest.approx(float(ndtri(0.975)) * 9000 * np.sqrt(1 + t * t))


@pytest.mark.parametrize("scales", [[1.0, 1.0], [1.0, 0.3], [1.0, 0.5, 0.2], [2.0, 2.0, 2.0]])
def test_widths_of_sums_of_laplace_noises(scales: list[float]) -> None:
    half = float(width([np.array([scale]) for scale in scales], "laplace", 0.95)[0])
    law = np.random.default_rng(7)
    total = sum(law.laplace(0, scale, 400_000) for scale in scales)
    assert 0.949 <= np.mean(np.abs(total) <= half) <= 0.954  # equal scales are moved apart, upward


@pytest.mark.parametrize("count", [13, 20, 40])
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_widths_of_sums_of_many_laplace_noises_are_wide_enough(count: int, confidence: float) -> None:
    """Twenty equal ones once had a half-width of nearly 0: what a closed form cancels, doubles do not hold."""
    half = float(width([np.array([1.0])] * count, "laplace", confidence)[0])
    total = np.random.default_rng(7).laplace(0, 1, (count, 20_000)).sum(axis=0)
    assert confidence <= np.mean(np.abs(total) <= half)
    assert half < 2 * np.quantile(np.abs(total), confidence)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("mean", [22.0, 100.0, 195.0])
def test_an_average_far_from_its_typical_value_has_an_interval_round_it(kind: str, mean: float) -> None:
    """Rows count a sixteenth of the largest value there, so the truth is up to sixteen such units from the guess."""
    rows, half, typical = 5000, 112, 20
    guessed = replace(recipe("avg", 2), half=half, middle=Fraction(typical))
    truth = [rows * half, rows * (mean - typical) / float(STEP)]
    found = estimate(guessed, noisy(truth, kind, 3000.0))
    assert 0.94 <= np.mean((found.low <= mean) & (mean <= found.high)) <= 0.97


@pytest.mark.parametrize("currency", ["epsilon", "rho", "mu_squared"])
@pytest.mark.parametrize("sql", ["SUM(salary - 10000), COUNT(*)", "SUM(salary), AVG(salary)", "COUNT(*)"])
def test_the_error_that_is_quoted_is_half_of_the_interval(sql: str, currency: Any) -> None:
    """Also where values are measured from a middle below zero."""
    question = lower(parse(f"SELECT {sql} FROM staff"), CLINIC)
    budget = Budget(currency=currency, amount=Fraction(1, 2))
    priced = price(question, budget, relation=Relation.REPLACE, unit="row", contribution=Contribution())
    error = expected(priced)[0].error
    (_, noise), *_ = priced.steps
    size = float(noise.mechanism.magnitude)
    measures = {name: Noisy(np.array([1e6]), noise.mechanism.family, size) for name in priced.recipes[0].inputs}
    found = estimate(priced.recipes[0], measures)
    assert error == pytest.approx((found.high - found.low)[0] / 2)


def test_nothing_is_known_of_an_average_over_nobody() -> None:
    measures = {"m0": Noisy(np.array([-5.0, 3.0]), "laplace", 9.0), "m1": Noisy(np.array([4.0, 1.0]), "laplace", 9.0)}
    found = estimate(recipe("avg", 2), measures)
    assert np.isnan(found.values[0])
    assert (found.low == 0).all()
    assert (found.high == 200).all()
