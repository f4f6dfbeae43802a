"""The bounding that peers document, simulated: sample each person's groups or rows, clamp, add noise.

OpenDP, Tumult Analytics and PipelineDP keep at most L0 groups of a person, drawn at random, and at most L∞ in each of
them: rows, or a clamped sum. Noise is Laplace of scale L0 · L∞ / ε, or Gaussian for √L0 · L∞ by the analytic formula
(Balle and Wang 2018), whichever is better. OpenDP and Tumult can instead keep so many rows of a person over all groups;
that is simulated for COUNT, where it is better, by the mean over the rows drawn. The setting is the best of a grid,
found with the true answers in hand. Where keys are unknown, δ (half of it if Gaussian) sets the threshold.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import erfc, exp, log, sqrt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

__all__ = ["TASKS", "Sample", "Setting", "Vector", "settings"]

Vector = NDArray[np.float64]

TASKS = ("COUNT", "SUM", "AVG", "people")
MOST = 200
L0 = (1, 2, 3, 5, 7, 10, 14, 20, 25, 30, 35, 40, 45, 50, 60, 80, 100, 140, MOST)
ROWS = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 256, 320, 400, 512, 768)
SUMS = (100, 200, 400, 800, 1200, 1600, 2400, 3200, 4800, 6400, 9600, 12800, 19200)
CAPS = (50, 100, 200, 300, 400, 500, 600, 800)  # rows of a person over all groups
TURNS, VALUES = (1, 2, 4, 8, 16, 32), (100, 200, 400, 600, 800, 1200)
DRAW = np.random.default_rng()


@dataclass(frozen=True)
class Setting:
    """How one person is bounded, and the noise that goes with it."""

    groups: int
    inside: int
    noise: str
    value: int = 0
    capped: bool = False

    def __str__(self) -> str:
        if self.capped:
            return f"{self.noise}, {self.inside} rows a person"
        values = f", values to {self.value}" if self.value else ""
        return f"{self.noise}, L0 = {self.groups}, L∞ = {self.inside}{values}"


def settings(task: str) -> Iterator[Setting]:
    """The grid."""
    inside = {"COUNT": ROWS, "SUM": SUMS, "AVG": TURNS}.get(task, (1,))
    values = VALUES if task == "AVG" else (0,)
    groups_of = L0 if task == "people" else [groups for groups in L0 if groups <= 50]  # there are 50 regions
    for groups, most, noise, value in product(groups_of, inside, ("Laplace", "Gaussian"), values):
        yield Setting(groups, most, noise, value)
    if task == "COUNT":
        yield from (Setting(1, most, noise, capped=True) for most in CAPS for noise in ("Laplace", "Gaussian"))


class Sample:
    """One random order of each person's groups, and of its rows in each: answers for every setting of the grid."""

    def __init__(self, path: Path, seed: int) -> None:
        with duckdb.connect(":memory:") as connection:
            place = f"ROW_NUMBER() OVER (PARTITION BY person ORDER BY hash({{}}, person, {seed})) AS place"
            connection.execute(
                f"CREATE TABLE held AS SELECT *, {place.format('region')} FROM "
                f"(SELECT person, region, COUNT(*) AS n, SUM(amount) AS s FROM '{path}' GROUP BY person, region)"
            )
            clamped = [f"SUM(LEAST(n, {most})) AS n{most}" for most in ROWS]
            clamped += [f"SUM(LEAST(s, {most})) AS s{most}" for most in SUMS]
            self.regions = connection.execute(
                f"SELECT region, place, {', '.join(clamped)} FROM held WHERE place <= {MOST} GROUP BY region, place"
            ).fetchnumpy()
            shares = ", ".join(f"SUM(n * LEAST(1, {most} / t)) AS c{most}" for most in CAPS)
            self.capped = connection.execute(
                f"SELECT region, 1 AS place, {shares} FROM "
                "(SELECT region, n, SUM(n) OVER (PARTITION BY person) AS t FROM held) GROUP BY region"
            ).fetchnumpy()
            values = ", ".join(f"SUM(LEAST(amount, {most})) AS s{most}" for most in VALUES)
            turn = f"ROW_NUMBER() OVER (PARTITION BY person, region ORDER BY hash(day, amount, {seed})) AS turn"
            self.rows = connection.execute(
                f"SELECT region, place, turn, COUNT(*) AS n, {values} FROM (SELECT region, place, amount, {turn} FROM "
                f"'{path}' JOIN held USING (person, region)) WHERE turn <= {max(TURNS)} AND place <= {MOST} "
                "GROUP BY region, place, turn"
            ).fetchnumpy()
            self.products = connection.execute(
                f"SELECT product, place, COUNT(*) AS n FROM (SELECT product, {place.format('product')} FROM "
                f"(SELECT DISTINCT person, product FROM '{path}')) WHERE place <= {MOST} GROUP BY product, place"
            ).fetchnumpy()
        self.known: dict[tuple[str, str, int, int], Vector] = {}
        self.region = np.unique(self.regions["region"])
        self.product = np.unique(self.products["product"])

    def answer(self, task: str, setting: Setting, epsilon: float, delta: float) -> Vector:
        """A noisy answer, by region or product in their order."""
        if task == "AVG":
            half = setting.value / 2  # values are taken from the middle of their range, as PipelineDP does
            n = self._of(self.rows, "region", "n", setting)
            s = self._of(self.rows, "region", f"s{setting.value}", setting) - half * n
            count = noisy(n, setting, setting.inside, epsilon / 2, delta / 2)
            total = noisy(s, setting, setting.inside * half, epsilon / 2, delta / 2)
            found: Vector = half + total / np.maximum(count, 1)
            return found
        if task == "people":
            exact = self._of(self.products, "product", "n", setting)
            answer = noisy(exact, setting, 1, epsilon, delta if setting.noise == "Laplace" else delta / 2)
            return np.where(answer >= threshold(setting, epsilon, delta), answer, 0)
        if setting.capped:
            exact = self._of(self.capped, "region", f"c{setting.inside}", setting)
            return noisy(exact, setting, setting.inside, epsilon, delta)
        column = f"{'n' if task == 'COUNT' else 's'}{setting.inside}"
        exact = self._of(self.regions, "region", column, setting)
        return noisy(exact, setting, setting.inside, epsilon, delta)

    def _of(self, cube: Mapping[str, Any], key: str, column: str, setting: Setting) -> Vector:
        turns = setting.inside if "turn" in cube else 0
        if (known := self.known.get((key, column, setting.groups, turns))) is not None:
            return known
        kept = cube["place"].astype(int) <= setting.groups
        if turns:
            kept &= cube["turn"].astype(int) <= turns
        names = self.region if key == "region" else self.product
        cells = np.searchsorted(names, cube[key][kept])
        weights = cube[column][kept].astype(np.float64)
        total: Vector = np.bincount(cells, weights=weights, minlength=len(names)).astype(np.float64)
        self.known[key, column, setting.groups, turns] = total
        return total


def noisy(exact: Vector, setting: Setting, reach: float, epsilon: float, delta: float) -> Vector:
    """`reach` is how far one person moves one group."""
    if setting.noise == "Laplace":
        return exact + DRAW.laplace(0, setting.groups * reach / epsilon, exact.shape)
    return exact + DRAW.normal(0, gaussian(epsilon, delta) * sqrt(setting.groups) * reach, exact.shape)


def gaussian(epsilon: float, delta: float) -> float:
    """The σ that sensitivity 1 needs for (ε, δ)."""

    def spent(sigma: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return _normal(a - b) - exp(epsilon) * _normal(-a - b)

    low, high = 1e-3, 1e3
    for _ in range(60):
        middle = sqrt(low * high)
        low, high = (low, middle) if spent(middle) <= delta else (middle, high)
    return high


def threshold(setting: Setting, epsilon: float, delta: float) -> float:
    """What noise on one person alone exceeds in any of its groups with probability δ (all of it, or half)."""
    each = (delta if setting.noise == "Laplace" else delta / 2) / setting.groups
    if setting.noise == "Laplace":
        return 1 + setting.groups / epsilon * log(1 / (2 * each))
    sigma, z = gaussian(epsilon, delta / 2) * sqrt(setting.groups), 0.0
    while _normal(-z) > each:
        z += 0.01
    return 1 + sigma * z


def _normal(x: float) -> float:
    return erfc(-x / sqrt(2)) / 2
