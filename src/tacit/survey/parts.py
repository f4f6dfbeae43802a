"""Questions of several parts: chance picks one, and the whole ε goes to a report on it.

That is better than a report on every part with a share of ε each: with m parts the error grows by √m instead of by
about m. Which part was picked does not depend on the answer, so it may be seen. The parts of `RangeTree` are the levels
of a tree over ordered answers; those of `Marginals` are the tables of every two of several questions.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, cached_property, whole
from tacit.mechanism.response import Estimate
from tacit.noise import Rng, uniform
from tacit.survey.choose import choose
from tacit.survey.coin import below
from tacit.survey.frequency import Frequency
from tacit.survey.protocol import Array, Law, Protocol, Tally, normal, root, whole_answers, word

__all__ = ["Marginals", "PartProtocol", "RangeTree"]


class PartProtocol(Protocol):
    """A report is the number of a part and a report of that part's own protocol, filled up with zeros to one length.

    Guarantee: pure ε between any two answers, as each part has it. Coins: a number below the number of parts; then
    those of the part.
    """

    @property
    @abstractmethod
    def parts(self) -> Sequence[Frequency]:
        """The protocols of the parts, all with this question's ε."""

    @abstractmethod
    def _of_part(self, values: Array, part: int) -> Array:
        """What checked answers say to a part."""

    @property
    def numbers(self) -> Mapping[str, int]:
        return {"part": len(self.parts)}

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        size = max(part.dtype.itemsize for part in self.parts)
        return np.dtype([("part", word(len(self.parts))), ("report", "u1", (size,))])

    def _padded(self, part: int, report: bytes) -> bytes:
        return self._bytes(part) + report.ljust(self.dtype["report"].itemsize, b"\0")

    def _one(self, value: int, rng: Rng) -> bytes:
        part = below(len(self.parts), rng)
        return self._padded(part, self.parts[part]._one(self._of_part(np.asarray(value), part).item(), rng))

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.reshape(-1)
        reports = np.zeros(flat.size, dtype=self.dtype)
        reports["part"] = uniform(len(self.parts), flat.size, rng)
        for number, part in enumerate(self.parts):
            chosen = np.flatnonzero(reports["part"] == number)
            made = part._many(self._of_part(flat[chosen], number), rng)
            size = part.dtype.itemsize
            reports["report"][chosen, :size] = np.frombuffer(made.tobytes(), dtype=np.uint8).reshape(-1, size)
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        place = np.asarray(self._answer(value))
        share = Fraction(1, len(self.parts))
        return {
            self._padded(number, report): share * p
            for number, part in enumerate(self.parts)
            for report, p in part.law(self._of_part(place, number).item()).items()
        }

    def _split(self, reports: Array) -> list[tuple[Frequency, Array, Array]]:
        """Each part's protocol, its reports, and what fills them up."""
        flat, found = reports.reshape(-1), []
        for number, part in enumerate(self.parts):
            rows = flat["report"][flat["part"] == number]
            size = part.dtype.itemsize
            own = np.frombuffer(np.ascontiguousarray(rows[:, :size]).tobytes(), dtype=part.dtype)
            found.append((part, own, rows[:, size:]))
        return found

    def _possible(self, reports: Array) -> None:
        super()._possible(reports)
        for part, own, filling in self._split(reports):
            part._possible(own)
            if filling.any():
                raise InputError("what fills up a report must be zeros")

    def tally(self, reports: Array) -> Tally:
        """The tallies of all parts, one after the other, each followed by its number of reports."""
        kept: list[Array] = []
        for part, own, _ in self._split(reports):
            one = part.tally(own)
            kept += [one.counts.ravel(), np.array([one.reports])]
        return Tally(np.concatenate(kept).astype(np.int64), reports.size)

    def tallies(self, tally: Tally) -> list[Tally]:
        """The tally of each part."""
        found, start = [], 0
        for part in self.parts:
            shape = part.tally(np.zeros(0, dtype=part.dtype)).counts.shape
            end = start + int(np.prod(shape))
            found.append(Tally(tally.counts[start:end].reshape(shape), int(tally.counts[end])))
            start = end + 1
        return found


MOST_ANSWERS = 1024  # answers: estimates invert a matrix of this size


@dataclass(frozen=True, kw_only=True)
class RangeTree(PartProtocol):
    """One of the ordered answers 0, …, `categories` − 1. Chance picks a level of a tree, and the report is on the node.

    Nodes of the lowest level are the answers; `branching` neighbours have one parent. Each level is asked with the
    protocol that is best for its number of nodes. A range is a sum of few nodes, and all levels together are
    fitted by least squares (Hay, Rastogi, Miklau and Suciu 2010; Cormode, Kulkarni and Srivastava 2019).
    """

    theory: ClassVar[str] = "local-distributions"
    kind: ClassVar[str] = "range_tree"
    cases = (("1/5", 2, 2), (1, 5, 2), ("5/2", 9, 3))

    categories: int
    branching: int = 4

    def __post_init__(self) -> None:
        self._settle(categories=2, branching=2)
        if self.categories > MOST_ANSWERS:
            raise InputError(f"categories must be at most {MOST_ANSWERS}: put neighbouring answers together")
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
        return whole_answers(values, self.categories)

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
            last = self.categories - 1
            raise InputError(f"first and last must be answers, the first not above the last, up to {last}")
        shares, noise = self._fitted(tally)
        part = slice(low, high + 1)
        found = normal(shares[part].sum(), root(noise[part, part].sum()), confidence)
        value, lower, upper, error = map(float, (found.value, *found.interval, found.standard_error))
        return Estimate(value, lower, upper, error, found.confidence)

    @property
    def neighbours(self) -> Sequence[tuple[int, int]]:
        return [(0, self.categories - 1)]


MOST_CELLS = 1 << 12
MOST_CODES = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Marginals(PartProtocol):
    """Answers to `sizes` = (k₁, k₂, …) questions. Chance picks two of them; the report is on both answers together.

    A value is one whole number for all answers, the first question's being the slowest: `code` makes it. All of ε goes
    to the pair, which is asked with the protocol that is best for its number of cells.
    """

    theory: ClassVar[str] = "local-distributions"
    kind: ClassVar[str] = "marginals"
    cases = (("1/5", (2, 2)), (1, (2, 3, 2)), ("5/2", (3, 4)))

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        self._settle()
        object.__setattr__(self, "sizes", tuple(whole(size, "sizes", least=2) for size in self.sizes))
        if len(self.sizes) < 2 or prod(self.sizes) > MOST_CODES:
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
        found = np.ravel_multi_index(tuple(np.moveaxis(rows, -1, 0)), self.sizes)
        return found if rows.ndim > 1 else int(found)

    def _answer_to(self, values: Array, question: int) -> Array:
        return np.asarray(values // prod(self.sizes[question + 1 :]) % self.sizes[question])

    def _checked(self, values: Array) -> Array:
        return whole_answers(values, prod(self.sizes), "take code(…) of them")

    def _of_part(self, values: Array, part: int) -> Array:
        a, b = self.pairs[part]
        return np.asarray(self._answer_to(values, a) * self.sizes[b] + self._answer_to(values, b))

    # --- estimates

    def table(self, tally: Tally, first: int, second: int, confidence: Number = 0.95) -> Estimate:
        """Unbiased shares of all combinations of two questions' answers, by answer to `first`, then to `second`."""
        a, b = sorted((whole(first, "first"), whole(second, "second")))
        if (a, b) not in self.pairs:
            raise InputError(f"first and second must be two different questions from 0 to {len(self.sizes) - 1}")
        part = self.pairs.index((a, b))
        found = self.parts[part].estimate(self.tallies(tally)[part], confidence)
        shape, parts = (self.sizes[a], self.sizes[b]), (found.value, *found.interval, found.standard_error)
        value, lower, upper, error = (x.reshape(shape) if first == a else x.reshape(shape).T for x in parts)
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

    @property
    def neighbours(self) -> Sequence[tuple[int, int]]:
        return [(0, prod(self.sizes) - 1)]
