"""Whose rows a table has where no single column of it says so: through declared links, or by several columns together.

Keys of links and columns of units are compared in the canonical form of units, by their declared types. The theorem is
in docs/theory/links.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tacit.plan.facts import Type

__all__ = ["IF_GIVEN", "CanonicalForm", "Link", "UnitPath"]

IF_GIVEN = {"described": "if given"}  # of a field that is part of a plan only where it says something: plans are older


@dataclass(frozen=True, kw_only=True)
class CanonicalForm:
    """A stored value in the form in which units are compared: as the declared type, or as the stored one."""

    type: Type | None = None


@dataclass(frozen=True, kw_only=True)
class Link:
    """A foreign key: rows whose `column` is the `key` of a row of `table` belong to the units of that row."""

    column: str
    table: str
    key: str
    column_type: Type | None = field(default=None, metadata=IF_GIVEN)
    key_type: Type | None = field(default=None, metadata=IF_GIVEN)


@dataclass(frozen=True, kw_only=True)
class UnitPath:
    """The links from a table to the one that names the unit, none if it does so itself; and the columns that name it.

    A row belongs to every unit that it reaches, as often as it does. One that reaches nobody is nobody's.
    """

    links: tuple[Link, ...] = ()
    columns: tuple[str, ...]
    types: tuple[Type | None, ...]

    def reads(self, table: str) -> Iterator[tuple[str, str, Type | None]]:
        """The tables and columns that say whose the rows of `table` are, each with its declared type."""
        for link in self.links:
            yield table, link.column, link.column_type
            yield link.table, link.key, link.key_type
            table = link.table
        yield from ((table, column, kind) for column, kind in zip(self.columns, self.types, strict=True))
