"""Logistic regression of two classes by a perturbed objective: one release, and no steps to choose."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from tacit.base import InputError, Number
from tacit.learn.estimator.bounds import Array, scaled
from tacit.learn.estimator.estimator import FitPlan
from tacit.learn.estimator.examples import Examples
from tacit.learn.estimator.logistic import LOOK, Clips, LogisticRegression, with_constant
from tacit.learn.estimator.look import first_look, look_step
from tacit.learn.estimator.outer import in_ball, one_hot
from tacit.learn.estimator.sums import FitStep, MinimiserStep, NoisySums

__all__ = ["PerturbedLogisticRegression"]

STRENGTH = 4  # over ε, is Δ: how a row bends the objective then costs log(1 + ε/16)


class PerturbedLogisticRegression(LogisticRegression):
    """What `LogisticRegression` is, of two declared classes, by another way: the objective gets a random slope and a
    ridge, and its minimiser is released (docs/theory/perturbed-objective.md).

    Each row must be a unit, and the guarantee is for one row more or less. An alternative: descent does better as a
    rule, and is paid for exactly in every currency.
    """

    def __init__(
        self,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        bounds: Any = None,
        classes: Any = None,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        super().__init__(
            epsilon, delta, bounds=bounds, classes=classes, relation=relation, session=session, table=table
        )

    def _times(self) -> int:
        return 1

    def plan(self, X: Any, y: Any = None) -> FitPlan:  # noqa: N803 - scikit-learn's name for it
        """The fit, priced; tables whose units have several rows are refused."""
        read = X if isinstance(X, str) else self.table
        declared = None if self.session is None else self.session.policy.tables.get(read)
        if declared is not None and not declared.each_row_is_a_unit:
            raise InputError(
                f"table {read!r} may have several rows of one unit, and a perturbed objective protects single rows: "
                "take LogisticRegression, which clips the rows of a unit together"
            )
        return super().plan(X, y)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, units: Any = None) -> Any:  # noqa: N803
        """Learn from rows, each of which is a unit."""
        if units is not None:
            raise InputError(
                "a perturbed objective protects single rows: leave units out, or take LogisticRegression, which clips "
                "the rows of a unit together"
            )
        return super().fit(X, y, sample_weight=sample_weight)

    def _classes(self, declared: tuple[Any, ...] | None) -> tuple[Any, ...]:
        found = super()._classes(declared)
        if len(found) != 2:
            raise InputError(
                f"a perturbed objective tells two classes apart, and {len(found)} are declared: take LogisticRegression"
            )
        return found

    def _steps(self, columns: int, classes: int) -> Sequence[FitStep]:
        return (
            look_step(columns, LOOK, classes=classes),
            MinimiserStep(
                name="minimiser",
                columns=columns + 1,
                strength=STRENGTH / Fraction(str(float(self.epsilon))),
                share=1 - LOOK,
            ),
        )

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        assert examples.target is not None
        rows = scaled(examples.features, plan.within)
        look = first_look(sums, rows, classes=one_hot(examples.target, len(plan.classes)))
        # the slope of the odds has half the noise, in variance, of the two slopes that descent follows
        radius = Clips.of(sqrt(2) * sums.sigma("minimiser"), look).radius * look.radius
        x = with_constant(in_ball(rows - look.middle, radius))
        slope = sums.minimise("minimiser", x, examples.target)
        weights = np.stack([-slope / 2, slope / 2], axis=1)
        return {"weights": weights, "middle": look.middle, "radius": np.array([radius])}
