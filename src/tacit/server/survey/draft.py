"""A survey as somebody fills it in on a page: everything is text, much of it is still missing, some of it is wrong.

`toml` writes a draft as a survey file. What was typed becomes a number or a time where it is one, and else stays text,
for the survey itself to say what is wrong. Nothing that was typed can become syntax.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

from pydantic import ConfigDict, Field

from tacit.base import InputError, PolicyError, Problem
from tacit.policy.kind import number, whole
from tacit.policy.write import bare, quote
from tacit.server.curate.draft import NUMBER, Short, Strict, Words
from tacit.survey.plan import Forecast, plan
from tacit.survey.question import plain_name
from tacit.survey.results import meaning
from tacit.survey.survey import Survey
from tacit.survey.survey_file import parse

__all__ = [
    "CheckedSurvey",
    "Count",
    "QuestionDraft",
    "SurveyDraft",
    "Trial",
    "check",
    "forecast",
    "toml",
    "typed_time",
]

MOST_QUESTIONS, MOST_OPTIONS = 100, 5000


class QuestionDraft(Strict):
    """One question. What is empty is left out of the file."""

    name: Short = ""
    ask: Words = ""
    kind: Short = ""
    options: list[Words] = Field(default=[], max_length=MOST_OPTIONS)
    low: Short = ""
    high: Short = ""
    show: Short = ""
    bins: Short = ""
    longest: Short = ""
    epsilon: Short = ""


EXAMPLE: dict[str, Any] = {
    "title": "How do we sleep?",
    "name": "sleep",
    "epsilon": "2",
    "minimum": "100",
    "questions": [
        {"name": "slept", "ask": "Did you sleep well last night?", "kind": "yes-no", "epsilon": "1"},
        {"name": "hours", "ask": "For how many hours?", "kind": "number", "low": "0", "high": "12"},
    ],
}


class SurveyDraft(Strict):
    """A whole survey."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})
    title: Words = ""
    name: Short = ""
    words: Words = ""
    epsilon: Short = ""
    opens: Short = Field(default="", description="A date, or a time in UTC: 2026-05-01T08:00.")
    closes: Short = ""
    minimum: Short = ""
    public_results: bool = False
    invitations: Short = Field(default="", description="none, code or token.")
    questions: list[QuestionDraft] = Field(default=[], max_length=MOST_QUESTIONS)


class Count(Strict):
    """How many are wanted."""

    count: int = Field(examples=[200])


class Trial(Strict):
    """A draft, and what to expect of it is asked for."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"survey": EXAMPLE, "answers": "5000", "within": "2"}]}
    )
    survey: SurveyDraft
    answers: Short = Field(default="", description="How many answers to forecast for.")
    within: Short = Field(default="", description="Points; how many answers it takes for that margin is told.")


def typed_time(text: str) -> date | datetime | None:
    """A date, or a time without a zone that is UTC; None if it is neither."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def toml(draft: SurveyDraft) -> str:
    """The survey file of a draft."""
    lines = ["# Made in the console.", ""]
    lines += [f"{key} = {quote(text)}" for key in ("name", "title", "words") if (text := getattr(draft, key))]
    for key in ("epsilon", "minimum"):
        lines += _typed(key, getattr(draft, key))
    for key in ("opens", "closes"):
        if text := getattr(draft, key):
            moment = typed_time(text)
            lines.append(f"{key} = {quote(text) if moment is None else moment.isoformat()}")
    lines += ["public_results = true"] if draft.public_results else []
    lines += [f"invitations = {quote(draft.invitations)}"] if draft.invitations else []
    for question in draft.questions:
        lines += ["", f"[questions.{bare(question.name)}]", *_question(question)]
    return "\n".join(lines) + "\n"


def _question(question: QuestionDraft) -> Iterator[str]:
    yield f"ask = {quote(question.ask)}"
    yield f"kind = {quote(question.kind)}"
    if question.options:
        yield f"options = [{', '.join(map(quote, question.options))}]"
    if question.low or question.high:
        yield f"range = [{', '.join(_number(end) for end in (question.low, question.high) if end)}]"
    if question.show:
        yield f"show = {quote(question.show)}"
    for key in ("bins", "longest", "epsilon"):
        yield from _typed(key, getattr(question, key))


def _typed(key: str, text: str) -> list[str]:
    """A line for what was typed, if anything was: a number where it is one."""
    return [f"{key} = {_number(text)}"] if text else []


def _number(text: str) -> str:
    return text if NUMBER.fullmatch(text) else quote(text)


NEEDED = "is needed"


@dataclass(frozen=True, kw_only=True)
class CheckedSurvey:
    """A draft that was looked through. `survey` is there if nothing is wrong, and is what `text` says.

    `sketch` has something in the place of titles and names that are not there yet: enough for a forecast.
    """

    text: str
    survey: Survey | None
    sketch: Survey | None
    problems: tuple[Problem, ...]


def check(draft: SurveyDraft) -> CheckedSurvey:
    """Everything that is wrong with a draft by itself, at once."""
    problems = [*_blank(draft), *_untimely(draft)]
    filled = _filled(draft)
    text, sketch = toml(filled), None
    try:
        sketch = parse(text)
    except PolicyError as error:
        told = {problem.path for problem in problems}
        found = [_numbered(problem, filled) for problem in error.problems]
        problems += [problem for problem in found if problem.path not in told]
    return CheckedSurvey(text=toml(draft), survey=None if problems else sketch, sketch=sketch, problems=tuple(problems))


def _blank(draft: SurveyDraft) -> Iterator[Problem]:
    for key in ("title", "name", "epsilon"):
        if not getattr(draft, key):
            yield Problem((key,), NEEDED)
    if not draft.questions:
        yield Problem(("questions",), "add at least one question")
    for at, question in enumerate(draft.questions):
        if not question.ask:
            yield Problem(("questions", at, "ask"), NEEDED)
        if (wrong := _misnamed(draft, at)) is not None:
            yield Problem(("questions", at, "name"), wrong)


def _misnamed(draft: SurveyDraft, at: int) -> str | None:
    name = draft.questions[at].name
    try:
        plain_name(name)
    except InputError as error:
        return str(error) if name else NEEDED
    before = [question.name for question in draft.questions[:at]]
    return f"question {before.index(name) + 1} is called so: choose another" if name in before else None


def _untimely(draft: SurveyDraft) -> Iterator[Problem]:
    for key in ("opens", "closes"):
        text = getattr(draft, key)
        if text and typed_time(text) is None:
            yield Problem((key,), "must be a date or a time in UTC, such as 2026-05-01 or 2026-05-01T08:00")


def _filled(draft: SurveyDraft) -> SurveyDraft:
    """The draft with a stand-in wherever a text is not there yet and a name cannot be used, and without bad times."""
    names = {question.name for question in draft.questions}
    spare = (name for n in range(2 * len(draft.questions) + 1) if (name := f"unnamed-{n}") not in names)

    def whole(at: int, question: QuestionDraft) -> QuestionDraft:
        name = question.name if _misnamed(draft, at) is None else next(spare)
        return question.model_copy(update={"name": name, "ask": question.ask or "?"})

    questions = [whole(at, question) for at, question in enumerate(draft.questions)]
    times = {key: "" for key in ("opens", "closes") if typed_time(getattr(draft, key)) is None}
    texts = {"title": draft.title or "?", "name": draft.name or "unnamed"}
    return draft.model_copy(update={**texts, **times, "questions": questions})


def _numbered(problem: Problem, draft: SurveyDraft) -> Problem:
    """A problem of the survey's file at its field, where a question goes by its number."""
    path = problem.path
    if len(path) > 1 and path[0] == "questions":
        names = [question.name for question in draft.questions]
        path = ("questions", names.index(str(path[1])), *path[2:])
    return Problem(path, problem.short or problem.text)


MOST = 10**12
POINTS = number(above=0, below=100)
FORMS = {"share": "± {} points", "number": "± {} % of the range", "text": "texts that {} % give"}


def forecast(survey: Survey, asked: Trial) -> tuple[dict[str, Any], list[Problem]]:
    """The plan of a survey as JSON, and what is wrong with how it was asked for. Nothing is told without answers."""
    problems = []
    answers, within = None, None
    try:
        answers = None if not asked.answers else min(whole.read(asked.answers), MOST)
    except InputError as error:
        problems.append(Problem(("answers",), str(error)))
    try:
        within = None if not asked.within else POINTS.read(asked.within)
    except InputError as error:
        problems.append(Problem(("within",), str(error)))
    told: dict[str, Any] = {"meaning": meaning(float(survey.epsilon)), "answers": answers, "questions": []}
    if answers is None:
        return told, problems
    try:
        found = plan(survey, answers=answers, within=None if within is None else within / 100)
    except (InputError, ArithmeticError):  # bars too wide for a number
        return told, [*problems, Problem(("epsilon",), "is too small: the answers would say nothing")]
    told["questions"] = [_told(each, answers, within) for each in found.forecasts]
    return told, problems


def _told(found: Forecast, answers: int, within: Fraction | None) -> dict[str, Any]:
    expected = f"it {found.shown}" if found.unit == "text" else f"expect {found.shown}"
    told = {
        "name": found.name,
        "epsilon": found.epsilon,
        "expected": f"With {answers:,} answer{'' if answers == 1 else 's'} {expected}",
        "needed": None,
    }
    if within is not None and found.needed is not None:
        goal = FORMS[found.unit].format(f"{float(within):g}")
        told["needed"] = f"For {goal} it takes {max(1, found.needed):,} answers"
    return told
