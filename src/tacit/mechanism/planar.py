"""Planar Laplace: a place reported with noise whose chance falls with its distance, for geo-indistinguishability."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, e, hypot
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Number, Ratio, Relation, Sensitivity, Size, between, frozen, positive, special
from tacit.loss import Loss, Pure
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.noise import Rng, planar_laplace, planar_laplaces, rng_or_default

__all__ = ["PlanarLaplace", "radius_within"]

FAINTEST = 690.0  # distance in scales down to which a pmf lists points, about 1e-300
WIDEST = 500  # steps


@frozen
class PlanarLaplace(Mechanism):
    """A point of the square lattice plus noise with Pr[z] ∝ exp(−|z|/scale), |z| the straight distance in steps.

    Guarantee: pure ε = d/scale between places at distance d (Andrés et al. 2013, geo-indistinguishability, on a
    lattice: the sum of weights is the same wherever the truth is, so the triangle inequality is the whole proof).
    The mean distance is 2·scale and each coordinate spreads by √3·scale, up to what the lattice rounds.
    """

    theory: ClassVar[str] = "planar-laplace"

    scale: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    def loss(self, sensitivity: Size = None, *, relation: Relation = Relation.REPLACE, unit: str = "place") -> Pure:
        """ε between two places `sensitivity` steps apart (l2); the distances of several places of one unit add up.

        Only for replace: that there is a report is not hid.
        """
        if Relation(relation) is not Relation.REPLACE:
            raise InputError("relation must be 'replace': a report hides where somebody is, not that they report")
        return Pure(Sensitivity.of(sensitivity, "l2").require("l2") / self.scale, relation=relation, unit=unit)

    @classmethod
    def from_loss(cls, loss: Loss, *, sensitivity: Size = None) -> Self:
        """The least noise with the pure guarantee `loss` between places `sensitivity` steps apart."""
        if not isinstance(loss, Pure) or not loss.bound:
            raise InputError("planar noise reaches a pure guarantee: pass loss=Pure(epsilon) with epsilon > 0")
        return cls(scale=positive(Sensitivity.of(sensitivity, "l2").require("l2"), "sensitivity") / loss.bound)

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """A noisy copy of a pair of whole numbers, or of an array with a pair in each row."""
        points = np.asarray(value)
        if points.ndim not in (1, 2) or points.shape[-1] != 2 or points.dtype.kind not in "iu":
            raise InputError("value must be a pair of whole numbers, or an array of them: places in steps of a lattice")
        source = rng_or_default(rng)
        if points.ndim == 1:
            east, north = planar_laplace(self.scale, source)
            return int(points[0]) + east, int(points[1]) + north
        return points + planar_laplaces(self.scale, len(points), source)

    def error(self, confidence: Number = 0.95) -> float:
        """The distance that the noise stays within with probability `confidence`, as on a fine lattice."""
        return radius_within(confidence) * float(self.scale)

    def pmf(self, value: Any) -> Pmf:
        reach = ceil(FAINTEST * float(self.scale)) + 1
        if reach > WIDEST:
            raise InputError(f"a planar law of scale {float(self.scale):g} has too many points to list")
        steps = np.arange(-reach, reach + 1)
        east, north = (each.ravel() for each in np.meshgrid(steps, steps))
        far = np.hypot(east, north) / float(self.scale)
        east, north, weights = (each[far <= FAINTEST] for each in (east, north, np.exp(-far)))
        weights /= weights.sum()
        points = zip((east + int(value[0])).tolist(), (north + int(value[1])).tolist(), strict=True)
        return dict(zip(points, weights.tolist(), strict=True))

    @classmethod
    def examples(cls) -> Sequence[Example]:
        straight, slanted = [((0, 0), (1, 0)), ((2, -1), (2, 3))], [((0, 0), (3, 4)), ((0, 0), (1, 1))]
        by_scale = {"1/6": straight, "1/3": straight + slanted, "1/2": straight[:1]}
        return [
            Example(m, left, right, m.loss(_distance(left, right)))
            for m, pairs in ((cls(scale=Fraction(scale)), pairs) for scale, pairs in by_scale.items())
            for left, right in pairs
        ]


def radius_within(confidence: Number) -> float:
    """r with Pr[distance ≤ r·scale] = confidence: 1 − (1 + r)e^−r, inverted by the lower branch of Lambert's W."""
    level = float(between(confidence, "confidence", 0, 1))
    return float(-special.lambertw((level - 1) / e, -1).real - 1)


def _distance(left: tuple[int, int], right: tuple[int, int]) -> Fraction:
    """Between two points, never below it."""
    length = hypot(left[0] - right[0], left[1] - right[1])
    return Fraction(length) if length == int(length) else Fraction(length * (1 + 1e-15))
