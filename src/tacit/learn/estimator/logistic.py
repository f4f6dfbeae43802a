"""Logistic regression, binary and multinomial, by noisy gradient descent on all rows at once."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from tacit.base import Number, whole
from tacit.learn.estimator.bounds import Array, scaled
from tacit.learn.estimator.classifier import LabelModel
from tacit.learn.estimator.estimator import FitPlan
from tacit.learn.estimator.examples import Examples
from tacit.learn.estimator.look import first_look, look_step
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, exact_product, in_ball, one_hot
from tacit.learn.estimator.sums import FitStep, NoisySums, SumStep

__all__ = ["LogisticRegression", "steps_for", "with_constant"]

LOOK = Fraction(1, 20)  # of the price goes to the first look
RADIUS = 0.7  # rows are clipped at so many times their typical distance from the middle
RESIDUAL = 0.4  # and residuals at this norm, of at most √2
MOMENTUM = 0.9
RATE, FASTEST = 8.0, 16.0
CONSTANT = 0.198  # of the column of ones; 0.98² + 0.198² < 1
ROWS = 0.98


def steps_for(epsilon: float) -> int:
    """How many steps: few where noise rules, more where there is something to gain. Fixed by ε alone."""
    return int(20 + 12 * sqrt(min(epsilon, 64.0)))


def with_constant(rows: Array) -> Array:
    """Rows of a unit ball with a constant beside them, still of norm one at most."""
    return np.hstack([np.trunc(rows * ROWS), np.full((len(rows), 1), np.trunc(CONSTANT * STEPS))])


class LogisticRegression(LabelModel):
    """Softmax regression on declared classes.

    A first look (a twentieth of the price) finds the middle of the rows and how far out they lie; they are centred and
    clipped there, and `max_iter` full-batch gradients, clipped and noisy, are followed with momentum; the weights of
    the second half are averaged. `max_iter` follows from ε unless it is given. A fit is exactly a Gaussian mechanism.
    (docs/theory/private-gradient-descent.md)
    """

    kind: ClassVar[str] = "classifier"
    weights_: Array
    middle_: Array
    radius_: Array

    def __init__(
        self,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        bounds: Any = None,
        classes: Any = None,
        max_iter: int | None = None,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.max_iter, self.relation, self.session, self.table = max_iter, relation, session, table

    def _times(self) -> int:
        return steps_for(float(self.epsilon)) if self.max_iter is None else whole(self.max_iter, "max_iter", least=1)

    def _steps(self, columns: int, classes: int) -> Sequence[FitStep]:
        gradient = SumVector((SumBlock(left=columns + 1, right=classes),))
        return (
            look_step(columns, LOOK),
            SumStep(name="gradient", vector=gradient, share=1 - LOOK, times=self._times()),
        )

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        assert examples.target is not None
        rows, count, times = scaled(examples.features, plan.within), len(plan.classes), self._times()
        look = first_look(sums, rows)
        radius = RADIUS * look.radius
        x, labels = with_constant(in_ball(rows - look.middle, radius)), one_hot(examples.target, count) / STEPS
        # noise of one step is √times/μ of a clip: as far as it may carry the weights in all
        rate = min(FASTEST, RATE / sqrt(count) * look.count * (1 - MOMENTUM) / (sums.noise("gradient") * sqrt(times)))
        weights, speed, later = (np.zeros((x.shape[1], count)) for _ in range(3))
        for step in range(times):
            residual = softmax(exact_product(x, weights), axis=1) - labels
            (gradient,) = sums.release("gradient", (x, in_ball(residual, RESIDUAL)))
            speed = MOMENTUM * speed + gradient / look.count
            weights = weights - rate * speed
            if 2 * step >= times:
                later = later + weights
        return {"weights": later / ((times + 1) // 2), "middle": look.middle, "radius": np.array([radius])}

    def _restore(self, state: Any, plan: FitPlan) -> None:
        super()._restore(state, plan)
        scale = 2 / (plan.within.high - plan.within.low) / state["radius"][0] * ROWS
        weights = state["weights"] - state["weights"].mean(axis=1, keepdims=True)
        slopes = (weights[:-1] * scale[:, None]).T
        middle = plan.within.low + (state["middle"] + 1) / 2 * (plan.within.high - plan.within.low)
        constant = weights[-1] * CONSTANT - slopes @ middle
        if len(plan.classes) == 2:
            slopes, constant = slopes[1:] - slopes[:1], constant[1:] - constant[:1]
        self.coef_, self.intercept_, self.n_iter_ = slopes, constant, np.array([self._times()])

    def _scores(self, X: Any) -> Array:  # noqa: N803
        rows = scaled(self._known(X), self.range_) - self.middle_
        return exact_product(with_constant(in_ball(rows, float(self.radius_[0]))), self.weights_)
