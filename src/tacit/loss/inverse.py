"""A sum of many losses near one tilt: its transform at some frequencies, and δ(ε) from it with every error bounded.

With z = θ + iy, δ(ε) = (1/2π)·∫ E[e^(zL)]·e^(−zε)/(z(z + 1)) dy. Taken as a sum over frequencies 2π/T apart, it is off
by copies of δ at ε ± T, ε ± 2T, …, which are not negative and small (Chernoff). Frequencies at which the product of all
transforms is nothing are found early and left out. Where that does not end, a Gaussian of variance s² is added: it
raises δ by less than C·s² times the density at ε, which the same frequencies give (docs/theory/pld.md).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import exp, expm1, fsum, inf, isnan, log, pi, sqrt

import numpy as np

from tacit.base import LossError, special
from tacit.loss.block import Block, Complexes, Ints
from tacit.loss.pair import UNIT, Floats
from tacit.loss.source import Rows, Source

__all__ = ["Inverse", "Lattice", "TooManyError"]

SHIFT = 6.0  # the largest change of the tilt, in deviations, by which copies are bounded
ROOM = 3.0  # deviations on either side of where δ is wanted, within which copies stay small
SMALL = 30.0  # −log of what a copy may be
DEAD = -36.0  # the logarithm of a product of transforms that counts as none
POINTS = 2**22  # of a lattice
OUTSIDE = "the composition left the range of floating point: ask for a larger delta"
FEW = 64  # frequencies at which all the other rows are taken at once


Mark = tuple[float, float]


class TooManyError(Exception):
    """There would be more frequencies than there is room for; a Gaussian of this variance leaves few enough."""

    def __init__(self, variance: float) -> None:
        super().__init__(f"smooth by {variance}")
        self.variance = variance


@dataclass(frozen=True)
class Lattice:
    """All sums lie at `offset` plus whole multiples of `unit`, but for a displacement of at most `blur`."""

    unit: float
    offset: float
    blur: float


class Inverse:
    """One bound (`sign`: from above or below) on the sum of all losses; both at once where all sources are exact."""

    def __init__(
        self,
        sources: list[Source],
        square: float,
        infinite: float,
        *,
        theta: float,
        deviation: float,
        sign: int,
        smoothing: float,
        lattice: Lattice | None,
        around: tuple[float, float] | None = None,
        most: int,
    ) -> None:
        """`most` frequencies are taken, unless there is a lattice."""
        self.theta, self._infinite, self._smoothing, self._lattice = theta, infinite, smoothing, lattice
        self._gauss = square + smoothing  # variance of all that is Gaussian
        self._sources, self._sign, self._most = sources, sign, most
        deviation = max(deviation, 1e-6 / theta)  # of a sum that is all at one place, say
        blocks = [source.block(theta, 12 / deviation, sign, slice(None)) for source in sources]
        tilted = [block.tilted(theta) for block in blocks]
        self._centres = [t.mean for t in tilted]
        rows = list(zip(blocks, tilted, strict=True))
        self.log_total = _total((b.counts * t.log_moment for b, t in rows), self._gauss * theta * (theta + 1) / 2)
        self.centre = _total((b.counts * t.mean for b, t in rows), self._gauss * (theta + 0.5))
        self._size = _total((b.counts * np.abs(t.mean) for b, t in rows), self._gauss * (theta + 0.5))
        self.rounding = _total((b.counts * t.error for b, t in rows), 1e-14)
        self._scores = [b.counts * t.variance for b, t in rows]
        self._blocks = blocks
        low, high = around or (self.centre, self.centre)
        low, high = low - ROOM * deviation, high + ROOM * deviation
        self._above = self._marks(lambda share: theta + share / deviation, low)
        self._below = [
            (-theta, -self.log_total),
            *self._marks(lambda share: max(0.0, theta - share / deviation), -high),
        ]
        self._turned: list[tuple[float, float]] = []
        up, down = _needed(self._above, low), _needed(self._below, -high)
        if down > 2 * up:  # copies below are 1 − e^x but for little: that is taken off, and the rest is smaller
            self._turned = self._marks(lambda share: -1 - share / deviation, -high)
            down = min(down, _needed(self._turned, -high))
            self._inside = [(self._log_moment(t), self._rounding(t)) for t in (0.0, -1.0)]
        self._period = max(up, down, 1e-290)
        self._transform(blocks)

    def _at(self, theta: float) -> list[Block]:
        """All rows, right at a tilt of its own."""
        return [
            block if source.fixed else source.block(theta, 0.0, self._sign, slice(None))
            for source, block in zip(self._sources, self._blocks, strict=True)
        ]

    def _log_moment(self, theta: float) -> float:
        """log E[e^(θL)] of the sum."""
        return _total((b.counts * b.log_moment(theta) for b in self._at(theta)), self._gauss * theta * (theta + 1) / 2)

    def _rounding(self, theta: float) -> float:
        """What that may be off by."""
        return _total((b.counts * b.tilted(theta).error for b in self._at(theta)), 1e-14)

    def _marks(self, tilt: Callable[[float], float], place: float) -> list[Mark]:
        """Changes of the tilt, with the changes of the log-moment, that bound what lies beyond a place."""
        found: list[Mark] = []
        least, share = inf, SHIFT
        for _ in range(24):
            at = tilt(share)
            share /= 2.5
            if not at:  # beyond all tilts there are
                continue
            try:
                mark = at - self.theta, self._log_moment(at) - self.log_total
            except LossError:
                continue
            found.append(mark)
            needed = _needed([mark], place)
            if needed > least:  # smaller changes need more
                break
            least = needed
        return found

    def _copies(self, epsilon: float) -> tuple[float, float]:
        """What the copies of δ at ε ± T, ε ± 2T, … are known to add, and what they may add besides, in units of
        e^(K − θε)."""
        t, theta = self._period, self.theta
        above, plain, turned = (
            min((_series(k - change * epsilon, abs(change) * t) for change, k in marks), default=inf)
            for marks in (self._above, self._below, self._turned)
        )
        if plain <= turned:
            return 0.0, (above + plain) * 1.001
        scale = theta * epsilon - self.log_total
        series = [
            _series(scale + m + at * epsilon, (theta + at) * t) for (m, _), at in zip(self._inside, (0, 1), strict=True)
        ]
        rounding = self.rounding + 1e-13 + 8 * UNIT * (abs(self.log_total) + (theta + 1) * (abs(epsilon) + t))
        doubt = sum(value * (rounding + error) for value, (_, error) in zip(series, self._inside, strict=True))
        return series[0] - series[1], (above + turned) * 1.001 + 1.1 * doubt

    def _transform(self, blocks: list[Block]) -> None:
        """The product of all transforms at the frequencies where it is more than e^DEAD."""
        if self._lattice is not None and self._period > POINTS * self._lattice.unit:
            self._lattice = None  # its points are too many: the sum is smoothed instead
        if self._lattice is None:
            highest = sqrt(-2 * DEAD / self._gauss) if self._gauss > 0 else inf
            last = highest * self._period / (2 * pi)
            if last > self._most:
                width = 1.01 * self._period / (2 * pi * self._most)
                if width > 1e150:  # no double holds its square
                    raise LossError(OUTSIDE)
                raise TooManyError(-2 * DEAD * width**2)
            self._spacing, last = 2 * pi / self._period, int(last) + 1
        else:
            last = int(self._period / self._lattice.unit) // 2 + 1
            self._period = (2 * last + 1) * self._lattice.unit
            self._spacing = 2 * pi / self._period
        self._last = last
        places: Ints = np.arange(last + 1)
        logs = (-self._gauss / 2 * (self._spacing * places) ** 2).astype(np.complex128)
        tops, (strains, swings, crude) = logs.real.copy(), np.zeros((3, last + 1))
        order = sorted(((s, k, i) for k, scores in enumerate(self._scores) for i, s in enumerate(scores)), reverse=True)
        done, batch = 0, 1
        while done < len(order):
            size = len(order) - done if len(places) <= FEW else batch
            chosen: list[tuple[int, Rows]]
            if not done and size >= len(order):
                chosen = [(k, slice(None)) for k in range(len(blocks))]
            else:
                part = order[done : done + size]
                chosen = [(k, [i for _, at, i in part if at == k]) for k in range(len(blocks))]
            for k, rows in chosen:
                if isinstance(rows, list) and not rows:
                    continue
                block = self._sources[k].block(self.theta, self._spacing * float(places[-1]), self._sign, rows)
                found, error = block.phases(self.theta, self._spacing, places, self._centres[k][rows])
                n, sizes = block.counts[:, None], np.abs(found)
                safe = np.maximum(sizes, 1e-300)
                turned = n * np.angle(found)
                logs += (n * np.log(safe)).sum(axis=0) + 1j * turned.sum(axis=0)
                swings += np.abs(turned).sum(axis=0)
                tops += (n * np.log(safe + error)).sum(axis=0)
                strains += (n * error / safe).sum(axis=0)
                crude += (n * error).sum(axis=0)
            done, batch = done + size, 2 * batch
            live = tops > DEAD
            live[0] = True
            places, logs, tops = places[live], logs[live], tops[live]
            strains, swings, crude = strains[live], swings[live], crude[live]
        self._y = self._spacing * places
        self._values = np.exp(logs)
        self._values[0] *= 0.5
        sizes = np.exp(np.minimum(tops, 0.0))
        turns = 8 * UNIT * _total(s.counts for s in self._sources)
        sums = (4 + len(order)) * (np.abs(logs.real) + swings)  # that many numbers are added up, one by one
        own = np.where(strains < 0.1, 1.2 * sizes * strains, inf)
        self._errors = np.minimum(own, crude * np.exp(np.minimum(crude, 700.0))) + sizes * (turns + UNIT * (100 + sums))
        self._errors[0] *= 0.5

    def _kernel(self, epsilon: float) -> tuple[Complexes, Floats]:
        """The transform of e^(−θx)·(1 − e^−x)+, or of its sum over the points of the lattice above ε, and the size of
        what it is computed from."""
        z = self.theta + 1j * self._y
        if self._lattice is None:
            kernel: Complexes = np.asarray(1 / (z * (z + 1)), dtype=np.complex128)
            return kernel, np.asarray(np.abs(kernel), dtype=np.float64)
        unit = self._lattice.unit
        place = (epsilon - self._lattice.offset) / unit
        rest = (1 - (place - np.floor(place))) * unit
        parts = [np.exp(-w * rest) / -np.expm1(-w * unit) for w in (z, z + 1)]
        return np.asarray(unit * (parts[0] - parts[1])), np.asarray(unit * (np.abs(parts[0]) + np.abs(parts[1])))

    def delta(self, epsilon: float, sign: int) -> float:
        """δ(ε), rounded up (sign = 1) or down (sign = −1) by all the errors made."""
        return float(self.deltas(np.array([epsilon]), sign)[0])

    def deltas(self, epsilons: Floats, sign: int) -> Floats:
        """The same for many ε."""
        blur = 8 * UNIT * np.abs(epsilons) + (self._lattice.blur if self._lattice else 0.0)
        epsilons = epsilons - sign * blur
        return np.array([self._delta(float(e), sign) for e in epsilons])

    def _delta(self, epsilon: float, sign: int) -> float:
        known, copies = self._copies(epsilon)
        (kernel, size), x = self._kernel(epsilon), epsilon - self.centre
        turn = self._values * np.exp(-1j * (self._y * x))
        scale = self._spacing / pi
        total = scale * float((turn * kernel).real.sum()) - known
        blur = 4 * UNIT * (abs(x) + self._size + self._period)
        weights = self._errors + np.abs(self._values) * (64 * UNIT + blur * self._y)
        slack = scale * float((weights * np.abs(kernel)).sum()) + self._beyond()
        if self._lattice:  # the way from ε to the next point is a small difference of large numbers
            off = 64 * UNIT + 4 * UNIT * (abs(epsilon) + abs(self._lattice.offset)) * (self.theta + 1 + self._y)
            slack += scale * float((np.abs(self._values) * off * size).sum())
        slack += copies if sign < 0 or known else 0.0
        if sign < 0 and self._smoothing:
            density = scale * float((turn.real + weights).sum()) + exp(DEAD) * scale * (1.02 * self._last + 2)
            slack += self._raise() * self._smoothing * max(0.0, density)
        if isnan(total + slack):
            raise LossError(OUTSIDE)
        value = max(0.0, total + sign * slack)
        log_scale = self.log_total - self.theta * epsilon
        rounding = self.rounding + 4 * UNIT * (abs(self.log_total) + abs(self.theta * epsilon))
        scaled = exp(min(700.0, log_scale + log(value))) if value > 0 else 0.0
        least = 5e-324 if sign > 0 else 0.0  # what underflows is not nothing
        return min(1.0, max(least, (scaled + self._infinite) * (1 + sign * (rounding + 1e-14))))

    def _beyond(self) -> float:
        """What the frequencies left out may hold."""
        theta = self.theta
        left = exp(DEAD)
        if self._lattice is None:
            last = self._spacing * self._last
            dead = left * (self._spacing / (2 * pi * theta * (theta + 1)) + 1 / (2 * theta))
            return dead + left / (pi * last * last * last * self._gauss) if last > 0 else inf
        top = exp(theta * log(theta) - (1 + theta) * log(1 + theta))  # the largest value of e^(−θx)(1 − e^−x)
        return left * (top + 1 / (self._lattice.unit * theta * (theta + 1)))

    def _raise(self) -> float:
        """C: 1 + R(−s/2)·s/2, with R the Mills ratio."""
        s = sqrt(self._smoothing)
        return 1 + s / 2 * sqrt(pi / 2) * float(special.erfcx(-s / (2 * sqrt(2))))


def _needed(marks: list[Mark], place: float) -> float:
    """The least period at which the copies beyond a place are no more than e^−SMALL."""
    return min(((k + SMALL) / abs(change) - place for change, k in marks), default=inf)


def _series(exponent: float, fall: float) -> float:
    """Σ over k ≥ 1 of e^(exponent − k·fall)."""
    return exp(min(700.0, exponent - fall)) / -expm1(-fall) if fall > 0 else inf


def _total(parts: Iterable[Floats], more: float = 0.0) -> float:
    return fsum([more, *(float(x) for part in parts for x in part)])
