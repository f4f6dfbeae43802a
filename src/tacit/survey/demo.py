"""Made-up respondents: answers that nobody gave, randomised as devices do it, to try a survey before it begins."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.base import whole
from tacit.noise import Rng, rng_or_default, uniform
from tacit.survey.protocol import Array, Tally
from tacit.survey.question import Asked, Question, Shown
from tacit.survey.survey import Survey

__all__ = ["DEMO", "Simulation", "simulate"]

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
        if question.kind is Asked.NUMBER and question.show is Shown.MEAN:
            return {"mean": float(answers.mean())}
        if question.kind is Asked.NUMBER and question.range is not None:
            low, high = (float(end) for end in question.range)
            counts, edges = np.histogram(answers, question.bins, (low, high))
            return {f"{a:.4g} to {b:.4g}": c / answers.size for a, b, c in zip(edges, edges[1:], counts, strict=False)}
        if question.kind is Asked.SEVERAL:
            return {option: float((answers >> i & 1).mean()) for i, option in enumerate(question.options)}
        if question.kind is Asked.TEXT:
            return {str(text): float((answers == text).mean()) for text in np.unique(answers)}
        names = question.options or ("no", "yes")
        return {name: float((answers == i).mean()) for i, name in enumerate(names)}


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
        found: Array = low + (high - low) * np.clip(drawn * 0.9 + 0.1, 0, 1)
        return found
    if question.kind is Asked.SEVERAL:
        sets = np.zeros(count, dtype=np.int64)
        for place in range(len(question.options)):
            sets |= (uniform(GRAIN, count, rng) < GRAIN // (place + 2)).astype(np.int64) << place
        return sets
    texts = [text for text in TEXTS if len(text) <= question.longest]
    size = len(texts) if question.kind is Asked.TEXT else max(2, len(question.options))
    edges = np.cumsum(1 / np.arange(2, size + 2))
    places = np.searchsorted(edges / edges[-1] * GRAIN, uniform(GRAIN, count, rng), side="right")
    places = np.minimum(places, size - 1)
    return np.array(texts)[places] if question.kind is Asked.TEXT else places
