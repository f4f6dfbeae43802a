"""What protocols share that hash the answer first: direct response on few buckets, whatever the number of answers."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, positive, whole
from tacit.noise import Rng, uniform
from tacit.survey.coin import Coin, below, keeping
from tacit.survey.frequency import Frequency, total_error, word
from tacit.survey.hash_family import ANSWERS, BUCKETS, bucket_weights
from tacit.survey.protocol import Array

__all__ = ["Hashed", "best_buckets", "rates"]


@dataclass(frozen=True, kw_only=True)
class Hashed(Frequency):
    """A report is a hash function, drawn whatever the answer is, and a bucket: the answer's own with probability p.

    It speaks for every answer in that bucket. `buckets` is chosen for the least error unless it is given.
    """

    theory: ClassVar[str] = "local-frequency"

    epsilon: Fraction
    categories: int
    buckets: int = 0

    def __post_init__(self) -> None:
        if not self.buckets:
            epsilon = positive(self.epsilon, "epsilon", toward="decimal")
            chosen = best_buckets(epsilon, whole(self.categories, "categories", least=2))
        else:
            chosen = whole(self.buckets, "buckets", least=2)
            if chosen > BUCKETS:
                raise InputError(f"buckets must be at most {BUCKETS}, not {chosen}")
        object.__setattr__(self, "buckets", chosen)
        self._settle(ANSWERS)

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon, self.buckets - 1)

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def q(self) -> Fraction:
        """Another answer's bucket is independent of the true one's, and the weights of buckets are known exactly."""
        return rates(self.epsilon, self.buckets)[1]

    def _told(self, bucket: int, rng: Rng) -> int:
        """Direct response on the buckets, as a device does it."""
        if not self._keep.toss(rng):
            other = below(self.buckets - 1, rng)
            bucket = other + (other >= bucket)
        return bucket

    def _told_many(self, buckets: Array, rng: Rng) -> Array:
        """The same for many, in place."""
        lost = np.flatnonzero(~self._keep.tosses(buckets.size, rng))
        other = uniform(self.buckets - 1, lost.size, rng)
        buckets[lost] = other + (other >= buckets[lost])
        return buckets

    def _bucket_kind(self) -> np.dtype[Any]:
        return word(self.buckets)

    def _known(self, buckets: Array) -> None:
        if buckets.size and int(buckets.max()) >= self.buckets:
            raise InputError(f"the bucket of a report must be a number from 0 to {self.buckets - 1}")


@lru_cache(maxsize=256)
def rates(epsilon: Fraction, buckets: int) -> tuple[Fraction, Fraction]:
    """The probabilities that a report speaks for the true answer, and for one given other.

    The other's bucket is j with probability w_j, whatever the true one's is, and j is reported with probability
    w_j·p + (1 − w_j)(1 − p)/(g − 1).
    """
    p = keeping(epsilon, buckets - 1).probability
    square = sum((w * w for w in bucket_weights(buckets)), Fraction(0))
    return p, square * p + (1 - square) * (1 - p) / (buckets - 1)


def best_buckets(epsilon: Fraction, categories: int) -> int:
    """The number of buckets with the least total error within 10^-5, near e^ε + 1.

    Floating point only finds the neighbourhood, so every machine makes the same choice.
    """
    odds = exp(min(float(epsilon), 20.0))

    def roughly(g: int) -> float:
        """T·(odds − 1)² for p = odds/(odds + g − 1) and q = 1/g, which does not lose its digits when ε is small."""
        p, q = odds / (odds + g - 1), 1 / g
        return (p * (1 - p) + (categories - 1) * q * (1 - q)) * (g * (odds + g - 1) / (g - 1)) ** 2

    around = min(range(2, min(BUCKETS, int(3 * odds) + 8) + 1), key=roughly)
    near = range(max(2, around - 2), min(BUCKETS, around + 2) + 1)
    return min(near, key=lambda g: total_error(*rates(epsilon, g), categories))
