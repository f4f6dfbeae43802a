"""What every part of a policy shares: its keys carry their own documentation and check themselves.

A key is a dataclass field with the metadata of `key`, `section` or `listing`. The reader, the writer and the reference
are driven by these fields, so a key exists in all of them or in none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from types import MappingProxyType
from typing import Any, ClassVar

from tacit.base import InputError, PolicyError
from tacit.policy.kind import Kind, text
from tacit.policy.problem import quoted, shown, within

__all__ = ["Declaration", "key", "keys", "listing", "part_of", "read_values", "required", "section"]


def key(words: str, kind: Kind, *, example: str = "") -> dict[str, Any]:
    """Metadata of a key of the policy file: what it means, what it must be, and how it is written."""
    return {"words": words, "kind": kind, "example": example}


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


def read_values(part: type, given: Mapping[str, object]) -> tuple[dict[str, Any], list[str]]:
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
            problems.append(f"{item.name} = {shown(value)} {error}")
    return good, problems


class Declaration:
    """A part of a policy, checked when it is made: each value by its kind, then `contradictions` between them.

    `removed` holds keys that older files may have, each with what to write instead.
    """

    removed: ClassVar[Mapping[str, str]] = {}

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

    def _parts(self, item: "Field[Any]") -> list[str]:
        """Freeze a part, or a mapping of parts by name, and say what is not one."""
        value, part = getattr(self, item.name), item.metadata["part"]
        if not item.metadata["many"]:
            return [] if isinstance(value, part) else [f"{item.name} must be a {part.__name__}"]
        if not isinstance(value, Mapping) or not all(type(each) is part for each in value.values()):
            return [f"{item.name} must map names to a {part.__name__} each"]
        problems = []
        named: dict[str, Any] = {}
        for name, each in value.items():
            try:
                plain = part.named(name)
            except InputError as error:
                problems.append(f"{item.metadata['what']} {quoted(str(name))}: the name {error}")
                continue
            if plain in named:
                problems += within(f"{item.metadata['what']} {quoted(plain)}", ["is there twice"])
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

    def contradictions(self) -> Iterator[str]:
        """What is wrong between values that are each right."""
        yield from ()
