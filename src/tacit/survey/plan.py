"""The planner: before a survey begins, how well it will be answered, and how many answers it takes.

A forecast is half the width of the bar that the results will show, for the share with the widest bar. It holds the
chance of who answers as well as the noise, and rests on nothing but the survey file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, log, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, between, positive, whole
from tacit.policy.declaration import number
from tacit.survey.direct import DirectResponse
from tacit.survey.frequency import Frequency
from tacit.survey.mean import OneBitMean
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Protocol, Tally
from tacit.survey.results import central_error
from tacit.survey.several import SeveralResponse
from tacit.survey.shuffle import local_epsilon
from tacit.survey.square_wave import SquareWave
from tacit.survey.survey import Survey

__all__ = ["Beside", "Forecast", "Plan", "beside", "margin", "plan", "spelled"]

RISK, CANDIDATES = 0.05, 64 * 190  # of finding a text that nobody has; beginnings that are tried at a level


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What to expect of one question.

    A margin is a share, in the answers' own unit where `unit` is "number", and where it is "text" the share of a text
    that will be found.
    """

    name: str
    ask: str
    epsilon: str
    protocol: str
    report_bytes: int
    unit: str
    margin: float
    central: float
    needed: int | None  # answers for the margin that was asked for

    def json(self) -> dict[str, Any]:
        return dict(vars(self))

    @property
    def shown(self) -> str:
        """The margin in words, rounded up."""
        return spelled(self.margin, self.unit)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The forecasts of a survey for a number of answers."""

    survey: Survey
    answers: int
    confidence: float
    forecasts: tuple[Forecast, ...]

    def json(self) -> dict[str, Any]:
        return {
            "survey": self.survey.name,
            "answers": self.answers,
            "confidence": self.confidence,
            "epsilon": number(self.survey.epsilon),
            "questions": [forecast.json() for forecast in self.forecasts],
        }


def plan(survey: Survey, *, answers: int, within: Number | None = None, confidence: Number = 0.95) -> Plan:
    """What so many answers will show. `within` also asks how many it takes for a margin: a share such as 0.02.

    For a number, `within` is a part of its range.
    """
    count = whole(answers, "answers", least=1)
    level = between(confidence, "confidence", 0, 1)
    wanted = None if within is None else positive(within, "within")
    if wanted is not None and wanted >= 1:
        raise InputError("within must be less than 1: it is a share, 0.02 for two points")
    forecasts = []
    for name, question in survey.questions.items():
        protocol = survey.protocols[name]
        width = 1.0 if not isinstance(protocol, OneBitMean) else float(protocol.high - protocol.low)
        needed = None if wanted is None else ceil((margin(protocol, 1, level) / (float(wanted) * width)) ** 2)
        forecasts.append(
            Forecast(
                name=name,
                ask=question.ask,
                epsilon=number(survey.spending[name]),
                protocol=protocol.kind,
                report_bytes=protocol.dtype.itemsize,
                unit=_unit(protocol),
                margin=margin(protocol, count, level),
                central=central_error(question, protocol, count, float(level)),
                needed=needed,
            )
        )
    return Plan(survey=survey, answers=count, confidence=float(level), forecasts=tuple(forecasts))


def _unit(protocol: Protocol) -> str:
    if isinstance(protocol, PrefixText):
        return "text"
    return "number" if isinstance(protocol, OneBitMean) else "share"


def margin(protocol: Protocol, answers: int, confidence: Number = 0.95) -> float:
    """Half the width of the widest bar with so many answers, by the normal approximation.

    For a distribution, if all bins are as frequent; for texts, the share of one that is found as often as not.
    """
    reach = float(ndtri((1 + float(confidence)) / 2))
    if isinstance(protocol, OneBitMean):
        return reach * protocol.deviation(reports=answers)
    if isinstance(protocol, SeveralResponse):  # each option is told of by one report in so many
        return reach * sqrt(protocol.options / (4 * answers)) / float(2 * protocol.p - 1)
    if isinstance(protocol, Frequency):
        low, high = float(protocol.q), float(protocol.p)
        rate = min(max(0.5, low), high)  # of reports that speak for an answer, where it varies most
        return reach * sqrt(rate * (1 - rate) / answers) / float(protocol.p - protocol.q)
    if isinstance(protocol, SquareWave):
        return reach * _of_even_bins(protocol) / sqrt(answers)
    if isinstance(protocol, PrefixText):
        return _standing_out(protocol) / sqrt(answers)
    raise InputError(f"there is no forecast for reports of kind {protocol.kind}")


def _of_even_bins(protocol: SquareWave) -> float:
    """√n times the largest standard error of a bin's share, if all bins are as frequent."""
    many = 10**9
    inside, outside = float(protocol.near) / protocol.width, float(1 - protocol.near) / protocol.steps
    covering = np.convolve(np.ones(protocol.bins), np.ones(protocol.width))
    rates = outside + (inside - outside) * covering / protocol.bins
    even = Tally(np.round(many * rates).astype(np.int64), many)
    return float(np.max(protocol.estimate(even).standard_error)) * sqrt(many)


def _standing_out(protocol: PrefixText) -> float:
    """√n times the share of a text that is found as often as not: its support is at the bound for texts nobody has."""
    q = float(protocol.q)
    tail = log(protocol.levels * CANDIDATES / RISK)
    return sqrt(2 * tail * q * (1 - q) * protocol.levels) / float(protocol.p - protocol.q)


def spelled(margin: float, unit: str) -> str:
    """± so many points, or so much, rounded up."""
    if unit == "text":
        return f"finds texts that {min(100.0, ceil(margin * 1000) / 10):.1f} % or more give"
    if unit == "share":
        return f"± {ceil(margin * 1000) / 10:.1f} points" if margin < 1 else "± 100 points: it will say nothing"
    return f"± {_up(margin)}"


def _up(value: float) -> str:
    digits = 10.0 ** (2 - len(str(int(value)))) if value >= 1 else 100.0
    return f"{ceil(value * digits) / digits:g}"


@dataclass(frozen=True)
class Beside:
    """Standard deviations of one estimated share (of an answer that is rare) with `reports` respondents.

    `local_epsilon` is what each respondent's own report has in the shuffled survey.
    """

    reports: int
    central: float
    shuffle: float
    local: float
    local_epsilon: Fraction


def beside(*, categories: int, epsilon: Number, delta: Number, reports: Sequence[int]) -> list[Beside]:
    """The three errors for each number of respondents, all (ε, δ)-private for a respondent's answer (relation replace).

    Central: discrete Laplace noise on each count, whose guarantee is pure; an answer that changes moves two counts, or
    the only one of a yes-or-no question. Shuffle: direct response with the largest local epsilon that shuffling brings
    to (ε, δ). Local: direct response with ε itself.
    """
    budget = positive(epsilon, "epsilon", toward="decimal")
    central, rows = _laplace(budget / min(2, categories - 1)), []
    for asked in reports:
        n = whole(asked, "reports", least=2)
        own = local_epsilon(budget, delta, reports=n, categories=categories)
        local, hidden = (DirectResponse(epsilon=e, categories=categories) for e in (budget, own))
        rows.append(Beside(n, central / n, hidden.deviation(reports=n), local.deviation(reports=n), own))
    return rows


def _laplace(rate: Fraction) -> float:
    """Standard deviation of discrete Laplace noise of scale 1/rate."""
    step = float(rate)
    return sqrt(2 * exp(-step)) / -expm1(-step)
