"""What every protocol of a survey is: a report made on a device, its bytes, and what many reports tell together.

One report is `bytes` of one length, whatever the answer and the coins: it is what leaves the device. Many reports are a
numpy array of the protocol's `dtype`, whose items are those same bytes, so a file of reports is their concatenation.
A `Tally` is all that has to be kept of reports: tallies add up in any order, and their size depends on the question
alone.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Number
from tacit.loss import shuffled
from tacit.loss.shuffle import ShuffledLoss
from tacit.mechanism.mechanism import Pmf
from tacit.mechanism.response import Estimate, Local
from tacit.noise import Rng, rng_or_default
from tacit.survey.coin import split
from tacit.survey.estimate import AnswerEstimate, Array, by_answer, consistent

__all__ = ["Array", "Law", "Protocol", "Tally", "whole_answers"]

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
    anything outside its domain is refused before a coin is tossed. `in_browser` says that `tacit-survey.js` makes its
    reports. `unit` is what its estimates are: a "share" of all respondents, or a "number" in the answers' own unit;
    `margin_unit` is that of a `margin`.
    """

    kind: ClassVar[str]
    in_browser: ClassVar[bool] = False
    unit: ClassVar[str] = "share"
    margin_unit: ClassVar[str] = "share"
    chunk: ClassVar[int] = 1 << 15  # answers randomised at once: what stays in the cache
    epsilon: Fraction

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    @property
    def title(self) -> str:
        """What people call it."""
        return self.kind.replace("_", " ")

    @property
    def choices(self) -> int | None:
        """How many answers there are to choose from; None where an answer is something else."""
        return None

    @property
    def probes(self) -> tuple[Any, Any, Any]:
        """The first answer, the last, and one between: what test vectors are made of."""
        raise InputError(f"there are no test vectors for reports of kind {self.kind}")

    def shuffled(self, *, reports: int) -> ShuffledLoss:
        """What is left of a respondent's loss among so many shuffled reports: the bound for any randomiser."""
        return shuffled(self.loss(), reports=reports)

    # --- on the device

    @property
    def device(self) -> Mapping[str, int | float]:
        """What a device must know to make reports: sizes, and how many of 2^64 a coin's heads are."""
        raise InputError(f"{type(self).__name__} is not made on a respondent's device")

    def terms(self) -> dict[str, Any]:
        """How a browser makes its report: the part of a question's terms that is the protocol's."""
        if not self.in_browser:
            raise InputError(f"no browser knows how to make a report of kind {self.kind}")
        numbers = {name: split(value) for name, value in self.device.items()}
        return {"protocol": self.kind, "bytes": self.dtype.itemsize, "device": numbers}

    @classmethod
    def from_device(cls, epsilon: Fraction, device: Mapping[str, Any]) -> Self:
        """The protocol again, from its ε and what a device was told."""
        given, wanted = {"epsilon": epsilon, **device}, signature(cls).parameters
        return cls(**{name: value for name, value in given.items() if name in wanted})

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

    def _many(self, values: Array, rng: Rng) -> Array:
        """Independent reports of the same law, a chunk at a time."""
        flat = values.reshape(-1)
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, self.chunk):
            self._fill(reports[start : start + self.chunk], flat[start : start + self.chunk], rng)
        return reports.reshape(values.shape)

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        """Write the reports on a chunk of answers. A protocol that looks at all answers first has its own `_many`."""
        raise NotImplementedError

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

    def lines(self, tally: Tally, answers: Sequence[str], confidence: Number = 0.95) -> Iterator[AnswerEstimate]:
        """The estimate of each answer, in order. `answers` are their names, where the question lists them."""
        estimate = self.estimate(tally, confidence)
        return by_answer(answers, estimate, self.nearest(tally, estimate))

    def nearest(self, tally: Tally, estimate: Estimate) -> Array:
        """The estimates moved to the nearest that are possible: shares of one whole."""
        return consistent(np.atleast_1d(estimate.value))

    def mean_line(self, tally: Tally, confidence: Number = 0.95) -> AnswerEstimate | None:
        """The mean, where a whole distribution is asked for."""
        return None

    # --- before anybody answers

    @property
    def scale(self) -> float:
        """What a margin of 1 is: all respondents, or the width of the range."""
        return 1.0

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        """Half the width of the widest bar with so many answers, by the normal approximation."""
        raise InputError(f"there is no forecast for reports of kind {self.kind}")


def whole_answers(values: Array, bound: int, how: str = "encode them as such") -> Array:
    """Answers that are whole numbers below `bound`, or an `InputError` that says how to make them so."""
    if not values.size:
        return np.zeros(values.shape, dtype=np.int64)
    if values.dtype.kind not in "biu" or int(values.min()) < 0 or int(values.max()) >= bound:
        raise InputError(f"answers must be whole numbers from 0 to {bound - 1}: {how}")
    return values.astype(np.int64, copy=False)
