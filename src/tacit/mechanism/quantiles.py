"""Many quantiles at once, by halving: each answer splits the data for the ones on either side of it."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import log
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, LossError, Relation, Size
from tacit.base.number import Number, Ratios, between, exact, frozen, non_negative, positive, whole
from tacit.loss import ZCDP, Loss, Pure
from tacit.loss.mu import ranges_mu_squared
from tacit.mechanism.mechanism import Example, Pmf
from tacit.mechanism.quantile import BoundedRange, draw_quantile, fraction, point_masses, rank_sensitivity, rows_owned
from tacit.noise import Rng, rng_or_default, uniform

__all__ = ["Quantiles"]

Array = np.ndarray[Any, np.dtype[Any]]
Wanted = tuple[Fraction, ...]

LISTED = 2_000_000  # answers times spreads of the data that a pmf may go through


@frozen
class Quantiles(BoundedRange):
    """All `quantiles`, in increasing order (Kaplan, Schnapp and Stemmer 2022).

    The middle one is drawn as by `Quantile`; values at or below the answer go on to the quantiles on its left, the
    others to those on its right, within what is left of the bounds. Each value is first spread uniformly over `spread`
    finer points, so that many equal values can be split between both sides; answers are rounded down to the lattice.

    Guarantee: pure. Under add/remove a row takes part in one draw a level, so ε is the largest sum along a branch of
    2·max(q, 1 − q)/scale, q being the quantile within its part: at most 2·levels/scale, and levels/scale when every
    split is even. Under replace a row may leave one branch and enter another: both are paid.
    """

    theory: ClassVar[str] = "quantile"

    quantiles: Ratios
    spread: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = tuple(fraction(q, "quantiles") for q in self.quantiles)
        if not wanted or any(a >= b for a, b in pairwise(wanted)):
            raise InputError("quantiles must be one or more increasing numbers between 0 and 1")
        object.__setattr__(self, "quantiles", wanted)
        object.__setattr__(self, "spread", whole(self.spread, "spread", least=1))

    @property
    def levels(self) -> int:
        """The number of draws that one row takes part in, at most: ⌈log2(m + 1)⌉ for m quantiles."""
        return len(self.quantiles).bit_length()

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Pure:
        """`sensitivity` is the number of rows one unit may own, one when left out."""
        epsilon = _priced(self.quantiles, Relation(relation), lambda shift: 2 * shift / self.scale)
        return Pure(rows_owned(sensitivity) * epsilon, relation=relation, unit=unit)

    def concentrated(
        self, sensitivity: Size = None, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row"
    ) -> ZCDP:
        """The same release in zCDP: each draw costs its ε²/8 by bounded range, summed along branches as in `loss`."""
        rho = _priced(self.quantiles, Relation(relation), lambda shift: (2 * shift / self.scale) ** 2 / 8)
        rho *= rows_owned(sensitivity) ** 2
        return ZCDP(rho, mu_squared=ranges_mu_squared(8 * rho), relation=relation, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, quantiles: Sequence[Number], sensitivity: Size = None, **bounds: Any) -> Self:
        """The least noise with the pure guarantee `loss`, for the relation that it names."""
        if not isinstance(loss, Pure) or not loss.bound:
            raise InputError("quantiles reach a pure guarantee: pass loss=Pure(epsilon) with epsilon > 0")
        wanted = tuple(fraction(q, "quantiles") for q in quantiles)
        unit = cls(quantiles=wanted, scale=Fraction(1), **bounds).loss(sensitivity, relation=loss.relation)
        return cls(quantiles=wanted, scale=unit.bound / loss.bound, **bounds)

    @classmethod
    def from_error(cls, error: Number, *, confidence: Number = 0.95, ties: Number = 1, **options: Any) -> Self:
        """The most noise whose `error(confidence, ties=ties)` is at most `error` ranks."""
        unit = cls(scale=Fraction(1), **options)
        room = exact(error, "error", toward="down") * (1 - Fraction(1, 10**14)) - (unit.levels - 1) * exact(
            ties, "ties"
        )
        return cls(
            scale=positive(room, "error beyond (levels − 1)·ties")
            / Fraction(unit.error(confidence, ties=0) * (1 + 4e-15)),
            **options,
        )

    def sample(self, value: Any, rng: Rng | None = None) -> list[int | float]:
        """One lattice point for each quantile, in order."""
        source, (low, high) = rng_or_default(rng), self._fine_ends
        steps = self._clamped(value)
        if steps.dtype != object and max(abs(low), abs(high)) >= 2**62:
            steps = steps.astype(object)
        values = np.sort(steps * self.spread + uniform(self.spread, len(steps), source))
        return [self.lattice.value(v // self.spread) for v in self._halve(values, low, high, self.quantiles, source)]

    def _halve(self, values: Array, low: int, high: int, wanted: Wanted, rng: Rng) -> list[int]:
        if not wanted:
            return []
        left, middle, right = _parts(wanted)
        answer = draw_quantile(values, low, high, middle, self.scale, rng)
        cut = int(np.searchsorted(values, answer, side="right"))
        below = self._halve(values[:cut], low, answer, left, rng)
        return [*below, answer, *self._halve(values[cut:], answer, high, right, rng)]

    def error(self, confidence: Number = 0.95, *, ties: Number = 1) -> float:
        """Ranks e such that every answer misses its q·n by at most e, with probability ≥ `confidence`.

        Each of m draws over at most N finer points misses by at most scale·log(mN/β), all with probability 1 − β. A
        miss moves the ends of the parts below it by no more than itself and the values at the split, of which there are
        at most `ties`; between its ends a part interpolates. So e = levels·scale·log(mN/β) + (levels − 1)·ties.
        """
        low, high = self._fine_ends
        failure = 1 - between(confidence, "confidence", 0, 1)
        each = float(self.scale) * log(len(self.quantiles) * (high - low + 1) / failure)
        return (self.levels * each + (self.levels - 1) * float(non_negative(ties, "ties"))) * (1 + 2e-15)

    @property
    def _fine_ends(self) -> tuple[int, int]:
        low, high = self._ends
        return low * self.spread, (high + 1) * self.spread - 1

    def pmf(self, value: Any) -> Pmf:
        """Summed over every way the values may spread: for a few values on a small lattice."""
        steps, (low, high) = self._clamped(value).tolist(), self._fine_ends
        if (high - low + 1) ** len(self.quantiles) * self.spread ** len(steps) > LISTED:
            raise LossError("pmf would list too many answers: use fewer points, values, quantiles, or a smaller spread")
        shown = {v: self.lattice.value(v // self.spread) for v in range(low, high + 1)}
        law: Pmf = {}
        for offsets in product(range(self.spread), repeat=len(steps)):
            values = np.sort(
                np.array([s * self.spread + o for s, o in zip(steps, offsets, strict=True)], dtype=np.int64)
            )
            for answers, p in self._law(values, low, high, self.quantiles):
                key = tuple(shown[v] for v in answers)
                law[key] = law.get(key, 0.0) + p / self.spread ** len(steps)
        return law

    def _law(self, values: Array, low: int, high: int, wanted: Wanted) -> list[tuple[tuple[int, ...], float]]:
        if not wanted:
            return [((), 1.0)]
        left, middle, right = _parts(wanted)
        found = []
        for answer, p in enumerate(point_masses(values, low, high, middle, self.scale).tolist(), start=low):
            below = self._law(values[values <= answer], low, answer, left)
            above = self._law(values[values > answer], answer, high, right)
            found += [((*a, answer, *b), p * pa * pb) for a, pa in below for b, pb in above]
        return found

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """The worst case of one quantile, met again on the next level; and small ones with ties and all branches."""
        bounds = {"lower": Fraction(0), "upper": Fraction(300)}
        pair = cls(quantiles=(Fraction(1, 4), Fraction(1, 2)), scale=Fraction(1), spread=1, **bounds)
        tall = cls(quantiles=(Fraction(3, 5), Fraction(4, 5)), scale=Fraction(3, 2), spread=1, **bounds)
        left, more, moved = [0, 299], [0, 299, 300], [299, 300]
        crowd = [0] * 15 + [299] * 5
        small = {"lower": Fraction(0), "upper": Fraction(3)}
        many = cls(quantiles=(Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), scale=Fraction(1, 2), spread=2, **small)
        return [
            Example(pair, left, more, pair.loss()),
            Example(pair, left, moved, pair.loss(relation=Relation.REPLACE)),
            Example(tall, crowd, [*crowd, 300], tall.loss()),
            Example(many, [1, 1], [1, 1, 3], many.loss(), tight=False),
            Example(many, [0, 1, 2], [0, 1, 3], many.loss(relation=Relation.REPLACE), tight=False),
        ]


def _parts(wanted: Wanted) -> tuple[Wanted, Fraction, Wanted]:
    """The middle quantile, and those on either side restated within their own part."""
    k = len(wanted) // 2
    middle = wanted[k]
    left = tuple(q / middle for q in wanted[:k])
    return left, middle, tuple((q - middle) / (1 - middle) for q in wanted[k + 1 :])


def _priced(wanted: Wanted, relation: Relation, price: Callable[[Fraction], Fraction]) -> Fraction:
    """What the whole tree costs one row, when a draw whose score that row moves by x costs price(x).

    Given the answers, a row that is present in only one neighbour follows one branch. A row that differs stays on one
    branch until some answer parts its two values; from there it is missing from one side and extra on the other.
    """
    if not wanted:
        return Fraction(0)
    left, middle, right = _parts(wanted)
    here = price(rank_sensitivity(middle, relation))
    deeper = max(_priced(left, relation, price), _priced(right, relation, price))
    if relation is Relation.REPLACE:
        apart = _priced(left, Relation.ADD_REMOVE, price) + _priced(right, Relation.ADD_REMOVE, price)
        deeper = max(deeper, apart)
    return here + deeper
