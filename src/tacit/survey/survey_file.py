"""Read a survey from TOML, strictly: everything that is wrong with a file is said at once."""

import tomllib
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from tacit.base import PolicyError
from tacit.policy.declaration import keys, part_of, read_values, required
from tacit.policy.problem import instead, quoted, shown, within
from tacit.survey.question import Question
from tacit.survey.survey import Survey

__all__ = ["load", "parse"]

LARGEST = 4 * 1024 * 1024


def load(path: str | Path) -> Survey:
    """The survey in this file."""
    place = Path(path)
    try:
        if place.stat().st_size > LARGEST:
            raise PolicyError(f"{place.name}: is larger than 4 MB: this is not a survey")
        text = place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"{place.name}: there is no such file: write one with `tacit survey new FILE`") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{place.name}: is not UTF-8 text: save it as UTF-8") from None
    except OSError as error:
        raise PolicyError(f"{place.name}: cannot be read: {error.strerror}") from None
    return parse(text, file=place.name)


def parse(text: str, *, file: str = "survey.toml") -> Survey:
    """The survey in this text; `file` is how messages call it. Every problem is in the one `PolicyError`."""
    try:
        data = tomllib.loads(text, parse_float=_decimal)
    except RecursionError:
        raise PolicyError(f"{file}: is nested too deeply") from None
    except ValueError as error:
        raise PolicyError(f"{file}: is not valid TOML: {error}. Text needs quotes, lists need [ ]") from None
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


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("a number is out of range") from None


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
