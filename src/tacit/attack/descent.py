"""L-BFGS for small smooth problems, in plain vector operations.

scipy's calls a linear-algebra library on matrices of a few numbers, which on a busy machine waits for its own threads:
measured many times slower there than this.
"""

from collections import deque
from collections.abc import Callable

import numpy as np

from tacit.attack.network import Array

__all__ = ["descend"]

Function = Callable[[Array], tuple[float, Array]]

MEMORY = 20
STILL = 1e-8  # a relative fall in one step that is not worth another
FALL, SLOPE = 1e-4, 0.9  # the weak Wolfe conditions, as in Nocedal and Wright (2006)


def descend(function: Function, start: Array, *, steps: int, enough: float = 1e-15) -> tuple[float, Array]:
    """The least value found and where, in at most `steps` steps; a value of `enough`, or a standstill, ends it.

    `function` returns its value and its gradient.
    """
    x = np.array(start, dtype=float)
    value, gradient = function(x)
    past: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
    for _ in range(steps):
        direction = _direction(gradient, past)
        if not direction @ gradient < 0:  # rounding, or a bad memory: begin anew, downhill
            past.clear()
            direction = -gradient
        found = _search(function, x, value, gradient, direction)
        if found is None:
            if not past:
                break
            past.clear()
            continue
        moved, turned, fallen = found[0] - x, found[2] - gradient, value - found[1]
        x, value, gradient = found
        if value <= enough or fallen <= STILL * value:
            break
        bend = float(moved @ turned)
        if bend > 1e-12 * float(turned @ turned):
            past.append((moved, turned, bend))
    return value, x


def _direction(gradient: Array, past: deque[tuple[Array, Array, float]]) -> Array:
    """The two loops of Nocedal (1980)."""
    direction, shares = -gradient, []
    for moved, turned, bend in reversed(past):
        shares.append(float(moved @ direction) / bend)
        direction = direction - shares[-1] * turned
    if past:
        _, turned, bend = past[-1]
        direction = direction * (bend / float(turned @ turned))
    else:
        direction = direction / max(1.0, float(np.linalg.norm(gradient)))
    for (moved, turned, bend), share in zip(past, reversed(shares), strict=True):
        direction = direction + (share - float(turned @ direction) / bend) * moved
    return np.asarray(direction)


def _search(
    function: Function, x: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, float, Array] | None:
    """A point on the ray that meets the weak Wolfe conditions, by bisection; at worst one that is lower, or None."""
    low, high, step = 0.0, np.inf, 1.0
    slope = float(direction @ gradient)
    lower: tuple[Array, float, Array] | None = None
    for _ in range(30):
        there = x + step * direction
        found, turned = function(there)
        if not found <= value + FALL * step * slope:  # NaN too is not lower
            high = step
        else:
            lower = (there, found, turned)
            if float(direction @ turned) >= SLOPE * slope:
                return lower
            low = step
        step = (low + high) / 2 if high < np.inf else 2 * low
    return lower
