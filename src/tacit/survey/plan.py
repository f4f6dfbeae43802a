"""Before a survey begins: how well it will be answered, how many answers it takes, and made-up answers to try it.

A forecast is half the width of the bar that the results will show, for the share with the widest bar. It holds the
chance of who answers as well as the noise, and rests on nothing but the survey file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, sqrt
from typing import Any

import numpy as np

from tacit.base import InputError, Number, between, positive, whole
from tacit.noise import Rng, rng_or_default, uniform
from tacit.policy.declaration import number
from tacit.survey.direct import DirectResponse
from tacit.survey.protocol import Array, Tally
from tacit.survey.question import NumberSummary, Question, QuestionKind
from tacit.survey.results import central_error
from tacit.survey.shuffle import local_epsilon
from tacit.survey.survey import Survey

__all__ = ["DEMO", "Beside", "Forecast", "Simulation", "SurveyPlan", "beside", "plan", "simulate", "spelled"]


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

    def forecast(name: str, question: Question) -> Forecast:
        protocol = survey.protocols[name]
        alone = protocol.margin(answers=1, confidence=level)
        return Forecast(
            name=name,
            ask=question.ask,
            epsilon=number(survey.spending[name]),
            protocol=protocol.kind,
            report_bytes=protocol.dtype.itemsize,
            unit=protocol.margin_unit,
            margin=protocol.margin(answers=count, confidence=level),
            central=central_error(question, protocol.epsilon, count, float(level)),
            needed=None if wanted is None else ceil((alone / (float(wanted) * protocol.scale)) ** 2),
        )

    forecasts = tuple(forecast(name, question) for name, question in survey.questions.items())
    return SurveyPlan(survey=survey, answers=count, confidence=float(level), forecasts=forecasts)


def spelled(margin: float, unit: str) -> str:
    """± so many points, or so much, rounded up."""
    if unit == "text":
        return f"finds texts that {min(100.0, ceil(margin * 1000) / 10):.1f} % or more give"
    if unit == "share":
        return f"± {ceil(margin * 1000) / 10:.1f} points" if margin < 1 else "± 100 points: it will say nothing"
    digits = 10.0 ** (2 - len(str(int(margin)))) if margin >= 1 else 100.0
    return f"± {ceil(margin * digits) / digits:g}"


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
    rate, rows = float(budget / min(2, categories - 1)), []
    central = sqrt(2 * exp(-rate)) / -expm1(-rate)  # standard deviation of discrete Laplace noise of scale 1/rate
    for asked in reports:
        n = whole(asked, "reports", least=2)
        own = local_epsilon(budget, delta, reports=n, categories=categories)
        local, hidden = (DirectResponse(epsilon=e, categories=categories) for e in (budget, own))
        rows.append(Beside(n, central / n, hidden.deviation(reports=n), local.deviation(reports=n), own))
    return rows


GRAIN = 1 << 16
TEXTS = ("tea", "milk", "pills", "music", "a walk", "wine", "books", "nothing")

DEMO = """\
name = "sleep"
title = "How do we sleep?"
words = "A made-up sleep clinic asks, to plan its hours. Nobody here is real but you."
epsilon = 2
minimum = 200
public_results = true

[questions.slept]
ask = "Did you sleep well last night?"
kind = "yes-no"
epsilon = 0.5

[questions.wakes]
ask = "What wakes you most?"
kind = "choice"
options = ["nothing", "noise", "light", "worries", "a child", "I would rather not say"]
epsilon = 0.5

[questions.takes]
ask = "What do you take to sleep?"
kind = "several"
options = ["tea", "milk", "pills", "wine"]
epsilon = 0.5

[questions.hours]
ask = "For how many hours did you sleep?"
kind = "number"
range = [0, 12]
epsilon = 0.5
"""


@dataclass(frozen=True)
class Simulation:
    """What made-up respondents answered, as the protocols compute with it, and their reports."""

    survey: Survey
    answers: Mapping[str, Array]
    reports: Mapping[str, Array]

    def tallies(self) -> dict[str, Tally]:
        return {name: protocol.tally(self.reports[name]) for name, protocol in self.survey.protocols.items()}

    def truth(self, name: str) -> dict[str, float]:
        """What was really answered: the share of each answer, or the mean. Only of made-up people can it be known."""
        question, answers = self.survey.questions[name], self.answers[name]
        if question.kind is QuestionKind.NUMBER and question.show is NumberSummary.MEAN:
            return {"mean": float(answers.mean())}
        if question.kind is QuestionKind.NUMBER and question.range is not None:
            low, high = (float(end) for end in question.range)
            counts, edges = np.histogram(answers, question.bins, (low, high))
            return {f"{a:.4g} to {b:.4g}": c / answers.size for a, b, c in zip(edges, edges[1:], counts, strict=False)}
        if question.kind is QuestionKind.SEVERAL:
            return {option: float((answers >> i & 1).mean()) for i, option in enumerate(question.options)}
        if question.kind is QuestionKind.TEXT:
            return {str(text): float((answers == text).mean()) for text in np.unique(answers)}
        return {name: float((answers == i).mean()) for i, name in enumerate(question.answers)}


def simulate(survey: Survey, *, answers: int) -> Simulation:
    """So many made-up respondents. Earlier options are more frequent, and numbers gather a little above the middle."""
    count, source = whole(answers, "answers", least=1), rng_or_default(None)
    made = {name: _answers(question, count, source) for name, question in survey.questions.items()}
    reports = {name: survey.protocols[name].sample(values, source) for name, values in made.items()}
    return Simulation(survey, made, reports)


def _answers(question: Question, count: int, rng: Rng) -> Array:
    if question.range is not None:
        low, high = (float(end) for end in question.range)
        drawn = sum(uniform(GRAIN, count, rng).astype(np.float64) for _ in range(4)) / (4 * (GRAIN - 1))
        return low + (high - low) * np.clip(drawn * 0.9 + 0.1, 0, 1)
    if question.kind is QuestionKind.SEVERAL:
        sets = np.zeros(count, dtype=np.int64)
        for place in range(len(question.options)):
            sets |= (uniform(GRAIN, count, rng) < GRAIN // (place + 2)).astype(np.int64) << place
        return sets
    texts = [text for text in TEXTS if len(text) <= question.longest]
    size = len(texts) if question.kind is QuestionKind.TEXT else max(2, len(question.options))
    edges = np.cumsum(1 / np.arange(2, size + 2))
    places = np.searchsorted(edges / edges[-1] * GRAIN, uniform(GRAIN, count, rng), side="right")
    places = np.minimum(places, size - 1)
    return np.array(texts)[places] if question.kind is QuestionKind.TEXT else places
