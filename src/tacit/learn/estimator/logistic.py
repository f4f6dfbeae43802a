"""Logistic regression, binary and multinomial, by noisy gradient descent on all rows at once."""

from collections.abc import Sequence
from dataclasses import dataclass
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
from tacit.learn.estimator.look import FirstLook, first_look, look_step
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, exact_product, in_ball, one_hot
from tacit.learn.estimator.sums import FitStep, NoisySums, SumStep

__all__ = ["Clips", "LogisticRegression", "steps_for", "with_constant"]

LOOK = Fraction(1, 20)  # of the price goes to the first look
RADII = 0.7, 2.5  # typical distances from the middle at which rows are clipped: with much noise, with little
RESIDUALS = 0.4, sqrt(2)  # and residuals at this norm; none is longer than √2
BLUR = 0.1  # in log-odds: noise below this is little, and nothing is worth clipping for
SPREAD = 1.5  # what the deviation of log-odds between rows is thought to be, before looking
MOMENTUM = 0.8
RATE, FASTEST = 2.5, 3.5
CONSTANT = 0.198  # of the column of ones; 0.98² + 0.198² < 1
ROWS = 0.98


def steps_for(epsilon: float) -> int:
    """How many steps: few where noise rules, more where there is something to gain. Fixed by ε alone."""
    return int(20 + 12 * sqrt(min(epsilon, 64.0)))


def with_constant(rows: Array) -> Array:
    """Rows of a unit ball with a constant beside them, still of norm one at most."""
    return np.hstack([np.trunc(rows * ROWS), np.full((len(rows), 1), np.trunc(CONSTANT * STEPS))])


@dataclass(frozen=True)
class Clips:
    """Where rows (in typical distances from their middle) and residuals are clipped, by how much noise there is.

    A clip that cuts residuals makes weights too large, for noise that is smaller: worth it only where noise is what
    hurts. `noise` is that of all steps together, in clips.
    """

    radius: float
    residual: float
    ridge: float

    @classmethod
    def of(cls, noise: float, look: FirstLook) -> "Clips":
        """What suits this noise. It follows from released numbers alone."""
        columns, classes = len(look.middle), len(look.shares)
        bend = look.least * (1 - float(look.shares @ look.shares)) / max(classes - 1, 1) / columns
        blur = sqrt(2) * noise / bend  # how far noise moves log-odds, were nothing clipped
        residual = float(np.clip(RESIDUALS[1] * BLUR / blur, *RESIDUALS))
        part = (residual - RESIDUALS[0]) / (RESIDUALS[1] - RESIDUALS[0])
        radius = RADII[0] + part * (RADII[1] - RADII[0])
        # Wiener's: the variance of the noise over that of a weight, and over how far a gradient bends
        ridge = 2 * (noise * residual / SPREAD) ** 2 / bend
        return cls(radius, residual, ridge)


class LogisticRegression(LabelModel):
    """Softmax regression on declared classes.

    A first look (a twentieth of the price) finds the middle of the rows, how far out they lie and how many there are of
    each class; rows are centred and clipped there, and `max_iter` full-batch gradients, clipped and noisy, are followed
    with momentum; the weights of the second half are averaged. `max_iter` follows from ε unless it is given. A fit is
    exactly a Gaussian mechanism. (docs/theory/private-gradient-descent.md)
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
            look_step(columns, LOOK, classes=classes),
            SumStep(name="gradient", vector=gradient, share=1 - LOOK, times=self._times()),
        )

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        assert examples.target is not None
        rows, count, times = scaled(examples.features, plan.within), len(plan.classes), self._times()
        labels = one_hot(examples.target, count)
        look = first_look(sums, rows, classes=labels)
        labels = labels / STEPS
        noise = sums.noise("gradient") / sqrt(times)
        clips = Clips.of(noise, look)
        radius = clips.radius * look.radius
        x = with_constant(in_ball(rows - look.middle, radius))
        # the odds of the classes are known, so that is where weights start and what the ridge draws them to
        start = np.zeros((x.shape[1], count))
        start[-1] = (np.log(look.shares) - np.log(look.shares).mean()) / CONSTANT
        # a step that no rows, however alike, make too long; and in all as far as noise may carry the weights
        steepest = min(1.0, clips.radius**-2 + CONSTANT**2) / 2 * clips.residual / RESIDUALS[1]
        rate = min(
            FASTEST / (steepest + clips.ridge / look.least),
            RATE * look.least * (1 - MOMENTUM) / (noise * clips.residual * times),
        )
        weights, speed, later = start, np.zeros_like(start), np.zeros_like(start)
        for step in range(times):
            residual = softmax(exact_product(x, weights), axis=1) - labels
            (gradient,) = sums.release("gradient", (x, in_ball(residual, clips.residual)))
            slope = gradient * clips.residual + clips.ridge * (weights - start)
            speed = MOMENTUM * speed + slope / look.least
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
