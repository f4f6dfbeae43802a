"""Events over the bits of doubles: where noise is added in floating point, the last bits tell the truth.

A double is an odd number times a power of two, its *grain*. fl(x + noise) near zero is a difference of two numbers of
about the size of x, so it is a multiple of the last bit of x; noise round 0 is not (Mironov, "On Significance of the
Least Significant Bits for Differential Privacy", 2012). So an output that is small and has a fine grain is impossible
under one truth and common under another. The candidates are "below (or from) 2^e in size, and a multiple (or none) of
2^g", for every e and g that occur, plus the sign of a zero.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.base import InputError

__all__ = ["events", "grain"]

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
Test = Callable[[Floats], Bools]

NEVER, SMALLEST = 2000, -2000  # grain of 0, a multiple of everything, and its exponent
BITS = 53
SURE = 3.5  # standard deviations by which the grain must differ between the sides, beyond what the sizes do
DOUBT = 2.5  # the same, for judging the ratio of a candidate
MOST = 12  # events


def grain(values: Floats) -> tuple[Ints, Ints]:
    """For each finite double the largest g with value = integer × 2^g, and the least e with |value| < 2^e."""
    parts, exponents = np.frexp(values)
    whole = np.ldexp(parts, BITS).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    zero = whole == 0
    place = exponents.astype(np.int64)
    return np.where(zero, NEVER, place + lowest - 1 - BITS), np.where(zero, SMALLEST, place)


def events(left: Floats, right: Floats) -> list[tuple[str, Test]]:
    """Events that the bits of outputs of two neighbours suggest, each with its words; none for doubles that are sound.

    An event is listed only if its grain is surely spread differently on the two sides, given its size: otherwise its
    grain adds nothing to a threshold. What is listed is a suggestion, to be put to fresh outputs.
    """
    sides = [_finite(left), _finite(right)]
    found = [_negative_zero()] if any(_is_negative_zero(side).any() for side in sides) else []
    if min(len(side) for side in sides) == 0:
        return found
    grains, sizes = zip(*(grain(side) for side in sides), strict=True)
    steps = np.unique(np.concatenate(grains))
    limits = np.unique(np.concatenate(sizes))
    if len(steps) < 2:
        return found
    tables = [_table(g, e, steps, limits) for g, e in zip(grains, sizes, strict=True)]
    totals = np.array([len(side) for side in sides], dtype=np.float64)
    ranked: dict[tuple[float, float], tuple[float, int, int, bool, bool]] = {}  # by counts: one of those that agree
    for small in (True, False):
        for fine in (True, False):
            inside, parents = zip(*(_counts(table, small, fine) for table in tables), strict=True)
            sure = _differs(inside, parents)
            for likelier in (0, 1):
                scores = np.where(sure, _judged(inside[likelier], inside[1 - likelier], totals, likelier), -np.inf)
                for row, column in zip(*_highest(scores), strict=True):
                    counts = float(inside[0][row, column]), float(inside[1][row, column])
                    ranked.setdefault(counts, (float(scores[row, column]), int(row), int(column), small, fine))
    best = sorted(ranked.values(), key=lambda entry: -entry[0])[:MOST]
    return found + [_event(int(steps[s]), int(limits[e]), small, fine) for _, s, e, small, fine in best]


def _finite(values: Any) -> Floats:
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "fiu":
        raise InputError("the bits of outputs can be looked at for a list of numbers only")
    doubles = found.astype(np.float64)
    return doubles[np.isfinite(doubles)]


def _table(grains: Ints, sizes: Ints, steps: Ints, limits: Ints) -> Floats:
    """How many outputs have each grain (rows) and each exponent (columns)."""
    cells = np.searchsorted(steps, grains) * len(limits) + np.searchsorted(limits, sizes)
    return np.bincount(cells, minlength=len(steps) * len(limits)).reshape(len(steps), len(limits)).astype(np.float64)


def _counts(table: Floats, small: bool, fine: bool) -> tuple[Floats, Floats]:
    """Outputs in each candidate, and in its size range whatever the grain.

    `small`: exponent at most that of the column, else above. `fine`: grain below that of the row, else at least.
    """
    by_size = np.cumsum(table, axis=1)
    if not small:
        by_size = by_size[:, -1:] - by_size
    up_to = np.cumsum(by_size, axis=0)
    parent = np.broadcast_to(up_to[-1:], up_to.shape)
    below = up_to - by_size
    return (below if fine else parent - below), parent


def _differs(inside: tuple[Floats, ...], parents: tuple[Floats, ...]) -> Bools:
    """Whether the share of the candidate within its size range is surely not the same on both sides."""
    known = (parents[0] > 0) & (parents[1] > 0)
    first, second = (np.maximum(parent, 1.0) for parent in parents)
    pooled = (inside[0] + inside[1]) / (first + second)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / first + 1 / second))
    apart = np.abs(inside[0] / first - inside[1] / second)
    surely: Bools = known & (apart > SURE * spread)
    return surely


def _judged(k: Floats, m: Floats, totals: Floats, likelier: int) -> Floats:
    """The logarithm of a cautious ratio of the two shares; −inf where nothing is left of it."""
    low = (k - DOUBT * np.sqrt(k) - 1) / totals[likelier]
    high = (m + DOUBT * np.sqrt(m) + DOUBT**2 / 2) / totals[1 - likelier]
    found: Floats = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    return found


def _highest(scores: Floats) -> tuple[Ints, Ints]:
    """Rows and columns of the highest scores above 0."""
    order = np.argsort(-scores, axis=None, kind="stable")[: MOST * scores.shape[1]]
    rows, columns = np.unravel_index(order[scores.flat[order] > 0], scores.shape)
    return rows, columns


def _event(step: int, limit: int, small: bool, fine: bool) -> tuple[str, Test]:
    def test(values: Floats) -> Bools:
        finite = np.isfinite(values)
        grains, sizes = grain(np.where(finite, values, 0.0))
        inside: Bools = finite & ((sizes <= limit) == small) & ((grains < step) == fine)
        return inside

    size = f"{'below' if small else 'at least'} 2^{limit} in size" if limit > SMALLEST else "0" if small else "not 0"
    zero = "not 0" if fine else "0"
    bits = zero if step == NEVER else f"{'no' if fine else 'a'} multiple of 2^{step}"
    return f"the output is {size} and {bits}", test


def _is_negative_zero(values: Floats) -> Bools:
    found: Bools = (values == 0) & np.signbit(values)
    return found


def _negative_zero() -> tuple[str, Test]:
    return "the output is −0", _is_negative_zero
