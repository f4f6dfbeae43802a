"""The noise of a gradient step: whole numbers on a fine lattice, from cryptographic bits.

Sums are rounded to the fine lattice, and integer noise is added to integers: nothing of a true sum is left in low bits.
The noise is a discrete Gaussian on a coarser lattice, with a uniform number that fills its steps. Together that is a
Gaussian after the sum was rounded to the coarse lattice at random; `moved` says what that adds to the sensitivity. The
fast form is within a factor 1 ± DISTANCE of the discrete Gaussian at each integer; the exact form is that law, some ten
times slower. docs/theory/training-noise.md has the proof.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, Literal

import numpy as np

from tacit.base import InputError, cached_property
from tacit.mechanism import Gaussian
from tacit.noise import Rng, discrete_gaussians, wide_gaussians
from tacit.noise.normal import DISTANCE, wide_steps

__all__ = ["Form", "GradientNoise"]

Form = Literal["fast", "exact"]
Floats = np.ndarray[Any, np.dtype[Any]]
FILLED = {2: 256, 3: 16}  # steps of the fine lattice in one of the coarse, by the digits of the Gaussian
ENOUGH = Fraction(1, 200)  # of the sensitivity, that rounding may add before a third digit is taken
UNLIKELY = Fraction(11, 2)  # √(log(1/DISTANCE)/2) is below: how far rounding at random strays but once in 1/DISTANCE
SMALL, MOST = 2.0**29, 2.0**50  # steps that a sum may be long in 32-bit integers, and in doubles
PART = 1 << 16  # coordinates at a time
ROOT = 10**9  # parts in which a square root is rounded up


@dataclass(frozen=True, kw_only=True)
class GradientNoise:
    """Noise of standard deviation `sigma`, in units of the clip, on vectors of up to `dimension` numbers."""

    sigma: Fraction
    dimension: int
    form: Form = "fast"

    @cached_property
    def _digits(self) -> int:
        return 2 if self.form == "fast" and self._moved(Fraction(1), 2) <= 1 + ENOUGH else 3

    @cached_property
    def granularity(self) -> Fraction:
        """The fine lattice, on which answers lie."""
        return self.coarse / FILLED[self._digits]

    @property
    def coarse(self) -> Fraction:
        """The lattice of the Gaussian: 12,450 steps a sigma, or a million where that would be noticed."""
        return self.sigma / wide_steps(self._digits)

    @property
    def mechanism(self) -> Gaussian:
        """What is priced, at the sensitivity that `moved` gives: never more noise than is drawn, since the steps of a
        sigma are rounded down."""
        return Gaussian(sigma=self.sigma, granularity=self.coarse)

    def moved(self, distance: Fraction) -> Fraction:
        """How far apart, in clips, two sums at this distance are for the Gaussian; for the fast form up to a
        probability of DISTANCE, in which rounding strays further."""
        return self._moved(distance, self._digits)

    def _moved(self, distance: Fraction, digits: int) -> Fraction:
        coarse = self.sigma / wide_steps(digits)
        spread = _root(Fraction(self.dimension)) * coarse
        fine = distance + spread / FILLED[digits]
        surely = fine + spread
        if self.form == "exact":
            return surely
        return min(surely, _root(fine**2 + spread**2 / 4 + coarse * (2 * fine + spread) * UNLIKELY))

    def distance(self, draws: int) -> Fraction:
        """The δ that the fast form costs beside the exact one in so many numbers drawn, whatever ε is: for its law, and
        for how far rounding strays, at most once in each (docs/theory/training-noise.md)."""
        return Fraction(0) if self.form == "exact" else 2 * draws * DISTANCE

    def add(
        self, sums: Floats, rng: Rng, *, unit: float = 1.0, factor: float = 1.0, out: Floats | None = None
    ) -> Floats:
        """One vector with noise, where a clip is `unit` long: one release. Each number is a lattice point, in clips,
        times `factor`, in the precision of `sums`. It is in `out`, which may be `sums` itself, or in a new one."""
        if sums.size > self.dimension:
            raise InputError(
                f"a vector of {sums.size} numbers was priced as one of {self.dimension}: say parameters={sums.size}"
            )
        kind = sums.dtype if sums.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        flat = np.ascontiguousarray(sums, dtype=kind).reshape(-1)
        if out is None:
            out = np.empty(sums.size, dtype=kind)
        scale, step = kind.type(1 / (float(self.granularity) * unit)), kind.type(float(self.granularity) * factor)
        for start in range(0, flat.size, PART):
            part = flat[start : start + PART] * scale
            np.rint(part, out=part)
            longest = max(-float(part.min()), float(part.max()))
            if not longest < MOST:  # NaN too
                raise InputError("a clipped sum is not finite, or is too long: nothing is released of this step")
            drawn = self._draw(part.size, rng)
            if longest < SMALL:  # else sums of 32-bit integers could overflow
                drawn += part.astype(np.int32)
                np.multiply(drawn, step, out=out[start : start + PART], casting="same_kind", dtype=kind)
            else:
                np.multiply(part.astype(np.float64) + drawn, step, out=out[start : start + PART], casting="same_kind")
        return out.reshape(sums.shape)

    def _draw(self, size: int, rng: Rng) -> Any:
        """Gaussians in steps of the coarse lattice, each of which is filled up evenly."""
        digits = self._digits
        filled = FILLED[digits]
        if self.form == "fast":
            drawn = wide_gaussians(size, rng, digits)
        else:
            drawn = discrete_gaussians(Fraction(wide_steps(digits)) ** 2, size, rng).astype(np.int32)
        drawn *= np.int32(filled)
        low = rng.words(size, np.uint8)
        drawn += low if filled == 256 else low & np.uint8(filled - 1)
        return drawn


def _root(square: Fraction) -> Fraction:
    """A square root, rounded up."""
    return Fraction(isqrt(int(square * ROOT**2)) + 1, ROOT)
