"""Shares that are shares: at least 0 and 1 in sum, the nearest such to an estimate (norm-sub)."""

from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.survey.protocol import Array

__all__ = ["consistent"]


def consistent(shares: Any) -> Array:
    """The shares at least 0 with sum 1 that are nearest to `shares` in squares: max(share − t, 0) for one number t.

    It is what is left when a constant is subtracted and negative shares are cut, until nothing changes (Wang and others
    2020); t is found exactly, in one pass over the sorted shares. It is post-processing and costs nothing. The error
    bars of the estimate stay where they are: what was cut is biased, upwards for rare answers.
    """
    raw = np.asarray(shares, dtype=np.float64)
    if raw.ndim != 1 or not raw.size or not np.isfinite(raw).all():
        raise InputError("shares must be a list of finite numbers, one for each answer: pass an estimate's value")
    raw = raw - raw.max()  # the same for all changes nothing, and large numbers lose no digits
    falling = np.sort(raw)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, raw.size + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    found: Array = np.maximum(raw - excess[kept], 0.0)
    return found
