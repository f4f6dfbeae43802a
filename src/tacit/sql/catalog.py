"""The tables a question may name: declared columns become a Scan and the facts that reading will make true."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING

from tacit.base import InputError, cached_property
from tacit.base.problem import declare
from tacit.plan.facts import WHOLE, Facts, Type, Value
from tacit.plan.node import Scan, Source
from tacit.plan.owner import Link, UnitPath
from tacit.policy.link import links_from
from tacit.sql.mistake import quoted

if TYPE_CHECKING:
    from tacit.policy.column import Column
    from tacit.policy.model import Policy
    from tacit.policy.table import Table as Declared

__all__ = ["AskableTable", "Catalog", "nearest"]

TYPES = {"integer": Type.INTEGER, "decimal": Type.NUMBER, "float": Type.NUMBER, "boolean": Type.BOOLEAN,
         "text": Type.TEXT, "date": Type.DATE, "timestamp": Type.TIMESTAMP}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AskableTable:
    """One table as questions see it: the facts of its columns, and the names of those that are `hidden` or `untyped`.

    A private table has a `unit` column, a `path` to its unit, or each of its rows is one (`row_is_unit`). `unit_type`
    is what the unit is declared as, which a hidden column says too.
    """

    columns: Mapping[str, Facts]
    private: bool = True
    unit: str | None = None
    unit_type: Type | None = None
    path: UnitPath | None = None  # instead of `unit`: links to it, or several columns that name it together
    row_is_unit: bool = False
    rows_per_unit: int | None = None
    clip_rows: Fraction | None = None  # the most rows of one unit that count, where that is declared as a number
    clips: Mapping[str, Fraction] = field(default_factory=dict)  # of sums of its columns
    hidden: frozenset[str] = frozenset()
    untyped: frozenset[str] = frozenset()
    unique: frozenset[str] = frozenset()  # of a public table: columns in which no value occurs twice
    rows: int | None = None  # of a public table: the most it has

    @property
    def owned(self) -> bool:
        """Whether it is known whose rows they are."""
        return not self.private or self.unit is not None or self.path is not None or self.row_is_unit

    @property
    def parts(self) -> tuple[str, ...]:
        """Its own columns that name the unit together, where there are several."""
        return self.path.columns if self.path is not None and not self.path.links else ()


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """Tables by name. Names that differ in capitals only are one name. `aliases` are second names of some of them."""

    tables: Mapping[str, AskableTable]
    aliases: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> tuple[str, AskableTable] | None:
        """The declared name and the table."""
        if name in self.tables:
            return name, self.tables[name]
        for known, table in self.tables.items():
            if known.casefold() == name.casefold():
                return known, table
        for alias, known in self.aliases.items():
            if alias.casefold() == name.casefold():
                return known, self.tables[known]
        return None

    def scan(self, name: str, columns: Collection[str] | None = None) -> Scan:
        """A declared table as it is read: these columns, or all that have a type, with the unit beside them."""
        found = self.find(name)
        if found is None:
            raise InputError(f"there is no table {quoted(name)}: {nearest(name, self.tables, 'tables')}")
        known, table = found
        if not table.owned:
            raise InputError(f"table {quoted(known)} does not say whose rows they are: declare its unit_column")
        wanted = [column for column in table.columns if column != table.unit] if columns is None else list(columns)
        for column in wanted:
            if column not in table.columns:
                raise InputError(
                    f"table {quoted(known)} has no such column: {nearest(column, table.columns, 'columns')}"
                )
        sources = [Source(name=column, column=column, facts=table.columns[column]) for column in wanted]
        unit = None if table.unit is None and table.path is None else "tacit unit of this scan"
        if unit is not None and table.unit is not None:
            kind = table.unit_type or Type.TEXT
            sources.insert(0, Source(name=unit, column=table.unit, facts=Facts(type=kind)))
        return Scan(
            table=known,
            columns=tuple(sources),
            is_private=table.private,
            unit_name=unit,
            rows_per_unit=table.rows_per_unit,
            rows=table.rows,
            unit_type=table.unit_type,
            path=table.path,
        )

    def link_key(self, table: str, column: str) -> tuple[str, str] | None:
        """The table and the key that a column stands for: where its link leads, or itself if links lead to it."""
        path = self.tables[table].path
        if path is not None and path.links and path.links[0].column == column:
            return path.links[0].table, path.links[0].key
        return (table, column) if (table, column) in self._link_keys else None

    @cached_property
    def _link_keys(self) -> frozenset[tuple[str, str]]:
        links = (link for table in self.tables.values() if table.path is not None for link in table.path.links)
        return frozenset((link.table, link.key) for link in links)

    @classmethod
    def from_policy(cls, policy: "Policy") -> "Catalog":
        """What the policy declares. Whether an analyst may ask a table is for `Policy.decide` alone to say."""
        return cls(tables={name: _table(table, policy.tables) for name, table in policy.tables.items()})


def _table(declared: "Declared", tables: "Mapping[str, Declared]") -> AskableTable:
    path = _path(declared, tables)
    usable = {name: column for name, column in declared.columns.items() if not column.hidden}
    return AskableTable(
        columns={name: _facts(column) for name, column in usable.items() if column.type is not None},
        private=declared.private,
        unit=declared.unit_columns[0] if path is None and declared.unit_columns else None,
        unit_type=path.types[0] if path is not None and len(path.types) == 1 else _unit_type(declared),
        path=path,
        row_is_unit=declared.each_row_is_a_unit,
        rows_per_unit=declared.max_rows_per_unit,
        clip_rows=None if isinstance(declared.clip_rows, str | None) else Fraction(declared.clip_rows),
        clips={n: Fraction(c.clip) for n, c in usable.items() if not isinstance(c.clip, str | None)},
        hidden=frozenset(declared.columns) - frozenset(usable),
        untyped=frozenset(name for name, column in usable.items() if column.type is None),
        unique=frozenset(name for name, column in usable.items() if column.unique and not declared.private),
        rows=declared.rows,
    )


def _unit_type(declared: "Declared") -> Type | None:
    return _declared(declared, declared.unit_columns[0]) if len(declared.unit_columns) == 1 else None


def _declared(table: "Declared", column: str) -> Type | None:
    found = table.columns.get(column)
    return None if found is None or found.type is None else TYPES[str(found.type)]


def _path(declared: "Declared", tables: "Mapping[str, Declared]") -> UnitPath | None:
    """How the unit is found, unless one column of the table names it."""
    if declared.link is None and len(declared.unit_columns) < 2:
        return None
    links, at = [], declared
    for each in links_from(tables, declared.name):
        target = tables[each.table]
        kinds = {"column_type": _declared(at, each.column), "key_type": _declared(target, each.key)}
        links.append(Link(column=each.column, table=each.table, key=each.key, **kinds))
        at = target
    types = tuple(_declared(at, column) for column in at.unit_columns)
    return UnitPath(links=tuple(links), columns=at.unit_columns, types=types)


def _facts(column: "Column") -> Facts:
    kind = TYPES[str(column.type)]
    low, high = column.bounds or (None, None)
    domain = column.group_keys
    if low is None and domain and (kind.numeric or kind.temporal):
        low, high = min(domain), max(domain)
    if kind is Type.INTEGER and any(abs(value) > WHOLE for value in (low or 0, high or 0, *(domain or ()))):
        kind = Type.NUMBER  # whole numbers so large are numbers like any other
    if kind is Type.BOOLEAN and domain is None:
        domain = (False, True)
    why = ""
    if low is None and domain is None:
        why = f"column {quoted(column.name)} has no bounds"
        why += declare("", f': pass bounds={{"{column.name}": (low, high)}}')
    return Facts(
        type=kind,
        low=_value(kind, low),
        high=_value(kind, high),
        # coarser whole numbers are not enforced on reading
        step=Fraction(1) if str(column.type) == "integer" else column.grid,
        domain=None if domain is None else tuple(_value(kind, value) for value in domain),
        nullable=column.nullable,  # rows in which there is none, or NaN, are left out where it cannot be
        why=why,
        typical=column.typical,
    )


def _value(kind: Type, value: Fraction | date | str | bool | None) -> Value:
    """A declared value in the form that plans have."""
    return int(value) if kind is Type.INTEGER and isinstance(value, Fraction) else value


def nearest(name: str, known: Collection[str], what: str) -> str:
    """What a person may have meant."""
    if not known:
        return f"there are no {what}"
    folded = {each.casefold(): each for each in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {quoted(folded[close[0]])}?"
    listed = ", ".join(quoted(each) for each in list(known)[:12])
    return f"the {what} are {listed}{' …' if len(known) > 12 else ''}"
