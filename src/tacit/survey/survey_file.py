"""Read a survey from TOML, strictly: everything that is wrong with a file is said at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.base import PolicyError, Problem
from tacit.policy.declaration import instead, keys, part_of, quoted, read_values, required, shown
from tacit.policy.read import read_text, read_toml
from tacit.policy.reference import tabled
from tacit.survey.question import Question
from tacit.survey.survey import Survey

__all__ = ["STARTER", "as_markdown", "load", "parse"]


def load(path: str | Path) -> Survey:
    """The survey in this file."""
    place = Path(path)
    text = read_text(place, what="survey", made_by="tacit survey new FILE", megabytes=4)
    return parse(text, file=place.name)


def parse(text: str, *, file: str = "survey.toml") -> Survey:
    """The survey in this text; `file` is how messages call it. Every problem is in the one `PolicyError`."""
    data = read_toml(text, file)
    values, problems = _values(Survey, data)
    found, wrong = _questions(data.get("questions", {}))
    problems += wrong
    if not problems:
        try:
            survey = Survey(**values, questions=found, file=file)
            _ = survey.protocols  # whether its ε suffices for them
            return survey
        except PolicyError as error:
            problems = list(error.problems)
    raise PolicyError(*(problem.of_file(file) for problem in problems))


def _values(part: type, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The plain values to make a `part` with, and what is wrong with the others."""
    known = {item.name: item for item in keys(part)}
    problems = [
        Problem((), f"there is no key {quoted(name)}: {instead(name, known, those='keys')}")
        for name in data
        if name not in known
    ]
    problems += [
        Problem(
            (item.name,), f"{item.name} is missing: add {item.name} = {item.metadata['example']}", short="is needed"
        )
        for item in known.values()
        if required(item) and item.name not in data and not part_of(item)
    ]
    values, wrong = read_values(part, data)
    return values, problems + wrong


def _questions(data: Any) -> tuple[dict[str, Question], list[Problem]]:
    if not isinstance(data, dict):
        return {}, [Problem(("questions",), f"questions = {shown(data)} must be written as [questions.NAME]")]
    found: dict[str, Question] = {}
    problems: list[Problem] = []
    for name, given in data.items():
        place = f"question {quoted(name)}"
        if not isinstance(given, dict):
            told = f"must be written as [questions.{name}] with its keys below"
            problems.append(Problem(("questions", name), told, place))
            continue
        values, wrong = _values(Question, given)
        if not wrong:
            try:
                found[name] = Question(**values)
            except PolicyError as error:
                wrong = list(error.problems)
        problems += [problem.within(place, "questions", name) for problem in wrong]
    return found, problems


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
