"""The best of many settings, chosen privately: the price of a search does not grow with the size of its grid."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tacit.base import InputError, Number, TacitError
from tacit.base.number import round_up, whole
from tacit.learn.estimator.classifier import LabelModel
from tacit.learn.estimator.estimator import Estimator
from tacit.learn.estimator.examples import column, column_names, matrix
from tacit.learn.estimator.sums import SumStep
from tacit.loss import RDP, best_of_poisson, calibrate
from tacit.mechanism import Gaussian
from tacit.noise import Rng, bernoulli, coins, rng_or_default, uniform

__all__ = ["best_of", "poisson"]

HALF = Fraction(1, 2)
HELD = Fraction(1, 5)  # of the rows are kept to compare models on
GRAIN = Fraction(1, 2**20)


def poisson(mean: int, rng: Rng) -> int:
    """A Poisson number, exactly: a sum of Poisson(1)'s, each a geometric number k that is kept with 2^k/(2·k!)."""
    found = 0
    for _ in range(mean):
        while True:
            k, keep = 0, HALF
            while bernoulli(HALF, rng):
                k += 1
                keep = keep * 2 / k
            if bernoulli(keep, rng):
                break
        found += k
    return found


def best_of(
    model: Callable[..., Estimator],
    grid: Mapping[str, Sequence[Any]],
    X: Any,  # noqa: N803 - scikit-learn's name for it
    y: Any,
    *,
    epsilon: Number,
    delta: Number = 1e-6,
    runs: int = 10,
    **settings: Any,
) -> Any:
    """A fitted model with settings of `grid` that were found best, (ε, δ)-DP as a whole, however large the grid is.

    About `runs` times (a Poisson number) settings are drawn, a model is fitted on four fifths of the rows and its right
    answers, or squared errors, are counted with noise on the others; the best is given and all else forgotten. Which
    rows are kept apart is drawn by coins, so a row has a part in one of the two. The loss is that of
    `tacit.loss.best_of_poisson`, on `loss_`; `params_` says what was chosen. (docs/theory/private-selection.md)
    """
    if settings.get("session") is not None:
        raise InputError(
            "best_of is not charged to a session: a ledger has no price for a random number of runs. Leave session "
            "out, and account for loss_ yourself, or fit one model with the session"
        )
    points = [dict(zip(grid, point, strict=True)) for point in product(*grid.values())]
    if not points:
        raise InputError("the grid has no settings: give a list for each name")
    for point in points:
        plan = model(**settings | point, epsilon=epsilon, delta=delta).plan(X, y)  # what is wrong is known before
        if not all(isinstance(step, SumStep) for step in plan.steps):
            raise InputError(
                "best_of has a price for models of Gaussian sums alone, and not for a perturbed objective: search with "
                "LogisticRegression"
            )
    relation = plan.program.relation
    mean = whole(runs, "runs", least=1)

    def searched(sigma: float) -> RDP:
        return best_of_poisson(Gaussian(sigma=round_up(sigma)).loss(1, relation=relation), mean=mean)

    sigma = calibrate(searched, epsilon=epsilon, delta=delta, accuracy=1e-3).value
    once = Gaussian(sigma=round_up(sigma)).loss(1, relation=relation)
    # a fit that is (ε₁, δ)-DP by Gaussian noise alone has the same μ, and the same curve
    inner = once.epsilon(delta).lower * (1 - 1e-9)
    rng = rng_or_default(None)
    rows, labels = matrix(X), column(y, len(X))
    held = coins(HELD, len(rows), rng).astype(bool)
    best: tuple[float, Estimator, dict[str, Any]] | None = None
    for _ in range(poisson(mean, rng)):
        point = points[int(uniform(len(points), 1, rng)[0])]
        fitted = model(**settings | point, epsilon=inner, delta=delta).fit(_part(X, ~held), labels[~held])
        found = _score(fitted, rows[held], labels[held], sigma)
        if best is None or found > best[0]:
            best = (found, fitted, point)
    if best is None:
        raise TacitError("no run was drawn, which happens with probability exp(−runs); what it cost is spent")
    _, fitted, point = best
    fitted.params_, fitted.loss_ = point, searched(sigma)  # type: ignore[attr-defined]  # of this model alone
    return fitted


def _part(X: Any, rows: Any) -> Any:  # noqa: N803
    if hasattr(X, "loc"):
        return X.loc[rows]
    return X.filter(rows) if column_names(X) is not None else matrix(X)[rows]


def _score(model: Estimator, rows: Any, labels: Any, sigma: float) -> float:
    """Right answers, or less the squared errors in units of the target's range, with noise; a row adds one at most."""
    finite = np.isfinite(rows).all(axis=1)
    predicted = np.asarray(model.predict(np.where(finite[:, None], rows, 0.0)))  # type: ignore[attr-defined]
    if isinstance(model, LabelModel):
        each = np.where(finite, predicted == labels, False).astype(float)
    else:
        assert model.target_range_ is not None
        low, high = model.target_range_.low[0], model.target_range_.high[0]
        off = np.clip(np.where(np.isfinite(labels), labels, low), low, high) - predicted
        each = np.where(finite, 1 - (off / (high - low)) ** 2, 0.0)
    steps = int(np.floor(np.clip(each, 0.0, 1.0) * 2**20).astype(np.int64).sum())
    noise = Gaussian(sigma=round_up(sigma), granularity=GRAIN)
    return float(noise.lattice.value(steps + noise.draw_one(rng_or_default(None))))
