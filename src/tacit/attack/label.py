"""Labels of generalised values, written one way: what a label covers can be read off it again.

`*` covers everything, `130**` each text of that length that starts so, `20-29` the numbers from 20 to 29, `<30` and
`>=40` those beyond an end, `{a, b}` any of a few, and every other label only itself.
"""

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["ANY", "any_of", "covers", "masked", "stretch"]

ANY = "*"
NUMBER = r"-?\d+(?:\.\d+)?"
STRETCH = re.compile(rf"({NUMBER})-({NUMBER})")
BEYOND = re.compile(rf"(<=|>=|<|>)\s*({NUMBER})")


def masked(text: str, hidden: int) -> str:
    """The text with its last `hidden` characters starred."""
    kept = max(0, len(text) - hidden)
    return text[:kept] + "*" * (len(text) - kept)


def stretch(low: Any, high: Any) -> str:
    """Everything from `low` to `high`."""
    return str(low) if low == high else f"{low}-{high}"


def any_of(values: Iterable[Any]) -> str:
    """One of `values`."""
    listed = sorted(map(str, values))
    return listed[0] if len(listed) == 1 else "{" + ", ".join(listed) + "}"


def covers(label: Any, value: Any) -> bool:
    """Whether a person with `value` may be behind a row that says `label`."""
    said, known = str(label), str(value)
    if said in {ANY, known}:
        return True
    if said.startswith("{") and said.endswith("}"):
        return known in said[1:-1].split(", ")
    if said.endswith("*"):
        return len(said) == len(known) and known.startswith(said.rstrip("*"))
    try:
        number = float(known)
    except ValueError:
        return False
    if found := STRETCH.fullmatch(said):
        return float(found[1]) <= number <= float(found[2])
    if found := BEYOND.fullmatch(said):
        end = float(found[2])
        return {"<": number < end, "<=": number <= end, ">": number > end, ">=": number >= end}[found[1]]
    return False
