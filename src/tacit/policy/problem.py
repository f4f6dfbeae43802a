"""How a policy says what is wrong with it: where, why, and what to write instead."""

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction

__all__ = ["duration", "instead", "number", "quoted", "shown", "within"]

WIDE = 60
INNER = re.compile(r'(table|column|analyst|group) "')  # a problem that says more about its place itself


def within(place: str, problems: Iterable[str]) -> list[str]:
    """The same problems, each with the place it was found in before it."""
    return [f"{place}{', ' if INNER.match(problem) else ': '}{problem}" for problem in problems]


def instead(name: str, known: Iterable[str], *, those: str) -> str:
    """What somebody who wrote `name` may have meant."""
    names = list(known)
    folded = {other.casefold(): other for other in names}
    near = get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f"did you mean {quoted(folded[near[0]])}?"
    if not names:
        return f"there are no {those}"
    listed = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"the {those} are {listed}"


def quoted(text: str) -> str:
    """Text in quotes, with what cannot be seen made visible."""
    clean = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[:WIDE])
    return f'"{clean}{"…" if len(text) > WIDE else ""}"'


def number(value: Fraction) -> str:
    """A number as it is written in a policy: a decimal where it has an end, else a quotient."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    digits = max(twos, fives)
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    if digits == 0:
        return str(value.numerator)
    scaled = abs(value.numerator) * (10**digits // value.denominator)
    sign = "-" if value < 0 else ""
    if digits > 5 and scaled < 10**6:
        return f"{sign}{scaled}e-{digits}"
    text = str(scaled).rjust(digits + 1, "0")
    return f"{sign}{text[:-digits]}.{text[-digits:]}"


def duration(value: timedelta) -> str:
    """A span of time in the largest unit that divides it."""
    seconds = int(value.total_seconds())
    units = ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
    size, unit = next((s, u) for s, u in units if seconds % s == 0)
    count = seconds // size
    return f"{count} {unit}{'' if count == 1 else 's'}"


def shown(value: object) -> str:
    """A value as the policy file writes it, cut where it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return quoted(str(value.value))
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Decimal) and not value.is_finite():
        return str(value).lower()
    if isinstance(value, Fraction | int) and max(abs(value.numerator), value.denominator) >= 10**WIDE:
        return f"a number of {value.numerator.bit_length() + value.denominator.bit_length()} bits"  # too long to print
    if isinstance(value, Fraction):
        return _cut(number(value))
    if isinstance(value, timedelta):
        return quoted(str(value))
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        listed = ["…" if isinstance(item, list | tuple | dict) else shown(item) for item in value[:8]]
        return _cut("[" + ", ".join(listed) + (", …]" if len(value) > 8 else "]"))
    if isinstance(value, dict):
        return "{ … }"
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= WIDE else text[:WIDE] + "…"
