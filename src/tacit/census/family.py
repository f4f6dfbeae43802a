"""One step down the tree: the counts of one place's children, from what was measured of them.

The children x_c ≥ 0 minimise Σ_q w_q Σ_c ‖A_q x_c − y_qc‖² where Σ_c x_c is the parent and what is fixed holds, by the
alternating direction method of multipliers: its linear half has a closed form, since all children share one matrix
H = Σ_q w_q A_qᵀA_q + r·1. With a parent, x_c = parent/n + (g_c − ḡ)H⁻¹; a fixed sum A x_c = v_c adds
(v_c − A x_c)(A H⁻¹ Aᵀ)⁺ A H⁻¹, which leaves Σ_c x_c as it is, because Σ_c v_c is the parent's. See
docs/theory/topdown.md. Nothing here reads data: it is all made from noisy counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit.census.rounding import rounded

__all__ = ["Family", "Floats", "Whole", "solve_family"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Whole = np.ndarray[Any, np.dtype[np.int64]]

NEAR = 0.01  # of a person: how far both halves of the method may be apart in the end
NEARER = 0.001  # where sums are fixed
MOST = 5000  # rounds; far more than it takes
LOOK = 5  # rounds from one look at how far it is to the next
RELAXED = 1.6
START = 5.0  # least eigenvalues: of such a penalty a hundred rounds are usual
FLAT = 1e-3  # of the mean eigenvalue: what the least is taken for where no query tells all cells apart


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Some places with one parent (None for places of the first level), and what was measured of them.

    `codes[q]` says of each cell in which count of query q it is, `measured[q]` are these counts with noise, a row for
    each child, and `weights[q]` one over their variance. `fixed` are queries whose counts are known: codes, and a row
    for each child. `kept` are codes of queries whose counts rounding moves by less than one. With `totals_first` the
    children's totals are settled before anything else, as if counts could be negative.
    """

    parent: Whole | None
    codes: tuple[Whole, ...]
    measured: tuple[Floats, ...]
    weights: tuple[float, ...]
    fixed: tuple[tuple[Whole, Whole], ...] = ()
    kept: tuple[Whole, ...] = ()
    totals_first: bool = False


def solve_family(family: Family) -> Whole:
    """Whole numbers, a row for each child and a column for each cell."""
    children = len(family.measured[0]) if family.measured else len(family.fixed[0][1])
    if family.parent is not None and children == 1:
        return family.parent[None, :].copy()
    fixed = family.fixed
    if family.totals_first:
        fixed = (*fixed, (np.zeros_like(family.codes[0]), _totals(family)[:, None]))
    return rounded(_real(family, fixed, children), parent=family.parent, fixed=fixed, kept=family.kept)


def _totals(family: Family) -> Whole:
    """The children's totals by themselves: of every query the sum of its counts, whose variance is theirs together."""
    known = np.array([weight / codes_size for weight, codes_size in zip(family.weights, _sizes(family), strict=True)])
    sums = np.stack([each.sum(axis=1) for each in family.measured])
    seen = (known @ sums / known.sum())[:, None]
    if family.parent is None:
        return np.asarray(np.maximum(np.rint(seen[:, 0]), 0), dtype=np.int64)
    whole = np.array([family.parent.sum()])
    return rounded(onto_simplex(seen, whole), parent=whole, fixed=(), kept=())[:, 0]


def _sizes(family: Family) -> list[int]:
    return [each.shape[1] for each in family.measured]


def onto_simplex(points: Floats, sums: Floats | Whole) -> Floats:
    """Each column moved to the nearest that is not negative and has its sum."""
    ordered = -np.sort(-points, axis=0)
    excess = np.cumsum(ordered, axis=0) - sums
    ranks = np.arange(1, len(points) + 1)[:, None]
    count = (ordered * ranks > excess).sum(axis=0)
    count = np.maximum(count, 1)
    shift = excess[count - 1, np.arange(points.shape[1])] / count
    return np.asarray(np.maximum(points - shift, 0.0))


def _real(family: Family, fixed: Sequence[tuple[Whole, Whole]], children: int) -> Floats:
    """The solution in real numbers, not negative, with the parent's sums but for rounding errors."""
    matrix, goal, least = _quadratic(family, fixed, children)
    penalty = START * least
    linear = _linear(family, fixed, matrix, penalty, children)
    split = np.maximum(linear(goal), 0.0)
    dual = np.zeros_like(split)
    near = NEARER if fixed else NEAR
    for done in range(1, MOST + 1):
        found = linear(goal + penalty * (split - dual))
        mixed = RELAXED * found + (1 - RELAXED) * split + dual
        before, split = split, np.maximum(mixed, 0.0)
        dual = mixed - split
        if done % LOOK:
            continue
        apart, moved = np.abs(found - split), np.abs(split - before)
        if apart.max() < near and moved.max() * max(penalty / least, 1.0) < near:
            break
        ratio = (float(np.sqrt((apart**2).sum())) + 1e-12) / (float(np.sqrt((moved**2).sum())) + 1e-12)
        if done % (3 * LOOK) == 0 and done <= 18 * LOOK and not 0.2 < ratio < 5:  # one half lags far behind the other
            factor = min(max(ratio**0.5, 0.1), 10.0)
            penalty, dual = penalty * factor, dual / factor
            linear = _linear(family, fixed, matrix, penalty, children)
    return split if family.parent is None else onto_simplex(split, family.parent)


def _quadratic(family: Family, fixed: Sequence[tuple[Whole, Whole]], children: int) -> tuple[Floats, Floats, float]:
    """What is minimised: a matrix, a linear term for each child, and about the least eigenvalue, as the weight of the
    queries that tell all cells apart. Weights are taken as parts of the largest."""
    cells = len(family.codes[0]) if family.codes else len(fixed[0][0])
    heaviest = max(family.weights, default=1.0)
    matrix, goal, least = np.zeros((cells, cells)), np.zeros((children, cells)), 0.0
    for codes, seen, weight in zip(family.codes, family.measured, family.weights, strict=True):
        share = weight / heaviest
        matrix += share * (codes[:, None] == codes)
        goal += share * seen[:, codes]
        least += share if seen.shape[1] == cells else 0.0
    return matrix, goal, max(least, FLAT * float(np.trace(matrix)) / cells, 1e-9)


def _linear(
    family: Family, fixed: Sequence[tuple[Whole, Whole]], matrix: Floats, penalty: float, children: int
) -> Callable[[Floats], Floats]:
    """The linear half of a round, in closed form."""
    heavier = matrix.copy()
    heavier[np.diag_indices(len(matrix))] += penalty
    factored = cho_factor(heavier, overwrite_a=True, check_finite=False)
    inverse = cho_solve(factored, np.eye(len(matrix)), check_finite=False)
    parent = None if family.parent is None else family.parent / children
    correct = _correction(fixed, inverse)

    def linear(wanted: Floats) -> Floats:
        found = wanted @ inverse
        if parent is not None:
            found += parent - found.mean(axis=0)
        return found if correct is None else found + correct(found)

    return linear


def _correction(fixed: Sequence[tuple[Whole, Whole]], inverse: Floats) -> Any:
    """What brings fixed sums to their values; None where there are none."""
    if not fixed:
        return None
    rows = np.concatenate([np.equal.outer(np.arange(values.shape[1]), codes) for codes, values in fixed]).astype(float)
    wanted = np.concatenate([values for _, values in fixed], axis=1)
    spread = rows @ inverse
    back = np.linalg.pinv(spread @ rows.T) @ spread

    def correct(found: Floats) -> Floats:
        return np.asarray((wanted - found @ rows.T) @ back)

    return correct
