"""Linear and ridge regression from the second moments of the rows, released once."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number
from tacit.learn.estimator.bounds import Array, scaled
from tacit.learn.estimator.estimator import Estimator, FitPlan
from tacit.learn.estimator.examples import Examples, column
from tacit.learn.estimator.logistic import CONSTANT, ROWS
from tacit.learn.estimator.look import first_look, look_step
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, shrunk, whole_steps
from tacit.learn.estimator.sums import NoisySums, SumStep

__all__ = ["LinearRegression", "Ridge"]

LOOK = Fraction(1, 10)
RADIUS = 1.0  # rows are clipped at so many times their typical distance
TARGET = 2.0  # and targets at so many deviations from their mean
DAMPING = 0.7  # times σ√d, half of the noise's largest eigenvalue, is added to the moments


class LinearRegression(Estimator):
    """Least squares on declared bounds, `target` being those of what is predicted.

    After a first look (a tenth of the price) XᵀX and Xᵀy are released as one vector, with half the variance off the
    diagonal of XᵀX; negative eigenvalues, which are noise, become zero, and as much is added to all as noise would
    shift them: where the noise is small this is least squares. (docs/theory/private-regression.md)
    """

    kind: ClassVar[str] = "regressor"

    def __init__(
        self,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        bounds: Any = None,
        target: Any = None,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.target = epsilon, delta, bounds, target
        self.relation, self.session, self.table = relation, session, table

    _alpha: float = 0.0

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        size = columns + 1
        moments = SumVector(
            (SumBlock(left=size, right=size, weight=3, symmetric=True), SumBlock(left=size, weight=4)), 5
        )
        return (
            look_step(columns, LOOK, target=True),
            SumStep(name="moments", vector=moments, share=1 - LOOK),
        )

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        assert examples.target is not None
        assert plan.target is not None
        rows = scaled(examples.features, plan.within)
        y = scaled(examples.target[:, None], plan.target)[:, 0]
        look = first_look(sums, rows, y)
        radius, reach = RADIUS * look.radius, TARGET * sqrt(look.target_variance)
        # a row outside is scaled down with its constant and its target: it has less weight, and slopes stay right
        ball, scale = shrunk(rows - look.middle, radius)
        x = np.hstack([np.trunc(ball * ROWS), np.trunc(scale * (CONSTANT * STEPS))])
        height = np.clip((y - look.target_middle) / reach, -1.0, 1.0)
        squares, products = sums.release("moments", (x, x), (x, whole_steps(height * scale[:, 0])))
        values, vectors = np.linalg.eigh(squares)
        size = len(values)
        added = DAMPING * sums.noise("moments") * sqrt(size) + self._alpha * (ROWS / radius) ** 2
        weights = vectors @ ((vectors.T @ products[:, 0]) / (np.maximum(values, 0.0) + max(added, 1e-9)))
        # back to the units of the columns
        width = (plan.within.high - plan.within.low) / 2
        half = (plan.target.high[0] - plan.target.low[0]) / 2
        slopes = weights[:-1] * ROWS / radius / width * reach * half
        middle = plan.within.low + (look.middle + 1) * width
        constant = (weights[-1] * CONSTANT * reach + look.target_middle + 1) * half + plan.target.low[0]
        return {"coef": slopes, "intercept": np.array(constant - slopes @ middle)}

    def _restore(self, state: Any, plan: FitPlan) -> None:
        self.coef_, self.intercept_ = state["coef"], float(state["intercept"])

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The line through the declared bounds, and never further out than the target can be."""
        known = np.clip(self._known(X), self.range_.low, self.range_.high)
        assert self.target_range_ is not None
        found = np.sum(known * self.coef_, axis=1) + self.intercept_  # by row, whatever rows are beside it
        return np.asarray(np.clip(found, self.target_range_.low[0], self.target_range_.high[0]))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """R². It is exact, so of private rows it is not for others' eyes."""
        found = column(y, len(X)).astype(float)
        mean = np.average(found, weights=sample_weight)
        rest = np.average((found - self.predict(X)) ** 2, weights=sample_weight)
        spread = float(np.average((found - mean) ** 2, weights=sample_weight))
        return float(1 - rest / spread) if spread else (1.0 if rest == 0 else 0.0)


class Ridge(LinearRegression):
    """Linear regression with `alpha` beside what the noise asks for: as scikit-learn's, in the units of columns that
    are scaled to [−1, 1]."""

    def __init__(
        self,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        alpha: float = 1.0,
        bounds: Any = None,
        target: Any = None,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        super().__init__(epsilon, delta, bounds=bounds, target=target, relation=relation, session=session, table=table)
        self.alpha = alpha

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        self._alpha = float(self.alpha)
        return super()._learn(examples, plan, sums)

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        if not float(self.alpha) >= 0:
            raise InputError(f"alpha must be at least 0, not {self.alpha!r}")
        return super()._steps(columns, classes)
