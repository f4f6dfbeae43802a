"""Ranges of an ordered question: how many answered from here to there, by a tree of intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from tacit.base import InputError, Number, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate
from tacit.survey.choose import choose
from tacit.survey.estimate import normal, root
from tacit.survey.frequency import Frequency
from tacit.survey.picked import Picked
from tacit.survey.protocol import Array, Tally

__all__ = ["RangeTree"]

MOST = 1024  # answers: estimates invert a matrix of this size


@dataclass(frozen=True, kw_only=True)
class RangeTree(Picked):
    """One of the ordered answers 0, …, `categories` − 1. Chance picks a level of a tree, and the report is on the node.

    Nodes of the lowest level are the answers; `branching` neighbours have one parent. Each level is asked with the
    protocol that is best for its number of nodes. A range is a sum of few nodes, and all levels together are
    fitted by least squares (Hay, Rastogi, Miklau and Suciu 2010; Cormode, Kulkarni and Srivastava 2019).
    """

    theory: ClassVar[str] = "local-distributions"
    kind: ClassVar[str] = "range_tree"

    epsilon: Fraction
    categories: int
    branching: int = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "categories", whole(self.categories, "categories", least=2))
        object.__setattr__(self, "branching", whole(self.branching, "branching", least=2))
        if self.categories > MOST:
            raise InputError(f"categories must be at most {MOST}: put neighbouring answers together")
        assert self.parts  # refuses what the parts refuse

    @cached_property
    def _sizes(self) -> list[int]:
        """How many answers a node holds, by level from the top; one node for everything is not asked about."""
        sizes = [1]
        while sizes[0] * self.branching < self.categories:
            sizes.insert(0, sizes[0] * self.branching)
        return sizes

    @cached_property
    def parts(self) -> Sequence[Frequency]:
        nodes = [-(-self.categories // size) for size in self._sizes]
        return [choose(categories=count, epsilon=self.epsilon).protocol for count in nodes]

    def _checked(self, values: Array) -> Array:
        if not values.size:
            return np.zeros(values.shape, dtype=np.int64)
        if values.dtype.kind not in "biu" or int(values.min()) < 0 or int(values.max()) >= self.categories:
            raise InputError(f"answers must be whole numbers from 0 to {self.categories - 1}: encode them as such")
        return values.astype(np.int64, copy=False)

    def _of_part(self, values: Array, part: int) -> Array:
        return np.asarray(values // self._sizes[part])

    # --- estimates

    def _fitted(self, tally: Tally) -> tuple[Array, Array]:
        """The answers' shares, and their covariance.

        Weighted least squares with weights that depend on the numbers of reports alone, so the fit is linear in
        the levels' unbiased shares, and unbiased; the shares add up to 1.
        """
        every, rows, seen, weights, spread = np.arange(self.categories), [], [], [], []
        for part, size, own in zip(self.parts, self._sizes, self.tallies(tally), strict=True):
            if own.reports < 1:
                raise InputError("some level has no report yet: wait for more")
            rows.append((every[None, :] // size == np.arange(part.categories)[:, None]).astype(np.float64))
            seen.append(part.estimate(own).value)
            spread.append(part.covariance(seen[-1], own.reports))
            weights.append(np.full(part.categories, part.deviation(reports=own.reports) ** -2))
        design, weight = np.concatenate(rows), np.concatenate(weights)
        inverse = np.linalg.inv(design.T @ (weight[:, None] * design))
        solve = inverse @ (design.T * weight)
        one = inverse.sum(axis=1) / inverse.sum()  # how the constraint shares out what is missing to 1
        solve = solve - one[:, None] * solve.sum(axis=0)[None, :]
        parts = np.split(solve, np.cumsum([len(row) for row in rows])[:-1], axis=1)
        noise = sum(part @ own @ part.T for part, own in zip(parts, spread, strict=True))
        return solve @ np.concatenate(seen) + one, np.asarray(noise)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Unbiased shares of all answers, consistent with those of the intervals above them, with normal intervals."""
        shares, noise = self._fitted(tally)
        return normal(shares, root(np.diag(noise)), confidence)

    def between(self, tally: Tally, first: int, last: int, confidence: Number = 0.95) -> Estimate:
        """The share of answers from `first` to `last`, both included."""
        low, high = whole(first, "first"), whole(last, "last")
        if not low <= high < self.categories:
            raise InputError(
                f"first and last must be answers, the first not above the last, up to {self.categories - 1}"
            )
        shares, noise = self._fitted(tally)
        found = normal(shares[low : high + 1].sum(), root(noise[low : high + 1, low : high + 1].sum()), confidence)
        value, error = float(found.value), float(found.standard_error)
        return Estimate(value, float(found.lower), float(found.upper), error, found.confidence)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small = [(Fraction(1, 5), 2, 2), (Fraction(1), 5, 2), (Fraction(5, 2), 9, 3)]
        made = [cls(epsilon=e, categories=k, branching=b) for e, k, b in small]
        return [Example(m, 0, m.categories - 1, m.loss()) for m in made]
