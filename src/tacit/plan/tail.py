"""How many units may lie beyond what a noisy histogram resolves: every way to go on that its counts do not rule out.

A way is a smooth curve of the density of sizes on a log scale: inside a slope, beyond a slope that is no gentler, and
both grow steeper with the size by a constant bend. Without a bend that is a power of the size (Pareto), with one a
log-normal, with a sudden slope an end. Each has a weight, by how well it fits the counts on both sides of the last
resolved edge; what a bound takes from units beyond is then a mean over them, and a range.

Only post-processing of released counts: the constants here decide errors and whether an interval speaks of the truth,
and never privacy. See docs/theory/profile.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["TailWays", "tail_ways"]

Floats = np.ndarray[Any, np.dtype[np.float64]]

INSIDE = (-200.0, -50.0, -20.0, -8.0, -4.0, -3.0, -2.0, *(step / 4 for step in range(-6, 16)), 4.0, 5.0, 6.0, 9.0)
BEYOND = (
    2.0,
    3.0,
    5.0,
    8.0,
    15.0,
    30.0,
    100.0,
    400.0,
)  # powers of the size with which numbers fall, where they do not go on
GENTLEST = 1.2  # power beyond: with less, a few would have everything
BENDS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.1, 1.6, 2.4, 3.6)  # growth of the power in an octave
GOES_ON = 0.8  # of the weight of all ways before counts are looked at: of those that bend only
BEFORE, AFTER = 14, 24  # bins inside and beyond that a way has to fit
ROUGH = (0.05, 0.05)  # of a count, by which true counts stray from a way: where it ends, and more for each octave
LEAST = 1e-9
UNLIKELY = 1e-5  # of all weight: such ways are left out


def _ways() -> Floats:
    """The slope inside, that beyond, the bend and the weight of each way, before counts are looked at."""
    found = []
    for inside in INSIDE:
        ends = [power for power in BEYOND if power > max(inside, GENTLEST)]
        for bend in BENDS:
            found.append((inside, max(inside, GENTLEST), bend, GOES_ON))
            found += [(inside, power, bend, (1 - GOES_ON) / len(ends)) for power in ends]
    return np.array(found).T


WAYS = _ways()


@dataclass(frozen=True)
class TailWays:
    """Ways to go on: their weights, and the units of each in each bin beyond the last resolved edge. `doubt` is the
    standard deviation of how many there are, as a share of them."""

    weights: Floats
    units: Floats  # ways × bins
    doubt: Floats
    lows: Floats  # of each bin
    highs: Floats

    def excess(self, bound: float) -> tuple[Floats, Floats]:
        """For each way: what units beyond count above a bound, and the standard deviation of that, which is of how many
        there happen to be, and of how many are expected."""
        middle = np.maximum((np.maximum(self.lows, bound) + self.highs) / 2 - bound, 0.0)
        most = np.maximum(self.highs - bound, 0.0)
        share = np.where(
            self.highs > bound, (self.highs - np.maximum(self.lows, bound)) / (self.highs - self.lows), 0.0
        )
        mean = self.units @ (share * middle)
        spread = np.sqrt(self.units @ (share * most**2) + (mean * self.doubt) ** 2)
        return mean, spread

    def most(self, bound: float, risk: float, far: float = 0.0) -> float:
        """What is taken at most by all ways but the worst ones of this weight, `far` standard deviations up."""
        mean, spread = self.excess(bound)
        ends = mean + far * spread
        order = np.argsort(ends)
        reached = np.cumsum(self.weights[order])
        return float(ends[order][min(int(np.searchsorted(reached, 1 - risk)), len(order) - 1)])


def tail_ways(edges: Floats, counts: Floats, last: int, variance: float) -> TailWays:
    """Of a histogram whose bin j ends at edge j, resolved up to place `last`, with noise of this variance."""
    ends = np.log2(edges)
    starts = np.concatenate([[ends[0] - max(1.0, ends[1] - ends[0] if len(ends) > 1 else 1.0)], ends[:-1]])
    middles, widths = (starts + ends) / 2 - ends[last], ends - starts
    inside, beyond, bends, prior = WAYS
    after = np.maximum(middles, 0.0)
    powers = -np.outer(inside, middles) - np.outer(beyond - inside, after) - np.outer(bends, middles**2 / 2)
    density = np.exp2(np.clip(powers, -200, 60)) * widths
    first, stop = max(0, last - BEFORE + 1), min(len(edges), last + 1 + AFTER)
    found = np.maximum(counts[first:stop], 0.0)
    rough = ROUGH[0] + ROUGH[1] * np.abs(middles[first:stop])
    weight = 1 / (variance + found + (rough * found) ** 2)
    inner = last + 1 - first
    misfits = float(np.min(_fit(density[:, first : last + 1], counts[first : last + 1], weight[:inner])[1])) / max(
        1, inner - 3
    )
    weight[:inner] /= max(1.0, misfits)  # where no way fits what is inside, it says little of what is beyond
    size, misfit, square = _fit(density[:, first:stop], counts[first:stop], weight)
    weights = prior * np.exp(-(misfit - np.min(misfit)) / 2)
    kept = weights > UNLIKELY * weights.sum()
    size, weights = np.maximum(size[kept], LEAST), weights[kept]
    return TailWays(
        weights=weights / weights.sum(),
        units=size[:, None] * density[kept, last + 1 :],
        doubt=np.minimum(1 / np.sqrt(square[kept]) / size, 10.0),
        lows=edges[last:-1],
        highs=edges[last + 1 :],
    )


def _fit(shapes: Floats, counts: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """How often each shape fits the counts best, how badly it does, and the square of one over the doubt of that."""
    square = (shapes**2) @ weight + LEAST**2
    size = np.maximum((shapes @ (weight * counts)) / square, 0.0)
    return size, ((counts - size[:, None] * shapes) ** 2) @ weight, square
