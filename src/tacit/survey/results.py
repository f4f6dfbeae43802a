"""What the reports of a survey say: estimates with their bars, and what a trusted collector would have had."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, log
from typing import Any

from tacit.base import InputError, Number
from tacit.policy.declaration import number
from tacit.survey.protocol import AnswerEstimate, Tally
from tacit.survey.question import Question
from tacit.survey.survey import Survey

__all__ = ["QuestionResult", "Results", "central_error", "meaning", "plain", "results_of"]


def central_error(question: Question, epsilon: Fraction, reports: int, confidence: float = 0.95) -> float:
    """Half the width of the bar if a trusted collector added Laplace noise to exact counts, for the same ε."""
    return question.moved * log(1 / (1 - confidence)) / (float(epsilon) * max(1, reports))


@dataclass(frozen=True, kw_only=True)
class QuestionResult:
    """What is known about one question. Without lines, there are too few reports yet."""

    name: str
    ask: str
    kind: str
    unit: str  # "share" for parts of all respondents, "number" for the answers' own unit
    epsilon: str
    protocol: str
    way: str  # what people call the protocol; programs know it by its kind
    reports: int
    lines: tuple[AnswerEstimate, ...]
    mean: AnswerEstimate | None  # beside a whole distribution
    central: float | None  # half a bar's width if a collector trusted with the answers had added the noise

    def json(self) -> dict[str, Any]:
        mean = None if self.mean is None else self.mean.json()
        found = {**vars(self), "lines": [line.json() for line in self.lines], "mean": mean}
        return {name: value for name, value in found.items() if name != "way"}


@dataclass(frozen=True, kw_only=True)
class Results:
    """All findings of a survey."""

    survey: Survey
    reports: int
    waiting: int
    confidence: float
    findings: tuple[QuestionResult, ...]

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
                row = [found.name, plain(line.answer), unit, *(repr(n) for n in numbers), found.reports]
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


def _finding(survey: Survey, name: str, tally: Tally, confidence: Number) -> QuestionResult:
    question, protocol = survey.questions[name], survey.protocols[name]
    try:
        lines = tuple(protocol.lines(tally, question.answers, confidence)) if tally.reports else ()
        mean = protocol.mean_line(tally, confidence) if tally.reports else None
    except InputError:
        lines, mean = (), None  # an option of several that chance has not picked yet
    return QuestionResult(
        name=name,
        ask=question.ask,
        kind=question.kind.value,
        unit=protocol.unit,
        epsilon=number(survey.spending[name]),
        protocol=protocol.kind,
        way=protocol.title,
        reports=tally.reports,
        lines=lines,
        mean=mean,
        central=central_error(question, protocol.epsilon, tally.reports, float(confidence)) if lines else None,
    )


def plain(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" else text
