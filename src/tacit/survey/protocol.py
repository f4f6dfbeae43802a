"""What every protocol of a survey is: a report made on a device, its bytes, and what many reports tell together.

One report is `bytes` of one length, whatever the answer and the coins: it is what leaves the device. Many reports are a
numpy array of the protocol's `dtype`, whose items are those same bytes, so a file of reports is their concatenation.
A `Tally` is all that has to be kept of reports: tallies add up in any order, and their size depends on the question
alone.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number
from tacit.mechanism.mechanism import Pmf
from tacit.mechanism.response import Estimate, Local
from tacit.noise import Rng, rng_or_default

__all__ = ["Array", "Law", "Protocol", "Tally"]

Array = np.ndarray[Any, np.dtype[Any]]
Law = Mapping[bytes, Fraction]


@dataclass(frozen=True, eq=False)
class Tally:
    """Whole numbers that reports were added up to, and how many reports there were."""

    counts: Array
    reports: int

    def __add__(self, other: "Tally") -> "Tally":
        if self.counts.shape != other.counts.shape:
            raise InputError("these tallies are of different questions, and do not add up")
        return Tally(self.counts + other.counts, self.reports + other.reports)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.reports == other.reports and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # an array is inside


class Protocol(Local):
    """A randomiser on a respondent's device with its estimator. Concrete ones are frozen dataclasses, one file each.

    `kind` is its name in survey files and in the browser. Values are whole numbers unless a protocol says otherwise;
    anything outside its domain is refused before a coin is tossed.
    """

    kind: ClassVar[str]
    epsilon: Fraction

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    # --- on the device

    @property
    def device(self) -> Mapping[str, int | float]:
        """What a device must know to make reports: sizes, and how many of 2^64 a coin's heads are."""
        raise InputError(f"{type(self).__name__} is not made on a respondent's device")

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The layout of one report, little-endian."""

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """The report on one answer, as bytes, or on an array of answers of as many people, as an array."""
        source = rng_or_default(rng)
        if isinstance(value, np.ndarray | list | tuple):
            return self._many(self._checked(np.asarray(value)), source)
        return self._one(self._checked(np.asarray(value)).item(), source)

    @abstractmethod
    def _checked(self, values: Array) -> Array:
        """The answers as the protocol computes with them, or an `InputError`."""

    @abstractmethod
    def _one(self, value: Any, rng: Rng) -> bytes:
        """One report, with the coins in the order that devices toss them."""

    @abstractmethod
    def _many(self, values: Array, rng: Rng) -> Array:
        """Independent reports of the same law."""

    @abstractmethod
    def law(self, value: Any) -> Law:
        """The exact probability of each report, where reports can be listed."""

    def pmf(self, value: Any) -> Pmf:
        return {report: float(probability) for report, probability in self.law(value).items()}

    # --- at the collector

    def read(self, data: bytes) -> Array:
        """Reports out of their bytes; anything no device can have sent is refused."""
        size = self.dtype.itemsize
        if not data or len(data) % size:
            raise InputError(f"a report of this question has {size} bytes, and these {len(data)} are no number of them")
        reports = np.frombuffer(data, dtype=self.dtype)
        self._possible(reports)
        return reports

    @abstractmethod
    def _possible(self, reports: Array) -> None:
        """Raise `InputError` if some report cannot come from this protocol."""

    @abstractmethod
    def tally(self, reports: Array) -> Tally:
        """What is kept of these reports."""

    @abstractmethod
    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """What the reports say about the answers, without bias, with intervals."""
