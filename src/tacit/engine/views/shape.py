"""Whether each row of a private view comes from one unit's rows alone, as far as its definition shows.

A view may pick rows and columns, cast and compute, join, and put together. What looks at several rows at once (groups,
windows, DISTINCT ON) must keep within one unit: the unit, or the columns it is made of, are among the keys. Limits,
samples, recursion and places in a file keep within nothing. The table that names the unit is joined to itself by the
unit alone; where the unit cannot be followed to a table, or each row is a unit, no table is joined to itself at all.
Other joins are let through: whether another table is about people cannot be seen here.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as changed

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tacit.base import PolicyError
from tacit.engine.dialect import Dialect
from tacit.policy.declaration import quoted

__all__ = ["Definition", "Name", "View", "check_shape"]

REMEDY = (
    "rows of one unit would then depend on another's: let the view pick, cast and join, or group by its unit; write "
    "anything else into a table first, and declare a unit for that"
)
DEEPEST = 40
LOST = ""  # a unit that cannot be followed to the columns of a table; None where rows are not the unit's at all
WHOLE = ("limit", "offset", "fetch", "sample", "match", "pivots", "connect", "into")
SETS = ("grouping_sets", "cube", "rollup", "totals")


@dataclass(frozen=True, kw_only=True)
class View:
    """A query, and the names of its columns where they are not those in it."""

    sql: str
    columns: tuple[str, ...] = ()


Name = tuple[str, ...]
Definition = Callable[[Name], View | None]
"""The view behind a name in parts, such as (schema, view); None for a table."""


def check_shape(view: View, unit: str | None, dialect: Dialect, definition: Definition, sums: Collection[str]) -> None:
    """PolicyError if rows of a view whose units `unit` names, or whose rows are units, can depend on several units.

    `sums` are the names of functions that look at several rows.
    """
    shape = _Shape(dialect=dialect, definition=definition, sums=frozenset(name.lower() for name in sums))
    shape.view(view, unit or LOST)
    for loose in shape.loose:
        if any(_same_table(loose, table) for table in shape.tied):
            raise _joined(loose)


@dataclass(frozen=True, kw_only=True)
class _Unit:
    """What names the unit in one SELECT: an expression, columns that are equal to it in every row, and columns that are
    equal to it or, where an outer join found nothing, NULL. `is_star` if it is among those of a bare star."""

    value: exp.Expr | None = None
    is_star: bool = False
    same: tuple[exp.Column, ...] = ()
    matched: tuple[exp.Column, ...] = ()

    @property
    def columns(self) -> tuple[exp.Column, ...]:
        """Columns each of which tells the unit."""
        made_of = [] if self.value is None else list(self.value.find_all(exp.Column))
        return (*self.same, *self.matched, *(made_of if len(made_of) == 1 else ()))

    def within(self, keys: Iterable[exp.Expr]) -> bool:
        """Whether rows with the same keys are one unit's."""
        if self.value is None:
            return False
        given = list(keys)
        made_of = list(self.value.find_all(exp.Column))
        if any(_equal(one, key) for one in (self.value, *self.same) for key in given):
            return True
        return bool(made_of) and all(any(_equal(column, key) for key in given) for column in made_of)


@dataclass(frozen=True, kw_only=True)
class _Shape:
    dialect: Dialect
    definition: Definition
    sums: frozenset[str]
    named: Mapping[str, exp.Expr] = field(default_factory=dict)  # WITH
    depth: int = 0
    tied: set[Name] = field(default_factory=set)  # tables whose rows are those of the unit
    loose: set[Name] = field(default_factory=set)  # and others

    def view(self, view: View, unit: str | None) -> None:
        try:
            query = sqlglot.parse_one(view.sql, dialect=self.dialect.name)
        except SqlglotError:
            query = exp.Command()
        if not isinstance(query, exp.Query) or self.depth > DEEPEST:
            raise PolicyError(f"its definition cannot be read, and {REMEDY}")
        if view.columns and unit is not None:
            unit = _renamed(query, list(view.columns), unit, otherwise=LOST)
        changed(self, named={}, depth=self.depth + 1).query(query, unit, _Unit())

    def query(self, query: exp.Expr, unit: str | None, outer: _Unit) -> None:
        while isinstance(query, exp.Subquery | exp.Paren):
            self._check_whole(query)
            query = query.this
        self._check_whole(query)
        shape = changed(self, named={**self.named, **{each.alias.lower(): each for each in _with(query)}})
        if isinstance(query, exp.SetOperation):
            place = _place_of(query, unit)
            for side in (query.left, query.right):
                shape.query(side, (_name_at(side, place) or LOST) if place >= 0 else unit, outer)
        elif isinstance(query, exp.Select):
            shape._select(query, unit, outer)
        elif not isinstance(query, exp.Values | exp.Table):
            raise PolicyError(f"its definition cannot be read, and {REMEDY}")

    def _check_whole(self, query: exp.Expr) -> None:
        for name in WHOLE:
            if query.args.get(name):
                raise PolicyError(f"it has {name.replace('_', ' ').upper()}, and {REMEDY}")

    def _select(self, query: exp.Select, unit: str | None, outer: _Unit) -> None:
        who = _unit_in(query, unit, outer)
        is_tied = any(_equal(side, column) for pair in _equals(query) for side in pair for column in outer.columns)
        self._check_groups(query, who, is_tied=is_tied)
        self._check_places(query)
        lost = LOST if unit is not None and not who.columns else None
        before: list[tuple[exp.Expr, set[Name]]] = []
        sources = [(each, True) for each in _sources(query)]
        for part, is_source in [*sources, *((each, False) for each in _inner(query))]:
            below = changed(self, tied=set(), loose=set())
            if is_source:
                below._source(part, who, lost)
            else:
                below.query(part, _asked_for(part, who) if lost is None else lost, who)
            read = below.tied | below.loose
            for other, names in before:
                twice = [name for name in read if any(_same_table(name, each) for each in names)]
                is_unsure = who.is_star and is_source and not _same_unit(query, who, other, part)
                if twice and (lost is not None or is_unsure):
                    raise _joined(min(twice))
            before.append((part, read))
            self.tied.update(below.tied)
            self.loose.update(below.loose)

    def _check_places(self, query: exp.Select) -> None:
        """Where a row stands follows from the rows before it."""
        if any(str(join.args.get("method")).upper() == "POSITIONAL" for join in query.args.get("joins") or ()):
            raise PolicyError(f"it joins rows by their position, and {REMEDY}")
        for part in _parts(query):
            if isinstance(part, exp.Column | exp.Pseudocolumn) and part.name.lower() in self.dialect.places:
                raise PolicyError(f"it uses {quoted(part.name)}, the place of a row in its table, and {REMEDY}")

    def _check_groups(self, query: exp.Select, who: _Unit, *, is_tied: bool) -> None:
        group = query.args.get("group")
        keys = [] if group is None else _resolved(query, group.expressions)
        if group is not None and group.args.get("all"):  # whatever is shown and not summed
            keys = [shown.unalias() for shown in query.expressions if not shown.find(exp.AggFunc)]
        if group is not None and any(group.args.get(name) for name in SETS):
            raise PolicyError(f"it groups by several sets of columns, and {REMEDY}")
        if (group is not None or any(self._is_sum(part) for part in _parts(query))) and not (
            who.within(keys) or (group is None and is_tied)
        ):
            raise PolicyError(f"it groups rows by something else than the unit, and {REMEDY}")
        distinct = query.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            on = distinct.args["on"]
            if not who.within(_resolved(query, on.expressions if isinstance(on, exp.Tuple) else [on])):
                raise PolicyError(f"it has DISTINCT ON something else than the unit, and {REMEDY}")
        windows = {window.name.lower(): window for window in query.args.get("windows") or ()}
        for part in _parts(query):
            if isinstance(part, exp.Window) and part.parent is not query:
                named = windows.get(str(part.args.get("alias") or "").lower())
                keys = [*(part.args.get("partition_by") or ()), *((named and named.args.get("partition_by")) or ())]
                if not who.within(_resolved(query, keys)):
                    raise PolicyError(f"it has a window over something else than the unit's rows, and {REMEDY}")

    def _is_sum(self, part: exp.Expr) -> bool:
        """Whether it looks at several rows, other than through a window."""
        name = part.name if isinstance(part, exp.Anonymous) else part.sql_name() if isinstance(part, exp.Func) else ""
        if not isinstance(part, exp.AggFunc) and name.lower() not in self.sums:
            return False
        above = part.parent
        while isinstance(above, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
            above = above.parent
        return not isinstance(above, exp.Window)

    def _source(self, source: exp.Expr, who: _Unit, lost: str | None) -> None:
        alias = source.alias_or_name.lower()
        inside = next((column.name for column in who.columns if column.table.lower() in ("", alias)), lost)
        if isinstance(source, exp.Lateral):
            source = source.this
        if isinstance(source, exp.Subquery):
            names = [column.name for column in source.args["alias"].columns] if source.args.get("alias") else []
            self.query(source, _renamed(source, names, inside), who)
        elif isinstance(source, exp.Table):
            self._check_whole(source)
            self._table(source, inside, who)

    def _table(self, table: exp.Table, inside: str | None, who: _Unit) -> None:
        parts = tuple(part.name for part in table.parts)
        known = self.named.get(parts[0].lower()) if len(parts) == 1 else None
        if known is not None:
            names = [column.name for column in known.args["alias"].columns]
            below = changed(self, named={name: q for name, q in self.named.items() if q is not known})
            below.query(known.this, _renamed(known.this, names, inside), _Unit())
            return
        if not isinstance(table.this, exp.Identifier):
            return  # a function
        view = self.definition(parts)
        if view is not None:
            self.view(view, inside)
        else:
            (self.tied if inside else self.loose).add(tuple(part.lower() for part in parts))


def _asked_for(inner: exp.Expr, who: _Unit) -> str | None:
    """The column of `unit IN (SELECT …)`; not of NOT IN, which one NULL makes false for everybody."""
    asking = inner.parent
    if not isinstance(asking, exp.In) or isinstance(asking.parent, exp.Not):
        return None
    return _name_at(inner, 0) if any(_equal(asking.this, column) for column in who.columns) else None


def _joined(table: Name) -> PolicyError:
    return PolicyError(f"it joins {quoted('.'.join(table))} to itself by something else than the unit, and {REMEDY}")


def _same_unit(query: exp.Select, who: _Unit, one: exp.Expr, two: exp.Expr) -> bool:
    """Whether the columns of two sources that the unit's name stands for are equal."""
    columns = [exp.column(str(who.value and who.value.name), table=source.alias_or_name) for source in (one, two)]
    return columns[1] in _closed(columns[:1], _equals(query))


def _same_table(one: Name, two: Name) -> bool:
    """Whether two names may be one table's; either may leave out the schema."""
    shared = min(len(one), len(two))
    return one[-shared:] == two[-shared:]


def _parts(query: exp.Select) -> Iterator[exp.Expr]:
    """Everything in a SELECT but what is inside another."""
    return query.walk(prune=lambda at: at is not query and isinstance(at, exp.Query | exp.Subquery))


def _inner(query: exp.Select) -> Iterator[exp.Expr]:
    """SELECTs inside its expressions."""
    sources = [source.this if isinstance(source, exp.Lateral) else source for source in _sources(query)]
    skipped = {id(each) for each in (query, *sources, *(named.this for named in _with(query)))}
    for part in _parts(query):
        if isinstance(part, exp.Query | exp.Subquery) and id(part) not in skipped:
            yield part


def _with(query: exp.Expr) -> list[exp.Expr]:
    """What WITH names."""
    found = query.args.get("with_") or query.args.get("with")
    if found is not None and found.args.get("recursive"):
        raise PolicyError(f"it is recursive, and {REMEDY}")
    return [] if found is None else list(found.expressions)


def _sources(query: exp.Select) -> Iterator[exp.Expr]:
    start = query.args.get("from_") or query.args.get("from")
    waiting = [start.this] if start is not None else []
    waiting += [join.this for join in query.args.get("joins") or ()]
    for source in waiting:
        yield from _flat(source)


def _flat(source: exp.Expr) -> Iterator[exp.Expr]:
    """A source and what is joined to it inside its parentheses."""
    while isinstance(source, exp.Paren) or (isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table)):
        for join in source.args.get("joins") or ():
            yield from _flat(join.this)
        source = source.this
    yield source
    for join in source.args.get("joins") or () if not isinstance(source, exp.Query) else ():
        yield from _flat(join.this)


Pair = tuple[exp.Expr, exp.Expr]


def _equals(query: exp.Select, *, outer: bool = False) -> list[Pair]:
    """What is equal in every row of the SELECT; with `outer`, also what an outer join may have found nothing for."""
    places = [query.args["where"].this] if query.args.get("where") is not None else []
    found: list[Pair] = []
    for join in query.find_all(exp.Join):
        if join.find_ancestor(exp.Select) is query and (outer or str(join.side).upper() in ("", "INNER")):
            places += [join.args["on"]] if join.args.get("on") is not None else []
            found += [
                (exp.column(name.name), exp.column(name.name, table=join.this.alias_or_name))
                for name in join.args.get("using") or ()
            ]
    for place in places:
        for part in place.flatten() if isinstance(place, exp.And) else [place]:
            whole = part.unnest()
            if isinstance(whole, exp.EQ):
                found.append((whole.left.unnest(), whole.right.unnest()))
    return found


def _unit_in(query: exp.Select, unit: str | None, outer: _Unit) -> _Unit:
    value: exp.Expr | None = None
    is_star = False
    for shown in query.expressions if unit else ():
        if shown.alias_or_name.lower() == str(unit).lower() and not shown.is_star:
            value, is_star = shown.unalias(), False
        elif shown.is_star and value is None:
            value = exp.column(str(unit), table=shown.table if isinstance(shown, exp.Column) else None)
            is_star = not isinstance(shown, exp.Column)
    starts = [*([value] if isinstance(value, exp.Column) else []), *outer.columns]
    same = _closed(starts, _equals(query))
    if value is None and same:
        value = same[0]
    matched = _closed(starts, _equals(query, outer=True))
    return _Unit(value=value, is_star=is_star, same=tuple(same), matched=tuple(matched))


def _closed(starts: list[exp.Column], pairs: list[Pair]) -> list[exp.Column]:
    """The columns that pairs make equal to one of these."""
    found: list[exp.Column] = []
    for _ in pairs:
        for one, two in (*pairs, *((two, one) for one, two in pairs)):
            if isinstance(two, exp.Column) and two not in found and any(_equal(one, x) for x in (*starts, *found)):
                found.append(two)
    return found


def _resolved(query: exp.Select, keys: Iterable[exp.Expr]) -> list[exp.Expr]:
    """Keys by place as what they stand for."""
    found = []
    shown = {each.alias.lower(): each.unalias() for each in query.expressions if each.alias}
    for given in keys:
        key = given.unnest()
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(query.expressions):
            found.append(query.expressions[int(key.name) - 1].unalias())
        elif not (isinstance(key, exp.Column) and not key.table and shown.get(key.name.lower(), key) != key):
            found.append(key)  # else it may be a column or what is shown under its name: nobody can tell
    return found


def _shown(query: exp.Expr) -> list[exp.Expr]:
    """What the first SELECT of a query shows."""
    while not isinstance(query, exp.Select) and isinstance(query.this, exp.Expr):
        query = query.this
    return query.expressions if isinstance(query, exp.Select) else []


def _name_at(query: exp.Expr, place: int) -> str | None:
    shown = _shown(query)
    if not 0 <= place < len(shown) or any(each.is_star for each in shown[: place + 1]):
        return None
    return shown[place].alias_or_name or None


def _place_of(query: exp.Expr, unit: str | None) -> int:
    """Where a set operation shows the unit, by the names of its first part; -1 where it cannot be told."""
    shown = _shown(query)
    names = [each.alias_or_name.lower() for each in shown]
    if not unit or unit.lower() not in names or any(each.is_star for each in shown):
        return -1
    return names.index(unit.lower())


def _renamed(query: exp.Expr, names: list[str], unit: str | None, *, otherwise: str | None = None) -> str | None:
    """A column of `(query) AS t (names)` by its name in the query; `otherwise` one that has no other name."""
    folded = [name.lower() for name in names]
    if not unit or unit.lower() not in folded:
        return unit if otherwise is None else otherwise
    return _name_at(query, folded.index(unit.lower())) or LOST


def _equal(one: exp.Expr, two: exp.Expr) -> bool:
    """Whether they are the same, where columns may or may not say their table."""
    if isinstance(one, exp.Column) and isinstance(two, exp.Column):
        tables = {one.table.lower(), two.table.lower()} - {""}
        return one.name.lower() == two.name.lower() and len(tables) <= 1
    return one == two
