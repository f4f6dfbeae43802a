"""The list of SELECT with its names, and what ORDER BY, LIMIT and OFFSET say of it."""

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from tacit.plan.expression import Expression
from tacit.plan.window import Order
from tacit.sql.constants import literal, whole
from tacit.sql.mistake import refused, shown

__all__ = ["SelectList", "default_name", "number_of"]


class SelectList:
    """What is selected, as it is found; `lower` is for what stands in ORDER BY and is not selected."""

    def __init__(self, select: exp.Select, lower: Callable[[exp.Expr], Expression]) -> None:
        self.select, self.lower = select, lower
        self.output: list[tuple[str, Expression]] = []
        self.positions: list[Expression | None] = []
        self.aliases: dict[str, Expression] = {}

    def add(self, alias: str | None, item: exp.Expr, value: Expression) -> None:
        self.named(alias or default_name(item), value)
        self.positions.append(value)
        if alias is not None:
            self.aliases.setdefault(alias.casefold(), value)

    def named(self, name: str, value: Expression) -> None:
        """A column, under a name of its own."""
        taken = {known.casefold() for known, _ in self.output}
        found, again = name, 1
        while found.casefold() in taken:
            again += 1
            found = f"{name}_{again}"
        self.output.append((found, value))

    def alias(self, node: exp.Expr) -> Expression | None:
        """What an item of SELECT was called this way."""
        plain = type(node) is exp.Column and node.args.get("table") is None
        return self.aliases.get(node.name.casefold()) if plain else None

    def order(self) -> tuple[Order, ...]:
        given = self.select.args.get("order")
        return tuple(self._key(node) for node in (given.expressions if given is not None else ()))

    def _key(self, node: exp.Expr) -> Order:
        if type(node) is not exp.Ordered:
            raise refused(f"ORDER BY {shown(node)}", "it is not a value that was selected", at=node)
        known = literal(node.this)
        if known is not None:
            found = self._positioned(node, known.value)
        else:
            found = self.alias(node.this) or self.lower(node.this)
        first = bool(node.args.get("nulls_first"))
        return Order(expression=found, descending=bool(node.args.get("desc")), nulls="first" if first else "last")

    def _positioned(self, node: exp.Expr, value: object) -> Expression:
        inside = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= len(self.positions)
        found = self.positions[value - 1] if inside and isinstance(value, int) else None
        if found is None:
            raise refused(f"ORDER BY {shown(node.this)}", "there is no such column to order by", at=node)
        return found


def number_of(select: exp.Select, name: str) -> int | None:
    """What LIMIT or OFFSET says."""
    given = select.args.get(name)
    if given is None:
        return None
    known = literal(given.args.get("expression"))
    if known is None or isinstance(known.value, bool) or not isinstance(known.value, int):
        raise refused(shown(given), "it is not a whole number", "write one, as in LIMIT 10", at=given)
    return whole(Fraction(known.value), name.upper())


def default_name(item: exp.Expr) -> str:
    """What a column is called that has no alias."""
    plain = item.unnest()
    return plain.name if type(plain) is exp.Column else shown(plain).lower()
