"""Write a policy: as TOML for people, and as plain data for its hash."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Any

from tacit.policy.declaration import Declaration, keys, part_of
from tacit.policy.problem import duration, number

__all__ = ["bare", "content", "quote", "written"]

VERSION = 1


def content(policy: Declaration) -> dict[str, Any]:
    """What a policy says, as data without floats; keys left at their default are left out."""
    return {"version": VERSION, "policy": _plain(policy)}


def _given(part: Declaration) -> Iterator[tuple[str, Any]]:
    """The keys that say something else than their default."""
    for item in keys(type(part)):
        value = getattr(part, item.name)
        if part_of(item) is None and value != item.default:
            yield item.name, value


def _plain(value: Any) -> Any:
    if isinstance(value, Declaration):
        parts = {item.name: getattr(value, item.name) for item in keys(type(value)) if part_of(item)}
        return {name: _plain(each) for name, each in [*_given(value), *parts.items()]}
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Fraction):
        return {"number": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, datetime | date):
        return {"time" if isinstance(value, datetime) else "date": value.isoformat()}
    if isinstance(value, timedelta):
        return {"seconds": int(value.total_seconds())}
    return str(value.value) if isinstance(value, Enum) else value


def written(policy: Declaration) -> str:
    """A TOML file that reads back as an equal policy."""
    return "\n".join(line for block in _blocks(policy, ()) for line in (*block, ""))


def _blocks(part: Declaration, path: tuple[str, ...]) -> Iterator[list[str]]:
    own = [f"{name} = {_value(value)}" for name, value in _given(part)]
    if path:
        yield [f"[{'.'.join(map(bare, path))}]", *own]
    for item in keys(type(part)):
        inner = getattr(part, item.name)
        if part_of(item) is None:
            continue
        if isinstance(inner, Declaration):
            yield from _blocks(inner, (*path, item.name))
        else:
            for name, each in inner.items():
                yield from _blocks(each, (*path, item.name, name))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return quote(str(value.value))
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Fraction):
        text = number(value)
        return quote(text) if "/" in text else text
    if isinstance(value, timedelta):
        return quote(duration(value))
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def bare(name: str) -> str:
    """A key as TOML wants it: quoted unless it is plain."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quote(name)


def quote(text: str) -> str:
    """Text as a basic TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'
