"""The median with noise scaled to its smooth sensitivity: little on data that pin it down, much on data that do not.

What keeps a scale private that depends on the data, for discrete Laplace noise on the integers: it is read off a public
`ScaleGrid` t_0 < t_1 < … with t_{j+1} ≤ g·t_j. A dataset sits at the level
L(x) = max_k (level(A_k(x)) − k), where A_k is its largest local sensitivity within k changes and level(A) the least j
with A ≤ α·t_j. Neighbours have A_k(x) ≤ A_{k+1}(x'), so their levels differ by at most one and their scales by a factor
of at most g; and α·t_L ≥ A_0 covers the move of the statistic, seen from either side. This is the smooth sensitivity of
Nissim, Raskhodnikova and Smith (2007), with β = log g, computed in integers and rounded up to the grid.

Such noise is (ε, δ)-DP when α + log g ≤ ε and `dilation_delta` ≤ δ; the proof is in docs/theory/smooth-sensitivity.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import log
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Lattice, Relation, RelationError, Size, cached_property, warn_of_delta
from tacit.base.number import Number, Ratio, between, default, exact, frozen, positive, show
from tacit.loss import Approx, Loss
from tacit.mechanism.laplace import Laplace
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.noise import Rng
from tacit.noise.bounds import exp_minus

__all__ = ["PublicRange", "ScaleGrid", "SmoothMedian", "dilation_delta", "largest_growth", "smooth_level"]

Ints = np.ndarray[Any, np.dtype[np.int64]]

BITS = 64  # significant bits of a scale on the grid
FINE = 20  # significant bits of the growth
LEAST = Fraction(1, 64)  # noise of this scale is zero but for 2·exp(−64): no smaller one is needed
LEVELS = 1 << 17  # a finer grid than this takes seconds to build and gives noise beyond use
WIDEST = 1 << 60  # steps a range may have


def dilation_delta(epsilon: Fraction, alpha: Fraction, growth: Fraction, bits: int = 256) -> Fraction:
    """A rational upper bound on the δ at ε > α that a change of scale by a factor of at most `growth` = g costs.

    (1 − 1/g)·max{ e^(−2c/(g+1))·(e^(−(ε−α)/(g−1)) + e^(−(ε+α)/(g−1)))/(1 + e^(−α)), 2e^(−ε/(g−1)) }, c = α/sinh α.
    The first is for scales that cover a move (at least 1/α), the second for smaller ones, at which nothing moves.
    """
    one = 1 << bits

    def above(gamma: Fraction) -> Fraction:
        return Fraction(exp_minus(gamma, bits)[1], one)

    def below(gamma: Fraction) -> Fraction:
        return Fraction(exp_minus(gamma, bits)[0], one)

    sides = above((epsilon - alpha) / (growth - 1)) + above((epsilon + alpha) / (growth - 1))
    slope = 2 * alpha * below(alpha) / (1 - below(2 * alpha))  # c, from below
    moved = above(_coarse(2 * slope / (growth + 1))) * sides / (1 + below(alpha))
    still = 2 * above(epsilon / (growth - 1))
    return (1 - 1 / growth) * max(moved, still)


def _coarse(value: Fraction) -> Fraction:
    """`value` rounded down to 64 binary places: an unwieldy exponent, made smaller."""
    return Fraction((value.numerator << BITS) // value.denominator, 1 << BITS)


@lru_cache(maxsize=64)
def largest_growth(epsilon: Fraction, delta: Fraction, alpha: Fraction) -> Fraction:
    """The greatest g > 1 (to 20 bits, from below) with α + log g ≤ ε and `dilation_delta` ≤ δ, found with integers."""
    bits = 128 + (1 / delta).numerator.bit_length()

    def private(excess: Fraction) -> bool:
        g = 1 + excess
        fits = g * exp_minus(epsilon - alpha, bits)[1] <= 1 << bits  # log g ≤ ε − α
        return fits and dilation_delta(epsilon, alpha, g, bits) <= delta

    excess = Fraction(1 << 10)
    while not private(excess):
        excess /= 2
    step = excess / 2
    for _ in range(FINE):
        if private(excess + step):
            excess += step
        step /= 2
    return 1 + excess


@dataclass(frozen=True)
class ScaleGrid:
    """Public scales, in steps of the lattice: 1/α, and from there up and down by factors of at most `growth`.

    The highest covers a move over the whole range of `top` steps; below the lowest, noise would be zero anyway.
    """

    alpha: Fraction
    growth: Fraction
    top: int

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        if log(self.top / (self.alpha * LEAST)) > LEVELS * log(self.growth):
            raise InputError("epsilon is too small, or the range has too many steps, for a smooth bound: change either")
        up = [1 / self.alpha]
        while up[-1] * self.alpha < self.top:
            up.append(_rounded(up[-1] * self.growth, up=False))
        down = [up[0]]
        while down[-1] > LEAST:
            down.append(_rounded(down[-1] / self.growth, up=True))
        return (*reversed(down[1:]), *up)

    @cached_property
    def covered(self) -> Ints:
        """The greatest whole move that each level covers."""
        return np.array([min(int(self.alpha * scale), self.top) for scale in self.scales], dtype=np.int64)

    def level(self, move: int) -> int:
        """The lowest level that covers a move of so many steps; a move of 0 is covered by the lowest."""
        return int(np.searchsorted(self.covered, move, side="left"))


def _rounded(value: Fraction, *, up: bool) -> Fraction:
    unit = Fraction(2) ** (value.numerator.bit_length() - value.denominator.bit_length() - BITS)
    return -(-value // unit) * unit if up else (value // unit) * unit


def smooth_level(ordered: Ints, rank: int, grid: ScaleGrid) -> int:
    """L(x) for the order statistic of the given rank (1 is the least) of sorted steps in [0, grid.top].

    A_k = max over 0 ≤ t ≤ k + 1 of x_{rank+t} − x_{rank+t−k−1}, where x is 0 before its first and `top` after its last
    entry (NRS 2007). As level(A_k) − k ≤ level(top) − k, only so many k matter as the grid has levels.
    """
    highest = grid.level(grid.top)
    pad = min(len(ordered), highest) + 2
    padded = np.concatenate([np.zeros(pad, np.int64), ordered, np.full(pad, grid.top, np.int64)])
    centre, best, k = pad + rank - 1, 0, 0
    while highest - k > best:
        spread = padded[centre : centre + k + 2] - padded[centre - k - 1 : centre + 1]
        best = max(best, grid.level(int(spread.max())) - k)
        k += 1
    return best


@dataclass(frozen=True)
class PublicRange:
    """The public range [lower, upper] of every record, on a lattice."""

    lower: Fraction
    upper: Fraction
    lattice: Lattice

    def __post_init__(self) -> None:
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            if (value / self.lattice.granularity).denominator != 1:
                raise InputError(f"{name} must be a multiple of the granularity {show(self.lattice.granularity)}")
        if self.lower >= self.upper:
            raise InputError(f"lower must be less than upper, not {show(self.lower)} and {show(self.upper)}")
        if self.top > WIDEST:
            raise InputError("the range has more than 2^60 steps: declare a coarser granularity")

    @property
    def top(self) -> int:
        """The number of steps from lower to upper."""
        return int((self.upper - self.lower) / self.lattice.granularity)

    def ordered(self, values: Any) -> Ints:
        """The records as sorted steps above lower. Records outside the bounds are refused: clamp them first."""
        steps = self.lattice.steps(np.asarray(values))
        if isinstance(steps, int) or steps.ndim != 1 or not len(steps):
            raise InputError("values must be a list of at least one number")
        first = int(self.lower / self.lattice.granularity)
        if int(steps.min()) < first or int(steps.max()) > first + self.top:
            raise InputError("values must lie within [lower, upper]: clamp them before")
        return np.sort((steps.astype(object) - first if abs(first) > WIDEST else steps - first).astype(np.int64))

    def value(self, steps: int) -> int | float:
        """The number that lies so many steps above lower."""
        return self.lattice.value(int(self.lower / self.lattice.granularity) + steps)


@frozen
class SmoothMedian(Mechanism):
    """Median (the lower one of an even number) plus discrete Laplace noise whose scale fits the data.

    Guarantee: (ε, δ)-DP under replacement of one record, the number n of records being public. Of ε, the part
    α = share·ε covers the move of the median and the rest the change of scale between neighbours (`smooth`). Records
    lie on the lattice within [lower, upper]; answers may fall outside, and clamping them is free.
    """

    theory: ClassVar[str] = "smooth-sensitivity"

    epsilon: Ratio
    delta: Ratio
    lower: Ratio
    upper: Ratio
    granularity: Ratio = default(Fraction(1))
    share: Ratio = default(Fraction(1, 2))

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "delta", between(self.delta, "delta", 0, 1))
        object.__setattr__(self, "lower", exact(self.lower, "lower", toward="decimal"))
        object.__setattr__(self, "upper", exact(self.upper, "upper", toward="decimal"))
        object.__setattr__(self, "granularity", positive(self.granularity, "granularity", toward="decimal"))
        object.__setattr__(self, "share", between(self.share, "share", 0, 1))
        assert self.bounds.top  # refuses bad bounds now rather than at the first answer

    @cached_property
    def bounds(self) -> PublicRange:
        return PublicRange(self.lower, self.upper, Lattice(self.granularity))

    @cached_property
    def grid(self) -> ScaleGrid:
        alpha = self.share * self.epsilon
        return ScaleGrid(alpha, largest_growth(self.epsilon, self.delta, alpha), self.bounds.top)

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.REPLACE, unit: str = "row") -> Approx:
        """(ε, δ) under replacement, where a `unit` owns one record. The sensitivity is found in the data."""
        if sensitivity is not None:
            raise InputError("the median finds its sensitivity in the data: leave sensitivity out")
        if Relation(relation) is not Relation.REPLACE:
            raise RelationError(
                "the smooth median is private under replacement with a public number of records, not under add/remove, "
                "where the middle rank itself moves: use an exponential-mechanism quantile there"
            )
        return Approx(self.epsilon, self.delta, relation=Relation.REPLACE, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, lower: Number, upper: Number, **rest: Any) -> Self:
        """The mechanism with the guarantee `loss`, an Approx(ε, δ) under replacement."""
        if not isinstance(loss, Approx) or not loss.slack or not loss.bound:
            raise InputError("the smooth median reaches loss=Approx(epsilon, delta) with epsilon > 0 and delta > 0")
        if loss.relation is not Relation.REPLACE:
            raise RelationError("the smooth median needs loss=Approx(..., relation='replace'): n is public")
        low, high = exact(lower, "lower", toward="decimal"), exact(upper, "upper", toward="decimal")
        return cls(epsilon=loss.bound, delta=loss.slack, lower=low, upper=high, **rest)

    def sample(self, value: Any, rng: Rng | None = None) -> int | float:
        """A noisy median of the records `value`."""
        centre, noise = self._fitted(value)
        warn_of_delta(self.delta, len(value))  # under replace the number of records is public
        answer: int | float = noise.sample(centre, rng)
        return answer

    def pmf(self, value: Any) -> Pmf:
        centre, noise = self._fitted(value)
        return noise.pmf(centre)

    def error(self, confidence: Number = 0.95, *, values: Any) -> float:
        """Half-width of the noise on these records, on which it depends: plan with public data, never publish."""
        return self._fitted(values)[1].error(confidence)

    def _fitted(self, values: Any) -> tuple[int | float, Laplace]:
        """The true median and the noise that these records need."""
        ordered: Ints = self.bounds.ordered(values)
        rank = (len(ordered) + 1) // 2
        scale = self.grid.scales[smooth_level(ordered, rank, self.grid)]
        noise = Laplace(scale=scale * self.granularity, granularity=self.granularity)
        return self.bounds.value(int(ordered[rank - 1])), noise

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Half of the records at 0 and half at 1, in a range of two steps: their number decides the level.

        With just so many, the neighbour with one more 1 sits one level lower and its median one step higher: both parts
        of ε are spent at once. The claim is attained up to the lattice, so most closely for small ε and δ.
        """
        found = []
        for epsilon, delta, share, step, tight in (
            ("1/4", "1e-6", "1/2", "1", True),
            ("1/10", "1e-7", "1/2", "1/2", True),
            ("1/2", "1e-9", "1/3", "1", True),
            ("1", "1e-2", "1/2", "1", False),
            ("3", "1e-4", "3/4", "1", False),
        ):
            g = Fraction(step)
            m = cls(
                epsilon=Fraction(epsilon),
                delta=Fraction(delta),
                lower=Fraction(0),
                upper=2 * g,
                granularity=g,
                share=Fraction(share),
            )
            half = max(2, m.grid.level(2) - m.grid.level(1) - 1)
            left, right = ((0.0,) * (half - i) + (float(g),) * (half + i) for i in (0, 1))
            found.append(Example(m, left, right, m.loss(), tight=tight))
        return found
