"""The count-mean sketch: a row of bits with one set, every bit randomised."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng, uniform
from tacit.survey.coin import Coin, below, keeping
from tacit.survey.frequency import word
from tacit.survey.protocol import Array, Law, Tally
from tacit.survey.sketch import Sketch, buckets_of_texts
from tacit.survey.text_hash import bucket_of_text

__all__ = ["CountMeanSketch"]

LISTED = 1 << 16
CHUNK = 1 << 19


@dataclass(frozen=True, kw_only=True)
class CountMeanSketch(Sketch):
    """A report is a row and `width` bits: that of the text's bucket is 1, the others 0, each kept with probability p.

    Guarantee: pure ε between any two texts of one respondent (relation replace). Two texts differ in two bits of a row,
    so p is e^(ε/2)/(e^(ε/2) + 1) rounded down to a multiple of 2^-64.

    Bits are packed eight a byte, the first the lowest. Coins: a number below `rows`; then for each bit one toss of p.
    """

    kind: ClassVar[str] = "count_mean_sketch"

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon / 2)

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def r(self) -> Fraction:
        return 1 - self.p

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("row", word(self.rows)), ("bits", "u1", ((self.width + 7) // 8,))])

    def _bytes(self, row: int, told: Sequence[bool]) -> bytes:
        packed = np.packbits(np.array(told, dtype=bool), bitorder="little").tobytes()
        return row.to_bytes(self.dtype["row"].itemsize, "little") + packed

    def _one(self, value: bytes, rng: Rng) -> bytes:
        row = below(self.rows, rng)
        own = bucket_of_text(row, value, self.width)
        return self._bytes(row, [(place == own) == self._keep.toss(rng) for place in range(self.width)])

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        texts, which = np.unique(flat, return_inverse=True)
        buckets = buckets_of_texts(texts, self.rows, self.width)
        reports = np.empty(flat.size, dtype=self.dtype)
        step = max(1, CHUNK // self.width)
        for start in range(0, flat.size, step):
            part = reports[start : start + step]
            row = uniform(self.rows, part.size, rng)
            own = buckets[which[start : start + step], row]
            told = ~self._keep.tosses(part.size * self.width, rng).reshape(part.size, self.width)
            told[np.arange(part.size), own] ^= True
            part["row"], part["bits"] = row, np.packbits(told, axis=1, bitorder="little")
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        if self.rows << self.width > LISTED:
            raise InputError(f"there are more than {LISTED} reports, too many to list")
        text, law = self._checked(np.asarray(value)).item(), {}
        for row in range(self.rows):
            own = bucket_of_text(row, text, self.width)
            for told in product((False, True), repeat=self.width):
                right = sum(bit == (place == own) for place, bit in enumerate(told))
                chance = self.p**right * (1 - self.p) ** (self.width - right)
                law[self._bytes(row, told)] = chance / self.rows
        return law

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports["row"].max()) >= self.rows:
            raise InputError(f"the row of a report must be a number from 0 to {self.rows - 1}")
        used = self.width % 8
        if used and reports.size and int(reports["bits"][..., -1].max()) >> used:
            raise InputError(f"a report has {self.width} bits, and those after them must be 0")

    def tally(self, reports: Array) -> Tally:
        """For each row how many reports have each bit, and in the last column how many there are."""
        flat = reports.reshape(-1)
        order = np.argsort(flat["row"], kind="stable")
        ends = np.searchsorted(flat["row"][order], np.arange(self.rows + 1))
        counts = np.zeros((self.rows, self.width + 1), dtype=np.int64)
        counts[:, -1] = np.diff(ends)
        for row in np.flatnonzero(counts[:, -1]).tolist():
            bits = flat["bits"][order[ends[row] : ends[row + 1]]]
            counts[row, :-1] = np.unpackbits(bits, axis=1, count=self.width, bitorder="little").sum(axis=0)
        return Tally(counts, flat.size)

    def support(self, tally: Tally) -> tuple[Array, Array]:
        return tally.counts[:, :-1], tally.counts[:, -1]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small = [(Fraction(1, 5), 4, 2), (Fraction(1), 4, 4), (Fraction(5, 2), 2, 8)]
        made = [cls(epsilon=e, rows=k, width=m) for e, k, m in small]
        return [Example(m, "a", "b", m.loss()) for m in made]
