"""A clip that follows the gradients: half of them, say, are to be shorter. The count of those is noisy, and paid for.

Beside each clipped gradient, in units of the clip, goes one more number: w·(b − ½), where b says whether the gradient
was shorter than the clip. So the vector of one unit is at most √(1 + (w/2)²) clips long, and one draw of noise covers
both: its share for the count is σ/w (Andrew et al. 2021; derived in docs/theory/training-noise.md). The clip is then a
function of what was released, and the noise is in units of it.
"""

from fractions import Fraction
from math import exp
from typing import Any

from tacit.base import between, positive
from tacit.base.number import Ratio, default, frozen
from tacit.base.stored import fraction_to_text

__all__ = ["AdaptiveClip"]


@frozen
class AdaptiveClip:
    """`quantile` of the gradients is to be unclipped; each step moves the clip by a factor of up to e^±`speed`.

    `share` is the length of the count beside a gradient of one clip: at ¼ noise has to grow by 3 % for the same price.
    """

    quantile: Ratio = default(Fraction(1, 2))
    speed: Ratio = default(Fraction(1, 5))
    share: Ratio = default(Fraction(1, 4))

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantile", between(self.quantile, "quantile", 0, 1))
        object.__setattr__(self, "speed", positive(self.speed, "speed", toward="decimal"))
        object.__setattr__(self, "share", positive(self.share, "share", toward="decimal"))

    def coordinate(self, shorter: int, taken: int) -> float:
        """What the sum of w·(b − ½) is, in clips."""
        return 2 * float(self.share) * (shorter - taken / 2)

    def next_clip(self, clip: float, coordinate: float, batch: float) -> float:
        """The clip after a noisy count, as a share of a whole batch: C·exp(−speed·(b̃ − quantile)).

        The average of b − ½ is read off with `batch`, which is declared, and kept within a possible range.
        """
        share = min(1.0, max(0.0, coordinate / (2 * float(self.share)) / batch + 0.5))
        return min(max(clip * exp(-float(self.speed) * (share - float(self.quantile))), 1e-9), 1e9)

    def json(self) -> dict[str, Any]:
        return {name: fraction_to_text(Fraction(getattr(self, name)), name) for name in ("quantile", "speed", "share")}
