"""Clipping in whole numbers: which units are over a bound, and the weight that brings them under it.

With scales aᵢ/D over a common denominator, a unit's vector v has the norm √N/D (l2) or N/D (l1), where N = Σ(aᵢvᵢ)² or
Σ|aᵢvᵢ| is a whole number. It is over the bound B if N > ⌊(BD)²⌋ or N > ⌊BD⌋: integers are compared, exactly.

Over it, w = c/√N or c/N in doubles, c ≤ BD(1 − 2^-48), and vᵢ becomes trunc(vᵢw). Theorem: the norm is then at most B.
Proof: the double of N (two roundings), the root, the quotient and the product are each within a factor 1 ± 2^-52, five
of them, so |trunc(vᵢw)| ≤ |vᵢ|·(BD/√N)·(1 − 2^-48)(1 + 2^-52)^5 < |vᵢ|·BD/√N. The sum of squares of aᵢ times that is
below (BD)². The same with N for √N. A unit's weight and its coordinates follow from its own rows alone.
(docs/theory/whole-clip.md goes step by step.)

Magnitudes: each coordinate aᵢvᵢ is clamped to ±2^b before anything else; b is 8 more than the least k with BD ≤ 2^k,
from 32 to 48.
Only units far over the bound are changed by that, and the norm is that of what is left, so the theorem stands. Then
(aᵢvᵢ)² ≤ 2^(2b), and N < 2^126 while a unit has fewer than 2^(126−2b) coordinates: 2^62 of them for bounds up to 2^24
steps, and 2^30 at the largest bound, 2^40. |vᵢ| ≤ 2^48 is an exact double.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf, isqrt, lcm, nextafter

from tacit.base import InputError
from tacit.engine.dialect import Dialect
from tacit.plan.bounded import Clip, Norm

__all__ = ["WholeClip", "thresholds", "whole_clip"]

SLACK = 1 - Fraction(1, 2**48)
LEAST_BITS, MOST_BITS, SPARE_BITS = 32, 48, 8


@dataclass(frozen=True, kw_only=True)
class WholeClip:
    """A clip with whole factors: a unit is over it if its N is above `threshold`; `reach` is c."""

    norm: Norm
    factors: tuple[int, ...]
    bits: int
    threshold: int
    reach: float

    def limits(self) -> tuple[int, ...]:
        """The largest size of each coordinate, before its factor."""
        return tuple(2**self.bits // factor for factor in self.factors)

    def rows(self, sizes: Sequence[int]) -> int:
        """So many rows are never over the bound, if the coordinates of one are at most these: the triangle inequality.

        Nor is any coordinate of theirs over its limit, since none is over the norm.
        """
        each = [factor * size for factor, size in zip(self.factors, sizes, strict=True)]
        if self.norm == "l1":
            return self.threshold // max(sum(each), 1)
        return isqrt(self.threshold // max(sum(size * size for size in each), 1))

    def size(self, columns: Sequence[str | int], dialect: Dialect, over: str = "") -> str:
        """N of a unit, over its groups, or `over` a window. A column that is a number is the same in each of them."""
        if len(columns) == 1 and isinstance(columns[0], int):
            return self.size_of(columns[0], f"COUNT(*){over}", dialect)
        terms = []
        for column, factor in zip(columns, self.factors, strict=True):
            term = column if factor == 1 else f"({column} * {factor})"
            if self.norm == "l1":
                terms.append(f"ABS({term})")
            else:
                wide = dialect.factor(str(term))
                terms.append(f"{wide} * {wide if dialect.summand else term}")
        return (f"SUM({' + '.join(terms)})" if self.norm == "l2" else dialect.sum(" + ".join(terms))) + over

    def size_of(self, value: int, groups: str, dialect: Dialect) -> str:
        """N of a unit that has the one coordinate `value` in each of so many groups."""
        each = abs(value) * self.factors[0]
        return f"{dialect.factor(groups)} * {each if self.norm == 'l1' else each * each}"

    def weight(self, size: str, dialect: Dialect) -> str:
        """w of a unit that is over the bound; NULL for the others."""
        double = dialect.wide_to_double(size)
        root = f"SQRT({double})" if self.norm == "l2" else double
        return f"CASE WHEN {size} > {self.threshold} THEN {dialect.number(self.reach)} / {root} END"


def whole_clip(clip: Clip, bound: Fraction | None) -> WholeClip:
    """The clip in whole numbers, at this bound; an error where magnitudes would not be proven."""
    if bound is None:
        raise InputError(f"the bound of {', '.join(clip.names)} was not chosen yet")
    if len(clip.names) != len(clip.scales) or not clip.names:
        raise InputError("a clip needs names, and a scale for each of them")
    if min(clip.scales) <= 0 or bound < 0:
        raise InputError("a clip needs positive scales and a bound that is not negative")
    common = lcm(*(scale.denominator for scale in clip.scales))
    factors = tuple(int(scale * common) for scale in clip.scales)
    reach = bound * common
    bits = max(LEAST_BITS, (ceil(reach) - 1).bit_length() + SPARE_BITS)  # 2^40 itself has 40: it is LARGEST
    if bits > MOST_BITS or max(factors) > 2 ** (bits - SPARE_BITS):
        raise InputError(
            f"the bound of {', '.join(clip.names)} is more than 2^{MOST_BITS - SPARE_BITS} steps: use a coarser step, "
            "or scales with smaller denominators"
        )
    number = float(reach * SLACK)
    if Fraction(number) > reach * SLACK:
        number = nextafter(number, -inf)
    threshold = int(reach * reach) if clip.norm == "l2" else int(reach)
    return WholeClip(norm=clip.norm, factors=factors, bits=bits, threshold=threshold, reach=max(number, 0.0))


def thresholds(clip: Clip, edges: Sequence[int]) -> tuple[WholeClip, tuple[int, ...]]:
    """The clip at its largest edge, and for each edge e the largest N with norm ≤ e."""
    if not edges or list(edges) != sorted(set(edges)) or edges[0] < 0:
        raise InputError("edges must be whole numbers that rise, from zero or above")
    whole = whole_clip(clip, Fraction(edges[-1]))
    reaches = [edge * lcm(*(scale.denominator for scale in clip.scales)) for edge in edges]
    return whole, tuple(reach * reach if clip.norm == "l2" else reach for reach in reaches)
