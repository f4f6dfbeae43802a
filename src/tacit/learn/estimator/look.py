"""A first look at rows, for a small share of the price: how many there are, where they lie and how wide.

Bounds are declared wide, and rows fill a part of them. One noisy vector says which, and the rest of a fit clips there.
Where the noise is large the look says little, so its answers are drawn towards what is true of most columns: the middle
of the bounds, and a variance of a fifth (bounds are [−1, 1]; two deviations to each side give a quarter).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.learn.estimator.bounds import Array
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector, in_ball, whole_steps
from tacit.learn.estimator.sums import NoisySums, SumStep

__all__ = ["FirstLook", "first_look", "look_step"]

NAME = "first look"
REACH = 0.6  # radius, over √d, within which rows are looked at: those of a uniform law are at 0.58
VARIANCE, ABOUT = 0.2, 0.05  # what the variance of a column is thought to be before looking, give or take
LEAST = 0.03  # variance below which nothing is believed


@dataclass(frozen=True, eq=False)
class FirstLook:
    """How many units there are, about, and by how much that may be too many; the middle of the columns and their mean
    variance; what share of the rows each class has; and the middle and the variance of the target."""

    count: float
    doubt: float
    middle: Array
    variance: float
    shares: Array
    target_middle: float = 0.0
    target_variance: float = VARIANCE

    @property
    def least(self) -> float:
        """How many units there are, less the doubt: to settle for more would promise too much of few."""
        return max(self.count - self.doubt, 10.0)

    @property
    def radius(self) -> float:
        """The root of the mean square distance from the middle."""
        return float(np.sqrt(self.variance * len(self.middle)))


def look_step(columns: int, share: Fraction, *, classes: int = 1, target: bool = False) -> SumStep:
    """The step of a first look, for so many columns, and for classes or a target beside them."""
    weights, norm = ((4, 2, 2, 4, 3), 7) if target else ((2, 1, 2), 3) if classes == 1 else ((4, 4, 4), 7)
    sizes = (columns, classes, 1, 1, 1)
    blocks = tuple(SumBlock(left=size, weight=weight) for size, weight in zip(sizes, weights, strict=False))
    return SumStep(name=NAME, vector=SumVector(blocks, norm), share=share)


def first_look(sums: NoisySums, rows: Array, target: Array | None = None, *, classes: Array | None = None) -> FirstLook:
    """Look at rows (and targets) that are scaled to [−1, 1], and at `classes` as `one_hot` gives them."""
    size = rows.shape[1]
    reach = REACH * np.sqrt(size)
    ball = in_ball(rows, reach)
    square = np.rint(np.sum(ball * ball, axis=1) / STEPS).reshape(-1, 1)  # at most STEPS, since the norm is
    one = np.full((len(rows), 1), float(STEPS))
    factors = [(ball, one), (one if classes is None else classes, one), (square, one)]
    if target is not None:
        factors += [(whole_steps(target), one), (whole_steps(target * target), one)]
    found = sums.release(NAME, *factors)
    count = max(float(found[1].sum()), 10.0)
    doubt = sums.noise(NAME, 1) * np.sqrt(len(found[1]))
    shares = np.maximum(found[1][:, 0], 0.0) + sums.noise(NAME, 1)  # all alike where noise is larger than counts
    shares = shares / shares.sum()
    middle = found[0][:, 0] / count * reach
    # positive-part James–Stein: towards the middle of the bounds by as much as noise explains
    blur = sums.noise(NAME, 0) / count * reach
    middle = np.clip(middle * max(0.0, 1 - size * blur**2 / max(float(middle @ middle), 1e-12)), -1.0, 1.0)
    mean_square = float(found[2][0, 0]) / count * reach**2
    variance = _believed((mean_square - float(middle @ middle)) / size, sums.noise(NAME, 2) / count * reach**2 / size)
    if target is None:
        return FirstLook(count, doubt, middle, variance, shares)
    mean, blur = float(found[3][0, 0]) / count, sums.noise(NAME, 3) / count
    mean = float(np.clip(mean * max(0.0, 1 - blur**2 / max(mean * mean, 1e-12)), -1.0, 1.0))
    spread = _believed(float(found[4][0, 0]) / count - mean * mean, sums.noise(NAME, 4) / count)
    return FirstLook(count, doubt, middle, variance, shares, mean, spread)


def _believed(variance: float, blur: float) -> float:
    """A noisy variance and what was thought before, each by how far it is to be trusted."""
    mixed = (variance * ABOUT**2 + VARIANCE * blur**2) / (ABOUT**2 + blur**2)
    return float(np.clip(mixed, LEAST, 1.0))
