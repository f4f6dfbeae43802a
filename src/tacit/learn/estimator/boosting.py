"""Explainable boosting: one curve for each column, grown from noisy histograms of residuals."""

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt, sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from tacit.base import Number, whole
from tacit.learn.estimator.bounds import Array, scaled
from tacit.learn.estimator.classifier import LabelModel
from tacit.learn.estimator.estimator import FitPlan
from tacit.learn.estimator.examples import Examples
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, in_ball, one_hot
from tacit.learn.estimator.sums import NON_NEGATIVE, NoisySums, SumStep

__all__ = ["ExplainableBoosting"]

FINE = 64  # in which norms of many blocks are written as whole numbers
LOOK = Fraction(1, 10)  # of the price goes to the histograms of the columns
RESIDUAL = 0.5
RATE = 8.0  # four is Newton's for a logistic loss; over the number of columns, since all move at once
SMOOTH = 1.0  # how strongly neighbouring bins are tied, in deviations of the noise
EXACT = 2.0**20  # curves are rounded to 1/EXACT, so that a row's score is exact whatever is beside it


class ExplainableBoosting(LabelModel):
    """A sum of one curve a column, for each class: `curves_[column]` has a line a bin, and can be drawn and read.

    Bins divide the declared bounds evenly. Histograms of the columns are released once (a tenth of the price), then
    `max_iter` times the sum of the clipped residuals in each bin of every column, as one vector; curves follow them,
    smoothed over neighbouring bins by as much as there is noise. (docs/theory/private-boosting.md)
    """

    kind: ClassVar[str] = "classifier"
    curves_: Array

    def __init__(
        self,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        bounds: Any = None,
        classes: Any = None,
        max_bins: int = 16,
        max_iter: int = 15,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.max_bins, self.max_iter, self.relation = max_bins, max_iter, relation
        self.session, self.table = session, table

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        whole(self.max_bins, "max_bins", least=2)
        whole(self.max_iter, "max_iter", least=1)
        norm = isqrt(FINE**2 * columns - 1) + 1
        counts = SumVector(tuple(SumBlock(left=int(self.max_bins), weight=FINE) for _ in range(columns)), norm)
        parts = tuple(SumBlock(left=int(self.max_bins), right=classes, weight=FINE) for _ in range(columns))
        return (
            SumStep(name="histograms", vector=counts, share=LOOK, replace=NON_NEGATIVE),
            SumStep(name="residuals", vector=SumVector(parts, norm), share=1 - LOOK, times=int(self.max_iter)),
        )

    @staticmethod
    def _bins(rows: Array, count: int) -> Array:
        """The bin, of so many, of each number of rows that are scaled to [−1, 1]."""
        return np.clip(np.floor((rows + 1) / 2 * count), 0, count - 1).astype(np.int64)

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        assert examples.target is not None
        count, classes = int(self.max_bins), len(plan.classes)
        bins = self._bins(scaled(examples.features, plan.within), count)
        columns = bins.shape[1]
        places = [one_hot(bins[:, column], count) for column in range(columns)]
        one = np.full((len(bins), 1), float(STEPS))
        found = sums.release("histograms", *((place, one) for place in places))
        counts = np.maximum(np.hstack(found).T, 0.0)
        labels = one_hot(examples.target, classes) / STEPS
        ridge = np.diff(np.eye(count), axis=0)
        noise = sums.noise("residuals") * RESIDUAL
        curves, later = np.zeros((columns, count, classes)), np.zeros((columns, count, classes))
        solvers = [
            np.linalg.inv(np.diag(counts[column] + noise) + SMOOTH * noise * sqrt(count) * ridge.T @ ridge)
            for column in range(columns)
        ]
        for step in range(int(self.max_iter)):
            residual = softmax(self._exact_scores(bins, curves), axis=1) - labels
            clipped = in_ball(residual, RESIDUAL)
            totals = sums.release("residuals", *((place, clipped) for place in places))
            for column, total in enumerate(totals):
                curves[column] -= RATE / columns * solvers[column] @ total * RESIDUAL
            if 2 * step >= int(self.max_iter):
                later += curves
        return {"curves": later / ((int(self.max_iter) + 1) // 2), "counts": counts}

    def _exact_scores(self, bins: Array, curves: Array) -> Array:
        rounded = np.rint(np.clip(curves, -100.0, 100.0) * EXACT)
        found = np.zeros((len(bins), curves.shape[2]))
        for column in range(bins.shape[1]):
            found += rounded[column][bins[:, column]]
        return found / EXACT

    def _scores(self, X: Any) -> Array:  # noqa: N803
        return self._exact_scores(self._bins(scaled(self._known(X), self.range_), self.curves_.shape[1]), self.curves_)
