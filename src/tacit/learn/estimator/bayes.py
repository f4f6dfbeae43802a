"""Naive Bayes from noisy counts and moments by class, released once."""

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number
from tacit.learn.estimator.bounds import Array, ColumnRange, scaled
from tacit.learn.estimator.classifier import LabelModel
from tacit.learn.estimator.estimator import FitPlan
from tacit.learn.estimator.examples import Examples, matrix
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, in_ball, one_hot
from tacit.learn.estimator.sums import NON_NEGATIVE, NoisySums, SumStep

__all__ = ["CategoricalNB", "GaussianNB"]

FIRST, SECOND = 0.6, 0.35  # radii, over √d, of rows and of their squares less a third
LEAST = 0.005  # variance below which none is believed, with bounds of [−1, 1]; nor below its own noise
FINE = 64  # in which norms of many blocks are written as whole numbers


class GaussianNB(LabelModel):
    """A normal law for each class and column, from the number of rows, their sum and the sum of their squares by class.

    All are one vector, (1, x, x²) in the place of the row's class. Where few rows are in a class, its means and
    variances are drawn towards those of all rows. (docs/theory/private-naive-bayes.md)
    """

    kind: ClassVar[str] = "classifier"
    count_: Array
    mean_: Array
    variance_: Array

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
        self.epsilon, self.delta, self.bounds, self.classes = epsilon, delta, bounds, classes
        self.relation, self.session, self.table = relation, session, table

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        blocks = (
            SumBlock(left=classes, weight=1),
            SumBlock(left=classes, right=columns, weight=2),
            SumBlock(left=classes, right=columns, weight=2),
        )
        return (SumStep(name="moments by class", vector=SumVector(blocks, 3), share=Fraction(1)),)

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        assert examples.target is not None
        rows, root = scaled(examples.features, plan.within), np.sqrt(len(plan.names))
        where = one_hot(examples.target, len(plan.classes))
        one = np.full((len(rows), 1), float(STEPS))
        name = "moments by class"
        counts, firsts, seconds = sums.release(
            name,
            (where, one),
            (where, in_ball(rows, FIRST * root)),
            (where, in_ball(rows * rows - 1 / 3, SECOND * root)),
        )
        count = np.maximum(counts[:, 0], sums.noise(name, 0))
        first, second = firsts * FIRST * root, seconds * SECOND * root + counts / 3
        everyone = count.sum()
        mean, square = first.sum(axis=0) / everyone, second.sum(axis=0) / everyone
        mean = np.clip(mean, -1, 1)
        # as many rows of everybody's as make the noise of a mean half the width of the bounds
        borrowed = 2 * sums.noise(name, 1) * FIRST * root
        weight = (count / (count + borrowed))[:, None]
        means = np.clip(weight * first / count[:, None] + (1 - weight) * mean, -1, 1)
        blur = sums.noise(name, 2) * SECOND * root
        pooled = np.clip(square - mean * mean, np.clip(blur / everyone, LEAST, 1.0), 1.0)
        least = np.clip(blur / count, LEAST, 1.0)[:, None]
        own = np.clip(second / count[:, None] - means * means, least, 1.0)
        borrowed = 4 * blur
        weight = (count / (count + borrowed))[:, None]
        return {"count": count, "mean": means, "variance": weight * own + (1 - weight) * pooled}

    def _restore(self, state: Any, plan: FitPlan) -> None:
        super()._restore(state, plan)
        half = (plan.within.high - plan.within.low) / 2
        self.theta_, self.var_ = plan.within.low + (self.mean_ + 1) * half, self.variance_ * half**2
        self.class_count_, self.class_prior_ = self.count_, self.count_ / self.count_.sum()

    def _scores(self, X: Any) -> Array:  # noqa: N803
        rows = scaled(self._known(X), self.range_)
        found = np.tile(np.log(self.class_prior_), (len(rows), 1))
        for place in range(len(self.classes_)):
            mean, variance = self.mean_[place], self.variance_[place]
            found[:, place] -= 0.5 * np.sum(np.log(variance) + (rows - mean) ** 2 / variance, axis=1)
        return found


class CategoricalNB(LabelModel):
    """The share of each category in each class, from one noisy table of counts for each column.

    `categories` are declared: for each column a list, or one number k for the codes 0 … k − 1 of all. A row with a
    category that was not declared counts for nothing. (docs/theory/private-naive-bayes.md)
    """

    kind: ClassVar[str] = "classifier"

    def __init__(
        self,
        epsilon: Number = 1.0,
        delta: Number = 1e-6,
        *,
        categories: Any = None,
        classes: Any = None,
        alpha: float = 1.0,
        relation: str = "add_remove",
        session: Any = None,
        table: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.categories, self.classes = epsilon, delta, categories, classes
        self.alpha, self.relation, self.session, self.table = alpha, relation, session, table
        self.bounds = None

    def plan(self, X: Any, y: Any = None) -> FitPlan:  # noqa: N803
        """The fit, priced; nothing is read but the number of columns."""
        if isinstance(X, str):
            raise InputError(
                "CategoricalNB does not read tables of a policy yet: pass rows as arrays, with table= and units="
            )
        return super().plan(X, y)

    def _sizes(self, columns: int) -> list[int]:
        if self.categories is None:
            raise InputError(
                "CategoricalNB does not know its categories: they are never read from the rows. Declare categories=k "
                "for codes 0 … k − 1, or a list for each column"
            )
        if isinstance(self.categories, int | np.integer):
            sizes = [int(self.categories)] * columns
        else:
            sizes = [int(each) if isinstance(each, int | np.integer) else len(each) for each in self.categories]
        if len(sizes) != columns or min(sizes) < 2:
            raise InputError(f"categories must say at least two for each of the {columns} columns, and say {sizes}")
        return sizes

    def _declared(self, names: Sequence[str]) -> ColumnRange:
        sizes = self._sizes(len(names))
        return ColumnRange(np.zeros(len(sizes)), np.array(sizes, dtype=float) - 1)

    def _features(self, X: Any) -> Array:  # noqa: N803
        """Codes of categories; what is not declared is no number."""
        if self.categories is None or isinstance(self.categories, int | np.integer):
            return self._whole(matrix(X))
        values = np.asarray(X, dtype=object)
        if values.ndim != 2:
            return matrix(X)
        if values.shape[1] != len(self.categories):
            wanted = len(self.categories)
            raise InputError(
                f"X has {values.shape[1]} features, but CategoricalNB is expecting {wanted} features as input"
            )
        found = np.full(values.shape, np.nan)
        for place, declared in enumerate(self.categories):
            known = range(int(declared)) if isinstance(declared, int | np.integer) else declared
            for code, each in enumerate(known):
                found[np.asarray(values[:, place] == each, dtype=bool), place] = code
        return found

    def _whole(self, found: Array) -> Array:
        sizes = np.array(self._sizes(found.shape[1]))
        return np.where((found == np.rint(found)) & (found >= 0) & (found < sizes), found, np.nan)

    def _steps(self, columns: int, classes: int) -> Sequence[SumStep]:
        blocks = [SumBlock(left=classes, weight=FINE)]
        blocks += [SumBlock(left=classes, right=size, weight=FINE) for size in self._sizes(columns)]
        norm = isqrt(FINE**2 * len(blocks) - 1) + 1
        vector = SumVector(tuple(blocks), norm)
        return (SumStep(name="counts by class", vector=vector, share=Fraction(1), replace=NON_NEGATIVE),)

    def _learn(self, examples: Examples, plan: FitPlan, sums: NoisySums) -> dict[str, Array]:
        assert examples.target is not None
        where = one_hot(examples.target, len(plan.classes))
        one = np.full((len(where), 1), float(STEPS))
        sizes = self._sizes(len(plan.names))
        codes = examples.features.astype(np.int64)
        columns = [(where, one_hot(codes[:, place], size)) for place, size in enumerate(sizes)]
        counts, *tables = sums.release("counts by class", (where, one), *columns)
        blur = sums.noise("counts by class")
        # a count within the noise of zero says little: it is taken as at least a part of that
        floor = max(float(self.alpha), blur / 2)
        state = {"class_count": np.maximum(counts[:, 0], floor)}
        for place, table in enumerate(tables):
            state[f"counts_{place}"] = np.maximum(table, 0.0) + floor
        return state

    def _restore(self, state: Any, plan: FitPlan) -> None:
        self.class_count_ = state["class_count"]
        tables = [state[f"counts_{place}"] for place in range(len(plan.names))]
        self.feature_log_prob_ = [np.log(table / table.sum(axis=1, keepdims=True)) for table in tables]
        self.class_log_prior_ = np.log(self.class_count_ / self.class_count_.sum())

    def _scores(self, X: Any) -> Array:  # noqa: N803
        codes = self._known(X).astype(np.int64)
        found = np.tile(self.class_log_prior_, (len(codes), 1))
        for place, table in enumerate(self.feature_log_prob_):
            found += table[:, codes[:, place]].T
        return found
