"""Links: a table whose rows are those of the people that another table's rows are about, found by a foreign key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.base import InputError, PolicyError, Problem
from tacit.policy.declaration import instead, quoted
from tacit.policy.kind import Kind, text

if TYPE_CHECKING:
    from tacit.policy.table import Table

__all__ = ["TableLink", "keys_linked_to", "link_kind", "link_problems", "links_from"]

FORM = '{ column = "order_id", table = "orders", key = "id" }'


@dataclass(frozen=True, kw_only=True)
class TableLink:
    """Rows whose `column` is the `key` of rows of `table` belong to whom those belong to."""

    column: str
    table: str
    key: str

    def __str__(self) -> str:
        return f"{self.column} → {self.table}.{self.key}"

    def data(self) -> dict[str, str]:
        return {"column": self.column, "table": self.table, "key": self.key}


def _read(value: object) -> TableLink:
    if isinstance(value, TableLink):
        return value
    if not isinstance(value, Mapping) or set(value) != {"column", "table", "key"}:
        raise InputError(f"must name a column, a table and the key there: {FORM}")
    found = {}
    for name, each in value.items():
        try:
            found[name] = text.read(each)
        except InputError as error:
            raise InputError(f"has a {name} that {error}") from None
    return TableLink(**found)


link_kind = Kind(f"`{FORM}`", _read)


def links_from(tables: "Mapping[str, Table]", name: str) -> tuple[TableLink, ...]:
    """The links that lead from a table to the one that names the unit itself; none if it does."""
    found: list[TableLink] = []
    seen = {name}
    while (link := tables[name].link) is not None:
        if link.table not in tables or link.table in seen:
            raise PolicyError(f"table {quoted(name)}: its link leads nowhere")  # `link_problems` has said so
        found.append(link)
        seen.add(link.table)
        name = link.table
    return tuple(found)


def keys_linked_to(tables: "Mapping[str, Table]", name: str) -> tuple[str, ...]:
    """The columns of a table that links of others lead to."""
    found = (table.link.key for table in tables.values() if table.link is not None and table.link.table == name)
    return tuple(dict.fromkeys(found))


def link_problems(tables: "Mapping[str, Table]") -> Iterator[Problem]:
    """Links that do not lead to a unit."""
    for name, table in tables.items():
        told = None if table.link is None else _wrong(tables, name, table)
        if told is not None:
            yield Problem(("tables", name, "link"), told, table.place)


def _wrong(tables: "Mapping[str, Table]", name: str, table: "Table") -> str | None:
    link = table.link
    assert link is not None
    target = tables.get(link.table)
    if target is None:
        return (
            f"links to {quoted(link.table)}, and there is no such table: {instead(link.table, tables, those='tables')}"
        )
    if target.public:
        return (
            f"links to {quoted(link.table)}, which is public, so nobody would be protected: link to a protected table, "
            "or declare unit_column"
        )
    if target.each_row_is_a_unit:
        return (
            f"links to {quoted(link.table)}, where each row is a unit without a name: declare "
            f"unit_column = {quoted(link.key)} there"
        )
    if not target.unit_columns and target.link is None:
        return f"links to {quoted(link.table)}, which does not say whose rows they are: declare unit_column there"
    seen, at = [name], link.table
    while at not in seen:
        seen.append(at)
        further = tables[at].link if at in tables else None
        if further is None:
            return None
        at = further.table
    if at != name:
        return None  # said of those that are in the circle
    circle = " → ".join([*seen, at])
    return f"its links lead in a circle, {circle}, and never to a unit: declare unit_column in one of them"
