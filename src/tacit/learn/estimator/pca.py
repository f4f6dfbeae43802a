"""Principal components of the second moments of the rows, released once."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, whole
from tacit.learn.estimator.bounds import Array, scaled
from tacit.learn.estimator.estimator import FitPlan
from tacit.learn.estimator.examples import Examples
from tacit.learn.estimator.look import first_look, look_step
from tacit.learn.estimator.outer import SumBlock, SumVector, in_ball
from tacit.learn.estimator.scaler import Transformer
from tacit.learn.estimator.sums import NON_NEGATIVE, NoisySums, SumStep

__all__ = ["PCA"]

LOOK = Fraction(1, 20)
RADIUS = 1.4  # rows are clipped at so many times their typical distance


class PCA(Transformer):
    """The directions in which rows differ most, of columns that are scaled to their bounds.

    After a first look (a twentieth of the price) the second moments about the middle are released with symmetric noise,
    half the variance off the diagonal. (docs/theory/private-regression.md)
    """

    kind: ClassVar[str] = "transformer"
    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    middle_: Array

    def __init__(
        self,
        n_components: int = 2,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        bounds: Any = None,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        self.n_components, self.epsilon, self.delta, self.bounds = n_components, epsilon, delta, bounds
        self.relation, self.session, self.table = relation, session, table

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        if not 1 <= whole(self.n_components, "n_components") <= columns:
            raise InputError(f"n_components must be from 1 to the {columns} columns, not {self.n_components!r}")
        moments = SumVector((SumBlock(left=columns, right=columns, symmetric=True),))
        return (
            look_step(columns, LOOK),
            SumStep(name="moments", vector=moments, share=1 - LOOK, replace=NON_NEGATIVE),
        )

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        rows = scaled(examples.features, plan.within)
        look = first_look(sums, rows)
        radius = RADIUS * look.radius
        x = in_ball(rows - look.middle, radius)
        (moments,) = sums.release("moments", (x, x))
        values, vectors = np.linalg.eigh(moments)
        best = np.argsort(values)[::-1][: int(self.n_components)]
        components = vectors[:, best].T
        # a sign that does not depend on a library's whim
        components = (
            components
            * np.where(components[np.arange(len(best)), np.abs(components).argmax(axis=1)] < 0, -1, 1)[:, None]
        )
        variance = np.maximum(values, 0.0) * radius**2 / look.count
        share = variance / max(float(variance.sum()), 1e-12)
        return {
            "components": components,
            "middle": look.middle,
            "explained_variance": variance[best],
            "explained_variance_ratio": share[best],
        }

    def _restore(self, state: Any, plan: FitPlan) -> None:
        super()._restore(state, plan)
        self.n_components_ = int(self.n_components)
        self.mean_ = plan.within.low + (self.middle_ + 1) / 2 * (plan.within.high - plan.within.low)

    def transform(self, X: Any) -> Array:  # noqa: N803
        """Rows, in the directions that were found."""
        return np.asarray((scaled(self._known(X), self.range_) - self.middle_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Array:  # noqa: N803
        """Rows in the columns' own units, from their places in those directions."""
        self._check_fitted()
        rows = np.asarray(X, dtype=float) @ self.components_ + self.middle_
        return np.asarray(self.range_.low + (rows + 1) / 2 * (self.range_.high - self.range_.low))
