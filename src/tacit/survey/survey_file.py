"""Read a survey from TOML, strictly: everything that is wrong with a file is said at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.base import PolicyError
from tacit.policy.declaration import keys, part_of, read_values, required
from tacit.policy.problem import instead, quoted, shown, within
from tacit.policy.toml import read_text, read_toml
from tacit.survey.question import Question
from tacit.survey.survey import Survey

__all__ = ["load", "parse"]


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
    raise PolicyError(*(f"{file}: {problem}" for problem in problems))


def _values(part: type, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The plain values to make a `part` with, and what is wrong with the others."""
    known = {item.name: item for item in keys(part)}
    problems = [
        f"there is no key {quoted(name)}: {instead(name, known, those='keys')}" for name in data if name not in known
    ]
    problems += [
        f"{item.name} is missing: add {item.name} = {item.metadata['example']}"
        for item in known.values()
        if required(item) and item.name not in data and not part_of(item)
    ]
    values, wrong = read_values(part, data)
    return values, problems + wrong


def _questions(data: Any) -> tuple[dict[str, Question], list[str]]:
    if not isinstance(data, dict):
        return {}, [f"questions = {shown(data)} must be written as [questions.NAME]"]
    found: dict[str, Question] = {}
    problems: list[str] = []
    for name, given in data.items():
        place = f"question {quoted(name)}"
        if not isinstance(given, dict):
            problems.append(f"{place}: must be written as [questions.{name}] with its keys below")
            continue
        values, wrong = _values(Question, given)
        if not wrong:
            try:
                found[name] = Question(**values)
            except PolicyError as error:
                wrong = list(error.problems)
        problems += within(place, wrong)
    return found, problems
