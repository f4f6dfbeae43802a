"""What estimates have in common: normal intervals, the nearest shares that are possible, and a line for each answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, between
from tacit.mechanism.response import Estimate

__all__ = ["AnswerEstimate", "Array", "by_answer", "consistent", "hashed_share", "normal", "reach", "root"]

Array = np.ndarray[Any, np.dtype[Any]]


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
    found: Array = np.maximum(raw - excess[kept], 0.0)
    return found
