"""k-means by noisy Lloyd steps from a start that knows no data."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, whole
from tacit.learn.estimator.bounds import Array, scaled
from tacit.learn.estimator.estimator import FitPlan
from tacit.learn.estimator.examples import Examples
from tacit.learn.estimator.look import first_look, look_step
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, exact_product, in_ball, one_hot
from tacit.learn.estimator.scaler import Transformer
from tacit.learn.estimator.sums import NoisySums, SumStep
from tacit.noise import rng_or_default, uniform

__all__ = ["KMeans", "far_apart"]

LOOK = Fraction(1, 10)
RADIUS = 1.5  # rows are clipped at so many times their typical distance
TRIES = 200  # places that are thought of for each centre of a start


def far_apart(count: int, size: int) -> Array:
    """So many places in the unit ball, far from each other: of many at random, each time the one that is furthest."""
    source = rng_or_default(None)
    places = uniform(2**20, count * TRIES * size, source).reshape(-1, size) / 2.0**19 - 1
    places = places / np.maximum(np.sqrt(np.sum(places**2, axis=1)), 1e-9)[:, None] * 0.7
    found = [np.zeros(size)] if size == 1 or count == 1 else [places[0]]
    nearest = np.sum((places - found[0]) ** 2, axis=1)
    while len(found) < count:
        found.append(places[int(np.argmax(nearest))])
        nearest = np.minimum(nearest, np.sum((places - found[-1]) ** 2, axis=1))
    return np.array(found)


class KMeans(Transformer):
    """Centres of `n_clusters` groups, of columns that are scaled to their bounds.

    After a first look (a tenth of the price) at most ten Lloyd steps: each row adds (1, x) in the place of its nearest
    centre. The start is spread over the ball and knows no row. (docs/theory/private-k-means.md)
    """

    kind: ClassVar[str] = "clusterer"
    centres_: Array

    def __init__(
        self,
        n_clusters: int = 8,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        bounds: Any = None,
        max_iter: int = 5,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        self.n_clusters, self.epsilon, self.delta, self.bounds = n_clusters, epsilon, delta, bounds
        self.max_iter, self.relation, self.session, self.table = max_iter, relation, session, table

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        if not 1 <= whole(self.max_iter, "max_iter") <= 10:
            raise InputError(f"max_iter must be from 1 to 10, since each step is paid for, not {self.max_iter!r}")
        count = whole(self.n_clusters, "n_clusters", least=1)
        vector = SumVector((SumBlock(left=count, weight=3), SumBlock(left=count, right=columns, weight=4)), 5)
        return (
            look_step(columns, LOOK),
            SumStep(name="centres", vector=vector, share=1 - LOOK, times=int(self.max_iter)),
        )

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        rows = scaled(examples.features, plan.within)
        look = first_look(sums, rows)
        radius = RADIUS * look.radius
        x = in_ball(rows - look.middle, radius)
        one = np.full((len(x), 1), float(STEPS))
        centres = far_apart(int(self.n_clusters), x.shape[1])
        for _ in range(int(self.max_iter)):
            near = np.argmax(exact_product(x, centres.T) - np.sum(centres**2, axis=1) / 2, axis=1)
            where = one_hot(near, len(centres))
            counts, totals = sums.release("centres", (where, one), (where, x))
            # a centre that has too few rows for its noise stays as it is, by as much as it has too few
            trust = np.maximum(counts[:, 0], 0.0)
            blur = sums.noise("centres", 1) * np.sqrt(x.shape[1])
            moved = totals / np.maximum(trust, 1.0)[:, None]
            weight = trust**2 / (trust**2 + blur**2)
            centres = weight[:, None] * moved + (1 - weight[:, None]) * centres
            centres = centres / np.maximum(np.sqrt(np.sum(centres**2, axis=1)), 1.0)[:, None]
        return {"centres": centres * radius + look.middle, "counts": np.maximum(counts[:, 0], 0.0)}

    def _restore(self, state: Any, plan: FitPlan) -> None:
        super()._restore(state, plan)
        self.cluster_centers_ = plan.within.low + (self.centres_ + 1) / 2 * (plan.within.high - plan.within.low)
        self.n_iter_ = int(self.max_iter)

    def transform(self, X: Any) -> Array:  # noqa: N803
        """How far each row is from each centre, where columns are scaled to their bounds."""
        rows = scaled(self._known(X), self.range_)
        return np.asarray(np.sqrt(np.sum((rows[:, None, :] - self.centres_[None]) ** 2, axis=2)))

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The nearest centre of each row."""
        return np.asarray(np.argmin(self.transform(X), axis=1))

    def fit_predict(self, X: Any, y: Any = None, **fit: Any) -> Array:  # noqa: N803
        """Fit, then find the nearest centre of the same rows."""
        return self.fit(X, y, **fit).predict(X)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Less the sum of squared distances to the nearest centres. It is exact, so not for others' eyes."""
        return -float(np.sum(np.min(self.transform(X), axis=1) ** 2))
