"""Text that could be anything: each respondent reports on the beginning of their text, hashed and randomised.

Beginnings are grown byte by byte: those that many share are found first, then only these are continued (prefix
extending, as in Bassily, Nissim, Stemmer and Thakurta 2017 and Wang, Li and Jha 2021). How texts are found again is in
`prefix_search`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, positive, whole
from tacit.mechanism.local import Estimate
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng, uniform
from tacit.survey.coin import NOTHING, Coin, below, keeping
from tacit.survey.frequency import word
from tacit.survey.hashed import best_buckets, rates
from tacit.survey.prefix_search import Found, Search, search
from tacit.survey.protocol import Array, Law, Protocol, Tally
from tacit.survey.text_hash import absorbed, bucket_of_text, buckets_at, encoded, started

__all__ = ["PrefixText"]

LONGEST = 32
MOST_FUNCTIONS = 1 << 16
LISTED = 1 << 20
CHUNK = 1 << 15


@dataclass(frozen=True, kw_only=True)
class PrefixText(Protocol):
    """A text of at most `longest` bytes of UTF-8. A report is a level, a hash function and a bucket.

    Level i stands for the first (i + 1)·`step` bytes of the text, padded with zero bytes. Level and function are drawn
    whatever the text is. The bucket is that of the beginning with probability p, else another one.

    Guarantee: pure ε between any two texts of one respondent (relation replace), by direct response on the `buckets`
    buckets: p is e^ε/(e^ε + buckets − 1) rounded down to a multiple of 2^-64. It does not rest on the hash functions.

    Coins: a number below the number of levels; a number below `functions`; keep (one toss of p); if tails, a number
    below buckets − 1, which skips the beginning's own.
    """

    theory: ClassVar[str] = "heavy-hitters"
    kind: ClassVar[str] = "prefix"

    epsilon: Fraction
    longest: int = 16
    step: int = 1
    functions: int = 1024
    buckets: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        for name in ("longest", "step", "functions"):
            object.__setattr__(self, name, whole(getattr(self, name), name, least=1))
        if self.longest > LONGEST or self.longest % self.step:
            raise InputError(f"longest must be at most {LONGEST} bytes and a multiple of step = {self.step}")
        if self.functions > MOST_FUNCTIONS:
            raise InputError(f"functions must be at most {MOST_FUNCTIONS}")
        chosen = whole(self.buckets, "buckets") or min(256, best_buckets(self.epsilon, 1 << 16))
        if not 2 <= chosen <= 256:
            raise InputError("buckets must be from 2 to 256, so that a report names one in a byte")
        object.__setattr__(self, "buckets", chosen)
        if self.p <= self.q:
            raise InputError(NOTHING)

    @property
    def levels(self) -> int:
        return self.longest // self.step

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon, self.buckets - 1)

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def q(self) -> Fraction:
        """Probability that a report speaks for another given beginning, over random functions."""
        return rates(self.epsilon, self.buckets)[1]

    @property
    def device(self) -> Mapping[str, int]:
        """What a device must know to make reports."""
        sizes = {"longest": self.longest, "step": self.step, "functions": self.functions, "buckets": self.buckets}
        return {**sizes, "keep": self._keep.heads}

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("level", "u1"), ("function", word(self.functions)), ("bucket", "u1")])

    # --- on the device

    def _checked(self, values: Array) -> Array:
        if not values.size:
            return np.zeros(values.shape, dtype=f"S{self.longest}")
        padded = encoded(values, self.longest).astype(f"S{self.longest}")
        zero = np.ascontiguousarray(padded.reshape(-1)).view(np.uint8).reshape(-1, self.longest) == 0
        if np.any(zero[:, :-1] & ~zero[:, 1:]):
            raise InputError("answers must be texts without zero bytes, which stand for their end")
        return padded

    def _bytes(self, level: int, function: int, bucket: int) -> bytes:
        return bytes([level]) + function.to_bytes(self.dtype["function"].itemsize, "little") + bytes([bucket])

    def _beginning(self, text: bytes, level: int) -> bytes:
        return text.ljust(self.longest, b"\0")[: (level + 1) * self.step]

    def _one(self, value: bytes, rng: Rng) -> bytes:
        level, function = below(self.levels, rng), below(self.functions, rng)
        bucket = bucket_of_text(function, self._beginning(value, level), self.buckets)
        if not self._keep.toss(rng):
            other = below(self.buckets - 1, rng)
            bucket = other + (other >= bucket)
        return self._bytes(level, function, bucket)

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = np.ascontiguousarray(values.reshape(-1))
        texts = flat.view(np.uint8).reshape(flat.size, self.longest)
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, CHUNK):
            part, own = reports[start : start + CHUNK], texts[start : start + CHUNK]
            level, function = uniform(self.levels, len(own), rng), uniform(self.functions, len(own), rng)
            states = started(function)
            for place in range(self.longest):
                reads = np.flatnonzero((level + 1) * self.step > place)
                states[reads] = absorbed(states[reads], own[reads, place])
            bucket = buckets_at(states, self.buckets).astype(np.int64)
            lost = np.flatnonzero(~self._keep.tosses(len(own), rng))
            other = uniform(self.buckets - 1, lost.size, rng)
            bucket[lost] = other + (other >= bucket[lost])
            part["level"], part["function"], part["bucket"] = level, function, bucket
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        if self.levels * self.functions * self.buckets > LISTED:
            raise InputError(f"there are more than {LISTED} reports, too many to list")
        text = self._checked(np.asarray(value)).item()
        public = Fraction(1, self.levels * self.functions)
        kept, lost = public * self.p, public * (1 - self.p) / (self.buckets - 1)
        law = {}
        for level in range(self.levels):
            for function in range(self.functions):
                own = bucket_of_text(function, self._beginning(text, level), self.buckets)
                for bucket in range(self.buckets):
                    law[self._bytes(level, function, bucket)] = kept if bucket == own else lost
        return law

    # --- at the collector

    def _possible(self, reports: Array) -> None:
        for field, bound in (("level", self.levels), ("function", self.functions), ("bucket", self.buckets)):
            if reports.size and int(reports[field].max()) >= bound:
                raise InputError(f"the {field} of a report must be a number from 0 to {bound - 1}")

    def tally(self, reports: Array) -> Tally:
        """How many reports there are of each level, function and bucket."""
        flat = reports.ravel()
        cell = flat["level"].astype(np.int64) * self.functions + flat["function"]
        cell = cell * self.buckets + flat["bucket"]
        return Tally(np.bincount(cell, minlength=self.levels * self.functions * self.buckets), flat.size)

    def find(
        self, tally: Tally, *, risk: Number = 0.05, most: int = 64, alphabet: str | None = None
    ) -> Sequence[Found]:
        """The texts that many gave, with their shares, the most frequent first; see `search`."""
        counts = tally.counts.reshape(self.levels, self.functions, self.buckets)
        rates = (float(self.p), float(self.q))
        return search(Search(counts, self.step, rates), risk=risk, most=most, alphabet=alphabet)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Shares of the texts that `find` finds, in its order, with their intervals."""
        found = self.find(tally)
        shares, errors = (np.array([getattr(one, name) for one in found]) for name in ("share", "standard_error"))
        return Search.intervals(shares, errors, confidence)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small = [(Fraction(1, 5), 1, 1, 16), (Fraction(1), 4, 2, 8), (Fraction(5, 2), 2, 1, 16)]
        made = [cls(epsilon=e, longest=n, step=s, functions=f) for e, n, s, f in small]
        return [Example(m, "a", other, m.loss()) for m in made for other in ("b", "c")]
