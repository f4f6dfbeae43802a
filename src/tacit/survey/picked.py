"""Questions of several parts: chance picks one, and the whole ε goes to a report on it.

That is better than a report on every part with a share of ε each: with m parts the error grows by √m instead of by
about m. Which part was picked does not depend on the answer, so it may be seen.
"""

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise import Rng, uniform
from tacit.survey.coin import below
from tacit.survey.frequency import Frequency, word
from tacit.survey.protocol import Array, Law, Protocol, Tally

__all__ = ["Picked"]


class Picked(Protocol):
    """A report is the number of a part and a report of that part's own protocol, filled up with zeros to one length.

    Guarantee: pure ε between any two answers, as each part has it. Coins: a number below the number of parts; then
    those of the part.
    """

    @property
    @abstractmethod
    def parts(self) -> Sequence[Frequency]:
        """The protocols of the parts, all with this question's ε."""

    @abstractmethod
    def _of_part(self, values: Array, part: int) -> Array:
        """What checked answers say to a part."""

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        size = max(part.dtype.itemsize for part in self.parts)
        return np.dtype([("part", word(len(self.parts))), ("report", "u1", (size,))])

    def _bytes(self, part: int, report: bytes) -> bytes:
        size = self.dtype["report"].itemsize
        return part.to_bytes(self.dtype["part"].itemsize, "little") + report.ljust(size, b"\0")

    def _one(self, value: int, rng: Rng) -> bytes:
        part = below(len(self.parts), rng)
        return self._bytes(part, self.parts[part]._one(self._of_part(np.asarray(value), part).item(), rng))

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.reshape(-1)
        reports = np.zeros(flat.size, dtype=self.dtype)
        reports["part"] = uniform(len(self.parts), flat.size, rng)
        for number, part in enumerate(self.parts):
            chosen = np.flatnonzero(reports["part"] == number)
            made = part._many(self._of_part(flat[chosen], number), rng)
            size = part.dtype.itemsize
            reports["report"][chosen, :size] = np.frombuffer(made.tobytes(), dtype=np.uint8).reshape(-1, size)
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        place = self._checked(np.asarray(value))
        share = Fraction(1, len(self.parts))
        return {
            self._bytes(number, report): share * p
            for number, part in enumerate(self.parts)
            for report, p in part.law(self._of_part(place, number).item()).items()
        }

    def _split(self, reports: Array) -> list[tuple[Frequency, Array, Array]]:
        """Each part's protocol, its reports, and what fills them up."""
        flat, found = reports.reshape(-1), []
        for number, part in enumerate(self.parts):
            rows = flat["report"][flat["part"] == number]
            size = part.dtype.itemsize
            own = np.frombuffer(np.ascontiguousarray(rows[:, :size]).tobytes(), dtype=part.dtype)
            found.append((part, own, rows[:, size:]))
        return found

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports["part"].max()) >= len(self.parts):
            raise InputError(f"the part of a report must be a number from 0 to {len(self.parts) - 1}")
        for part, own, filling in self._split(reports):
            part._possible(own)
            if filling.any():
                raise InputError("what fills up a report must be zeros")

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        return [part.tally(np.zeros(0, dtype=part.dtype)).counts.shape for part in self.parts]

    def tally(self, reports: Array) -> Tally:
        """The tallies of all parts, one after the other, each followed by its number of reports."""
        kept: list[Array] = []
        for part, own, _ in self._split(reports):
            one = part.tally(own)
            kept += [one.counts.ravel(), np.array([one.reports])]
        return Tally(np.concatenate(kept).astype(np.int64), reports.size)

    def tallies(self, tally: Tally) -> list[Tally]:
        """The tally of each part."""
        found, start = [], 0
        for shape in self._shapes:
            end = start + int(np.prod(shape))
            found.append(Tally(tally.counts[start:end].reshape(shape), int(tally.counts[end])))
            start = end + 1
        return found
