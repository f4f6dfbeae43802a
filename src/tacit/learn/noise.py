"""The noise of a gradient step: on a lattice of about a millionth of σ, from cryptographic bits.

Sums are rounded to the lattice, and integer noise is added to integers: nothing of a true sum is left in low bits. What
rounding adds to the sensitivity is in the mechanism's own loss, through its `dimension`. Two forms are on the same
lattice at the same price. The fast one is within a factor 1 ± DISTANCE of the discrete Gaussian at each integer; the
exact one is that law, about five times slower. docs/theory/training-noise.md has the proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from tacit.base import InputError
from tacit.mechanism import Gaussian
from tacit.noise import Rng, discrete_gaussians, wide_gaussians
from tacit.noise.normal import DISTANCE, wide_steps

__all__ = ["Form", "GradientNoise"]

Form = Literal["fast", "exact"]
Floats = np.ndarray[Any, np.dtype[np.float64]]
MOST = 2.0**50  # steps that a sum may be long: below, doubles hold it and the noise exactly
LARGE = 2**22  # coordinates from which on rounding to a millionth of sigma would add 0.2 % of it to the sensitivity
PART = 1 << 16  # coordinates at a time


@dataclass(frozen=True, kw_only=True)
class GradientNoise:
    """Noise of standard deviation `sigma`, in units of the clip, on vectors of up to `dimension` numbers."""

    sigma: Fraction
    dimension: int
    form: Form = "fast"

    @property
    def _digits(self) -> int:
        return 3 if self.dimension <= LARGE else 4

    @property
    def granularity(self) -> Fraction:
        """A millionth of sigma; for a vector so long that rounding to it would be noticed, 83 times finer."""
        return self.sigma / wide_steps(self._digits)

    @property
    def mechanism(self) -> Gaussian:
        """What is priced: never more noise than is drawn, since the steps of a sigma are rounded down."""
        return Gaussian(sigma=self.sigma, granularity=self.granularity, dimension=self.dimension)

    def distance(self, draws: int) -> Fraction:
        """The δ that the fast form costs beside the exact law in so many numbers drawn: one less than all of what is
        drawn is that law, up to this probability, whatever ε is (docs/theory/training-noise.md)."""
        return Fraction(0) if self.form == "exact" else draws * DISTANCE

    def add(self, sums: Sequence[Floats], rng: Rng) -> list[Floats]:
        """Noisy copies of the parts of one vector, in units of the clip: one release. Each is a lattice point, as the
        double nearest to it."""
        size = sum(part.size for part in sums)
        if size > self.dimension:
            raise InputError(f"a vector of {size} numbers was priced as one of {self.dimension}: say parameters={size}")
        return [self._noisy(part, rng) for part in sums]

    def _noisy(self, exact: Floats, rng: Rng) -> Floats:
        flat = np.ascontiguousarray(exact, dtype=np.float64).reshape(-1)
        out = np.empty(flat.size)
        scale, step = float(1 / self.granularity), float(self.granularity)
        for start in range(0, flat.size, PART):
            part = out[start : start + PART]
            np.multiply(flat[start : start + PART], scale, out=part)
            if not (np.abs(part) < MOST).all():  # NaN too
                raise InputError("a clipped sum is not finite, or is too long: nothing is released of this step")
            part += 0.5
            np.floor(part, out=part)  # halves upward everywhere, as Lattice.nearest
            part += self._draw(part.size, rng)
            part *= step
        return out.reshape(exact.shape)

    def _draw(self, size: int, rng: Rng) -> Any:
        if self.form == "fast":
            return wide_gaussians(size, rng, self._digits)
        return discrete_gaussians(Fraction(wide_steps(self._digits)) ** 2, size, rng)
