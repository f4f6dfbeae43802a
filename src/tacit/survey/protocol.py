"""What every protocol of a survey is: a report made on a device, its bytes, and what many reports tell together.

One report is `bytes` of one length, whatever the answer and the coins: it is what leaves the device. Many reports are a
numpy array of the protocol's `dtype`, whose items are those same bytes, so a file of reports is their concatenation.
A `Tally` is all that has to be kept of reports: tallies add up in any order, and their size depends on the question
alone.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from inspect import signature
from math import prod, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, between, cached_property, positive, whole
from tacit.loss import shuffled
from tacit.loss.shuffle import ShuffledLoss
from tacit.mechanism.mechanism import Example, Pmf
from tacit.mechanism.response import Estimate, Local, shares
from tacit.noise import Rng, rng_or_default
from tacit.survey.coin import NOTHING, KaryCoin, split

__all__ = [
    "AnswerEstimate",
    "Array",
    "Law",
    "Protocol",
    "Tally",
    "by_answer",
    "consistent",
    "hashed_share",
    "listable",
    "normal",
    "reach",
    "root",
    "shares_at",
    "telling",
    "whole_answers",
    "word",
]

Array = np.ndarray[Any, np.dtype[Any]]
Law = Mapping[bytes, Fraction]
Fill = Callable[[Array, Array, Rng], None]
LISTED = 1 << 20  # reports whose probabilities can be listed


@dataclass(frozen=True, eq=False)
class Tally:
    """Whole numbers that reports were added up to, and how many reports there were."""

    counts: Array
    reports: int

    def __add__(self, other: "Tally") -> "Tally":
        if self.counts.shape != other.counts.shape:
            raise InputError("these tallies are of different questions, and do not add up")
        return Tally(self.counts + other.counts, self.reports + other.reports)

    def required(self) -> int:
        """How many reports there are; an `InputError` if there is none."""
        if self.reports < 1:
            raise InputError("there are no reports yet, so there is nothing to estimate")
        return self.reports

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.reports == other.reports and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # an array is inside


@dataclass(frozen=True)
class AnswerEstimate:
    """The estimate of one answer. `value` is unbiased and may lie outside what is possible; `consistent` never does.

    The bar [lower, upper] belongs to `value`.
    """

    answer: str
    value: float
    lower: float
    upper: float
    standard_error: float
    consistent: float

    def json(self) -> dict[str, Any]:
        return dict(vars(self))


def by_answer(answers: Sequence[str], estimate: Estimate, nearest: Array) -> Iterator[AnswerEstimate]:
    """One for each answer, in order; `nearest` are the values moved to the nearest that are possible."""
    parts = (estimate.value, estimate.lower, estimate.upper, estimate.standard_error, nearest)
    for answer, *numbers in zip(answers, *(np.atleast_1d(part) for part in parts), strict=True):
        yield AnswerEstimate(answer, *(float(number) for number in numbers))


@dataclass(frozen=True, kw_only=True)
class Protocol(Local):
    """A randomiser on a respondent's device with its estimator. Concrete ones are frozen dataclasses, one file each.

    `kind` is its name in survey files and in the browser. Values are whole numbers unless a protocol says otherwise;
    anything outside its domain is refused before a coin is tossed. `in_browser` says that `tacit-survey.js` makes its
    reports. `unit` is what its estimates are: a "share" of all respondents, or a "number" in the answers' own unit;
    `margin_unit` is that of a `margin`. `signed` says that a tally holds differences, which may be negative. `cases`
    are the fields of its `examples`, in their order.
    """

    kind: ClassVar[str]
    in_browser: ClassVar[bool] = False
    unit: ClassVar[str] = "share"
    margin_unit: ClassVar[str] = "share"
    signed: ClassVar[bool] = False
    chunk: ClassVar[int] = 1 << 15  # answers randomised at once: what stays in the cache
    cases: ClassVar[Sequence[Sequence[Any]]] = ()

    epsilon: Fraction

    def _settle(self, **least: int) -> None:
        """ε as an exact number, and fields as whole numbers of at least so many; for the start of construction."""
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        for name, bound in least.items():
            object.__setattr__(self, name, whole(getattr(self, name), name, least=bound))

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    @cached_property
    def _coin(self) -> KaryCoin:
        """What tells the truth, or else something else: of a bit, unless a protocol says otherwise."""
        return KaryCoin.at(self.epsilon, 2)

    @property
    def p(self) -> Fraction:
        """Probability that a report speaks for the truth."""
        return self._coin.p

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

    @property
    def neighbours(self) -> Sequence[tuple[Any, Any]]:
        """Answers to tell apart in `examples`."""
        return [(0, 1)]

    @classmethod
    def examples(cls) -> Sequence[Example]:
        names = [field.name for field in fields(cls) if field.init]
        made = [cls(**dict(zip(names, case, strict=False))) for case in cls.cases]
        return [Example(m, left, right, m.loss()) for m in made for left, right in m.neighbours]

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
    def numbers(self) -> Mapping[str, int]:
        """The numbers of a report by name, in the order of their bytes, and what each is below."""
        return {}

    @property
    def dtype(self) -> np.dtype[Any]:
        """The layout of one report, little-endian: its numbers, or a single one without a name."""
        kinds = [(name, word(bound)) for name, bound in self.numbers.items()]
        return kinds[0][1] if len(kinds) == 1 else np.dtype(kinds)

    def _bytes(self, *numbers: int) -> bytes:
        """A report of these numbers."""
        sizes = (word(bound).itemsize for bound in self.numbers.values())
        return b"".join(number.to_bytes(size, "little") for number, size in zip(numbers, sizes, strict=True))

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """The report on one answer, as bytes, or on an array of answers of as many people, as an array."""
        source = rng_or_default(rng)
        if isinstance(value, np.ndarray | list | tuple):
            return self._many(self._checked(np.asarray(value)), source)
        return self._one(self._answer(value), source)

    def _answer(self, value: Any) -> Any:
        """One answer, checked."""
        return self._checked(np.asarray(value)).item()

    @abstractmethod
    def _checked(self, values: Array) -> Array:
        """The answers as the protocol computes with them, or an `InputError`."""

    @abstractmethod
    def _one(self, value: Any, rng: Rng) -> bytes:
        """One report, with the coins in the order that devices toss them."""

    def _many(self, values: Array, rng: Rng) -> Array:
        """Independent reports of the same law, a chunk at a time."""
        return self._filled(values, self._fill, rng)

    def _filled(self, values: Array, fill: Fill, rng: Rng) -> Array:
        flat, reports = values.reshape(-1), np.empty(values.size, dtype=self.dtype)
        step = max(1, self.chunk // self._tossed)
        for start in range(0, flat.size, step):
            fill(reports[start : start + step], flat[start : start + step], rng)
        return reports.reshape(values.shape)

    @property
    def _tossed(self) -> int:
        """How many coins of one report are tossed at once."""
        return 1

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

    def _possible(self, reports: Array) -> None:
        """Raise `InputError` if some report cannot come from this protocol."""
        for name, bound in self.numbers.items():
            found = reports[name] if reports.dtype.names else reports
            if found.size and int(found.max()) >= bound:
                which = f"the {name} of a report" if reports.dtype.names else "a report"
                raise InputError(f"{which} must be a number from 0 to {bound - 1}")

    def tally(self, reports: Array) -> Tally:
        """What is kept of these reports: how often there is each, in the order of their numbers."""
        flat, bounds = reports.reshape(-1), tuple(self.numbers.values())
        parts = [flat[name] for name in flat.dtype.names or ()]
        cells = np.ravel_multi_index(parts, bounds) if parts else flat
        return Tally(np.bincount(cells, minlength=prod(bounds)), flat.size)

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


def word(bound: int) -> np.dtype[Any]:
    """The smallest little-endian unsigned type for numbers below `bound`."""
    return next(np.dtype(kind) for kind in ("<u1", "<u2", "<u4", "<u8") if bound <= 1 << (8 * np.dtype(kind).itemsize))


def listable(reports: int) -> None:
    """An `InputError` if so many reports are too many to list."""
    if reports > LISTED:
        raise InputError(f"there are more than {LISTED} reports, too many to list")


def telling(p: Fraction, q: Fraction) -> None:
    """An `InputError` if a report does not speak for the truth oftener (p) than for anything else (q)."""
    if p <= q:
        raise InputError(NOTHING)


def shares_at(counted: Any, n: Any, p: Fraction, q: Fraction, confidence: Number) -> Estimate:
    """`shares` behind counts of reports that speak for the true answer with probability p, for another with q."""
    rates = {"true_rate": float(p), "false_rate": float(q), "contrast": float(p - q)}
    return shares(counted, n, **rates, confidence=confidence)


def reach(confidence: Number) -> float:
    """How many standard errors a normal interval has on either side."""
    return float(ndtri((1 + float(confidence)) / 2))


def normal(value: Array, error: Array, confidence: Number) -> Estimate:
    """Shares with normal intervals, cut to [0, 1]."""
    level = float(between(confidence, "confidence", 0, 1))
    wide = reach(level) * error
    return Estimate(value, np.clip(value - wide, 0, 1), np.clip(value + wide, 0, 1), error, level)


def hashed_share(
    cells: Array, own: Array, each: Array, *, rates: tuple[float, float], jump: float
) -> tuple[float, float]:
    """The unbiased share of a text that falls into bucket `own[i]` under function i, and its standard error.

    `cells` are the reports that speak for each bucket of each function, `each` all reports of a function. A report
    speaks for its text with the first of `rates`, for another text with the second, over random functions; `jump` is
    how much oftener it speaks for its own bucket than for another one. The error is that of the sample of respondents,
    of the coins, and of the functions, under which other texts share a bucket with this one more or less often: the
    last two are the spread of counts over buckets, without what the text itself puts into its own.
    """
    n, every, (p, q) = int(each.sum()), np.arange(len(own)), rates
    share = (int(cells[every, own].sum()) / n - q) / (p - q)
    held = min(1.0, max(0.0, share))
    rest = cells.astype(np.float64)
    rest[every, own] -= held * each * jump
    coins = n * (held * p * (1 - p) + (1 - held) * q * (1 - q))
    spread = max(coins, float(rest.var(axis=1).sum())) / (n * (p - q)) ** 2
    return share, sqrt(spread + held * (1 - held) / n)


def root(variance: Any) -> Array:
    """Standard errors; rounding may leave a variance a hair below 0."""
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def consistent(shares: Any) -> Array:
    """The shares at least 0 with sum 1 that are nearest to `shares` in squares: max(share − t, 0) for one number t.

    It is what is left when a constant is subtracted and negative shares are cut, until nothing changes (Wang and others
    2020); t is found exactly, in one pass over the sorted shares. It is post-processing and costs nothing. The error
    bars of the estimate stay where they are: what was cut is biased, upwards for rare answers.
    """
    raw = np.asarray(shares, dtype=np.float64)
    if raw.ndim != 1 or not raw.size or not np.isfinite(raw).all():
        raise InputError("shares must be a list of finite numbers, one for each answer: pass an estimate's value")
    raw = raw - raw.max()  # the same for all changes nothing, and large numbers lose no digits
    falling = np.sort(raw)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, raw.size + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    return np.asarray(np.maximum(raw - excess[kept], 0.0))
