"""Where falling curves cross a level: the ends of ε(δ), each on the safe side of its curve."""

from collections.abc import Callable
from math import inf, log

from tacit.loss.gauss import gaussian_epsilon
from tacit.loss.loss import Interval

__all__ = ["Curve", "beside_gaussian", "between", "crossing"]

Curve = Callable[[float, int], float]  # δ(ε), rounded up (1) or down (−1)


def between(above: Curve, below: Curve, delta: float, start: float, width: float, top: float = inf) -> Interval:
    """Where the two bounds on a curve cross δ, which is not above `top`."""
    _, highest = crossing(lambda e: above(e, 1), delta, start, width)
    lowest, _ = crossing(lambda e: below(e, -1), delta, start, width)
    return Interval(min(lowest, highest, top), min(highest, top))


def beside_gaussian(epsilon: Callable[[float], Interval], mu: float, delta: float, accuracy: float) -> Interval | None:
    """Bounds on the ε of a curve with a Gaussian beside it, where they are close: with it ε is no less, and it is
    (η, γ)-private, so that ε(δ) ≤ ε'(δ − γ) + η by basic composition."""
    gamma = delta * accuracy / 8
    eta = gaussian_epsilon(mu * (1 + 1e-9), gamma * (1 - 1e-6)) * (1 + 1e-9)
    low, high = epsilon(delta).lower, (epsilon(delta - gamma).upper + eta) * (1 + 1e-15)
    return Interval(low, high) if high - low <= accuracy * high else None


def crossing(curve: Callable[[float], float], delta: float, start: float, width: float) -> tuple[float, float]:
    """ε to 1e-13 with curve(low) > δ ≥ curve(high), for a falling curve; (0, 0) and (·, ∞) where there is none."""
    low = high = max(start, 0.0)
    up = down = width / 8
    while curve(high) > delta:
        low, high, up = high, high + up, 2 * up
        if high > 1e8:
            return low, inf
    while curve(low) <= delta:
        if low == 0:
            return 0.0, 0.0
        high, low, down = low, max(0.0, low - down), 2 * down
    return _narrowed(curve, delta, low, high)


def _narrowed(curve: Callable[[float], float], delta: float, low: float, high: float) -> tuple[float, float]:
    """The bracket brought to 1e-12 by false position on log δ, which is nearly straight, halving when that stalls."""

    def height(value: float) -> float:
        return log(max(value, 1e-320)) - log(delta)

    left, right = height(curve(low)), height(curve(high))
    for turn in range(200):
        if high - low <= 1e-12 * high:
            break
        share = left / (left - right) if turn % 3 < 2 and left > right else 0.5
        middle = low + (high - low) * min(max(share, 1e-3), 1 - 1e-3)
        if not low < middle < high:
            break
        found = curve(middle)
        if found <= delta:
            high, right = middle, height(found)
            left /= 2 if turn % 3 else 1  # the Illinois rule: do not keep one end for ever
        else:
            low, left = middle, height(found)
            right /= 2 if turn % 3 else 1
    return low, high
