"""What `tacit check` would say of a draft, each problem at the field it is about."""

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.base import PolicyError, PrivacyWarning
from tacit.policy import Policy, blanks, notes, parse
from tacit.policy.analyst import Analyst
from tacit.policy.column import Column
from tacit.policy.dataset import Dataset
from tacit.policy.declaration import keys
from tacit.policy.privacy import Privacy
from tacit.policy.problem import quoted
from tacit.policy.table import Table
from tacit.server.declare import Found
from tacit.server.declare_draft import Draft, toml

__all__ = ["Checked", "Problem", "check", "placed", "promised"]

FILE = "policy"
Place = tuple[str, ...]


@dataclass(frozen=True)
class Problem:
    """What is wrong or missing, and where: ("tables", "visits", "columns", "age", "bounds")."""

    place: Place
    text: str

    def json(self) -> dict[str, Any]:
        return {"place": list(self.place), "text": self.text}


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A draft that was looked through; `policy` is there if nothing is wrong, blanks or no blanks."""

    text: str
    policy: Policy | None
    problems: tuple[Problem, ...]
    blanks: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    promise: Mapping[str, Any] | None = None

    def json(self) -> dict[str, Any]:
        return {
            "valid": self.policy is not None,
            "problems": [problem.json() for problem in self.problems],
            "blanks": [blank.json() for blank in self.blanks],
            "notes": list(self.notes),
            "promise": self.promise,
            "toml": self.text,
        }


def check(draft: Draft, found: Found, *, ledger: str, folder: Path) -> Checked:
    """Everything that is wrong with a draft of this source, at once."""
    text = toml(draft, engine=found.schema.engine, source=found.source, sources=found.sources, ledger=ledger)
    problems = [*_twice(draft), *_strange(draft, found)]
    policy = None
    try:
        if not problems:
            policy = _parsed(text, folder)
    except PolicyError as error:
        problems += [placed(problem.removeprefix(f"{FILE}: "), draft) for problem in error.problems]
    if policy is None:
        return Checked(text=text, policy=None, problems=tuple(problems), promise=_alone(draft, found, folder))
    open_ = [
        Problem(placed(f"{b.place}: {b.what}", draft).place, f"{b.what}: needed for {b.prevents}")
        for b in blanks(policy)
    ]
    told = tuple(notes(policy))
    return Checked(text=text, policy=policy, problems=(), blanks=tuple(open_), notes=told, promise=promised(policy))


def _alone(draft: Draft, found: Found, folder: Path) -> Mapping[str, Any] | None:
    """What the budget means, if that part of the draft is right, whatever else is not."""
    bare = draft.model_copy(update={"tables": [], "analysts": []})
    try:
        return promised(_parsed(toml(bare, engine=found.schema.engine, source=None, sources={}, ledger="x"), folder))
    except PolicyError:
        return None


def _parsed(text: str, folder: Path) -> Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # told among the notes
        return parse(text, file=FILE, folder=folder)


def _twice(draft: Draft) -> Iterable[Problem]:
    for what, names in (
        ("analysts", [analyst.name for analyst in draft.analysts]),
        ("tables", [table.name for table in draft.tables]),
    ):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield Problem((what, name), f"{quoted(name)} is there twice: keep one")
    for table in draft.tables:
        columns = [column.name for column in table.columns]
        for name in sorted({name for name in columns if columns.count(name) > 1}):
            yield Problem(("tables", table.name, "columns", name), f"{quoted(name)} is there twice: keep one")


def _strange(draft: Draft, found: Found) -> Iterable[Problem]:
    """Tables and columns that the source does not have, and bounds with one end."""
    for table in draft.tables:
        columns = found.schema.tables.get(table.name)
        if columns is None:
            yield Problem(("tables", table.name), f"there is no table {quoted(table.name)} in this source")
            continue
        if table.whose == "unit" and table.unit not in columns:
            yield Problem(("tables", table.name, "unit"), "choose the column that names the person")
        for column in table.columns:
            place: Place = ("tables", table.name, "columns", column.name)
            if column.name not in columns:
                yield Problem(place, f"there is no column {quoted(column.name)} in this table")
            if bool(column.low) != bool(column.high):
                yield Problem((*place, "bounds"), "bounds have two ends: fill in both, or none")


def placed(problem: str, draft: Draft) -> Problem:
    """A problem as the policy words it, with the place it names. Names are the draft's own, so nothing is guessed."""
    for section, part in (("dataset", Dataset), ("privacy", Privacy)):
        if problem.startswith(f"[{section}]: "):
            return _at((section,), problem.removeprefix(f"[{section}]: "), part)
    for table in draft.tables:
        start = f"table {quoted(table.name)}"
        for column in table.columns:
            inner = f"{start}, column {quoted(column.name)}: "
            if problem.startswith(inner):
                return _at(("tables", table.name, "columns", column.name), problem.removeprefix(inner), Column)
        if problem.startswith(f"{start}: "):
            return _at(("tables", table.name), problem.removeprefix(f"{start}: "), Table)
    for analyst in draft.analysts:
        start = f"analyst {quoted(analyst.name)}: "
        if problem.startswith(start):
            return _at(("analysts", analyst.name), problem.removeprefix(start), Analyst)
    found = re.match(r"\[(\w+)\]: ", problem)
    return Problem((found[1],), problem[found.end() :]) if found else Problem((), problem)


def _at(place: Place, text: str, part: type) -> Problem:
    word = re.match(r"\w+", text)
    known = word is not None and word[0] in {item.name for item in keys(part)}
    return Problem((*place, word[0]) if word is not None and known else place, text)


def promised(policy: Policy) -> Mapping[str, Any]:
    """What the whole budget means, spent."""
    privacy = policy.privacy
    found = privacy.promise.meaning(delta=privacy.delta)
    return {"epsilon": found.epsilon, "delta": found.delta, "sentence": found.sentence, "strength": found.strength}
