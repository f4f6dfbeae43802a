"""The rows of a bounded question: the unit as `u`, keys as `k0 k1 …`, and the values measures need as `x0 x1 …`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from tacit.base import cached_property
from tacit.engine.dialect import Dialect
from tacit.engine.expression import expression_sql
from tacit.engine.owner import owners_sql
from tacit.engine.push import over
from tacit.engine.relation import has_unit, relation_sql, scanned
from tacit.engine.scan import RAW_COPY, UNIT, WHOLE_COPY, copies
from tacit.engine.stored import inward
from tacit.engine.unit import StoredTable
from tacit.plan.bounded import Bounded
from tacit.plan.expression import Column, Expression
from tacit.plan.facts import WHOLE, Type
from tacit.plan.node import Filter, Join, Node, Scan

__all__ = ["WORTHWHILE", "KeyedRows", "Rows"]

WORTHWHILE = 16  # with fewer rows, most units would be busy


@dataclass(frozen=True, kw_only=True)
class KeyedRows:
    """Rows whose "unit" is the key of a link, and the SELECT of the keys and the units that it leads to."""

    rows: "Rows"
    owners: str


@dataclass(frozen=True)
class Rows:
    """A bounded question in one dialect, on tables that are stored as `tables` says."""

    bounded: Bounded
    dialect: Dialect
    tables: Mapping[str, StoredTable]

    @cached_property
    def has_unit(self) -> bool:
        return has_unit(self.bounded.source)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return tuple(f"k{i}" for i in range(len(self.bounded.keys)))

    @cached_property
    def source(self) -> str:
        return relation_sql(self.bounded.source, self.dialect, self.tables)

    def select(self, values: Sequence[str], *, unit: bool = True, where: str = "") -> str:
        """The rows with these values, in this order."""
        columns = [f"{self.dialect.identifier(UNIT)} AS u"] if unit and self.has_unit else []
        keys = zip(self.keys, self.bounded.keys, strict=True)
        columns += [f"{self.key(key.expression)} AS {name}" for name, key in keys]
        columns += [f"{value} AS x{i}" for i, value in enumerate(values)]
        condition = f" WHERE {where}" if where else ""
        return f"SELECT {', '.join(columns) or '1 AS one'} FROM ({self.source}) AS r{condition}"

    @cached_property
    def keyed(self) -> "KeyedRows | None":
        """The rows before a link is followed, where one link leads to all units, and nothing else is asked of them."""
        bounded, scan = self.bounded, linked_scan(self.bounded.source)
        if scan is None or scan.path is None:
            return None
        asked = [*(key.expression for key in bounded.keys), *(m.value for m in bounded.measures if m.value is not None)]
        asked += [each for node in bounded.source.walk() for each in node.expressions]
        if any(isinstance(part, Column) and part.name == scan.unit for each in asked for part in each.walk()):
            return None
        link = scan.path.links[0]
        key = replace(scan.path, links=(), columns=(link.column,), types=(link.column_type,))
        source = with_scan(bounded.source, scan, replace(scan, path=key))
        rows = replace(self, bounded=replace(bounded, source=source))
        return KeyedRows(rows=rows, owners=owners_sql(scan.path, self.dialect, self.tables))

    def busy(self, few: int) -> str:
        """SELECT of the units that have more than `few` rows, as `u`; nothing where it is not worthwhile to ask."""
        if few < WORTHWHILE or self.table is None:
            return ""
        unit = self.dialect.identifier(UNIT)
        return f"SELECT {unit} AS u FROM ({self.source}) AS r GROUP BY {unit} HAVING COUNT(*) > {few}"

    @cached_property
    def table(self) -> Scan | None:
        """The table, where rows are those of one table, all or some."""
        node = self.bounded.source
        while isinstance(node, Filter):
            node = node.below
        return node if isinstance(node, Scan) else None

    def loosened(self, count: str = "COUNT(*)") -> tuple["Rows", str]:
        """Rows of which some have a key that is not in its domain, and the condition on the groups that are meant.

        To ask it of few groups is cheaper than of every row. The count of rows in it keeps DuckDB from asking rows
        after all.
        """
        table, conditions = self.table, []
        if table is None or not self.dialect.columnar:
            return self, ""
        columns = {source.name: source for source in table.columns}
        for name, key in zip(self.keys, self.bounded.keys, strict=True):
            facts = key.facts
            if not isinstance(key.expression, Column) or key.expression.name not in columns:
                continue
            if facts.type is Type.TEXT and facts.domain and not facts.nullable:
                source = columns[key.expression.name]
                columns[source.name] = replace(source, facts=source.facts.but(domain=None))
                domain = ", ".join(self.dialect.constant(value, Type.TEXT) for value in source.facts.domain or ())
                conditions.append(f"CASE WHEN {count} > 0 THEN {name} IN ({domain}) END")
        if not conditions:
            return self, ""
        loose = _over(self.bounded.source, replace(table, columns=tuple(columns.values())))
        return replace(self, bounded=replace(self.bounded, source=loose)), " AND ".join(conditions)

    def value(self, value: Expression) -> str:
        return expression_sql(value, self.dialect)

    def key(self, value: Expression) -> str:
        """A value to group by: integers as integers, which is fast and exact, and one zero for both of IEEE's."""
        if isinstance(value, Column) and WHOLE_COPY + value.name in self._copies:
            return self.dialect.identifier(WHOLE_COPY + value.name)
        match value.facts.type:
            case Type.INTEGER:
                return f"CAST({self.value(value)} AS BIGINT)"
            case Type.NUMBER:
                return f"({self.value(value)} + {self.dialect.number(0.0)})"
            case _:
                return self.value(value)

    def there(self, value: Expression) -> str:
        """The condition that there is a value; nothing where there always is."""
        return f"{self.value(value)} IS NOT NULL" if value.facts.nullable else ""

    def ends(self, value: Expression) -> tuple[float, float] | None:
        """The range of a value that was clamped when it was read: it holds to the last bit."""
        if not isinstance(value, Column) or value.name not in self._scanned:
            return None
        least, most = self._scanned[value.name]
        if value.facts.type is Type.INTEGER:
            least, most = Fraction(ceil(least)), Fraction(floor(most))
            if least > most or max(abs(least), abs(most)) > WHOLE:
                return None
        low, high = inward(least, most)
        return None if low is None or high is None else (low, high)

    def raw(self, column: Column) -> str | None:
        """The column as it was read and before it was clamped, where that is at hand."""
        return self.dialect.identifier(RAW_COPY + column.name) if RAW_COPY + column.name in self._copies else None

    @cached_property
    def _copies(self) -> frozenset[str]:
        return frozenset(copies(self.bounded.source, self.dialect))

    @cached_property
    def _scanned(self) -> Mapping[str, tuple[Fraction, Fraction]]:
        return scanned(self.bounded.source)


def linked_scan(node: Node) -> Scan | None:
    """The linked table that says whose all of the rows are; None where another private table has a part in them."""
    match node:
        case Filter():
            return linked_scan(node.below)
        case Join() if node.left.private is not node.right.private and (node.left.private or node.kind == "inner"):
            return linked_scan(node.left if node.left.private else node.right)
        case Scan() if node.private and node.path is not None and node.path.links:
            return node
    return None


def with_scan(node: Node, old: Scan, new: Scan) -> Node:
    return new if node is old else over(node, lambda below: with_scan(below, old, new))


def _over(node: Node, table: Scan) -> Node:
    return replace(node, below=_over(node.below, table)) if isinstance(node, Filter) else table
