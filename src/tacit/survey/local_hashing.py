"""Local hashing (OLH): the answer is hashed into few buckets, everybody by another function (Wang and others 2017)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import shake_256
from math import exp, log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, LossError, Number, between, cached_property, positive, whole
from tacit.mechanism.response import Estimate
from tacit.noise import Rng
from tacit.survey.coin import KaryCoin
from tacit.survey.frequency import Frequency, total_error
from tacit.survey.hash_family import ANSWERS, BUCKETS, bucket_of, meeting, supported
from tacit.survey.kary import KaryProtocol
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["HashProtocol", "LocalHashing", "PooledHashing", "best_buckets", "pool", "rates"]


@dataclass(frozen=True, kw_only=True)
class HashProtocol(KaryProtocol, Frequency):
    """A report is a hash function, drawn whatever the answer is, and a bucket: the answer's own with probability p.

    It speaks for every answer in that bucket. `buckets` is chosen for the least error unless it is given.

    Guarantee and coins: those of a `KaryProtocol`, so nothing about hashing is relied on.
    """

    chunk: ClassVar[int] = 1 << 14
    most: ClassVar[int] = ANSWERS
    named = "bucket"

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
        super().__post_init__()

    @cached_property
    def _coin(self) -> KaryCoin:
        return KaryCoin.at(self.epsilon, self.buckets)

    @property
    def q(self) -> Fraction:
        """Another answer's bucket is independent of the true one's, and the weights of buckets are known exactly."""
        return rates(self.epsilon, self.buckets)[1]


@lru_cache(maxsize=256)
def rates(epsilon: Fraction, buckets: int) -> tuple[Fraction, Fraction]:
    """The probabilities that a report speaks for the true answer, and for one given other.

    The other's bucket is j with probability w_j, whatever the true one's is, and j is reported with probability
    w_j·p + (1 − w_j)(1 − p)/(g − 1).
    """
    coin = KaryCoin.at(epsilon, buckets)
    return coin.p, meeting(buckets) * coin.p + (1 - meeting(buckets)) * coin.q


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


@dataclass(frozen=True, kw_only=True)
class LocalHashing(HashProtocol):
    """The hash function is any (a, b) of `hash_family`: 4 bytes that are a in the report, and 4 that are b."""

    kind: ClassVar[str] = "local_hashing"
    in_browser: ClassVar[bool] = True

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "buckets": self.buckets, "keep": self._coin.keep.heads}

    @property
    def drawn(self) -> Mapping[str, int]:
        return {"a": 1 << 32, "b": 1 << 32}

    def _draw(self, rng: Rng) -> list[int]:
        return [int.from_bytes(rng.read(4), "little") for _ in range(2)]

    def _truth(self, value: Any, *drawn: Any) -> Any:
        a, b = drawn
        return bucket_of(a, b, value, self.buckets)

    def law(self, value: Any) -> Law:
        raise LossError("there are 2^64 hash functions, too many to list their reports: law_given lists those of one")

    def law_given(self, a: int, b: int, value: int) -> Law:
        """The exact probability of each report that uses the function (a, b), given that function."""
        if not (0 <= a < 1 << 32 and 0 <= b < 1 << 32):
            raise InputError("a and b must be whole numbers from 0 to 2^32 - 1")
        own = self._truth(self._answer(value), a, b)
        return {self._bytes(a, b, j): self._coin.chance(j, own) for j in range(self.buckets)}

    def tally(self, reports: Array) -> Tally:
        flat = reports.ravel()
        counts = supported(flat["a"], flat["b"], flat["bucket"], buckets=self.buckets, answers=self.categories)
        return Tally(counts, flat.size)


MOST = 1 << 16  # functions, so that a report names one in two bytes


@dataclass(frozen=True, kw_only=True)
class PooledHashing(HashProtocol):
    """The hash function is one of `seeds` public ones, of which a report has the number.

    All reports of one function are counted together, so n of them cost n additions and `seeds`·k hashes, where local
    hashing costs n·k. What it loses: two answers that the pool puts together too often stay so however many people
    answer. That error is at most about 1/√(seeds·(g − 1)) in an answer's share, and intervals are widened by it.
    """

    kind: ClassVar[str] = "pooled_hashing"
    cases = (("1/5", 2, 0, 8), (1, 3, 0, 16), ("5/2", 10, 0, 32), (4, 100, 0, 16))

    seeds: int = MOST

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", whole(self.seeds, "seeds", least=1))
        if self.seeds > MOST:
            raise InputError(f"seeds must be at most {MOST}, not {self.seeds}: use LocalHashing, which has no pool")
        super().__post_init__()

    @property
    def drawn(self) -> Mapping[str, int]:
        return {"seed": self.seeds}

    def _truth(self, value: Any, *drawn: Any) -> Any:
        a, b = (words[drawn[0]].astype(np.int64) for words in pool(self.seeds))
        return bucket_of(a, b, value, self.buckets)

    def support(self, tally: Tally) -> Array:
        step, place = pool(self.seeds)
        place = place.copy()
        cells = tally.counts
        first = np.arange(self.seeds, dtype=np.int64) * self.buckets
        counts = np.zeros(self.categories, dtype=np.int64)
        for answer in range(self.categories):
            buckets = ((place >> np.uint32(16)) * np.uint32(self.buckets)) >> np.uint32(16)
            counts[answer] = cells[first + buckets].sum()
            place += step
        return counts

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Shares as of any protocol here, with intervals and errors that also allow for the pool.

        The pool is taken as drawn at random before the answers were given, which the text it comes from stands for. By
        Bernstein's inequality the collisions of one answer are then as frequent as they should be, nearly; half of the
        risk is kept for that and half for the coins.
        """
        level = float(between(confidence, "confidence", 0, 1))
        risk = (1 - level) / 2
        found = super().estimate(tally, 1 - risk)
        spread, contrast = self._pool_spread, float(self.p - self.q)
        tail = log(2 / risk)
        range_ = float(self._coin.p - self._coin.q)
        radius = (spread * sqrt(2 * tail / self.seeds) + range_ * tail / (3 * self.seeds)) / contrast
        return replace(
            found,
            lower=np.maximum(found.lower - radius, 0.0),
            upper=np.minimum(found.upper + radius, 1.0),
            standard_error=np.hypot(found.standard_error, spread / sqrt(self.seeds) / contrast),
            confidence=level,
        )

    @property
    def _pool_spread(self) -> float:
        """The most that the rate at which one function speaks for an answer can deviate, over functions."""
        same = meeting(self.buckets)
        return float(self._coin.p - self._coin.q) * sqrt(float(same * (1 - same)))


@lru_cache(maxsize=8)
def pool(seeds: int) -> tuple[Array, Array]:
    """The words a and b of the functions 0, …, `seeds` − 1: bytes of SHAKE-256 of a fixed text, 8 for each."""
    words = np.frombuffer(shake_256(b"tacit survey hash pool").digest(8 * seeds), dtype="<u4").reshape(-1, 2)
    a, b = np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])
    a.flags.writeable = b.flags.writeable = False
    return a, b
