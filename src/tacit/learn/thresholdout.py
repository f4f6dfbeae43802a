"""Thresholdout: a held-out set that may be asked again and again (Dwork et al. 2015).

A query gives each row a number from 0 to 1. Is its mean over the held rows within a noisy threshold of that over the
training rows? Then the training mean is the answer, for free. Else the query overfits: the answer is the held mean with
noise, one of the budget is spent, and the threshold gets fresh noise. All noise is exact, on a lattice of sums.
docs/theory/holdout.md has the statements.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, log, sqrt
from threading import Lock
from typing import Any

import numpy as np

from tacit.base import ExhaustedError, InputError, Number, Relation, Sensitivity, between, cached_property, whole
from tacit.base.number import Ratio, frozen, positive
from tacit.loss import Loss
from tacit.mechanism import Laplace, SparseVector
from tacit.noise import Rng
from tacit.program import Step, Task

__all__ = ["FINE", "Floats", "RowSum", "Thresholdout", "ThresholdoutRun"]

Floats = np.ndarray[Any, np.dtype[np.float64]]

FINE = 2**20  # steps of a number from 0 to 1


@frozen
class Thresholdout:
    """A reusable holdout of `size` units: a `threshold` for how far means may differ, `sigma` for the noise, and a
    `budget` of queries that overfit."""

    size: int
    threshold: Ratio
    sigma: Ratio
    budget: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole(self.size, "size", least=1))
        object.__setattr__(self, "budget", whole(self.budget, "budget", least=1))
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))
        wanted = positive(self.threshold, "threshold", toward="decimal")
        object.__setattr__(self, "threshold", Fraction(round(wanted / self.step)) * self.step)
        if not 0 < self.threshold < 1:
            raise InputError("threshold is a difference of two means from 0 to 1: say one between 0 and 1, such as 0.1")

    @property
    def step(self) -> Fraction:
        """The lattice that means of held rows are on."""
        return Fraction(1, self.size * FINE)

    @property
    def comparison(self) -> SparseVector:
        """One round: noise of 2σ on the threshold, of 4σ on each difference, until one is above."""
        return SparseVector(
            threshold_scale=2 * self.sigma, query_scale=4 * self.sigma, answers=1, granularity=self.step
        )

    @property
    def noise(self) -> Laplace:
        """On a held mean that is answered."""
        return Laplace(scale=self.sigma, granularity=self.step)

    @property
    def steps(self) -> tuple[Step, Step]:
        """What is charged: `budget` rounds, each (½ + ½)/(σ·size) for the comparisons and 1/(σ·size) for the answer."""
        moved = Sensitivity.scalar(Fraction(1, self.size))
        return (
            Step(
                name="compare",
                mechanism=self.comparison,
                sensitivity=moved,
                times=self.budget,
                task=Task(kind="holdout"),
            ),
            Step(name="answer", mechanism=self.noise, sensitivity=moved, times=self.budget, task=Task(kind="holdout")),
        )

    def loss(self, *, relation: Relation = Relation.REPLACE, unit: str = "row") -> Loss:
        """What all of it costs a held unit: at most 2·budget/(σ·size), pure."""
        first, second = (step.loss(relation=relation, unit=unit) for step in self.steps)
        return first + second

    # --- how right the answers are

    def sample_error(self, queries: Number, confidence: Number = 0.95) -> float:
        """With this confidence each of so many answers is so near to the mean over the held rows, until the budget is
        used: a free answer is nearer than T + γ + |η|, a paid one is off by its noise; a third of the chance each."""
        count, failure = whole(queries, "queries", least=1), 1 - between(confidence, "confidence", 0, 1)

        def within(scale: Fraction, times: int) -> float:
            return Laplace(scale=scale, granularity=self.step).error(1 - failure / 3 / times)

        free = float(self.threshold) + within(2 * self.sigma, self.budget) + within(4 * self.sigma, count)
        return max(free, within(self.sigma, self.budget)) * (1 + 1e-12)

    def error(self, queries: Number, confidence: Number = 0.95) -> float:
        """With this confidence every answer, clamped to [0, 1], is so near to the mean over the population that the
        held rows were drawn from, independently of each other; 1 where nothing is known.

        α + e^ε − 1 + c + 2d with failure β'/c + δ/d, for answers within α of the held rows' means but for a chance β',
        under (ε, δ)-DP (Jung et al. 2020), minimised over β' and δ.
        """
        failure = float(1 - between(confidence, "confidence", 0, 1))
        best = 1.0
        for small in 10.0 ** -np.arange(2.0, 14.0, 2.0):
            beta = delta = failure * small
            c = d = 2 * small  # β'/c + δ/d = failure
            inner = self.sample_error(queries, 1 - Fraction(beta)) + c + 2 * d
            if inner < best:
                epsilon = self._loss.epsilon(Fraction(delta), accuracy=1e-2).upper
                best = min(best, inner + (expm1(epsilon) if epsilon < 1 else 2.0))
        return best

    @cached_property
    def _loss(self) -> Loss:
        return self.loss()

    def start(self, rng: Rng) -> "ThresholdoutRun":
        """A run, which costs `loss` whatever is asked."""
        return ThresholdoutRun(self, rng)

    @staticmethod
    def least_threshold(size: Number, queries: Number) -> float:
        """2√(log m/n): below about this, chance alone makes queries differ, and they spend the budget."""
        return 2 * sqrt(log(max(2, whole(queries, "queries", least=1))) / whole(size, "size", least=1))


class ThresholdoutRun:
    """A run at work: it holds its secret threshold."""

    def __init__(self, settings: Thresholdout, rng: Rng) -> None:
        self.settings, self.left = settings, settings.budget
        self._rng, self._lock = rng, Lock()
        self._round = settings.comparison.start(settings.threshold, rng)

    def ask(self, train: Fraction, held: Callable[[], int]) -> tuple[float, bool]:
        """The answer to a query with this mean over the training rows, and whether it was paid for; `held` gives the
        sum over held units, in steps."""
        with self._lock:  # two threads must not both spend the last of the budget
            if not self.left:
                raise ExhaustedError(
                    f"all {self.settings.budget} queries that may overfit have been asked: take fresh held rows, and "
                    "pay for a new holdout"
                )
            step, total = self.settings.step, held()
            if not self._round.ask(abs(total - round(train / step)) * step):
                return float(train), False
            noisy = float(self.settings.noise.sample(total * step, self._rng))
            self.left -= 1
            self._round = self.settings.comparison.start(self.settings.threshold, self._rng)
            return min(1.0, max(0.0, noisy)), True


@dataclass(frozen=True, eq=False)
class RowSum:
    """Adds up a query over rows, each unit's rows counting together as one."""

    weights: Floats

    @classmethod
    def over(cls, rows: int, units: Any = None) -> "RowSum":
        """Rows of one unit each, or of the `units` given; a unit with k rows gives each of them 1/k."""
        if units is None:
            return cls(np.ones(rows))
        names = np.asarray(units)
        if names.shape != (rows,):
            raise InputError("units must say of each held row whose it is")
        _, place, times = np.unique(names, return_inverse=True, return_counts=True)
        return cls(1.0 / times[place])

    @property
    def units(self) -> int:
        return round(float(self.weights.sum()))

    def of(self, values: Any) -> int:
        """In steps of 1/FINE, rounded down row by row, so that one unit moves it by at most FINE. Numbers are clamped
        to [0, 1]; what is no number counts as 0, and so does what is not one number for each row."""
        try:
            flat = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            return 0
        if flat.shape != self.weights.shape:
            return 0
        clamped = np.clip(np.nan_to_num(flat, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
        return int(np.floor(clamped * self.weights * FINE).astype(np.int64).sum())
