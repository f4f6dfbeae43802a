"""A survey: its questions, what they may give away of one respondent in all, when it is open; and its TOML file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tacit.base import InputError, PolicyError, Problem, cached_property
from tacit.policy.declaration import Declaration, key, listing, number
from tacit.policy.kind import Kind, choice, text, whole, yes
from tacit.policy.read import read_part, read_text, read_toml
from tacit.policy.reference import tabled
from tacit.survey.invitation import Invitations
from tacit.survey.protocol import Protocol
from tacit.survey.question import EPSILON, Question, QuestionKind, plain_name, protocol_for

__all__ = ["STARTER", "Survey", "as_markdown", "load", "parse"]

MOST_QUESTIONS = 100


def _moment(value: object) -> datetime:
    """A point in time, in UTC; a date is its first moment."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise InputError("must be a date or a time in UTC, without quotes, such as 2026-05-01 or 2026-05-01T08:00:00")


MOMENT = Kind("date or time in UTC", _moment)
NAME = Kind("text", plain_name)


@dataclass(frozen=True, kw_only=True)
class Survey(Declaration):
    """Everything that an owner declares about one survey. Made whole or not at all; `load` reads one from a file."""

    name: str = field(
        metadata=key(
            "Its short name, in addresses: small letters, digits, - and _. The store of reports knows it by this "
            "name for ever, so other questions need another one.",
            NAME,
            example='"sleep-2026"',
        )
    )
    title: str = field(metadata=key("What respondents see first.", text, example='"How do we sleep?"'))
    epsilon: Fraction = field(
        metadata=key(
            "How much all answers of one respondent may give away together. The questions' own add up to at most this.",
            EPSILON,
            example="2",
        )
    )
    words: str | None = field(
        default=None,
        metadata=key("Who asks, and what for.", text, example='"The sleep clinic asks, to plan its hours."'),
    )
    opens: datetime | None = field(
        default=None, metadata=key("No report is taken before.", MOMENT, example="2026-05-01")
    )
    closes: datetime | None = field(
        default=None, metadata=key("No report is taken from then on.", MOMENT, example="2026-06-01")
    )
    minimum: int = field(
        default=100,
        metadata=key(
            "Reports are added to the results in batches of at least so many.",
            whole,
            example="200",
        ),
    )
    public_results: bool = field(
        default=False,
        metadata=key("Whether anybody may see the results; else those who can sign in.", yes, example="true"),
    )
    invitations: Invitations = field(
        default=Invitations.NONE,
        metadata=key(
            "Who may answer. `none`: anybody, as often as they like. `code`: whoever has an invitation code that was "
            "not used. `token`: the same, and the device first exchanges its code for a token that cannot be traced "
            "back to it, so that a report does not name an invitation.",
            choice(Invitations),
            example='"code"',
        ),
    )
    questions: Mapping[str, Question] = field(
        default_factory=dict,
        metadata=listing("The questions by name, in their order.", Question, "question"),
    )
    file: str = field(default="", compare=False)  # how messages call it

    def contradictions(self) -> Iterator[Problem]:
        if not 1 <= len(self.questions) <= MOST_QUESTIONS:
            told = f"there must be 1 to {MOST_QUESTIONS} questions: write one as [questions.NAME]"
            yield Problem(("questions",), told, short="add at least one question")
        if self.opens is not None and self.closes is not None and self.opens >= self.closes:
            yield Problem(("closes",), "closes must be later than opens")
        own = [q.epsilon for q in self.questions.values() if q.epsilon is not None]
        total, open_ = sum(own, Fraction(0)), len(self.questions) - len(own)
        if total > self.epsilon:
            told = f"the questions' epsilon add up to {number(total)}, more than epsilon = {number(self.epsilon)}"
            yield Problem(("epsilon",), told)
        elif open_ and total == self.epsilon:
            nothing = "leaves nothing for the questions without an epsilon of their own"
            yield Problem(("epsilon",), f"epsilon = {number(self.epsilon)} {nothing}", short=nothing)

    @cached_property
    def spending(self) -> Mapping[str, Fraction]:
        """How much each question gives away at most; together at most `epsilon`."""
        own = [q.epsilon for q in self.questions.values() if q.epsilon is not None]
        rest = self.epsilon - sum(own, Fraction(0))
        even = rest / max(1, len(self.questions) - len(own))
        return MappingProxyType({n: even if q.epsilon is None else q.epsilon for n, q in self.questions.items()})

    @cached_property
    def protocols(self) -> Mapping[str, Protocol]:
        """How each question is answered."""
        made = {name: protocol_for(question, self.spending[name]) for name, question in self.questions.items()}
        return MappingProxyType(made)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many bytes the report on each question has."""
        return MappingProxyType({name: protocol.dtype.itemsize for name, protocol in self.protocols.items()})

    def is_open(self, now: datetime) -> bool:
        """Whether reports are taken at this time."""
        return (self.opens is None or self.opens <= now) and (self.closes is None or now < self.closes)

    def terms(self) -> dict[str, Any]:
        """What a device is told: all it needs to ask and to randomise, and nothing else, as JSON."""
        return {
            "survey": self.name,
            "title": self.title,
            "words": self.words,
            "epsilon": number(self.epsilon),
            "opens": None if self.opens is None else self.opens.isoformat(),
            "closes": None if self.closes is None else self.closes.isoformat(),
            "minimum": self.minimum,
            "public_results": self.public_results,
            "invitations": self.invitations.value,
            "version": self.version,
            "questions": [
                {
                    "name": name,
                    "ask": question.ask,
                    "kind": question.kind.value,
                    "options": list(question.options),
                    "range": _ends(question),
                    "show": question.show.value if question.kind is QuestionKind.NUMBER else None,
                    "epsilon": number(self.spending[name]),
                    **self.protocols[name].terms(),
                }
                for name, question in self.questions.items()
            ],
        }

    @cached_property
    def version(self) -> str:
        """A name for what reports mean. Other questions, options or ε have another: their reports never mix."""
        found = [
            [name, q.ask, q.kind.value, list(q.options), _ends(q), self.protocols[name].terms()]
            for name, q in self.questions.items()
        ]
        meant = json.dumps([self.name, found], sort_keys=True, separators=(",", ":"))
        return sha256(meant.encode()).hexdigest()[:32]


def _ends(question: Question) -> list[str] | None:
    return None if question.range is None else [number(end) for end in question.range]


def load(path: str | Path) -> Survey:
    """The survey in this file."""
    place = Path(path)
    text = read_text(place, what="survey", made_by="tacit survey new FILE", megabytes=4)
    return parse(text, file=place.name)


def parse(text: str, *, file: str = "survey.toml") -> Survey:
    """The survey in this text; `file` is how messages call it. Every problem is in the one `PolicyError`."""
    values, problems = read_part(Survey, read_toml(text, file))
    if not problems:
        try:
            survey = Survey(**values, file=file)
            _ = survey.protocols  # whether its ε suffices for them
            return survey
        except PolicyError as error:
            problems = list(error.problems)
    raise PolicyError(*(problem.of_file(file) for problem in problems))


STARTER = """\
# A survey whose answers are randomised on the respondents' own devices. Lines that begin with # are comments.
# Try it: `tacit survey plan FILE`, `tacit survey simulate FILE`, `tacit serve --survey FILE`.

name = "my-survey"          # in addresses; other questions later need another name
title = "What do you think?"
# words = "Who asks, and what for."
epsilon = 2                 # how much all answers of one respondent may give away together: smaller is more private
minimum = 100               # results are shown in batches of at least so many reports
# opens = 2026-05-01
# closes = 2026-06-01
# public_results = true     # else only those who can sign in see them
# invitations = "code"      # else anybody may answer, also many times: make codes with `tacit survey invite`

[questions.happy]
ask = "Are you happy with it?"
kind = "yes-no"
epsilon = 1                 # questions without an epsilon share what is left

[questions.best]
ask = "What is best about it?"
kind = "choice"
options = ["the price", "the colour", "the people", "I would rather not say"]

# [questions.uses]
# ask = "What do you use it for?"
# kind = "several"          # any number of the options
# options = ["work", "study", "play"]

# [questions.hours]
# ask = "For how many hours a week?"
# kind = "number"
# range = [0, 60]           # from common knowledge, never from answers
# show = "mean"             # or "distribution"

# [questions.word]
# ask = "Which word comes to mind?"
# kind = "text"             # only texts that many give are found
"""

HEADING = """\
# The survey file

Every key of a survey file, from the model that reads it. This page is written by `make docs` (`tacit survey new
--reference`). How to run one: [Run a survey](../how-to/run-a-survey.md).

Numbers are exact: `0.1` is a tenth, and `"1/3"` (in quotes) a third. Text is in quotes, dates are not. A key that is
not listed here is an error, and everything that is wrong with a file is said at once.
"""

SECTIONS: tuple[tuple[str, str, type], ...] = (
    ("At the top", "The survey, and what it promises to one respondent.", Survey),
    ("`[questions.NAME]`", "One question. Everybody answers every question, in this order.", Question),
)


def as_markdown() -> str:
    """The page docs/reference/survey-file.md."""
    return tabled(HEADING, SECTIONS)
