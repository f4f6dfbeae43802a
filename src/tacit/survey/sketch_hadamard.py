"""The Hadamard count-mean sketch: one sign of the text's bucket's row of signs, so a report is a few bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError
from tacit.mechanism.mechanism import Example
from tacit.noise import Rng, uniform
from tacit.survey.coin import Coin, below, keeping
from tacit.survey.frequency import word
from tacit.survey.hadamard import walsh_hadamard
from tacit.survey.protocol import Array, Law, Tally
from tacit.survey.sketch import Sketch, buckets_of_texts
from tacit.survey.text_hash import bucket_of_text

__all__ = ["HadamardSketch"]

LISTED = 1 << 18
CHUNK = 1 << 15


@dataclass(frozen=True, kw_only=True)
class HadamardSketch(Sketch):
    """A report is a row, a place below `width` (a power of two), and a sign, kept with probability p.

    The sign is H[place, bucket] = (−1)^(number of ones that both share); the report's second number is 2·place + told,
    told being 1 for −1. It speaks for the buckets that have its sign: for a false one with probability ½.

    Guarantee: pure ε between any two texts of one respondent (relation replace): row and place tell nothing, and the
    bit is randomised response with p = e^ε/(e^ε + 1) rounded down to a multiple of 2^-64.

    Coins: a number below `rows`; a number below `width`; keep (one toss of p).
    """

    kind: ClassVar[str] = "hadamard_sketch"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width & (self.width - 1):
            raise InputError("width must be a power of two: rows of signs have such lengths")

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon)

    @property
    def p(self) -> Fraction:
        return self._keep.probability

    @property
    def r(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("row", word(self.rows)), ("told", word(2 * self.width))])

    def _bytes(self, row: int, told: int) -> bytes:
        sizes = (self.dtype[name].itemsize for name in ("row", "told"))
        return b"".join(number.to_bytes(size, "little") for number, size in zip((row, told), sizes, strict=True))

    def _one(self, value: bytes, rng: Rng) -> bytes:
        row, place = below(self.rows, rng), below(self.width, rng)
        bit = (place & bucket_of_text(row, value, self.width)).bit_count() & 1
        return self._bytes(row, 2 * place + (bit if self._keep.toss(rng) else 1 - bit))

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        texts, which = np.unique(flat, return_inverse=True)
        buckets = buckets_of_texts(texts, self.rows, self.width)
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, CHUNK):
            part = reports[start : start + CHUNK]
            row, place = uniform(self.rows, part.size, rng), uniform(self.width, part.size, rng)
            bit = np.bitwise_count(place & buckets[which[start : start + CHUNK], row]) & 1
            part["row"], part["told"] = row, 2 * place + (bit ^ ~self._keep.tosses(part.size, rng))
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        if 2 * self.rows * self.width > LISTED:
            raise InputError(f"there are more than {LISTED} reports, too many to list")
        text, law = self._checked(np.asarray(value)).item(), {}
        for row in range(self.rows):
            own = bucket_of_text(row, text, self.width)
            for place in range(self.width):
                for told in (0, 1):
                    true = (place & own).bit_count() & 1 == told
                    law[self._bytes(row, 2 * place + told)] = (self.p if true else 1 - self.p) / (
                        self.rows * self.width
                    )
        return law

    def _possible(self, reports: Array) -> None:
        for name, bound in (("row", self.rows), ("told", 2 * self.width)):
            if reports.size and int(reports[name].max()) >= bound:
                raise InputError(f'"{name}" of a report must be a number from 0 to {bound - 1}')

    def tally(self, reports: Array) -> Tally:
        """For each row how often each place had each sign."""
        flat = reports.reshape(-1)
        cells = flat["row"].astype(np.int64) * 2 * self.width + flat["told"]
        counts = np.bincount(cells, minlength=2 * self.rows * self.width)
        return Tally(counts.reshape(self.rows, 2 * self.width), flat.size)

    def support(self, tally: Tally) -> tuple[Array, Array]:
        each = tally.counts.sum(axis=1)
        signs = tally.counts[:, 0::2] - tally.counts[:, 1::2]
        agreeing = np.array([walsh_hadamard(row) for row in signs])
        return (each[:, None] + agreeing) // 2, each

    @classmethod
    def examples(cls) -> Sequence[Example]:
        small = [(Fraction(1, 5), 4, 2), (Fraction(1), 4, 4), (Fraction(5, 2), 2, 16)]
        made = [cls(epsilon=e, rows=k, width=m) for e, k, m in small]
        return [Example(m, "a", "b", m.loss()) for m in made]
