"""Means and variances of columns, released once, to scale them by."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.base import Number
from tacit.learn.estimator.bounds import Array, scaled
from tacit.learn.estimator.estimator import Estimator, FitPlan
from tacit.learn.estimator.examples import Examples
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, in_ball
from tacit.learn.estimator.sums import NoisySums, SumStep

__all__ = ["StandardScaler", "Transformer"]

FIRST, SECOND = 1.0, 2 / 3  # radii, over √d, of rows and of their squares less a third: nothing is clipped
LEAST = 0.005  # variance below which none is believed, with bounds of [−1, 1]
NAME = "moments"


class Transformer(Estimator):
    """What turns rows into other rows."""

    def transform(self, X: Any) -> Array:  # noqa: N803
        """Rows, changed."""
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **fit: Any) -> Array:  # noqa: N803
        """Fit, then change the same rows. Rows are as private afterwards as they were before."""
        return self.fit(X, y, **fit).transform(X)


class StandardScaler(Transformer):
    """Mean and deviation of each column, from (1, x, x²) as one vector; x is clamped to its bounds first.

    (docs/theory/private-sums.md)
    """

    kind: ClassVar[str] = "transformer"

    def __init__(
        self,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        bounds: Any = None,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.relation, self.session, self.table = relation, session, table

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        blocks = (SumBlock(left=1, weight=1), SumBlock(left=columns, weight=2), SumBlock(left=columns, weight=2))
        return (SumStep(name=NAME, vector=SumVector(blocks, 3), share=Fraction(1)),)

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        rows, root = scaled(examples.features, plan.within), np.sqrt(len(plan.names))
        one = np.full((len(rows), 1), float(STEPS))
        counts, firsts, seconds = sums.release(
            NAME, (one, one), (in_ball(rows, FIRST * root), one), (in_ball(rows * rows - 1 / 3, SECOND * root), one)
        )
        count = max(float(counts[0, 0]), 1.0, sums.noise(NAME, 0))
        mean = np.clip(firsts[:, 0] * FIRST * root / count, -1, 1)
        square = seconds[:, 0] * SECOND * root / count + 1 / 3
        return {"count": np.array([count]), "middle": mean, "variance": np.clip(square - mean * mean, LEAST, 1.0)}

    def _restore(self, state: Any, plan: FitPlan) -> None:
        half = (plan.within.high - plan.within.low) / 2
        self.mean_ = plan.within.low + (state["middle"] + 1) * half
        self.var_ = state["variance"] * half**2
        self.scale_ = np.sqrt(self.var_)
        self.count_ = float(state["count"][0])

    def transform(self, X: Any) -> Array:  # noqa: N803
        """Columns with a mean of about 0 and a deviation of about 1."""
        return np.asarray((self._known(X) - self.mean_) / self.scale_)

    def inverse_transform(self, X: Any) -> Array:  # noqa: N803
        """The columns as they were."""
        return np.asarray(self._known(X) * self.scale_ + self.mean_)
