"""Changes of a policy file that keep its comments: who may ask, and how much.

The file is changed as text and read again; what it then says must be exactly what was wanted, else nothing is written.
So a file that is laid out in a way the editor does not understand is left alone and not damaged.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tacit.base import InputError, PolicyError
from tacit.base.private_file import private_folder, settle, write_private
from tacit.policy import Policy, parse
from tacit.policy.declaration import number, quoted
from tacit.policy.privacy import ANYBODY, Analyst
from tacit.policy.read import quietly
from tacit.server.auth.people import plain_name
from tacit.server.auth.tokens import short_name
from tacit.server.problem import HttpProblem

__all__ = ["Edit", "changes", "create", "edited", "file_name", "limits", "locked", "replace_text", "trial"]
__all__ += ["with_analyst", "without_analyst"]


@dataclass(frozen=True)
class Edit:
    """A policy as it shall be, and what to do to its text."""

    policy: Policy
    alter: Callable[[Any], None]


def with_analyst(policy: Policy, name: str, given: Mapping[str, Any]) -> Edit:
    """Let somebody ask, or change what they may. `given` has limit, each and tables; None takes the line out.

    What `given` does not name stays as it is. Somebody who came in as anybody ("*") keeps what bound them as that.
    """
    plain = plain_name(name, "analyst")
    wanted = replace(policy.analysts.get(plain) or policy.analysts.get(ANYBODY, Analyst()), **given)

    def alter(document: Any) -> None:
        people = document.setdefault("analysts", tomlkit.table(is_super_table=True))
        written = given
        if plain not in people:
            people[plain] = tomlkit.table()
            written = {key: getattr(wanted, key) or None for key in ("limit", "each", "slack", "groups")}
            written["tables"] = wanted.tables  # none of them is another thing than no list
        _write_down(people[plain], written)

    return Edit(replace(policy, analysts={**policy.analysts, plain: wanted}), alter)


def without_analyst(policy: Policy, name: str) -> Edit:
    """Let somebody ask no more. What they spent stays in the ledger."""
    plain = plain_name(name, "analyst")
    if plain not in policy.analysts:
        raise HttpProblem(404, "no-analyst", "Nobody of this name", f"{quoted(name)} is not named in the policy")

    def alter(document: Any) -> None:
        del document["analysts"][plain]

    return Edit(replace(policy, analysts={k: v for k, v in policy.analysts.items() if k != plain}), alter)


def limits(policy: Policy, given: Mapping[str, Any]) -> Edit:
    """Change what everybody together may spend: budget, each, lifetime."""
    if given.get("budget", True) is None:
        raise InputError("a dataset has a budget: say how much")

    privacy = replace(policy.privacy, **given)
    return Edit(replace(policy, privacy=privacy), lambda document: _write_down(document["privacy"], given))


def edited(text: str, edit: Edit, path: Path) -> str:
    """The file's text after an edit: it says exactly what was wanted."""
    try:
        document = tomlkit.parse(text)
        edit.alter(document)
        found = tomlkit.dumps(document)
        with quietly():
            same = parse(found, file=path.name, folder=path.parent) == edit.policy
    except (TOMLKitError, PolicyError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        same, found = False, ""
    if not same:
        detail = f"{path.name} is written in a way that is not safe to change from here: edit it, then"
        raise HttpProblem(409, "by-hand", "This file is changed by hand", f"{detail} `tacit ledger apply`")
    return found


def changes(old: Policy, new: Policy) -> list[str]:
    """What differs, in words."""
    found = []
    for name in sorted({*old.analysts, *new.analysts}):
        before, after = old.analysts.get(name), new.analysts.get(name)
        if after is None:
            found.append(f"{name} may ask no more")
        elif before is None:
            found.append(f"{name} may ask: {_spelled(after)}")
        elif before != after:
            found.append(f"{name}: {_spelled(before)} → {_spelled(after)}")
    for word in ("budget", "each", "lifetime"):
        was, now = ("none" if (x := getattr(each.privacy, word)) is None else number(x) for each in (old, new))
        if was != now:
            found.append(f"{word}: {was} → {now} {new.privacy.currency.value}")
    return found


def _spelled(analyst: Analyst) -> str:
    parts = ["up to the dataset's budget" if analyst.limit is None else f"at most {number(analyst.limit)}"]
    parts += [] if analyst.each is None else [f"{number(analyst.each)} for one question"]
    parts += [] if analyst.tables is None else [f"tables {', '.join(analyst.tables) or 'none'}"]
    return ", ".join(parts)


def _write_down(table: Any, values: Mapping[str, Any]) -> None:
    """Numbers as they are written in a policy, and lists of names."""
    for key, value in values.items():
        if value is None:
            table.pop(key, None)
        elif isinstance(value, Fraction):
            text = number(value)
            table[key] = text if "/" in text else tomlkit.value(text)
        else:
            table[key] = list(value)


def file_name(dataset: str) -> str:
    """The file of a dataset: its name where that is plain, else a hash of it."""
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", dataset)
    return f"{dataset if plain else 'dataset-' + sha256(dataset.encode()).hexdigest()[:16]}.toml"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One at a time changes the files in a folder, which is made if it is not there."""
    try:
        place = os.open(private_folder(folder), os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(f"the folder of {folder.name} cannot be made: {error.strerror}") from None
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
        try:
            write_private(path, text)
            settle(path)
        except OSError as error:
            raise InputError(f"the file cannot be written to its folder: {error.strerror}") from None
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def create(tried: Path, path: Path) -> None:
    """Give a tried file its name; an error if something of that name is there."""
    try:
        os.link(tried, path)
    except FileExistsError:
        raise HttpProblem(409, "file-exists", "There is such a file", f"{path.name} exists already") from None
    settle(path.parent)


def replace_text(path: Path, tried: Path, *, before: str) -> None:
    """Put a tried file in the place of the policy that says `before`; whoever may read it stays the same."""
    found = path.stat()
    if path.read_text(encoding="utf-8-sig") != before:
        detail = "the policy is another now: look, and try again"
        raise HttpProblem(409, "policy-changed", "Somebody else changed it", detail)
    tried.chmod(found.st_mode & 0o777)
    with suppress(OSError):
        os.chown(tried, found.st_uid, found.st_gid)  # as far as we may
    os.replace(tried, path.resolve())  # a link stays one  # noqa: PTH105 - says what it does
    settle(path.parent)
