"""The mean loss of a training, with noise, as its plan pays for it: one more number beside each clipped gradient.

A unit whose loss is l adds w·(2·min(l, most)/most − 1), so its vector is at most √(1 + w²) clips long, and one draw of
noise covers both. It is added up in whole numbers of w/2²⁰. Derived in docs/theory/training-noise.md.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import positive
from tacit.base.number import Ratio, default, frozen
from tacit.base.stored import fraction_to_text

__all__ = ["LossReport"]

GRAIN = 2**20  # steps in w


@frozen
class LossReport:
    """Losses count up to `most`, a unit with several rows by their mean; one that is not finite counts as `most` / 2.

    `share` is the length w beside a gradient of one clip: at ¼ noise has to grow by 3 % for the same price.
    """

    most: Ratio = default(Fraction(4))
    share: Ratio = default(Fraction(1, 4))

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", positive(self.most, "most", toward="decimal"))
        object.__setattr__(self, "share", positive(self.share, "share", toward="decimal"))

    def steps(self, losses: Any) -> int:
        """What these units add, in steps: each at most GRAIN − 1 either way, which leaves room for rounding."""
        value = np.asarray(losses, dtype=np.float64)
        part = np.clip(np.where(np.isfinite(value), value, np.nan) / float(self.most), 0.0, 1.0)
        return int(np.rint((2 * np.nan_to_num(part, nan=0.5) - 1) * (GRAIN - 1)).astype(np.int64).sum())

    def coordinate(self, steps: int) -> float:
        """The same in clips."""
        return float(self.share) * steps / GRAIN

    def mean(self, coordinate: float, batch: float) -> float:
        """The mean loss, from a sum with noise. `batch` is declared, so where the true one is smaller or larger the
        mean is nearer to, or further from, `most` / 2."""
        return float(self.most) / 2 * (1 + coordinate / float(self.share) / batch)

    def deviation(self, sigma: float, batch: float) -> float:
        """The standard deviation of the noise on one mean, where that on the sum is `sigma` clips."""
        return float(self.most) / 2 * sigma / float(self.share) / batch

    def json(self) -> dict[str, Any]:
        return {name: fraction_to_text(Fraction(getattr(self, name)), name) for name in ("most", "share")}
