"""Local hashing (OLH): the answer is hashed into few buckets, everybody by another function (Wang and others 2017)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, LossError
from tacit.noise import Rng
from tacit.survey.coin import whole_words
from tacit.survey.hash_family import bucket_of, buckets_of, supported
from tacit.survey.hashed import Hashed
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["LocalHashing"]

CHUNK = 1 << 14  # what stays in the cache


@dataclass(frozen=True, kw_only=True)
class LocalHashing(Hashed):
    """A report is a hash function (a, b) of `hash_family` and a bucket: the answer's own with probability p.

    Guarantee: pure ε between any two answers of one respondent (relation replace). The function is drawn without regard
    to the answer, and given it the report is direct response on g buckets, with p = e^ε/(e^ε + g − 1) rounded down to a
    multiple of 2^-64. So it holds for every single function, and nothing about hashing is relied on.

    Coins: 4 bytes that are a in the report, 4 that are b, keep (one toss of p); if tails, a number below g − 1, which
    skips the answer's bucket.
    """

    kind: ClassVar[str] = "local_hashing"

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "buckets": self.buckets, "keep": self._keep.heads}

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("a", "<u4"), ("b", "<u4"), ("bucket", self._bucket_kind())])

    def _one(self, value: int, rng: Rng) -> bytes:
        first, second = bytes(rng.read(4)), bytes(rng.read(4))
        a, b = int.from_bytes(first, "little"), int.from_bytes(second, "little")
        told = self._told(bucket_of(a, b, value, self.buckets), rng)
        return first + second + told.to_bytes(self._bucket_kind().itemsize, "little")

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, CHUNK):
            own, part = flat[start : start + CHUNK], reports[start : start + CHUNK]
            a, b = whole_words("<u4", own.size, rng), whole_words("<u4", own.size, rng)
            part["a"], part["b"] = a, b
            part["bucket"] = self._told_many(buckets_of(a, b, own, self.buckets), rng)
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        raise LossError("there are 2^64 hash functions, too many to list their reports: law_given lists those of one")

    def law_given(self, a: int, b: int, value: int) -> Law:
        """The exact probability of each report that uses the function (a, b), given that function."""
        if not (0 <= a < 1 << 32 and 0 <= b < 1 << 32):
            raise InputError("a and b must be whole numbers from 0 to 2^32 - 1")
        own = bucket_of(a, b, self._checked(np.asarray(value)).item(), self.buckets)
        p, rest = self.p, (1 - self.p) / (self.buckets - 1)
        function = a.to_bytes(4, "little") + b.to_bytes(4, "little")
        size = self._bucket_kind().itemsize
        return {function + j.to_bytes(size, "little"): p if j == own else rest for j in range(self.buckets)}

    def _possible(self, reports: Array) -> None:
        self._known(reports["bucket"])

    def tally(self, reports: Array) -> Tally:
        flat = reports.ravel()
        counts = supported(flat["a"], flat["b"], flat["bucket"], buckets=self.buckets, answers=self.categories)
        return Tally(counts, flat.size)
