"""Who is whose neighbour: the relation and the unit that every guarantee is stated for."""

import re
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

from tacit.base.errors import InputError, PrivacyWarning, RelationError
from tacit.base.number import whole

__all__ = ["Relation", "same_neighbours", "warn_of_delta"]

KIND = re.compile("[a-z][a-z_]*")
CHANGES = {"add_remove": "whether one unit is in the data at all", "replace": "what the data says of one unit"}


class _Common(type):
    """Going through `Relation` gives the two that everything here knows."""

    def __iter__(cls) -> "Iterator[Relation]":
        return iter((Relation.ADD_REMOVE, Relation.REPLACE))


class Relation(str, metaclass=_Common):
    """Two datasets are neighbours when they differ in one unit, in this way: a `kind`, and what `changes`.

    `ADD_REMOVE` (unbounded): one unit is present in only one of them; the size is secret.
    `REPLACE` (bounded): one unit's data differs; the number of units is public.
    A replace guarantee follows from an add/remove one in two steps, never the other way round.

    `Relation("replace")` is one of these two, or an error. `Relation.other` states another, for instance a pair of
    secrets of Pufferfish privacy: losses under it add up among themselves, and whatever is proven for the two above
    alone refuses it. A relation is a text, its `value`, which is also how it is stored.
    """

    __slots__ = ()

    ADD_REMOVE: "ClassVar[Relation]"
    REPLACE: "ClassVar[Relation]"

    def __new__(cls, value: object) -> "Relation":
        for known in cls:
            if isinstance(value, str) and value == known:
                return known
        raise InputError(f"relation must be one of {', '.join(repr(known.value) for known in cls)}, not {value!r}")

    @classmethod
    def other(cls, kind: str, changes: str) -> "Relation":
        """A relation of a kind of its own: `changes` says in which way two neighbours may differ."""
        if not KIND.fullmatch(kind) or kind in CHANGES or not changes or changes != changes.strip():
            raise InputError(
                f"a relation of another kind needs a name such as 'pufferfish', not {kind!r}, and words for what "
                f"changes, not {changes!r}"
            )
        return str.__new__(cls, f"{kind}: {changes}")

    @classmethod
    def from_json(cls, data: object) -> "Relation":
        """The inverse of `json`, for relations of every kind."""
        if isinstance(data, Relation):
            return data
        kind, colon, changes = data.partition(": ") if isinstance(data, str) else ("", "", "")
        return cls.other(kind, changes) if colon else cls(data)

    def json(self) -> str:
        """A text that `from_json` turns into an equal relation."""
        return self.value

    @property
    def value(self) -> str:
        return str.__str__(self)

    @property
    def kind(self) -> str:
        return self.partition(": ")[0]

    @property
    def changes(self) -> str:
        """What may differ between two neighbours, in words."""
        return CHANGES.get(self.value) or self.partition(": ")[2]

    def __repr__(self) -> str:
        return f"Relation({self.value!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Relation.from_json, (self.value,)


Relation.ADD_REMOVE, Relation.REPLACE = (str.__new__(Relation, text) for text in CHANGES)


def same_neighbours(left: tuple[Relation, str], right: tuple[Relation, str]) -> None:
    """Raise unless both guarantees speak of the same relation and unit."""
    if left != right:
        a, b = (f"{relation.value} of one {unit}" for relation, unit in (left, right))
        raise RelationError(f"a guarantee for {a} cannot be combined with one for {b}: restate one of them first")


def warn_of_delta(delta: Fraction, population: int, unit: str = "row") -> None:
    """Warn when δ ≥ 1/population, for a public population: publishing a random unit outright would satisfy such a δ."""
    if delta * whole(population, "population", least=1) >= 1:
        warnings.warn(
            f"delta = {float(delta):g} is not below 1/population = {1 / population:g}: publishing one random {unit} "
            "outright would satisfy it. Choose a delta far below",
            PrivacyWarning,
            stacklevel=3,
        )
