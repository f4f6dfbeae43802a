"""The tilt at which a sum of losses is looked at: any gives a bound, and a good one a close bound."""

from collections.abc import Callable
from math import inf, sqrt

__all__ = ["CLOSE", "Moments", "tilt"]

Moments = Callable[[float], tuple[float, float, float]]  # K(θ) and its first two derivatives

LEAST, MOST = 1e-6, 1e12
CLOSE = 1.1  # a tilt is found up to this factor
FINEST = 10.0  # what is finer than the accuracy by this factor is not told apart


def tilt(
    moments: Moments,
    reached: Callable[[float], bool],
    cost: Callable[[float], float],
    *,
    accuracy: float,
    close: float = CLOSE,
) -> float:
    """About the least tilt that has `reached`, or beyond which a bounded loss is all at its top; the better side of it,
    as moments may leap. At least one deviation, if they do not: so copies of δ are far away."""
    plain = max(sqrt(moments(0.0)[2]), 1e-290)
    # a sum of a large part and a small one is all at the top of the large part long before its own tail
    most, high = min(MOST, FINEST / (plain * max(accuracy, 1e-12))), 2.0
    while high < most and not reached(high):
        high *= 4
    topped = not reached(high) or moments(high)[2] == inf

    def far(theta: float) -> bool:
        at_top = topped and theta * plain > 3 and theta * theta * moments(theta)[2] < 1
        return at_top or reached(theta)

    low = high = 2.0
    if far(high):
        while low > LEAST and far(low / 4):
            low /= 4
        low, high = low / 4, low
    else:
        while high < MOST and not far(high * 4):
            high *= 4
        low, high = high, high * 4
    while high > close * low:
        middle = sqrt(low * high)
        low, high = (low, middle) if far(middle) else (middle, high)
    best = min(low, high, key=cost)
    deviation = max(plain, sqrt(moments(best)[2]))
    least = min(MOST, 1 / deviation)
    return least if best < least and sqrt(moments(least)[2]) < 2 * deviation else best
