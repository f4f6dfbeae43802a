"""What lowering carries along: the catalog, the WITH queries in sight, and the names given so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from tacit.base import Mistake
from tacit.plan.node import Node
from tacit.sql.catalog import Catalog
from tacit.sql.refusals import place, quoted
from tacit.sql.scope import Field, Names

__all__ = ["Context", "Derived"]


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A subquery: its rows, and the columns it offers."""

    node: Node
    fields: tuple[Field, ...]


@dataclass(frozen=True, kw_only=True)
class Context:
    """`nested` lowers a subquery; it is handed along, since subqueries and FROM each contain the other."""

    catalog: Catalog
    nested: "Callable[[exp.Select, Context], Derived]"
    names: Names = field(default_factory=Names)
    queries: "Mapping[str, tuple[exp.CTE, Context]]" = field(default_factory=dict)

    def within(self, select: exp.Select) -> "Context":
        """This context and what the WITH of `select` defines; each query sees those before it."""
        context = self
        given = select.args.get("with_")
        seen: set[str] = set()
        for query in given.expressions if given is not None else ():
            name = query.alias.casefold()
            if name in seen:
                raise Mistake(f"{place(query)}WITH defines {quoted(query.alias)} twice: give one another name")
            seen.add(name)
            context = replace(context, queries={**context.queries, name: (query, context)})
        return context
