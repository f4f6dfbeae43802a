"""Local hashing with a pool of few functions (Cormode, Maddock and Maple 2021): short reports that add up quickly."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import shake_256
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, between, whole
from tacit.mechanism.local import Estimate
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng, uniform
from tacit.survey.coin import below
from tacit.survey.frequency import word
from tacit.survey.hash_family import bucket_of, bucket_weights, buckets_of
from tacit.survey.hashed import Hashed
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["PooledHashing", "pool"]

CHUNK = 1 << 14  # what stays in the cache
MOST = 1 << 16  # functions, so that a report names one in two bytes
LISTED = 1 << 20  # reports that can be listed


@dataclass(frozen=True, kw_only=True)
class PooledHashing(Hashed):
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
        return self._bytes(seed, self._told(self._own(seed, value), rng))

    def _many(self, values: Array, rng: Rng) -> Array:
        a, b = pool(self.seeds)
        flat = values.ravel()
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, CHUNK):
            own, part = flat[start : start + CHUNK], reports[start : start + CHUNK]
            seed = uniform(self.seeds, own.size, rng)
            part["seed"] = seed
            part["bucket"] = self._told_many(buckets_of(a[seed], b[seed], own, self.buckets), rng)
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        if self.seeds * self.buckets > LISTED:
            raise InputError(f"{self.seeds * self.buckets} reports are too many to list: at most {LISTED}")
        truth = self._checked(np.asarray(value)).item()
        own = [self._own(seed, truth) for seed in range(self.seeds)]
        kept, lost = self.p / self.seeds, (1 - self.p) / (self.buckets - 1) / self.seeds
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
        range_ = float(self.p - (1 - self.p) / (self.buckets - 1))
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
        return float(self.p - (1 - self.p) / (self.buckets - 1)) * sqrt(float(same * (1 - same)))

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
