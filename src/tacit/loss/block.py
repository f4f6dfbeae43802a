"""Losses of many mechanisms side by side, tilted: moments, and characteristic functions with bounds on their errors.

Tilting gives each outcome the weight w ∝ p·e^(θl). A row's characteristic function is φ(y) = Σ w·e^(iy(l − c)), c its
centre: E[e^((θ+iy)L)]/E[e^(θL)] but for the turn e^(−iyc).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log2, pi
from typing import Any

import numpy as np

from tacit.loss.pair import UNIT, Floats

__all__ = ["AtomBlock", "Block", "Complexes", "Ints", "Tilted", "TwoSidedBlock"]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Complexes = np.ndarray[Any, np.dtype[np.complex128]]

FRESH = 32  # turns by multiplication before an exponential is computed anew
TAYLOR = 24  # terms for the way from a loss to its grid point: (π/2)^24/24! < 1e-19
FINER = 2  # grid points for each frequency
ROOM = 2**21  # numbers worked on at once


@dataclass(frozen=True)
class Tilted:
    """log E[e^(θL)], the tilted mean and variance, and the relative error of the moment, for each row."""

    log_moment: Floats
    mean: Floats
    variance: Floats
    error: Floats


class Block(ABC):
    """Rows of losses; `counts` says how often each is taken."""

    counts: Floats

    @abstractmethod
    def tilted(self, theta: float) -> Tilted:
        """Moments at a real tilt."""

    @abstractmethod
    def moments(self, theta: float) -> tuple[Floats, Floats, Floats]:
        """log E[e^(θL)], the tilted mean and variance of each row, but for rounding."""

    @abstractmethod
    def log_moment(self, theta: float) -> Floats:
        """log E[e^(θL)] of each row alone."""

    @abstractmethod
    def phases(self, theta: float, spacing: float, places: Ints, centres: Floats) -> tuple[Complexes, Floats]:
        """φ of every row at the frequencies spacing·places, which ascend, and bounds on the errors."""


class AtomBlock(Block):
    """Finitely many losses a row, with the logarithms of their masses (−∞ for none).

    `blur` is what a loss may be off by, `doubt` what the logarithm of a mass may, `error` a relative error of the row's
    moments besides.
    """

    def __init__(
        self, losses: Floats, log_p: Floats, counts: Floats, *, blur: Floats, doubt: Floats, error: Floats
    ) -> None:
        self.losses, self._log_p, self.counts = losses, log_p, counts
        self._blur, self._doubt, self._error = blur, doubt, error

    def _weights(self, theta: float) -> tuple[Floats, Floats, Floats, Floats]:
        """w, the log-moments, the exponents' own error in units of w, and w·blur."""
        shift = theta * self.losses
        exponents = shift + self._log_p
        top = exponents.max(axis=1)
        w = np.exp(exponents - top[:, None])
        mass = w.sum(axis=1)
        w /= mass[:, None]
        with np.errstate(invalid="ignore"):
            sizes = np.where(w > 0, 2 * UNIT * (np.abs(shift) + np.abs(self._log_p)) + self._doubt, 0.0)
        return w, top + np.log(mass), (w * sizes).sum(axis=1), (w * self._blur).sum(axis=1)

    def log_moment(self, theta: float) -> Floats:
        exponents = theta * self.losses + self._log_p
        top = exponents.max(axis=1)
        exponents -= top[:, None]
        return np.asarray(top + np.log(np.exp(exponents, out=exponents).sum(axis=1)))

    def moments(self, theta: float) -> tuple[Floats, Floats, Floats]:
        exponents = theta * self.losses + self._log_p
        top = exponents.max(axis=1)
        exponents -= top[:, None]
        w = np.exp(exponents, out=exponents)
        mass = w.sum(axis=1)
        mean = np.einsum("ij,ij->i", w, self.losses) / mass
        apart = self.losses - mean[:, None]
        return top + np.log(mass), mean, np.einsum("ij,ij,ij->i", w, apart, apart) / mass

    def tilted(self, theta: float) -> Tilted:
        w, log_moment, doubt, blur = self._weights(theta)
        mean = (w * self.losses).sum(axis=1)
        variance = (w * (self.losses - mean[:, None]) ** 2).sum(axis=1)
        return Tilted(log_moment, mean, variance, doubt + theta * blur + 64 * UNIT + self._error)

    def phases(self, theta: float, spacing: float, places: Ints, centres: Floats) -> tuple[Complexes, Floats]:
        w, _, doubt, blur = self._weights(theta)
        losses = self.losses - centres[:, None]
        spread = (w * (np.abs(losses) + np.abs(self.losses))).sum(axis=1)
        error = 2 * doubt + theta * 2 * blur + 2 * self._error + 200 * UNIT
        growth = (2 * blur + 4 * UNIT * spread)[:, None] * (spacing * places)
        if losses.shape[1] > 64 and len(places) > 512:
            found, crowds = zip(*(_fast(a, b, spacing, places) for a, b in zip(losses, w, strict=True)), strict=True)
            error += UNIT * (200 * log2(FINER * (float(places[-1]) + 2)) + 5 * np.array(crowds))
            return np.array(found), error[:, None] + growth
        rows = max(1, ROOM // max(losses.shape[1], len(places)))
        parts = [_slow(losses[i : i + rows], w[i : i + rows], spacing, places) for i in range(0, len(losses), rows)]
        return np.concatenate(parts), error[:, None] + growth


def _turned(angles: Floats) -> Complexes:
    """e^(i·angle); a complex exponential is ten times slower."""
    found = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=found.real)
    np.sin(angles, out=found.imag)
    return found


def _slow(losses: Floats, w: Floats, spacing: float, places: Ints) -> Complexes:
    """Σ w·e^(iy·l) as it stands: term by term, or frequency by frequency, turning each point a step further."""
    found = np.zeros((len(losses), len(places)), dtype=np.complex128)
    if losses.shape[1] <= len(places):
        frequencies = spacing * places
        for loss, mass in zip(losses.T, w.T, strict=True):
            found += mass[:, None] * _turned(loss[:, None] * frequencies)
        return found
    turn = _turned(spacing * losses)
    point: Any = None
    for i, place in enumerate(places):
        if i % FRESH == 0 or place != places[i - 1] + 1:
            point = w * _turned((spacing * float(place)) * losses)
        else:
            point *= turn
        found[:, i] = point.sum(axis=1)
    return found


def _fast(losses: Floats, w: Floats, spacing: float, places: Ints) -> tuple[Complexes, int]:
    """The same by Fourier transforms: each loss goes to a grid point g, and e^(iy(l − g)) is a short Taylor series.

    Also how many losses share a point: they are added up one by one.
    """
    from scipy.fft import next_fast_len, rfft  # takes long to import

    size = next_fast_len(FINER * (int(places[-1]) + 2), real=True)
    at = losses * (spacing * size / (2 * pi))
    near = np.rint(at)
    rest, where = at - near, near.astype(np.int64) % size
    crowd = int(np.bincount(where).max())
    found: Complexes = np.zeros(len(places), dtype=np.complex128)
    turn: Complexes = np.asarray(2j * pi / size * places, dtype=np.complex128)
    factor: Complexes = np.ones(len(places), dtype=np.complex128)
    for order in range(TAYLOR):
        sums = np.bincount(where, weights=w, minlength=size)
        found += factor * np.conj(rfft(sums)[places])
        factor = factor * turn / (order + 1)
        w = w * rest
    return found, crowd


class TwoSidedBlock(Block):
    """Discrete Laplace noise of `scale` steps on a number that moves by `shift` steps, in closed form.

    L is E = shift/scale with chance 1/(1 + e^−r), r = 1/scale, then E − 2rk with chances that fall by e^−r, to −E.
    """

    def __init__(self, scale: Floats, shift: Floats, counts: Floats) -> None:
        self._rate, self._shift, self.counts = 1 / scale, shift, counts
        self._end = shift / scale

    def _scaled(self, z: Any) -> Any:
        """E[e^(zL)]·e^(−zE), rows downward."""
        rate, shift, end = (x[:, None] for x in (self._rate, self._shift, self._end))
        turned = 1 + 2 * np.atleast_1d(z)
        ends = 1 + np.exp(-turned * end)
        between = np.exp(-turned * rate) * np.expm1(-turned * (rate * (shift - 1))) / np.expm1(-turned * rate)
        return (ends - np.expm1(-rate) * between) / (1 + np.exp(-rate))

    def log_moment(self, theta: float) -> Floats:
        theta = max(theta, -1 - theta)  # K(θ) = K(−1 − θ), as the two neighbours are alike
        return np.asarray(theta * self._end + np.log(self._scaled(theta)[:, 0].real))

    def moments(self, theta: float) -> tuple[Floats, Floats, Floats]:
        """The mean and the variance, which prove nothing, by differences."""
        if theta < -0.5:
            log_moment, mean, variance = self.moments(-1 - theta)
            return log_moment, -mean, variance
        value = self._scaled(theta)[:, 0].real
        h = 1e-4 / self._end
        turned = self._scaled((theta + 1j * h)[:, None])[:, 0] / value
        mean = turned.imag / h
        variance = np.maximum(2 * (1 - turned.real) / h**2 - mean**2, 1e-12 * self._end**2)
        return theta * self._end + np.log(value), mean + self._end, variance

    def tilted(self, theta: float) -> Tilted:
        return Tilted(*self.moments(theta), UNIT * (64 + 8 * (max(theta, -1 - theta) + 1) * self._end))

    def phases(self, theta: float, spacing: float, places: Ints, centres: Floats) -> tuple[Complexes, Floats]:
        y = spacing * places
        turn = _turned((self._end - centres)[:, None] * y)
        found = self._scaled(theta + 1j * y) / self._scaled(theta) * turn
        return np.asarray(found), UNIT * (200 + 16 * (theta + 1 + y) * self._end[:, None])
