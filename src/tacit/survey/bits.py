"""Reports that are sets of answers: a bit for each, eight to a byte, answer 0 in the lowest bit of the first byte."""

from abc import abstractmethod
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise import Rng
from tacit.survey.frequency import Frequency
from tacit.survey.protocol import Array, Tally

__all__ = ["LISTABLE", "WIDEST", "Bits"]

WIDEST = 1 << 16  # answers, so that a report has at most 8 KiB
LISTABLE = 20  # answers whose sets can be listed
CHUNK = 1 << 18  # bits drawn at once, each a byte at first
ADDED = 255  # rows that add up in a byte


class Bits(Frequency):
    """A report is the set of answers it speaks for: the field `bits`, a row of bytes."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("bits", "u1", (self._width,))])

    @property
    def _width(self) -> int:
        return (self.categories + 7) // 8

    @abstractmethod
    def _sets(self, values: Array, rng: Rng) -> Array:
        """One row of `categories` bools for each answer."""

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        reports = np.empty(flat.size, dtype=self.dtype)
        rows = max(1, CHUNK // self.categories)
        for start in range(0, flat.size, rows):
            sets = self._sets(flat[start : start + rows], rng)
            reports["bits"][start : start + rows] = np.packbits(sets, axis=1, bitorder="little")
        return reports.reshape(values.shape)

    def _possible(self, reports: Array) -> None:
        used = self.categories % 8
        if used and reports.size and int(reports["bits"][..., -1].max()) >> used:
            raise InputError(f"a report must be a set of {self.categories} answers, and the bits after those must be 0")

    def tally(self, reports: Array) -> Tally:
        rows = reports.ravel()["bits"]
        counts = np.zeros(self.categories, dtype=np.int64)
        step = ADDED * max(1, CHUNK // (ADDED * self.categories))
        for start in range(0, len(rows), step):
            part = np.unpackbits(rows[start : start + step], axis=1, count=self.categories, bitorder="little")
            whole = len(part) // ADDED * ADDED
            sums = np.add.reduce(part[:whole].reshape(-1, ADDED, self.categories), axis=1, dtype=np.uint8)
            counts += sums.sum(axis=0, dtype=np.int64) + part[whole:].sum(axis=0, dtype=np.int64)
        return Tally(counts, len(rows))

    def _listable(self) -> int:
        """The number of answers, if all sets of them can be listed."""
        if self.categories > LISTABLE:
            raise InputError(f"the sets of {self.categories} answers are too many to list: at most those of {LISTABLE}")
        return self.categories

    def _bytes(self, members: int) -> bytes:
        """A set, given as the number that its bits are, as a report."""
        return members.to_bytes(self._width, "little")
