"""What every part of a policy shares: its keys carry their own documentation and check themselves.

A key is a dataclass field with the metadata of `key`, `section` or `listing`. The reader, the writer and the reference
are driven by these fields, so a key exists in all of them or in none.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, dataclass_transform

from tacit.base import InputError, PolicyError, Problem
from tacit.policy.kind import Kind, text

__all__ = [
    "Declaration",
    "declared",
    "duration",
    "instead",
    "key",
    "keys",
    "listing",
    "number",
    "part_of",
    "quoted",
    "read_values",
    "required",
    "section",
    "setting",
    "shown",
]

T = TypeVar("T")
WIDE = 60


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


def key(words: str, kind: Kind, *, example: str = "") -> dict[str, Any]:
    """Metadata of a key of the policy file: what it means, what it must be, and how it is written."""
    return {"words": words, "kind": kind, "example": example}


def setting(words: str, kind: Kind, *, example: str, default: Any = MISSING) -> Any:
    """The field of such a key; without a default it must be in the file."""
    return field(default=default, metadata=key(words, kind, example=example))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field, setting))
def declared(part: type[T]) -> type[T]:
    """A frozen dataclass with named arguments, whose fields may be a `setting`."""
    return dataclass(frozen=True, kw_only=True)(part)


def section(words: str, part: type) -> dict[str, Any]:
    """Metadata of a table of the file that is a declaration of its own."""
    return {"words": words, "part": part, "many": False}


def listing(words: str, part: type, what: str) -> dict[str, Any]:
    """Metadata of tables of the file by name, each a declaration; `what` is one of them in messages."""
    return {"words": words, "part": part, "many": True, "what": what}


def keys(part: type) -> Iterator["Field[Any]"]:
    """The fields that the file may name, in order."""
    return (item for item in fields(part) if item.metadata)


def part_of(item: "Field[Any]") -> type | None:
    found: type | None = item.metadata.get("part")
    return found


def required(item: "Field[Any]") -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def read_values(part: type, given: Mapping[str, object]) -> tuple[dict[str, Any], list[Problem]]:
    """The plain values among `given` in their one form, and what is wrong with the others."""
    good: dict[str, Any] = {}
    problems = []
    for item in keys(part):
        if item.name not in given or part_of(item):
            continue
        value = given[item.name]
        if value is None and item.default is None:
            good[item.name] = None
            continue
        try:
            good[item.name] = item.metadata["kind"].read(value)
        except InputError as error:
            told = f"{item.name} = {shown(value)} {error}"
            problems.append(Problem((item.name,), told, short=str(error)))
    return good, problems


class Declaration:
    """A part of a policy, checked when it is made: each value by its kind, then `contradictions` between them.

    `removed` holds keys that older files may have, each with what to write instead; `renamed` those that are still
    read, each with its name now.
    """

    removed: ClassVar[Mapping[str, str]] = {}
    renamed: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        good, problems = read_values(type(self), {item.name: getattr(self, item.name) for item in keys(type(self))})
        for name, value in good.items():
            object.__setattr__(self, name, value)
        for item in keys(type(self)):
            if part_of(item):
                problems += self._parts(item)
        problems = problems or list(self.contradictions())
        if problems:
            raise PolicyError(*problems)

    def _parts(self, item: "Field[Any]") -> list[Problem]:
        """Freeze a part, or a mapping of parts by name, and say what is not one."""
        value, part = getattr(self, item.name), item.metadata["part"]
        if not item.metadata["many"]:
            return [] if isinstance(value, part) else [Problem((item.name,), f"{item.name} must be a {part.__name__}")]
        if not isinstance(value, Mapping) or not all(type(each) is part for each in value.values()):
            return [Problem((item.name,), f"{item.name} must map names to a {part.__name__} each")]
        problems = []
        named: dict[str, Any] = {}
        for name, each in value.items():
            place, path = f"{item.metadata['what']} {quoted(str(name))}", (item.name, str(name))
            try:
                plain = part.named(name)
            except InputError as error:
                problems.append(Problem(path, f"the name {error}", place))
                continue
            if plain in named:
                problems.append(Problem(path, "is there twice", f"{item.metadata['what']} {quoted(plain)}"))
            named[plain] = each.known_as(plain)
        object.__setattr__(self, item.name, MappingProxyType(named))
        return problems

    @classmethod
    def named(cls, name: object) -> str:
        """The one form of a name under which such a part is declared."""
        found: str = text.read(name)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: dict(value) if isinstance(value, MappingProxyType) else value for name, value in vars(self).items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)

    def known_as(self, name: str) -> "Declaration":
        """This part, knowing its name if it wants to."""
        return self

    def contradictions(self) -> Iterator[Problem]:
        """What is wrong between values that are each right."""
        yield from ()
