"""The rows of a bounded question: the unit as `u`, keys as `k0 k1 …`, and the values measures need as `x0 x1 …`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

from tacit.engine.dialect import Dialect
from tacit.engine.expression import expression_sql
from tacit.engine.relation import has_unit, raws, relation_sql, scanned, wholes
from tacit.engine.scan import inward, raw_name, unit_name, whole_name
from tacit.engine.words import Words, words_of
from tacit.plan.bounded import Bounded
from tacit.plan.expression import Column, Expression
from tacit.plan.facts import WHOLE, Type

__all__ = ["Rows"]


@dataclass(frozen=True)
class Rows:
    """A bounded question in one dialect, on tables that are called as `tables` says."""

    bounded: Bounded
    dialect: Dialect
    tables: Mapping[str, str]

    @property
    def words(self) -> Words:
        return words_of(self.dialect)

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
        columns = [f"{unit_name(self.dialect)} AS u"] if unit and self.has_unit else []
        columns += [
            f"{self.key(key.expression)} AS {name}" for name, key in zip(self.keys, self.bounded.keys, strict=True)
        ]
        columns += [f"{value} AS x{i}" for i, value in enumerate(values)]
        condition = f" WHERE {where}" if where else ""
        return f"SELECT {', '.join(columns) or '1 AS one'} FROM ({self.source}) AS r{condition}"

    def value(self, value: Expression) -> str:
        return expression_sql(value, self.dialect)

    def key(self, value: Expression) -> str:
        """A value to group by: integers as integers, which is fast and exact, and one zero for both of IEEE's."""
        if isinstance(value, Column) and value.name in wholes(self.bounded.source, self.dialect):
            return whole_name(value.name, self.dialect)
        match value.facts.type:
            case Type.INTEGER:
                return f"CAST({self.value(value)} AS BIGINT)"
            case Type.NUMBER:
                return f"({self.value(value)} + {self.words.number(0.0)})"
            case _:
                return self.value(value)

    def there(self, value: Expression) -> str:
        """The condition that there is a value; nothing where there always is."""
        return f"{self.value(value)} IS NOT NULL" if value.facts.nullable else ""

    def ends(self, value: Expression) -> tuple[float, float] | None:
        """The range of a value that was clamped when it was read: it holds to the last bit."""
        found = self._scanned.get(value.name) if isinstance(value, Column) else None
        if found is None:
            return None
        least, most = found
        if value.facts.type is Type.INTEGER:
            least, most = Fraction(ceil(least)), Fraction(floor(most))
            if least > most or max(abs(least), abs(most)) > WHOLE:
                return None
        low, high = inward(least, most)
        assert low is not None
        assert high is not None
        return low, high

    def raw(self, column: Column) -> str | None:
        """The column as it was read and before it was clamped, where that is at hand."""
        return raw_name(column.name, self.dialect) if column.name in raws(self.bounded.source, self.dialect) else None

    @cached_property
    def _scanned(self) -> "Mapping[str, tuple[Fraction, Fraction]]":
        return scanned(self.bounded.source)
