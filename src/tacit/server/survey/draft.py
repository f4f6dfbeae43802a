"""A survey as somebody fills it in on a page: everything is text, much of it is still missing, some of it is wrong.
Once nothing is, its file is written whole or not at all, and it is served from then on.

`toml` writes a draft as a survey file. What was typed becomes a number or a time where it is one, and else stays text,
for the survey itself to say what is wrong. Nothing that was typed can become syntax.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from pydantic import Field

from tacit.base import InputError, PolicyError, Problem
from tacit.policy.kind import number, whole
from tacit.policy.write import bare, quote
from tacit.server.auth.people import Identity
from tacit.server.curate.draft import Short, Strict, Words, quoted_lines, typed_lines, typed_number
from tacit.server.curate.edit import create, locked, trial
from tacit.server.ops.log import event
from tacit.server.problem import HttpProblem
from tacit.server.survey.surveys import Surveys
from tacit.survey.plan import plan
from tacit.survey.question import plain_name
from tacit.survey.results import meaning
from tacit.survey.survey import Survey, parse

__all__ = ["Count", "SurveyDraft", "Trial", "checked", "forecast", "save"]

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


class SurveyDraft(Strict, json_schema_extra={"examples": [EXAMPLE]}):
    """A whole survey."""

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


class Trial(Strict, json_schema_extra={"examples": [{"survey": EXAMPLE, "answers": "5000", "within": "2"}]}):
    """A draft, and what to expect of it is asked for."""

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
    lines = ["# Made in the console.", "", *quoted_lines(draft, "name", "title", "words")]
    lines += typed_lines(draft, "epsilon", "minimum")
    for key in ("opens", "closes"):
        if text := getattr(draft, key):
            moment = typed_time(text)
            lines.append(f"{key} = {quote(text) if moment is None else moment.isoformat()}")
    lines += ["public_results = true"] if draft.public_results else []
    lines += quoted_lines(draft, "invitations")
    for question in draft.questions:
        lines += ["", f"[questions.{bare(question.name)}]", f"ask = {quote(question.ask)}"]
        lines.append(f"kind = {quote(question.kind)}")
        if question.options:
            lines.append(f"options = [{', '.join(map(quote, question.options))}]")
        if question.low or question.high:
            ends = (typed_number(end) for end in (question.low, question.high) if end)
            lines.append(f"range = [{', '.join(ends)}]")
        lines += [*quoted_lines(question, "show"), *typed_lines(question, "bins", "longest", "epsilon")]
    return "\n".join(lines) + "\n"


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
    problems, filled, sketch = list(_blank(draft)), _filled(draft), None
    try:
        sketch = parse(toml(filled))
    except PolicyError as error:
        told = {problem.path for problem in problems}
        found = [_numbered(problem, filled) for problem in error.problems]
        problems += [problem for problem in found if problem.path not in told]
    return CheckedSurvey(text=toml(draft), survey=None if problems else sketch, sketch=sketch, problems=tuple(problems))


def _blank(draft: SurveyDraft) -> Iterator[Problem]:
    for key in ("title", "name", "epsilon"):
        if not getattr(draft, key):
            yield Problem((key,), NEEDED)
    for key in ("opens", "closes"):
        text = getattr(draft, key)
        if text and typed_time(text) is None:
            yield Problem((key,), "must be a date or a time in UTC, such as 2026-05-01 or 2026-05-01T08:00")
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


TAKEN = "a survey has or had this name, and its reports do not mix with these: choose another"


def checked(surveys: Surveys, draft: SurveyDraft) -> CheckedSurvey:
    """Everything that is wrong with a draft, alone and beside the surveys that there are."""
    found = check(draft)
    more: list[Problem] = []
    if draft.name in surveys.every():
        more.append(Problem(("name",), TAKEN))
    if found.sketch is not None:
        try:
            surveys.fits(found.sketch)
        except PolicyError as error:
            more.append(Problem(("questions",), str(error)))
    if found.survey is not None and not more:
        before = surveys.store.entered(found.survey.name)
        more += [Problem(("name",), TAKEN)] if before not in (None, found.survey.version) else []
    return replace(found, survey=None, problems=(*found.problems, *more)) if more else found


def save(surveys: Surveys, who: Identity, draft: SurveyDraft) -> str:
    """Write the file and serve the survey; its name. It works, or nothing is left behind."""
    folder = surveys.folder
    assert folder is not None, "a service has a folder for surveys"
    with locked(folder):
        found = checked(surveys, draft)  # now that nobody else can take the name
        if found.survey is None:
            told = "; ".join(_named(each) for each in found.problems[:5])
            raise HttpProblem(422, "draft", "The draft is not complete", told)
        path = folder / f"{found.survey.name}.toml"
        with trial(folder, found.text) as tried:
            create(tried, path)
        try:
            surveys.add(path)
        except BaseException:
            path.unlink()
            raise
    event("survey saved", who=who.name, survey=found.survey.name)
    return found.survey.name


def _named(found: Problem) -> str:
    """A problem with its place before it, for whoever has no form to look at."""
    place = " ".join(str(step + 1) if isinstance(step, int) else step for step in found.path)
    return f"{place}: {found.text}" if place else found.text


MOST = 10**12
POINTS = number(above=0, below=100)
FORMS = {"share": "± {} points", "number": "± {} % of the range", "text": "texts that {} % give"}


def forecast(survey: Survey, asked: Trial) -> tuple[dict[str, Any], list[Problem]]:
    """The plan of a survey as JSON, and what is wrong with how it was asked for. Nothing is told without answers."""
    problems, read = [], dict[str, Any]()
    for name, kind in (("answers", whole), ("within", POINTS)):
        try:
            read[name] = kind.read(text) if (text := getattr(asked, name)) else None
        except InputError as error:
            problems.append(Problem((name,), str(error)))
    within, answers = read.get("within"), read.get("answers")
    answers = None if answers is None else min(answers, MOST)
    told: dict[str, Any] = {"meaning": meaning(float(survey.epsilon)), "answers": answers, "questions": []}
    if answers is None:
        return told, problems
    try:
        found = plan(survey, answers=answers, within=None if within is None else within / 100)
    except (InputError, ArithmeticError):  # bars too wide for a number
        return told, [*problems, Problem(("epsilon",), "is too small: the answers would say nothing")]
    count = f"With {answers:,} answer{'' if answers == 1 else 's'}"
    for each in found.forecasts:
        expected, needed = f"{count} {'it' if each.unit == 'text' else 'expect'} {each.shown}", None
        if within is not None and each.needed is not None:
            goal = FORMS[each.unit].format(f"{float(within):g}")
            needed = f"For {goal} it takes {max(1, each.needed):,} answers"
        question = {"name": each.name, "epsilon": each.epsilon, "expected": expected, "needed": needed}
        told["questions"].append(question)
    return told, problems
