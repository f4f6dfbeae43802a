"""Who is whose neighbour: the relation and the unit that every guarantee is stated for."""

from enum import StrEnum

from tacit.base.errors import InputError, RelationError

__all__ = ["Relation", "same_neighbours"]


class Relation(StrEnum):
    """Two datasets are neighbours when they differ in one unit, in this way.

    `ADD_REMOVE` (unbounded): one unit is present in only one of them; the size is secret.
    `REPLACE` (bounded): one unit's data differs; the number of units is public.
    A replace guarantee follows from an add/remove one in two steps, never the other way round.
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"

    @classmethod
    def _missing_(cls, value: object) -> "Relation":
        raise InputError(f"relation must be one of {', '.join(repr(r.value) for r in cls)}, not {value!r}")


def same_neighbours(left: tuple[Relation, str], right: tuple[Relation, str]) -> None:
    """Raise unless both guarantees speak of the same relation and unit."""
    if left != right:
        a, b = (f"{relation.value} of one {unit}" for relation, unit in (left, right))
        raise RelationError(f"a guarantee for {a} cannot be combined with one for {b}: restate one of them first")
