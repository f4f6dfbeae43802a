"""Changes of a policy file that keep its comments: who may ask, and how much.

The file is changed as text and read again; what it then says must be exactly what was wanted, else nothing is written.
So a file that is laid out in a way the editor does not understand is left alone and not damaged.
"""

import fcntl
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tacit.base import InputError, PolicyError, PrivacyWarning
from tacit.policy import Policy, parse
from tacit.policy.declaration import number, quoted
from tacit.policy.privacy import ANYBODY, Analyst, name_of
from tacit.server.auth.tokens import short_name
from tacit.server.problem import HttpProblem

__all__ = [
    "Edit",
    "changes",
    "create",
    "edited",
    "file_name",
    "limits",
    "locked",
    "replace_text",
    "trial",
    "with_analyst",
    "without_analyst",
]


@dataclass(frozen=True)
class Edit:
    """A policy as it shall be, and what to do to its text."""

    policy: Policy
    alter: Callable[[Any], None]


def with_analyst(policy: Policy, name: str, given: Mapping[str, Any]) -> Edit:
    """Let somebody ask, or change what they may. `given` has limit, each and tables; None takes the line out.

    What `given` does not name stays as it is. Somebody who came in as anybody ("*") keeps what bound them as that.
    """
    plain = _name(name)
    before = policy.analysts.get(plain)
    if before is None:
        before = policy.analysts.get(ANYBODY, Analyst())
    wanted = replace(before, **given)

    def alter(document: Any) -> None:
        people = document.setdefault("analysts", tomlkit.table(is_super_table=True))
        written = given
        if plain not in people:
            people[plain] = tomlkit.table()
            written = {key: getattr(wanted, key) or None for key in ("limit", "each", "slack", "groups")}
            written["tables"] = wanted.tables  # none of them is another thing than no list
        for key, value in written.items():
            if value is None:
                people[plain].pop(key, None)
            else:
                people[plain][key] = _item(value)

    return Edit(replace(policy, analysts={**policy.analysts, plain: wanted}), alter)


def without_analyst(policy: Policy, name: str) -> Edit:
    """Let somebody ask no more. What they spent stays in the ledger."""
    plain = _name(name)
    if plain not in policy.analysts:
        raise HttpProblem(404, "no-analyst", "Nobody of this name", f"{quoted(name)} is not named in the policy")

    def alter(document: Any) -> None:
        del document["analysts"][plain]

    return Edit(replace(policy, analysts={k: v for k, v in policy.analysts.items() if k != plain}), alter)


def limits(policy: Policy, given: Mapping[str, Any]) -> Edit:
    """Change what everybody together may spend: budget, each, lifetime."""
    if given.get("budget", True) is None:
        raise InputError("a dataset has a budget: say how much")

    def alter(document: Any) -> None:
        for key, value in given.items():
            if value is None:
                document["privacy"].pop(key, None)
            else:
                document["privacy"][key] = _item(value)

    return Edit(replace(policy, privacy=replace(policy.privacy, **given)), alter)


def edited(text: str, edit: Edit, path: Path) -> str:
    """The file's text after an edit: it says exactly what was wanted."""
    try:
        document = tomlkit.parse(text)
        edit.alter(document)
        found = tomlkit.dumps(document)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # told where the policy is checked
            same = parse(found, file=path.name, folder=path.parent) == edit.policy
    except (TOMLKitError, PolicyError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        same, found = False, ""
    if not same:
        raise HttpProblem(
            409,
            "by-hand",
            "This file is changed by hand",
            f"{path.name} is written in a way that is not safe to change from here: edit it, then `tacit ledger apply`",
        )
    return found


def changes(old: Policy, new: Policy) -> list[str]:
    """What differs, in words."""
    found = []
    for name in sorted({*old.analysts, *new.analysts}):
        before, after = old.analysts.get(name), new.analysts.get(name)
        if before == after:
            continue
        if after is None:
            found.append(f"{name} may ask no more")
        elif before is None:
            found.append(f"{name} may ask: {_spelled(after)}")
        else:
            found.append(f"{name}: {_spelled(before)} → {_spelled(after)}")
    for word in ("budget", "each", "lifetime"):
        was, is_ = getattr(old.privacy, word), getattr(new.privacy, word)
        if was != is_:
            found.append(f"{word}: {_amount(was)} → {_amount(is_)} {new.privacy.currency.value}")
    return found


def _spelled(analyst: Analyst) -> str:
    parts = ["up to the dataset's budget" if analyst.limit is None else f"at most {number(analyst.limit)}"]
    parts += [] if analyst.each is None else [f"{number(analyst.each)} for one question"]
    parts += [] if analyst.tables is None else [f"tables {', '.join(analyst.tables) or 'none'}"]
    return ", ".join(parts)


def _amount(value: Fraction | None) -> str:
    return "none" if value is None else number(value)


def _item(value: Any) -> Any:
    """A number as it is written in a policy, or a list of names."""
    if isinstance(value, Fraction):
        text = number(value)
        return text if "/" in text else tomlkit.value(text)
    return list(value)


def _name(name: str) -> str:
    try:
        return name_of(name)
    except InputError as error:
        raise InputError(f"the analyst's name {error}") from None


def file_name(dataset: str) -> str:
    """The file of a dataset: its name where that is plain, else a hash of it."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", dataset)
    return f"{dataset if plain else 'dataset-' + sha256(dataset.encode()).hexdigest()[:16]}.toml"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One at a time changes the policies in a folder."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)  # and with it the lock


@contextmanager
def trial(folder: Path, text: str) -> Iterator[Path]:
    """The text in a file of no lasting name, on disk, in the folder it is meant for; gone afterwards."""
    path = folder / f".{short_name()}.trial"
    try:
        _write(path, text)
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    try:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(place, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"the file cannot be written to its folder: {error.strerror}") from None


def create(tried: Path, path: Path) -> None:
    """Give a tried file its name; an error if something of that name is there."""
    try:
        os.link(tried, path)
    except FileExistsError:
        raise HttpProblem(409, "file-exists", "There is such a file", f"{path.name} exists already") from None
    _settle(path.parent)


def replace_text(path: Path, tried: Path, *, before: str) -> None:
    """Put a tried file in the place of the policy that says `before`; whoever may read it stays the same."""
    found = path.stat()
    if path.read_text(encoding="utf-8-sig") != before:
        raise HttpProblem(
            409, "policy-changed", "Somebody else changed it", "the policy is another now: look, and try again"
        )
    tried.chmod(found.st_mode & 0o777)
    with suppress(OSError):
        os.chown(tried, found.st_uid, found.st_gid)  # as far as we may
    os.replace(tried, path.resolve())  # a link stays one  # noqa: PTH105 - says what it does
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """A name is on the disk only when its folder is."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
