"""How the answers to a question are shown: estimates by name, what is possible, and what trust would have bought."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from tacit.base import Number
from tacit.mechanism.local import Estimate
from tacit.survey.consistent import consistent
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Array, Protocol, Tally
from tacit.survey.question import Asked, Question
from tacit.survey.square_wave import SquareWave

__all__ = ["Line", "central_error", "lines_of", "mean_of"]

SHAPED = "mean"


@dataclass(frozen=True)
class Line:
    """One estimate. `value` is unbiased and may lie outside what is possible; `consistent` never does.

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


def lines_of(question: Question, protocol: Protocol, tally: Tally, confidence: Number) -> Iterator[Line]:
    """The estimates of a question. Raises `InputError` where reports are too few for any."""
    if isinstance(protocol, PrefixText):
        for found in protocol.find(tally, risk=1 - float(confidence)):
            low, high = found.interval(confidence)
            yield Line(found.text, found.share, low, high, found.standard_error, min(1.0, max(0.0, found.share)))
        return
    estimate = protocol.estimate(tally, confidence)
    yield from _lines(_names(question, protocol), estimate, _possible(question, protocol, tally, estimate))


def mean_of(protocol: Protocol, tally: Tally, confidence: Number) -> Line | None:
    """The mean, where a whole distribution is asked for."""
    if not isinstance(protocol, SquareWave):
        return None
    estimate = protocol.mean(tally, confidence)
    low, high = float(protocol.low), float(protocol.high)
    return next(_lines((SHAPED,), estimate, np.clip(np.atleast_1d(estimate.value), low, high)))


def _lines(names: tuple[str, ...], estimate: Estimate, shaped: Array) -> Iterator[Line]:
    parts = (estimate.value, estimate.lower, estimate.upper, estimate.standard_error, shaped)
    for name, *numbers in zip(names, *(np.atleast_1d(part) for part in parts), strict=True):
        yield Line(name, *(float(number) for number in numbers))


def _names(question: Question, protocol: Protocol) -> tuple[str, ...]:
    """What is estimated, in its order."""
    if isinstance(protocol, SquareWave):
        edges = protocol.edges
        return tuple(f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges))
    if question.kind is Asked.NUMBER:
        return (SHAPED,)
    return ("no", "yes") if question.kind is Asked.YES_NO else question.options


def _possible(question: Question, protocol: Protocol, tally: Tally, estimate: Estimate) -> Array:
    """The estimates moved to the nearest that are possible: shares of one whole, or numbers in the range.

    Bins that are not known to half of an even share are smoothed instead: noise would look like peaks.
    """
    values = np.atleast_1d(estimate.value)
    if isinstance(protocol, SquareWave):
        rough = float(np.max(estimate.standard_error)) * 2 * protocol.bins > 1
        return protocol.smooth(tally) if rough else consistent(values)
    if question.range is not None:
        low, high = (float(end) for end in question.range)
        return np.asarray(np.clip(values, low, high))
    return np.asarray(np.clip(values, 0.0, 1.0)) if question.kind is Asked.SEVERAL else consistent(values)


def central_error(question: Question, protocol: Protocol, reports: int, confidence: float = 0.95) -> float:
    """Half the width of the bar if a trusted collector added Laplace noise to exact counts, for the same ε.

    One answer that changes moves one count of a yes or no, two counts of a choice, a bin or a text, every count where
    several apply, and the sum of numbers by the width of the range.
    """
    moved = {Asked.YES_NO: 1, Asked.SEVERAL: len(question.options)}.get(question.kind, 2)
    width = 1.0
    if question.range is not None and not isinstance(protocol, SquareWave):
        moved, width = 1, float(question.range[1] - question.range[0])
    return moved * width * log(1 / (1 - confidence)) / (float(protocol.epsilon) * max(1, reports))
