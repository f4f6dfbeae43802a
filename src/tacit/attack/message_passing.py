"""Unknown bits from noisy sums over random subsets, by passing messages: the posterior of each bit, approximately.

Least squares knows neither that the unknowns are bits nor how the noise is distributed. Both are in the prior and the
channel of generalised approximate message passing (Donoho, Maleki and Montanari 2009; Rangan 2011), which for random
subsets is about the best there is and costs two products with the matrix a round.
"""

from math import sqrt
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from tacit.attack.subset_sums import Array
from tacit.base import InputError

__all__ = ["posterior"]

ROUNDS = 80
DAMPING = 0.7  # the share of a new message that is taken over: full steps can swing for ever
STILL = 1e-5


def posterior(queries: Array, answers: Array, *, bound: float | None = None, sigma: float | None = None) -> Array:
    """The chance that each bit is 1, if each answer is off by uniform noise in ±`bound`, or by a normal of `sigma`."""
    if (bound is None) == (sigma is None) or not (bound or sigma or 0) > 0:
        raise InputError("say how large the noise is: bound (it is uniform in ±bound) or sigma (it is normal), above 0")
    count, people = queries.shape
    signs = (queries - 0.5) * 0.5  # with s = 2x − 1 in ±1, Ax is signs·s, plus Σs/4, plus half the row's sum
    rest = answers - queries.sum(axis=1) / 2
    weight = 1 / 16  # each entry of `signs`, squared
    spins: Array = np.zeros(people)
    pull: Array = np.zeros(count)
    seen: Any = signs @ spins
    size = float(bound or sigma or 0)
    noise = size**2 / 3 if bound else size**2  # its variance
    for _ in range(ROUNDS):
        spread = max(weight * float((1 - spins**2).sum()), (1e-3 * size) ** 2)
        # the level Σs/4 is common to all answers. What they have left on average says it well at first, the bits later
        doubt = noise / count / (noise / count + spread)
        level = (1 - doubt) * float((rest - seen).mean()) + doubt * float(spins.sum()) / 4
        expected = seen - spread * pull + level
        fresh, curvature = (
            _uniform(rest - expected, spread, bound) if bound else _normal(rest - expected, spread, sigma)
        )
        pull = DAMPING * fresh + (1 - DAMPING) * pull
        variance = 1 / (weight * max(curvature, 1e-12))
        found = np.tanh((spins + variance * (signs.T @ pull)) / variance)
        moved = float(np.abs(found - spins).max())
        spins = DAMPING * found + (1 - DAMPING) * spins
        if moved < STILL:
            break
        seen = signs @ spins
    return np.asarray((spins + 1) / 2, dtype=float)


def _normal(gap: Array, spread: float, sigma: float | None) -> tuple[Array, float]:
    whole = spread + (sigma or 0) ** 2
    return gap / whole, len(gap) / whole


def _uniform(gap: Array, spread: float, bound: float) -> tuple[Array, float]:
    """The mean of N(0, spread) given that it lies within `bound` of `gap`, and by how much that narrows it."""
    width = sqrt(spread)
    # the far tail is computed on the left, where differences of normal tails keep their digits
    centre = -np.abs(gap) / width
    low, high = centre - bound / width, centre + bound / width
    mass = log_ndtr(high) + np.log(-np.expm1(np.minimum(log_ndtr(low) - log_ndtr(high), -1e-12)))
    at_low, at_high = (np.exp(-(end**2) / 2 - mass) / sqrt(2 * np.pi) for end in (low, high))
    mean = at_low - at_high
    narrowed = mean**2 + high * at_high - low * at_low
    return np.sign(gap) * -mean / width, float(np.clip(narrowed, 0, 1).sum()) / spread
