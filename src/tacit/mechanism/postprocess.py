"""What may be done to a noisy histogram after its release: tidying that costs no privacy and adds none.

Every function sees only the release and public numbers. Clamping makes single cells look right and biases them upward:
use it for showing, not for adding up. `norm_sub` keeps a total, which must be public or a noisy release itself: the
secret number of units is neither.
"""

from typing import Any

import numpy as np

from tacit.base import InputError, Number, exact, whole

__all__ = ["clamp", "norm_sub", "norm_sub_whole", "to_whole"]

Array = np.ndarray[Any, np.dtype[Any]]

LARGEST = 2**62


def clamp(counts: Any) -> Array:
    """Negative cells become 0."""
    return np.asarray(np.maximum(_checked(counts), 0))


def to_whole(counts: Any) -> Array:
    """The nearest whole numbers, halves upward, as int64."""
    values = _checked(counts)
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    if np.abs(values).max(initial=0.0) >= LARGEST:
        raise InputError("counts must be below 2^62 in size")
    floor = np.floor(values)
    return np.asarray(floor + (values - floor >= 0.5), dtype=np.int64)


def norm_sub(counts: Any, total: Number) -> Array:
    """max(0, counts − t) with the one t for which the result sums to `total` (Wang et al. 2020, Norm-Sub).

    This is also the nearest point, in least squares, among non-negative histograms with that total.
    """
    values, target = _checked(counts).astype(np.float64), float(exact(total, "total"))
    if target < 0 or (not values.size and target):
        raise InputError(f"total must not be negative, nor positive with no cells, not {target:g}")
    if not target:
        return np.zeros_like(values)
    flat = values.ravel()
    centre = flat.max()  # differences to the greatest cell: what is far below it cannot cost digits
    above = np.sort(flat - centre)[::-1]
    shifts = (np.cumsum(above) - target) / np.arange(1, flat.size + 1)
    shift = shifts[np.flatnonzero(above > shifts)[-1]]  # the most cells that stay positive
    return np.asarray(np.maximum(0.0, values - centre - shift))


def norm_sub_whole(counts: Any, total: int) -> Array:
    """`norm_sub` for whole counts: non-negative integers that sum to `total` exactly.

    All cells move by the same amount, so they share one fraction; it is handed out as ones, to the greatest cells first
    and, among equals, to those that come first.
    """
    values, target = _checked(counts), whole(total, "total")
    if values.dtype.kind not in "iu":
        raise InputError("counts must be whole numbers: round them with to_whole first")
    if not values.size and target:
        raise InputError("total is positive, but there are no cells")
    flat = [int(v) for v in values.ravel()]
    order = sorted(range(len(flat)), key=lambda i: -flat[i])
    result, running, kept, excess = [0] * len(flat), 0, 0, 0
    for rank, i in enumerate(order, start=1):
        running += flat[i]
        if flat[i] * rank > running - target:  # this cell stays positive when `rank` cells share the excess
            kept, excess = rank, running - target
    if kept:
        lowered = -(-excess // kept)  # ⌈t⌉, so that what is left over is given back as ones
        spare = lowered * kept - excess
        for rank, i in enumerate(order[:kept]):
            result[i] = flat[i] - lowered + (rank < spare)
    return np.array(result, dtype=np.int64).reshape(values.shape)


def _checked(counts: Any) -> Array:
    values = np.asarray(counts)
    if values.size == 0:
        return values.astype(np.int64)
    if values.dtype.kind not in "iuf":
        raise InputError(f"counts must be an array of numbers, not of {values.dtype}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("counts must be finite: they hold NaN or infinity")
    if values.dtype == np.uint64 and int(values.max()) >= LARGEST:
        raise InputError("counts must be below 2^62 in size")
    return values
