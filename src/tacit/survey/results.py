"""What the reports of a survey say: estimates with their bars, and what a trusted collector would have had."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, exp, log
from typing import Any

import numpy as np

from tacit.base import InputError, Number
from tacit.mechanism.response import Estimate
from tacit.policy.declaration import number
from tacit.survey.mean import OneBitMean
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Array, Protocol, Tally
from tacit.survey.question import Asked, Question
from tacit.survey.square_wave import SquareWave
from tacit.survey.survey import Survey

__all__ = ["Finding", "Line", "Results", "central_error", "consistent", "lines_of", "mean_of", "meaning", "results_of"]


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


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is known about one question. Without lines, there are too few reports yet."""

    name: str
    ask: str
    kind: str
    unit: str  # "share" for parts of all respondents, "number" for the answers' own unit
    epsilon: str
    protocol: str
    reports: int
    lines: tuple[Line, ...]
    mean: Line | None  # beside a whole distribution
    central: float | None  # half a bar's width if a collector trusted with the answers had added the noise

    def json(self) -> dict[str, Any]:
        mean = None if self.mean is None else self.mean.json()
        return {**vars(self), "lines": [line.json() for line in self.lines], "mean": mean}


@dataclass(frozen=True, kw_only=True)
class Results:
    """All findings of a survey."""

    survey: Survey
    reports: int
    waiting: int
    confidence: float
    findings: tuple[Finding, ...]

    def json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "survey": self.survey.name,
            "title": self.survey.title,
            "version": self.survey.version,
            "epsilon": number(self.survey.epsilon),
            "meaning": meaning(float(self.survey.epsilon)),
            "reports": self.reports,
            "waiting": self.waiting,
            "minimum": self.survey.minimum,
            "confidence": self.confidence,
            "questions": [finding.json() for finding in self.findings],
        }

    def csv(self) -> str:
        """A row for each estimate."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        columns = ("question", "answer", "unit", "estimate", "lower", "upper", "consistent", "reports", "epsilon")
        writer.writerow(columns)
        for found in self.findings:
            means = () if found.mean is None else ((found.mean, "number"),)
            for line, unit in (*((line, found.unit) for line in found.lines), *means):
                numbers = (line.value, line.lower, line.upper, line.consistent)
                row = [found.name, _plain(line.answer), unit, *(repr(n) for n in numbers), found.reports]
                writer.writerow([*row, found.epsilon])
        return out.getvalue()


def results_of(survey: Survey, tallies: Mapping[str, Tally], *, waiting: int = 0, confidence: Number = 0.95) -> Results:
    """The results that these tallies give."""
    missing = [name for name in survey.questions if name not in tallies]
    if missing:
        raise InputError(f'there is no tally of the question "{missing[0]}" of the survey "{survey.name}"')
    findings = tuple(_finding(survey, name, tallies[name], confidence) for name in survey.questions)
    reports = max(finding.reports for finding in findings)
    return Results(survey=survey, reports=reports, waiting=waiting, confidence=float(confidence), findings=findings)


def meaning(epsilon: float) -> str:
    """ε in one sentence, for the respondents."""
    sure = ceil(1000 / (1 + exp(-epsilon))) / 10  # rounded against us
    percent = f"{sure:g}" if sure < 100 else "almost 100"
    return (
        f"Whoever thought two answers of a respondent equally likely can be at most {percent} % sure of one of them "
        "after seeing everything that the respondent's device sent."
    )


def _finding(survey: Survey, name: str, tally: Tally, confidence: Number) -> Finding:
    question, protocol = survey.questions[name], survey.protocols[name]
    try:
        lines = tuple(lines_of(question, protocol, tally, confidence)) if tally.reports else ()
        mean = mean_of(protocol, tally, confidence) if tally.reports else None
    except InputError:
        lines, mean = (), None  # an option of several that chance has not picked yet
    return Finding(
        name=name,
        ask=question.ask,
        kind=question.kind.value,
        unit="number" if isinstance(protocol, OneBitMean) else "share",
        epsilon=number(survey.spending[name]),
        protocol=protocol.kind,
        reports=tally.reports,
        lines=lines,
        mean=mean,
        central=central_error(question, protocol, tally.reports, float(confidence)) if lines else None,
    )


def _plain(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text
