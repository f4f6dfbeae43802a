"""What lowering carries along: the catalog, the WITH queries in sight, and the names given so far."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field

from sqlglot import exp

from tacit.base import Mistake, RefusalKind, Refused, cached_property
from tacit.plan.expression import Expression
from tacit.plan.node import Node
from tacit.plan.question import LoweredQuestion
from tacit.sql.catalog import Catalog, nearest
from tacit.sql.mistake import place, quoted
from tacit.sql.tail import Tail

__all__ = ["Context", "Derived", "Field", "NamedRelation", "Names", "Scope", "whole_unit"]

MOST_RELATIONS = 64
MOST_PARTS = 20_000  # of the question's tree, with WITH and * written out


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column that a relation offers. Without a value it cannot be computed with, and `missing` says why.

    `is_unit` says it names the unit of the row: it may be counted, joined on and, in subqueries, grouped by. `part`
    says which of how many columns it is that name the unit together.
    """

    name: str
    value: Expression | None
    is_unit: bool = False
    part: tuple[int, int] | None = None
    missing: str = ""
    hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class NamedRelation:
    """One item of FROM under its name."""

    alias: str
    fields: tuple[Field, ...]

    @cached_property
    def _named(self) -> tuple[dict[str, list[Field]], dict[str, list[Field]]]:
        exact: dict[str, list[Field]] = {}
        folded: dict[str, list[Field]] = {}
        for field in self.fields:
            exact.setdefault(field.name, []).append(field)
            folded.setdefault(field.name.casefold(), []).append(field)
        return exact, folded

    def find(self, name: str) -> list[Field]:
        exact, folded = self._named
        return exact.get(name) or folded.get(name.casefold(), [])


@dataclass(frozen=True, kw_only=True)
class Scope:
    """All that FROM offers. `merged` are names that USING made one, with the relation they are taken from. `joined` are
    the conditions of WHERE that became keys of joins, by identity."""

    relations: tuple[NamedRelation, ...]
    merged: tuple[tuple[str, str], ...] = ()
    joined: frozenset[int] = frozenset()

    def resolve(self, column: exp.Column) -> Field:
        """The one field that a column of the query names."""
        name = column.name
        table = column.args.get("table")
        relations = [self.relation(table)] if table is not None else list(self.relations)
        found = [(relation, field) for relation in relations for field in relation.find(name)]
        if len(found) > 1:
            keeper = dict(self.merged).get(name.casefold())
            found = [pair for pair in found if pair[0].alias == keeper] or found
        if len(found) > 1:
            owners = " and ".join(quoted(relation.alias) for relation, _ in found)
            raise Mistake(f"{place(column)}column {quoted(name)} is in {owners}: write which, as table.column")
        if not found:
            raise self._unknown(column, name)
        field = found[0][1]
        if field.hidden:
            raise Refused(
                f"{place(column)}there is no column {quoted(name)} for questions, since the policy hides it: "
                "ask the curator, or leave it out"
            )
        return field

    def relation(self, table: exp.Expr) -> NamedRelation:
        for relation in self.relations:
            if relation.alias.casefold() == table.name.casefold():
                return relation
        known = [relation.alias for relation in self.relations]
        raise Mistake(
            f"{place(table)}there is no table {quoted(table.name)} in FROM: {nearest(table.name, known, 'tables')}"
        )

    def _unknown(self, column: exp.Column, name: str) -> Refused:
        if any(relation.alias.casefold() == name.casefold() for relation in self.relations):
            return Refused(
                f"{place(column)}the whole row {quoted(name)} is refused, since values are plain: name its columns",
                kind=RefusalKind.UNSUPPORTED,
            )
        known = [field.name for relation in self.relations for field in relation.fields if not field.hidden]
        text = f"; a text is in single quotes, as in '{name[:20]}'" if column.this.args.get("quoted") else ""
        return Mistake(f"{place(column)}there is no column {quoted(name)}: {nearest(name, known, 'columns')}{text}")

    def fields(self, star: exp.Expr | None = None) -> Iterator[tuple[NamedRelation, Field]]:
        """What * stands for, or table.*; hidden columns are no part of it."""
        relations = self.relations if star is None else (self.relation(star),)
        merged = dict(self.merged)
        for relation in relations:
            for field in relation.fields:
                keeper = merged.get(field.name.casefold(), relation.alias)
                if not field.hidden and (star is not None or keeper == relation.alias):
                    yield relation, field

    def unit(self, node: exp.Expr) -> bool:
        """Whether an expression is the unit's own column and nothing more."""
        plain = node.unnest()
        return type(plain) is exp.Column and not isinstance(plain.this, exp.Star) and self.resolve(plain).is_unit

    def part(self, node: exp.Expr) -> tuple[int, int] | None:
        """Which column of a unit of several an expression is."""
        plain = node.unnest()
        return self.resolve(plain).part if type(plain) is exp.Column and not isinstance(plain.this, exp.Star) else None

    def units(self, nodes: Iterable[exp.Expr]) -> bool:
        """Whether these expressions name the unit, together or one of them alone."""
        given = list(nodes)
        return any(map(self.unit, given)) or whole_unit(map(self.part, given))

    def adding(self, other: "Scope") -> "Scope":
        """Both, and the names in them."""
        known = {relation.alias.casefold() for relation in self.relations}
        for relation in other.relations:
            if relation.alias.casefold() in known:
                raise Mistake(f"two tables are called {quoted(relation.alias)}: give one of them another name with AS")
        merged = (*self.merged, *(pair for pair in other.merged if pair[0] not in dict(self.merged)))
        both = (*self.relations, *other.relations)
        return replace(self, relations=both, merged=merged, joined=self.joined | other.joined)


def whole_unit(parts: Iterable[tuple[int, int] | None]) -> bool:
    """Whether these are all the columns that name a unit together."""
    found = {part for part in parts if part is not None}
    return bool(found) and len(found) == max(of for _, of in found)


class Names:
    """Names of columns, unique in a plan; short, plain and in small letters, so that no engine mistakes two for one.

    It counts, too, what the question comes to when WITH is written out in each place of use, and * in each of its
    columns: that is what planning takes, and it has a limit.
    """

    def __init__(self) -> None:
        self.relations = 0
        self.parts = 0
        self.taken: set[str] = set()

    def read(self, select: exp.Select) -> None:
        """Count the parts of a SELECT that is lowered now; those of its subqueries are counted when they are."""
        self.written(sum(1 for _ in select.walk(prune=lambda part: part is not select and type(part) is exp.Select)))

    def written(self, parts: int) -> None:
        self.parts += parts
        if self.parts > MOST_PARTS:
            raise Refused(
                f"this question comes to more than {MOST_PARTS:,} parts when each WITH is written out where it is "
                "used, and each * with its columns: use fewer of them, and name the columns",
                kind=RefusalKind.LIMIT,
            )

    def relation(self) -> int:
        """The number of the next relation."""
        self.relations += 1
        if self.relations > MOST_RELATIONS:
            raise Refused(
                f"this question reads more than {MOST_RELATIONS} tables and subqueries, WITH included: ask less",
                kind=RefusalKind.LIMIT,
            )
        return self.relations

    def column(self, name: str, relation: int) -> str:
        slug = "".join(c if c.isascii() and c.isalnum() else "_" for c in name.lower())[:30].strip("_") or "column"
        found, again = f"{slug}_{relation}", 1
        while found in self.taken:
            again += 1
            found = f"{slug}_{relation}_{again}"
        self.taken.add(found)
        return found


@dataclass(frozen=True, kw_only=True)
class Derived:
    """A subquery: its rows, and the columns it offers."""

    node: Node
    fields: tuple[Field, ...]


@dataclass(frozen=True, kw_only=True)
class Context:
    """`nested` lowers a subquery; it is handed along, since subqueries and FROM each contain the other. `questions` are
    the subqueries that are measured, by their place in the tree: each with its number, and what comes after it; its
    number is known in `numbers` before it is lowered."""

    catalog: Catalog
    nested: "Callable[[exp.Expr, Context], Derived]"
    names: Names = dataclass_field(default_factory=Names)
    queries: "Mapping[str, tuple[exp.CTE, Context]]" = dataclass_field(default_factory=dict)
    questions: "dict[int, tuple[int, LoweredQuestion, Tail | None]]" = dataclass_field(default_factory=dict)
    numbers: "dict[int, int]" = dataclass_field(default_factory=dict)

    def number(self, select: exp.Select) -> int:
        """The number of a measured question. The node stays in the tree, so its identity stays its own."""
        return self.numbers.setdefault(id(select), len(self.numbers))

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
