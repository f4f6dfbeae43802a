"""How far the truth may lie below a number that is seen only because it passed a threshold."""

from collections.abc import Callable
from math import log
from typing import Any

import numpy as np

from tacit.base import special
from tacit.sql.stored import Array, Noisy

__all__ = ["ROUNDS", "depth", "edge"]

ROUNDS = 32  # of bisection: an end is found to 2^−32 of where it may be, and taken on the wide side


def depth(noisy: Noisy, confidence: float) -> Array:
    """How far below a number the truth may lie that is seen only if it passed a threshold.

    Given that x + Z ≥ T was seen, Z tends to be high where the truth is low. A truth t is ruled out if a number as high
    as the one seen, v, has Pr[t + Z ≥ v | t + Z ≥ T] = S(v − t)/S(T − t) of at most half the risk; that grows with t,
    since the noise is log-concave. The upper end needs nothing: given that it passed, a number is not lower.
    """
    assert noisy.least is not None
    risk, seen, least = log((1 - confidence) / 2), noisy.values / noisy.size, noisy.least / noisy.size

    def possible(truth: Array) -> Any:
        return _log_survival(seen - truth, noisy.kind) - _log_survival(least - truth, noisy.kind) > risk

    lowest = np.minimum(np.zeros_like(seen), seen)
    low = np.asarray(edge(possible, seen, lowest))
    return np.asarray((seen - low) * noisy.size + 0.5)  # whole numbers have half a step more to either side


def _log_survival(far: Array, kind: str) -> Array:
    """log Pr[Z ≥ far], Z of size 1, by the continuous law."""
    if kind == "gaussian":
        return np.asarray(special.log_ndtr(-far))
    return np.where(far > 0, log(0.5) - far, np.log1p(-0.5 * np.exp(np.minimum(far, 0.0))))


def edge(holds: Callable[[Array], Any], inside: Array, outside: Array) -> Array:
    """Where a condition that holds at `inside` stops on the way to `outside`, which is kept if it never does."""
    near, far = inside, outside
    done = holds(outside)
    for _ in range(ROUNDS):
        middle = (near + far) / 2
        good = holds(middle)
        near, far = np.where(good, middle, near), np.where(good, far, middle)
    return np.where(done, outside, far)
