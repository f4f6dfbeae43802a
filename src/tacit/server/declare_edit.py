"""Changes of a policy file that keep its comments: who may ask, and how much.

The file is changed as text and read again; what it then says must be exactly what was wanted, else nothing is written.
So a file that is laid out in a way the editor does not understand is left alone and not damaged.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tacit.base import InputError, PolicyError, PrivacyWarning
from tacit.policy import Policy, parse
from tacit.policy.analyst import ANYBODY, Analyst, name_of
from tacit.policy.problem import number, quoted
from tacit.server.problem import Problem

__all__ = ["Edit", "changes", "edited", "limits", "with_analyst", "without_analyst"]


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
        raise Problem(404, "no-analyst", "Nobody of this name", f"{quoted(name)} is not named in the policy")

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
        raise Problem(
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
