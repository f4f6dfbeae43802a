"""What is wrong with a draft of a survey, each problem at the field it is about; and what to expect of it."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tacit.base import InputError, PolicyError
from tacit.policy.declaration import keys
from tacit.policy.problem import quoted, shown
from tacit.server.survey.draft import QuestionDraft, SurveyDraft, toml, typed_time
from tacit.survey.question import Question, plain_name
from tacit.survey.survey import Survey
from tacit.survey.survey_file import parse

__all__ = ["Checked", "Flaw", "check"]

FILE = "survey"
NEEDED = "is needed"
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Flaw:
    """What is wrong, and where: ("questions", 0, "options"). No place is the whole survey."""

    place: Place
    text: str

    def json(self) -> dict[str, Any]:
        return {"place": list(self.place), "text": self.text}


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A draft that was looked through. `survey` is there if nothing is wrong, and is what `text` says.

    `sketch` has something in the place of titles and names that are not there yet: enough for a forecast.
    """

    text: str
    survey: Survey | None
    sketch: Survey | None
    problems: tuple[Flaw, ...]


def check(draft: SurveyDraft) -> Checked:
    """Everything that is wrong with a draft by itself, at once."""
    problems = [*_blank(draft), *_untimely(draft)]
    filled = _filled(draft)
    text, sketch = toml(filled), None
    try:
        sketch = parse(text, file=FILE)
    except PolicyError as error:
        told = {problem.place for problem in problems}
        found = [_placed(problem.removeprefix(f"{FILE}: "), filled, text) for problem in error.problems]
        problems += [problem for problem in found if problem.place not in told]
    return Checked(text=toml(draft), survey=None if problems else sketch, sketch=sketch, problems=tuple(problems))


def _blank(draft: SurveyDraft) -> Iterator[Flaw]:
    for key in ("title", "name", "epsilon"):
        if not getattr(draft, key):
            yield Flaw((key,), NEEDED)
    if not draft.questions:
        yield Flaw(("questions",), "add at least one question")
    for at, question in enumerate(draft.questions):
        if not question.ask:
            yield Flaw(("questions", at, "ask"), NEEDED)
        if (wrong := _misnamed(draft, at)) is not None:
            yield Flaw(("questions", at, "name"), wrong)


def _misnamed(draft: SurveyDraft, at: int) -> str | None:
    name = draft.questions[at].name
    try:
        plain_name(name)
    except InputError as error:
        return str(error) if name else NEEDED
    before = [question.name for question in draft.questions[:at]]
    return f"question {before.index(name) + 1} is called so: choose another" if name in before else None


def _untimely(draft: SurveyDraft) -> Iterator[Flaw]:
    for key in ("opens", "closes"):
        text = getattr(draft, key)
        if text and typed_time(text) is None:
            yield Flaw((key,), "must be a date or a time in UTC, such as 2026-05-01 or 2026-05-01T08:00")


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


def _placed(problem: str, draft: SurveyDraft, text: str) -> Flaw:
    """A problem as the survey words it, with the place it names. Names are the draft's own, so nothing is guessed."""
    data = _data(text)
    for at, question in enumerate(draft.questions):
        start = f"question {quoted(question.name)}: "
        if problem.startswith(start):
            given = data.get("questions", {}).get(question.name, {})
            return _at(("questions", at), problem.removeprefix(start), Question, given)
    if problem.startswith("there must be"):
        return Flaw(("questions",), "add at least one question")
    if problem.startswith("the questions' epsilon"):
        return Flaw(("epsilon",), problem)
    return _at((), problem, Survey, data)


def _at(place: Place, text: str, part: type, given: dict[str, Any]) -> Flaw:
    word = re.match(r"\w+", text)
    if word is None or word[0] not in {item.name for item in keys(part)}:
        return Flaw(place, text)
    name = word[0]
    if text.startswith(f"{name} is missing: "):
        return Flaw((*place, name), NEEDED)
    return Flaw((*place, name), text.removeprefix(f"{name} = {shown(given.get(name))} "))


def _data(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return {}
