"""The planner: before a survey begins, how well it will be answered, and how many answers it takes.

A forecast is half the width of the bar that the results will show, for the share with the widest bar. It holds the
chance of who answers as well as the noise, and rests on nothing but the survey file.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, sqrt
from typing import Any

from tacit.base import InputError, Number, between, positive, whole
from tacit.policy.declaration import number
from tacit.survey.direct import DirectResponse
from tacit.survey.results import central_error
from tacit.survey.shuffle import local_epsilon
from tacit.survey.survey import Survey

__all__ = ["Beside", "Forecast", "SurveyPlan", "beside", "plan", "spelled"]


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
class SurveyPlan:
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


def plan(survey: Survey, *, answers: int, within: Number | None = None, confidence: Number = 0.95) -> SurveyPlan:
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
        alone = protocol.margin(answers=1, confidence=level)
        needed = None if wanted is None else ceil((alone / (float(wanted) * protocol.scale)) ** 2)
        forecasts.append(
            Forecast(
                name=name,
                ask=question.ask,
                epsilon=number(survey.spending[name]),
                protocol=protocol.kind,
                report_bytes=protocol.dtype.itemsize,
                unit=protocol.margin_unit,
                margin=protocol.margin(answers=count, confidence=level),
                central=central_error(question, protocol.epsilon, count, float(level)),
                needed=needed,
            )
        )
    return SurveyPlan(survey=survey, answers=count, confidence=float(level), forecasts=tuple(forecasts))


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
