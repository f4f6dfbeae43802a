"""What can be seen of a table or view in PostgreSQL's catalogue, down to the tables it is made of.

Dependencies are recorded for people's own functions alone and not for built-in ones such as random(), so the numbers
of functions, operators and relations are taken from the stored trees themselves. Bodies of SQL and PL/pgSQL functions
are searched for the names of volatile ones; what cannot be seen (other functions of people's own, foreign tables) is
read once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from tacit.base import EngineError, PolicyError
from tacit.engine.dialect import POSTGRES
from tacit.engine.relation import columns_of
from tacit.engine.result import Fetch
from tacit.engine.views.shape import Name, View, check_shape
from tacit.plan.node import Node
from tacit.policy.declaration import quoted

__all__ = ["PostgresViews", "Sight", "see", "unique_columns"]

Transaction = Callable[[], AbstractContextManager[Fetch]]
"""A transaction of its own, and how to fetch in it."""

OWN = 16384  # the first number of what people made themselves
FUNCTION = re.compile(r":(?:funcid|opfuncid|aggfnoid|winfnoid|startInRangeFunc|endInRangeFunc) (\d+)")
OPERATOR = re.compile(r":(?:opno|eqop|sortop) (\d+)")
RELATION = re.compile(r":relid (\d+)")
SEVERAL = re.compile(r"\{AGGREF|\{WINDOWFUNC|:(?:distinctClause|groupClause|limitCount|limitOffset|setOperations) [({]")
CALLED = re.compile(r"([A-Za-z_][A-Za-z0-9_$]*)\"?\s*\(")
TABLES, VIEWED = "rpm", "v"
REMEDY = "write the rows into a table or a materialized view, and declare that"


@dataclass(frozen=True, kw_only=True)
class Sight:
    """`is_steady` if every reading in one snapshot gives the same rows; `mark` differs whenever the definition does."""

    is_steady: bool
    mark: str


def see(fetch: Fetch, table: str, unit: str | None, *, is_private: bool) -> Sight:
    """Look at `table`, a quoted name; PolicyError if it gives other rows at each reading or mixes units.

    Nothing but the catalogue is read.
    """
    look = _Look(fetch)
    ((start,),) = look.ask(f"SELECT pg_catalog.to_regclass({POSTGRES.text(table)})::oid::bigint")
    if start is not None:
        look.relations({int(start)})
        if is_private:
            look.check_shape(int(start), unit)
    return Sight(is_steady=look.is_steady, mark=look.mark.hexdigest())


def unique_columns(fetch: Fetch, table: str) -> set[str]:
    """The columns of `table`, a quoted name, of which the database holds that no value is there twice: by a whole and
    valid index over that column alone. A parent's index says nothing of tables that inherit from it."""
    found = fetch(
        "SELECT a.attname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
        f"WHERE c.oid = pg_catalog.to_regclass({POSTGRES.text(table)}) AND i.indisunique AND i.indisvalid "
        "AND i.indnkeyatts = 1 AND i.indpred IS NULL AND i.indexprs IS NULL AND (c.relkind = 'p' OR NOT EXISTS "
        "(SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid))"
    )
    return {str(name) for name in found[0]} if found else set()


class PostgresViews:
    """The declared tables as they are called in SQL, and the units of those that are private."""

    def __init__(self, tables: Mapping[str, str], units: Mapping[str, str | None]) -> None:
        self._tables, self._units = tables, units

    def see(self, fetch: Fetch, names: Iterable[str]) -> dict[str, Sight]:
        """Look at these tables; PolicyError with everything that is wrong with them."""
        seen, problems = {}, []
        for name in sorted(names):
            try:
                seen[name] = see(fetch, self._tables[name], self._units.get(name), is_private=name in self._units)
            except PolicyError as error:
                problems += [f"table {quoted(name)}: {problem}" for problem in error.problems]
        if problems:
            raise PolicyError(*problems)
        return seen

    def _once(self, seen: Mapping[str, Sight], source: Node) -> tuple[dict[str, str], str]:
        """What tables are called in a statement, and what stands before it: a copy of each that is read once."""
        names, copies = dict(self._tables), list[str]()
        for name, columns in columns_of(source).items():
            if name in seen and not seen[name].is_steady:
                names[name] = copy = POSTGRES.identifier(f"tacit once {len(copies)}")
                chosen = ", ".join(POSTGRES.identifier(column) for column in sorted(columns))
                copies.append(f"{copy} AS MATERIALIZED (SELECT {chosen or '1 AS one'} FROM {self._tables[name]})")
        return names, f"WITH {', '.join(copies)} SELECT * FROM (" if copies else ""

    @contextmanager
    def reading(self, transaction: Transaction, source: Node) -> Iterator[tuple[dict[str, str], Callable[[str], str]]]:
        """In a transaction: what each table is called, and what makes a statement whole. It fails in the end if a
        definition changed.

        The second look is in a transaction of its own: statements are planned by the definitions of their moment, while
        a look at the catalogue has the snapshot's.
        """
        read = [name for name in columns_of(source) if name in self._tables]
        with transaction() as fetch:
            seen = self.see(fetch, read)
            names, before = self._once(seen, source)
            yield names, lambda sql: f"{before}{sql}) AS answer" if before else sql
        with transaction() as fetch:
            if self.see(fetch, read) != seen:
                raise EngineError


@dataclass
class _Look:
    fetch: Fetch
    is_steady: bool = True
    mark: Any = field(default_factory=sha256)
    known: set[tuple[str, int]] = field(default_factory=set)
    views: dict[int, tuple[str, str]] = field(default_factory=dict)
    sums: set[str] = field(default_factory=set)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        rows = list(zip(*self.fetch(sql), strict=True))
        self.mark.update(repr(rows).encode())
        return rows

    def fresh(self, kind: str, numbers: Iterable[int]) -> str:
        """Those that were not looked at yet, as a list in SQL; "" for none."""
        new = sorted({number for number in numbers if number and (kind, number) not in self.known})
        self.known |= {(kind, number) for number in new}
        return ", ".join(map(str, new))

    def relations(self, numbers: Iterable[int]) -> None:
        new = self.fresh("relation", numbers)
        if not new:
            return
        found = self.ask(
            "SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, r.ev_action::text "
            "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
            "LEFT JOIN pg_catalog.pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1' "
            f"WHERE c.oid IN ({new}) ORDER BY 1"
        )
        trees = []
        for number, schema, name, kind, tree in found:
            if kind == VIEWED:
                self.views[number] = schema, name
                trees.append(tree or "")
            elif kind not in TABLES:  # a foreign table, or a sequence, which is in no snapshot
                self.is_steady = False
        policies = self.ask(
            "SELECT p.polrelid::bigint, p.polqual::text FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c "
            f"ON c.oid = p.polrelid WHERE p.polrelid IN ({new}) AND c.relrowsecurity ORDER BY p.oid"
        )
        children = self.ask(
            f"SELECT inhrelid::bigint FROM pg_catalog.pg_inherits WHERE inhparent IN ({new}) ORDER BY 1"
        )
        for tree in (*trees, *(condition for _, condition in policies if condition)):
            self.tree(tree)
        self.relations(int(child) for (child,) in children)

    def tree(self, tree: str) -> None:
        """An expression or query as PostgreSQL stores it."""
        if "{TABLESAMPLECLAUSE" in tree:
            raise PolicyError(f"it takes a sample, which is another one each time it is read: {REMEDY}")
        if "{NEXTVALUEEXPR" in tree:
            raise PolicyError(f"it takes numbers from a sequence, others each time it is read: {REMEDY}")
        self.is_steady &= SEVERAL.search(tree) is None
        operators = self.fresh("operator", map(int, OPERATOR.findall(tree)))
        functions = {int(number) for number in FUNCTION.findall(tree)}
        if operators:
            found = self.ask(
                f"SELECT oprcode::oid::bigint FROM pg_catalog.pg_operator WHERE oid IN ({operators}) ORDER BY 1"
            )
            functions |= {int(number) for (number,) in found}
        self.functions(functions)
        self.relations(int(number) for number in RELATION.findall(tree))

    def functions(self, numbers: Iterable[int]) -> None:
        new = self.fresh("function", numbers)
        if not new:
            return
        found = self.ask(
            "SELECT p.oid::bigint, p.proname::text, p.provolatile::text, p.prokind::text, p.prosrc, p.prosqlbody::text "
            f"FROM pg_catalog.pg_proc p WHERE p.oid IN ({new}) ORDER BY 1"
        )
        for number, name, volatility, kind, text, tree in found:
            if volatility == "v":
                raise PolicyError(_volatile(name))
            if kind == "a":
                self.sums.add(name)
            if number >= OWN:
                self.is_steady = False  # it may be marked as what it is not
                self.body(text or "")
                self.tree(tree or "")
        parts = self.ask(
            "SELECT u.part::oid::bigint FROM pg_catalog.pg_aggregate a CROSS JOIN LATERAL (VALUES (a.aggtransfn), "
            "(a.aggfinalfn), (a.aggcombinefn)) AS u (part) "
            f"WHERE a.aggfnoid::oid IN ({new}) AND a.aggfnoid::oid >= {OWN} ORDER BY 1"
        )
        self.functions(int(part) for (part,) in parts)

    def body(self, text: str) -> None:
        """The text of a function, whatever its language."""
        names = sorted({name.lower() for name in CALLED.findall(text)})
        if re.search(r"\btablesample\b", text, re.IGNORECASE):
            raise PolicyError(f"it calls a function that takes a sample, another one each time: {REMEDY}")
        if names:
            listed = ", ".join(POSTGRES.text(name) for name in names)
            found = self.ask(
                "SELECT p.proname::text FROM pg_catalog.pg_proc p WHERE p.provolatile = 'v' AND p.prokind = 'f' "
                f"AND pg_catalog.lower(p.proname::text) IN ({listed}) ORDER BY 1 LIMIT 1"
            )
            for (name,) in found:
                raise PolicyError(_volatile(name))

    def check_shape(self, start: int, unit: str | None) -> None:
        if start not in self.views:
            return
        rows = self.ask(
            "SELECT c.oid::bigint, pg_catalog.pg_get_viewdef(c.oid) FROM pg_catalog.pg_class c "
            f"WHERE c.oid IN ({', '.join(map(str, self.views))})"
        )
        named: dict[Name, View] = {self.views[int(n)]: View(sql=sql.strip().removesuffix(";")) for n, sql in rows}
        check_shape(
            named[self.views[start]], unit, POSTGRES, lambda parts: named.get(("pg_catalog", *parts)[-2:]), self.sums
        )


def _volatile(name: str) -> str:
    return (
        f"it calls the function {quoted(name)}, which may give another value each time, and rows are read more than "
        f"once: {REMEDY}"
    )
