"""A survey as somebody fills it in on a page: everything is text, much of it is still missing, some of it is wrong.

`toml` writes a draft as a survey file. What was typed becomes a number or a time where it is one, and else stays text,
for the survey itself to say what is wrong. Nothing that was typed can become syntax.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from pydantic import ConfigDict, Field

from tacit.policy.write import bare, quote
from tacit.server.declare_draft import NUMBER, Short, Strict, Words

__all__ = ["Count", "QuestionDraft", "SurveyDraft", "Trial", "toml", "typed_time"]

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
