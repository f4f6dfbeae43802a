"""Several questions at once, and how their answers go together: tables of every two of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate
from tacit.survey.choose import choose
from tacit.survey.estimate import normal, root
from tacit.survey.frequency import Frequency
from tacit.survey.picked import Picked
from tacit.survey.protocol import Array, Tally

__all__ = ["Marginals"]

MOST_CELLS = 1 << 12
MOST = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Marginals(Picked):
    """Answers to `sizes` = (k₁, k₂, …) questions. Chance picks two of them; the report is on both answers together.

    A value is one whole number for all answers, the first question's being the slowest: `code` makes it. All of ε goes
    to the pair, which is asked with the protocol that is best for its number of cells.
    """

    theory: ClassVar[str] = "local-distributions"
    kind: ClassVar[str] = "marginals"

    epsilon: Fraction
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "sizes", tuple(whole(size, "sizes", least=2) for size in self.sizes))
        if len(self.sizes) < 2 or prod(self.sizes) > MOST:
            raise InputError("sizes must be those of at least two questions, with at most 2^62 answers in all")
        if max(a * b for a, b in combinations(self.sizes, 2)) > MOST_CELLS:
            raise InputError(f"a table of two questions must have at most {MOST_CELLS} cells: group answers first")
        assert self.parts  # refuses what the parts refuse

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The questions of each part, in order: (0, 1), (0, 2), …, (1, 2), …"""
        return list(combinations(range(len(self.sizes)), 2))

    @cached_property
    def parts(self) -> Sequence[Frequency]:
        cells = [self.sizes[a] * self.sizes[b] for a, b in self.pairs]
        return [choose(categories=count, epsilon=self.epsilon).protocol for count in cells]

    def code(self, answers: Any) -> Any:
        """One number, or an array of them, for rows of answers, one to each question."""
        rows = np.asarray(answers)
        if rows.dtype.kind not in "biu" or rows.shape[-1:] != (len(self.sizes),):
            raise InputError(f"answers must be rows of {len(self.sizes)} whole numbers, one to each question")
        if rows.size and (rows.min() < 0 or np.any(rows >= np.array(self.sizes))):
            raise InputError("each answer must be a whole number below the size of its question")
        found = np.zeros(rows.shape[:-1], dtype=np.int64)
        for question, size in enumerate(self.sizes):
            found = found * size + rows[..., question]
        return found if found.ndim else int(found)

    def _answer(self, values: Array, question: int) -> Array:
        return np.asarray(values // prod(self.sizes[question + 1 :]) % self.sizes[question])

    def _checked(self, values: Array) -> Array:
        if not values.size:
            return np.zeros(values.shape, dtype=np.int64)
        if values.dtype.kind not in "biu" or int(values.min()) < 0 or int(values.max()) >= prod(self.sizes):
            raise InputError(f"answers must be whole numbers from 0 to {prod(self.sizes) - 1}: take code(…) of them")
        return values.astype(np.int64, copy=False)

    def _of_part(self, values: Array, part: int) -> Array:
        a, b = self.pairs[part]
        return np.asarray(self._answer(values, a) * self.sizes[b] + self._answer(values, b))

    # --- estimates

    def table(self, tally: Tally, first: int, second: int, confidence: Number = 0.95) -> Estimate:
        """Unbiased shares of all combinations of two questions' answers, by answer to `first`, then to `second`."""
        a, b = sorted((whole(first, "first"), whole(second, "second")))
        if (a, b) not in self.pairs:
            raise InputError(f"first and second must be two different questions from 0 to {len(self.sizes) - 1}")
        part = self.pairs.index((a, b))
        found = self.parts[part].estimate(self.tallies(tally)[part], confidence)
        shape = (self.sizes[a], self.sizes[b])
        value, lower, upper, error = (
            x.reshape(shape) if first == a else x.reshape(shape).T
            for x in (found.value, found.lower, found.upper, found.standard_error)
        )
        return Estimate(value, lower, upper, error, found.confidence)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Unbiased shares of each question's own answers, one question after the other.

        Every pair that a question is in tells of it; they are averaged, with weights by their reports and cells.
        """
        own, values, spreads = self.tallies(tally), [], []
        for question, size in enumerate(self.sizes):
            value, spread, weight = np.zeros(size), np.zeros(size), 0.0
            for (a, b), part, one in zip(self.pairs, self.parts, own, strict=True):
                if question not in (a, b):
                    continue
                cells = np.arange(part.categories)
                answers = cells // self.sizes[b] if question == a else cells % self.sizes[b]
                sums = (answers[None, :] == np.arange(size)[:, None]).astype(np.float64)
                shares = part.estimate(one).value
                trust = one.reports * size / part.total_error
                value, weight = value + trust * (sums @ shares), weight + trust
                spread = spread + trust**2 * np.diag(sums @ part.covariance(shares, one.reports) @ sums.T)
            values.append(value / weight)
            spreads.append(spread / weight**2)
        return normal(np.concatenate(values), root(np.concatenate(spreads)), confidence)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small: list[tuple[Fraction, tuple[int, ...]]] = [
            (Fraction(1, 5), (2, 2)),
            (Fraction(1), (2, 3, 2)),
            (Fraction(5, 2), (3, 4)),
        ]
        made = [cls(epsilon=e, sizes=sizes) for e, sizes in small]
        return [Example(m, 0, prod(m.sizes) - 1, m.loss()) for m in made]
