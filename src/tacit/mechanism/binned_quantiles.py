"""Quantiles of every group at once, from weighted counts in the cells of a divided range."""

from collections.abc import Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import exp, lcm, log, sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np

from tacit.base import InputError, LossError, Relation, Sensitivity, Size
from tacit.base.number import Number, Ratio, Ratios, between, default, frozen, non_negative, positive, round_up, whole
from tacit.loss import ZCDP, Loss, Pure
from tacit.loss.mu import ranges_mu_squared
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.mechanism.quantile import fraction
from tacit.mechanism.selection import flip, flip_law
from tacit.noise import Rng, rng_or_default
from tacit.noise.choice import choose

__all__ = ["BinnedQuantiles"]

Array = np.ndarray[Any, np.dtype[Any]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

LISTED = 1_000_000  # answers a pmf may go through
BLOCK = 2**20  # cells scored at once
FITS = 2**62


@frozen
class BinnedQuantiles(Mechanism):
    """For each group and quantile q a cell y, with probability proportional to exp(−m(y)/scale).

    Of a group's mass n, L(y) lies in earlier cells and R(y) up to this one; m(y) is the distance of q·n from
    [L(y), R(y)], as for `Quantile`. One unit adds to group g counts of total mass c_g. Guarantee for the norm C of c
    over all groups, with Δ = max(q, 1 − q), under add/remove, summed over the quantiles:
    - "l1": pure ε = 2ΔC/scale;
    - "l2": ρ-zCDP with ρ = (2ΔC/scale)²/8, by bounded range.
    With `draw` "flip" each cell is drawn by permute-and-flip with the same scale, in "l1" alone: the same ε, and never
    a larger expected miss, but no bounded range.
    With a `margin` in ranks, each quantile has two answers, aimed at q·n − margin and q·n + margin, which enclose it:
    see `margin_for`. They cost as much as two quantiles.
    """

    theory: ClassVar[str] = "binned-quantiles"

    quantiles: Ratios
    scale: Ratio
    cells: int
    norm: Literal["l1", "l2"] = "l2"
    margin: Ratio = default(Fraction(0))
    draw: Literal["flip"] | None = field(default=None, metadata={"stored": "if given"})

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2"):
            raise InputError(f"norm must be l1 or l2, not {self.norm!r}")
        if self.draw not in (None, "flip"):
            raise InputError(f"draw must be 'flip' or left out, not {self.draw!r}")
        if self.draw and self.norm == "l2":
            raise InputError("permute-and-flip has no bounded range, on which l2 rests: use norm='l1', or no draw")
        wanted = tuple(fraction(q, "quantiles") for q in self.quantiles)
        if not wanted or any(a >= b for a, b in pairwise(wanted)):
            raise InputError("quantiles must be one or more increasing numbers between 0 and 1")
        object.__setattr__(self, "quantiles", wanted)
        object.__setattr__(self, "scale", positive(self.scale, "scale"))
        object.__setattr__(self, "cells", whole(self.cells, "cells", least=1))
        object.__setattr__(self, "margin", non_negative(self.margin, "margin"))

    def loss(
        self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> Pure | ZCDP:
        """`sensitivity` is the norm, over groups, of the mass of one unit: a bare number for any number of groups, and
        `Sensitivity.scalar(...)` for a single one.

        Under replace m moves by ΔM + (1 − Δ)μ in a group, M and μ being the larger and the smaller of the two masses:
        by C at most in a single group, by 2ΔC in all in l1, and by C·√2·√(Δ² + (1 − Δ)²) in l2.
        """
        if self.norm == "l2":
            return self.concentrated(sensitivity, relation=relation, unit=unit)
        size, single = _mass(Sensitivity.of(sensitivity, "l1"), "l1")
        shifts = sum((_shift(q, Relation(relation), single) for q in self.quantiles), Fraction(0))
        return Pure(self._answers * 2 * shifts * size / self.scale, relation=relation, unit=unit)

    def concentrated(
        self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> ZCDP:
        """The release in zCDP, whatever its `norm`: Σ (2·shift/scale)²/8 over the draws of all groups; /2 by "flip"."""
        size, single = _mass(Sensitivity.of(sensitivity, self.norm), "l2")
        squares = sum((_square(q, Relation(relation), single) for q in self.quantiles), Fraction(0))
        times = 4 if self.draw else 1  # a flip has no smaller range than its ε, which is half of such a range
        spans = times * self._answers * squares * (2 * size / self.scale) ** 2
        return ZCDP(spans / 8, mu_squared=ranges_mu_squared(spans), relation=relation, unit=unit)

    @classmethod
    def from_loss(
        cls,
        loss: Loss,
        *,
        quantiles: Sequence[Number],
        cells: int,
        sensitivity: Size = None,
        confidence: Number | None = None,
    ) -> Self:
        """The least noise with the guarantee Pure(ε), for masses clipped in l1, or ZCDP(ρ), in l2.

        With `confidence`, intervals: the margin is `margin_for(confidence)`. Pure ε is drawn by permute-and-flip.
        """
        wanted = tuple(fraction(q, "quantiles") for q in quantiles)
        drawn = 1 if confidence is None else 2
        if isinstance(loss, Pure) and loss.bound:
            made = cls(quantiles=wanted, cells=cells, norm="l1", scale=Fraction(1), draw="flip")
            unit = made.loss(sensitivity, relation=loss.relation)
            assert isinstance(unit, Pure)  # by its norm
            scale = drawn * unit.bound / loss.bound
        elif isinstance(loss, ZCDP) and loss.rho and not loss.slack:
            made = cls(quantiles=wanted, cells=cells, scale=Fraction(1))
            rho = made.concentrated(sensitivity, relation=loss.relation).rho
            scale = round_up(sqrt(positive(drawn * rho, "sensitivity") / loss.rho) * (1 + 1e-15))
        else:
            raise InputError("binned quantiles reach loss=Pure(epsilon) or loss=ZCDP(rho), above 0 and without delta")
        plain = replace(made, scale=positive(scale, "sensitivity"))
        if confidence is None:
            return plain
        return replace(plain, margin=plain.margin_for(confidence))

    def margin_for(self, confidence: Number, *, even: bool = False) -> Fraction:
        """Ranks to aim beside a quantile so that, for any data, the two answers enclose it with this probability.

        scale·log(N/α) for N cells. With `even` it is scale·log(1/α), about a third of that: enough where mass is spread
        evenly over the cells near the quantile, for then answers are off by two-sided exponential noise, each end past
        the quantile with probability α/2. Beside a gap in the data that is not so.
        """
        failure = float(1 - between(confidence, "confidence", 0, 1))
        ranks = float(self.scale) * log((1 if even else self.cells) / failure)
        return round_up(ranks * (1 + 1e-12), bits=10)  # few bits, so that ranks stay machine integers

    def covered(self) -> float:
        """How likely two answers are, for any data, to enclose their quantile: at least 1 − N·e^(−margin/scale).

        The lower end fails only at cells above the quantile, the upper only at those below: together at most N cells,
        each of which misses by the margin at least, while some cell does not miss at all.
        """
        return max(0.0, 1 - self.cells * exp(-float(self.margin / self.scale)) * (1 + 1e-12))

    def error(self, confidence: Number = 0.95, *, groups: int = 1) -> float:
        """Ranks e such that all answers miss what they aim at by at most e, with probability ≥ `confidence`.

        e = scale·log(N·a/β) for N cells (and one beyond the end, with a margin) and a answers in all: a cell that
        misses by more has at most e^(−e/scale) of the weight of one that does not miss. Sorting does no harm.
        """
        failure = 1 - between(confidence, "confidence", 0, 1)
        answers = self._answers * len(self.quantiles) * whole(groups, "groups", least=1)
        return float(self.scale) * log((self.cells + bool(self.margin)) * answers / failure) * (1 + 2e-15)

    def sample(self, value: Any, rng: Rng | None = None) -> Ints:
        """Cell numbers, in order, of shape (quantiles,) for the counts of one group, (groups, quantiles) for a table.

        With a margin there is one axis more, of two: lower and upper ends. A group of no mass answers at random.
        """
        source, counts = rng_or_default(rng), self._counts(value)
        found = np.empty((len(counts), len(self.quantiles), self._answers), dtype=np.int64)
        block = max(1, BLOCK // self.cells)
        for start in range(0, len(counts), block):
            some = slice(start, start + block)
            upto = np.cumsum(counts[some], axis=1)
            for i, quantile in enumerate(self.quantiles):
                for j, (side, offset) in enumerate(self._aims):
                    misses, unit = self._misses(counts[some], upto, quantile, offset, side)
                    one = choose if self.draw is None else _flip
                    drawn = np.array([one(row, unit, source) for row in misses], dtype=np.int64)
                    found[some, i, j] = np.clip(drawn - (side < 0), 0, self.cells - 1)
        return self._tidied(found, np.ndim(value))

    def _tidied(self, found: Ints, dimensions: int) -> Ints:
        """Ends in order within each quantile, quantiles in order within each group: functions of the answers alone."""
        found = np.sort(np.sort(found, axis=2), axis=1)
        found = found if self.margin else found[:, :, 0]
        return found[0] if dimensions == 1 else found

    @property
    def kind(self) -> str:
        way = "permute-and-flip" if self.draw else "the exponential mechanism"
        return f"{way} on ranks, over {self.cells:,} cells"

    @property
    def magnitude(self) -> Fraction:
        return self.scale

    def words(self, unit: str = "unit") -> str:
        return f"{self.kind}, {self.size_words()}"

    def half_width(self, confidence: float = 0.95) -> float:
        """In ranks: the margin it was made with, or `margin_for` if it was made with none."""
        return float(self.margin or self.margin_for(confidence))

    def scaled(self, factor: Number) -> Self:
        by = positive(factor, "factor")
        return replace(self, scale=self.scale * by, margin=self.margin * by)

    @property
    def _answers(self) -> int:
        return 2 if self.margin else 1

    @property
    def _aims(self) -> tuple[tuple[int, Fraction], ...]:
        """On which side of the quantile each answer aims, and by how much."""
        return ((-1, -self.margin), (1, self.margin)) if self.margin else ((0, Fraction(0)),)

    def _counts(self, value: Any) -> Array:
        counts = np.asarray(value)
        if counts.ndim not in (1, 2) or counts.shape[-1] != self.cells:
            raise InputError(f"counts must be a row of {self.cells} whole numbers for each group")
        whole_numbers = counts.dtype.kind in "iu" or all(type(count) is int for count in counts.ravel().tolist())
        if counts.size and (not whole_numbers or counts.min() < 0):
            raise InputError("counts must be whole numbers of at least 0")
        great = counts.dtype.kind == "O" or (counts.size and int(counts.max()) * self.cells >= FITS)
        return counts.astype(object if great else np.int64).reshape(-1, self.cells)

    def _misses(
        self, counts: Array, upto: Array, quantile: Fraction, offset: Fraction, side: int
    ) -> tuple[Array, Fraction]:
        """By how many units each cell misses q·n + offset, and the exponent of one unit. `upto` is the sum of counts.

        What aims to one side has a place beyond that end of the range, as if `margin` more mass lay there: a small
        group then answers with the end itself. That mass is public, so it changes no sensitivity.
        """
        parts = lcm(quantile.denominator, offset.denominator)
        if counts.dtype != object and parts * (int(upto.max(initial=0)) + abs(offset) + 1) >= FITS:
            counts, upto = counts.astype(object), upto.astype(object)
        total = upto[:, -1:]
        target = total * int(quantile * parts) + int(offset * parts)
        past = upto * parts - target  # by how much the end of a cell is past the target; its start, `counts` less
        misses = np.maximum(np.maximum(past - counts * parts, -past), 0)
        total = total * parts
        if side:
            beyond = np.maximum(target if side < 0 else total - target, 0)
            misses = np.concatenate([beyond, misses] if side < 0 else [misses, beyond], axis=1)
        return misses, 1 / (parts * self.scale)

    def pmf(self, value: Any) -> Pmf:
        """Keyed by the answers as nested tuples, in the shape in which `sample` gives them."""
        counts = self._counts(value)
        aims = [(q, side, offset) for q in self.quantiles for side, offset in self._aims]
        if self.cells ** (len(aims) * len(counts)) > LISTED:
            raise LossError("pmf would list too many answers: look at fewer cells, quantiles or groups")
        laws = [self._law(row.astype(float), *aim) for row in counts for aim in aims]
        drawn = np.indices((self.cells,) * len(laws)).reshape(len(laws), -1).T
        chances = reduce(np.multiply.outer, [np.array(law) for law in laws]).ravel().tolist()
        tables = drawn.reshape(-1, len(self.quantiles), self._answers)
        answers = self._tidied(tables, 2)
        if np.ndim(value) == 2:
            answers = answers.reshape(-1, len(counts), *answers.shape[1:])
        law: Pmf = {}
        for answer, chance in zip(answers.tolist(), chances, strict=True):
            key = _frozen(answer)
            law[key] = law.get(key, 0.0) + chance
        return law

    def _law(self, counts: Array, quantile: Fraction, side: int, offset: Fraction) -> list[float]:
        total = float(counts.sum())
        target, mass = float(quantile) * total + float(offset), float(self.margin)
        padded = [mass, *counts.tolist()] if side < 0 else [*counts.tolist(), mass] if side else counts.tolist()
        start, weights = (-mass if side < 0 else 0.0), []
        for count in padded:
            weights.append(exp(-max(start - target, target - start - count, 0.0) / float(self.scale)))
            start += count
        chances = np.array(weights) / sum(weights) if self.draw is None else flip_law(np.array(weights) / max(weights))
        law: list[float] = chances.tolist()
        if side:  # the place beyond the end answers with the end
            end, other = (0, 1) if side < 0 else (-1, -2)
            law[other] += law[end]
            del law[end]
        return law

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Nearly all cells are exact before and miss after; a far one moves the other way, and attains the claim."""
        found, swap = [], Relation.REPLACE
        for quantile, scale, mass in (("1/2", "4", 2), ("3/4", "5/2", 3), ("1/3", "8", 7), ("1/10", "1", 1)):
            m = cls(quantiles=(Fraction(quantile),), scale=Fraction(scale), cells=300, norm="l1")
            left, right, moved = _worst(Fraction(quantile), mass, 300)
            found += [Example(m, left, right, m.loss(mass))]
            found += [Example(m, left, moved, m.loss(Sensitivity.scalar(mass), relation=swap))]
        m = cls(quantiles=(Fraction(3, 5),), scale=Fraction(3), cells=140, norm="l1")
        left, right, _ = _worst(Fraction(3, 5), 1, 140)
        full, less = [0, 3, *[0] * 136, 1, 1], [0, 3, *[0] * 136, 1, 0]
        found += [Example(m, (left, left), (right, right), m.loss(Sensitivity(l1=Fraction(2))))]
        found += [Example(m, (left, full), (right, less), m.loss(Sensitivity(l1=Fraction(1)), relation=swap))]
        m = replace(m, norm="l2", scale=Fraction(1, 2))
        wide = Sensitivity(l2=Fraction(3, 2))  # above √2
        found += [Example(m, (left, left), (right, right), m.loss(wide), tight=False)]
        found += [Example(m, (left, full), (right, less), m.loss(Sensitivity(l2=Fraction(1)), relation=swap), False)]
        few = cls(quantiles=(Fraction(1, 4), Fraction(1, 2)), scale=Fraction(2), cells=6, norm="l1")
        for m in (few, replace(few, margin=Fraction(3, 2)), replace(few, norm="l2")):
            found += [Example(m, [0, 3, 1, 0, 4, 0], [2, 3, 1, 0, 4, 0], m.loss(2), tight=False)]
        for m in (replace(few, draw="flip"), replace(few, draw="flip", margin=Fraction(3, 2), scale=Fraction(1))):
            found += [Example(m, [0, 3, 1, 0, 4, 0], [2, 3, 1, 0, 4, 0], m.loss(2), tight=False)]
            found += [Example(m, [0, 3, 1, 0, 4, 0], [2, 1, 1, 0, 4, 0], m.loss(2, relation=swap), tight=False)]
            found += [Example(m, [0, 3, 1, 0, 4, 0], [2, 3, 1, 0, 4, 0], m.concentrated(2), tight=False)]
        m = replace(few, norm="l2")
        return [*found, Example(m, [0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1], m.loss(2), tight=False)]


def _flip(misses: Array, unit: Fraction, rng: Rng) -> int:
    """Permute-and-flip among cells by their misses, of which one is 0 or else the least."""
    return flip(misses - misses.min(), unit, rng)


def _worst(quantile: Fraction, mass: int, cells: int) -> tuple[list[int], list[int], list[int]]:
    """Counts with a long run of empty cells exactly at q·n, the same with `mass` added at an end, and with it moved."""
    below, above = mass * quantile.numerator, mass * (quantile.denominator - quantile.numerator)
    run = [0] * (cells - 3)
    if 2 * quantile >= 1:
        return [below, *run, above, 0], [below, *run, above, mass], [below - mass, *run, above, mass]
    return [0, below, *run, above], [mass, below, *run, above], [mass, below, *run, above - mass]


def _most(quantile: Fraction) -> Fraction:
    """Δ: how far a mass of one moves L − q·n or q·n − R."""
    return max(quantile, 1 - quantile)


def _shift(quantile: Fraction, relation: Relation, single: bool) -> Fraction:
    """How far a mass of norm one moves m, summed over the groups."""
    if relation is Relation.REPLACE and single:
        return Fraction(1)
    return _most(quantile) * (1 if relation is Relation.ADD_REMOVE else 2)


def _square(quantile: Fraction, relation: Relation, single: bool) -> Fraction:
    """The square of how far a mass of norm one moves m, in l2 over the groups."""
    most = _most(quantile)
    if relation is Relation.ADD_REMOVE:
        return most**2
    return Fraction(1) if single else 2 * (most**2 + (1 - most) ** 2)


def _mass(size: Sensitivity, norm: Literal["l1", "l2"]) -> tuple[Fraction, bool]:
    """The norm of one unit's mass over the groups (l2 is never above l1), and whether there is but one group."""
    known = size.l1 if norm == "l2" and size.l2 is None else size.require(norm)
    return size.require(norm) if known is None else known, size.dimension == 1


def _frozen(answer: Any) -> Any:
    return tuple(_frozen(item) for item in answer) if isinstance(answer, list) else answer
