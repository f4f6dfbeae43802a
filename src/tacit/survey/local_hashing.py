"""Local hashing (OLH): the answer is hashed into few buckets, everybody by another function (Wang and others 2017)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import shake_256
from math import exp, log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, LossError, Number, between, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate
from tacit.noise import Rng, uniform
from tacit.survey.coin import KaryCoin, below, whole_words
from tacit.survey.frequency import Frequency, total_error, word
from tacit.survey.hash_family import ANSWERS, BUCKETS, bucket_of, bucket_weights, buckets_of, supported
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["HashProtocol", "LocalHashing", "PooledHashing", "best_buckets", "pool", "rates"]


@dataclass(frozen=True, kw_only=True)
class HashProtocol(Frequency):
    """A report is a hash function, drawn whatever the answer is, and a bucket: the answer's own with probability p.

    It speaks for every answer in that bucket. `buckets` is chosen for the least error unless it is given.
    """

    theory: ClassVar[str] = "local-frequency"
    chunk: ClassVar[int] = 1 << 14

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
    def _coin(self) -> KaryCoin:
        return KaryCoin.at(self.epsilon, self.buckets)

    @property
    def p(self) -> Fraction:
        return self._coin.p

    @property
    def q(self) -> Fraction:
        """Another answer's bucket is independent of the true one's, and the weights of buckets are known exactly."""
        return rates(self.epsilon, self.buckets)[1]

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
    coin = KaryCoin.at(epsilon, buckets)
    square = sum((w * w for w in bucket_weights(buckets)), Fraction(0))
    return coin.p, square * coin.p + (1 - square) * coin.q


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
    """A report is a hash function (a, b) of `hash_family` and a bucket: the answer's own with probability p.

    Guarantee: pure ε between any two answers of one respondent (relation replace). The function is drawn without regard
    to the answer, and given it the report is direct response on g buckets, with p = e^ε/(e^ε + g − 1) rounded down to a
    multiple of 2^-64. So it holds for every single function, and nothing about hashing is relied on.

    Coins: 4 bytes that are a in the report, 4 that are b, keep (one toss of p); if tails, a number below g − 1, which
    skips the answer's bucket.
    """

    kind: ClassVar[str] = "local_hashing"
    in_browser: ClassVar[bool] = True

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "buckets": self.buckets, "keep": self._coin.keep.heads}

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("a", "<u4"), ("b", "<u4"), ("bucket", self._bucket_kind())])

    def _one(self, value: int, rng: Rng) -> bytes:
        first, second = bytes(rng.read(4)), bytes(rng.read(4))
        a, b = int.from_bytes(first, "little"), int.from_bytes(second, "little")
        told = self._coin.told(bucket_of(a, b, value, self.buckets), rng)
        return first + second + told.to_bytes(self._bucket_kind().itemsize, "little")

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        a, b = whole_words("<u4", values.size, rng), whole_words("<u4", values.size, rng)
        buckets = buckets_of(a, b, values, self.buckets)
        self._coin.tell(buckets, rng)
        reports["a"], reports["b"], reports["bucket"] = a, b, buckets

    def law(self, value: Any) -> Law:
        raise LossError("there are 2^64 hash functions, too many to list their reports: law_given lists those of one")

    def law_given(self, a: int, b: int, value: int) -> Law:
        """The exact probability of each report that uses the function (a, b), given that function."""
        if not (0 <= a < 1 << 32 and 0 <= b < 1 << 32):
            raise InputError("a and b must be whole numbers from 0 to 2^32 - 1")
        own = bucket_of(a, b, self._checked(np.asarray(value)).item(), self.buckets)
        p, rest = self._coin.p, self._coin.q
        function = a.to_bytes(4, "little") + b.to_bytes(4, "little")
        size = self._bucket_kind().itemsize
        return {function + j.to_bytes(size, "little"): p if j == own else rest for j in range(self.buckets)}

    def _possible(self, reports: Array) -> None:
        self._known(reports["bucket"])

    def tally(self, reports: Array) -> Tally:
        flat = reports.ravel()
        counts = supported(flat["a"], flat["b"], flat["bucket"], buckets=self.buckets, answers=self.categories)
        return Tally(counts, flat.size)


MOST = 1 << 16  # functions, so that a report names one in two bytes
LISTED = 1 << 20  # reports that can be listed


@dataclass(frozen=True, kw_only=True)
class PooledHashing(HashProtocol):
    """A report is the number of a public hash function and a bucket: the answer's own with probability p.

    All reports of one function are counted together, so n of them cost n additions and `seeds`·k hashes, where local
    hashing costs n·k. What it loses: two answers that the pool puts together too often stay so however many people
    answer. That error is at most about 1/√(seeds·(g − 1)) in an answer's share, and intervals are widened by it.

    Guarantee: as for `LocalHashing`, whose law it has for each function.

    Coins: a number below `seeds`, keep (one toss of p); if tails, a number below g − 1, which skips the answer's
    bucket.
    """

    kind: ClassVar[str] = "pooled_hashing"

    seeds: int = MOST

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", whole(self.seeds, "seeds", least=1))
        if self.seeds > MOST:
            raise InputError(f"seeds must be at most {MOST}, not {self.seeds}: use LocalHashing, which has no pool")
        super().__post_init__()

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("seed", word(self.seeds)), ("bucket", self._bucket_kind())])

    def _bytes(self, seed: int, bucket: int) -> bytes:
        first, second = word(self.seeds).itemsize, self._bucket_kind().itemsize
        return seed.to_bytes(first, "little") + bucket.to_bytes(second, "little")

    def _own(self, seed: int, value: int) -> int:
        a, b = pool(self.seeds)
        return bucket_of(int(a[seed]), int(b[seed]), value, self.buckets)

    def _one(self, value: int, rng: Rng) -> bytes:
        seed = below(self.seeds, rng)
        return self._bytes(seed, self._coin.told(self._own(seed, value), rng))

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        (a, b), seed = pool(self.seeds), uniform(self.seeds, values.size, rng)
        buckets = buckets_of(a[seed], b[seed], values, self.buckets)
        self._coin.tell(buckets, rng)
        reports["seed"], reports["bucket"] = seed, buckets

    def law(self, value: Any) -> Law:
        if self.seeds * self.buckets > LISTED:
            raise InputError(f"{self.seeds * self.buckets} reports are too many to list: at most {LISTED}")
        truth = self._checked(np.asarray(value)).item()
        own = [self._own(seed, truth) for seed in range(self.seeds)]
        kept, lost = self._coin.p / self.seeds, self._coin.q / self.seeds
        return {
            self._bytes(seed, bucket): kept if bucket == own[seed] else lost
            for seed in range(self.seeds)
            for bucket in range(self.buckets)
        }

    def _possible(self, reports: Array) -> None:
        self._known(reports["bucket"])
        if reports.size and int(reports["seed"].max()) >= self.seeds:
            raise InputError(f"the function of a report must be a number from 0 to {self.seeds - 1}")

    def tally(self, reports: Array) -> Tally:
        """How many reports there are of each function and bucket."""
        flat = reports.ravel()
        cells = flat["seed"].astype(np.int64) * self.buckets + flat["bucket"]
        return Tally(np.bincount(cells, minlength=self.seeds * self.buckets), flat.size)

    def support(self, tally: Tally) -> Array:
        step, place = pool(self.seeds)
        place = place.copy()
        cells = tally.counts.ravel()
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
        same = sum((w * w for w in bucket_weights(self.buckets)), Fraction(0))
        return float(self._coin.p - self._coin.q) * sqrt(float(same * (1 - same)))

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [
            cls(epsilon=Fraction(e), categories=k, seeds=s)
            for e, k, s in (("1/5", 2, 8), (1, 3, 16), ("5/2", 10, 32), (4, 100, 16))
        ]
        return [Example(m, 0, other, m.loss()) for m in made for other in sorted({1, m.categories - 1})]


@lru_cache(maxsize=8)
def pool(seeds: int) -> tuple[Array, Array]:
    """The words a and b of the functions 0, …, `seeds` − 1: bytes of SHAKE-256 of a fixed text, 8 for each."""
    words = np.frombuffer(shake_256(b"tacit survey hash pool").digest(8 * seeds), dtype="<u4").reshape(-1, 2)
    a, b = np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])
    a.flags.writeable = b.flags.writeable = False
    return a, b
