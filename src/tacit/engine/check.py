"""Whether a database has what the policy declares: names and types, before any row is read.

A declared type that the data does not have would fail on some values and not on others, so it is refused here, as are
units that cannot be told apart exactly, or not compared from table to table.
"""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from tacit.base import EngineError, InputError, PolicyError
from tacit.engine.engine import Engine
from tacit.engine.unit import UnitKind, column_kind, unit_kind
from tacit.plan.facts import Type
from tacit.policy import Column, ColumnType, Policy, Table
from tacit.policy.problem import quoted
from tacit.policy.types import decimals

__all__ = ["check", "check_units"]

FITS = {  # what may be stored where this is declared
    ColumnType.INTEGER: {ColumnType.INTEGER},
    ColumnType.DECIMAL: {ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT},
    ColumnType.FLOAT: {ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT},
    ColumnType.BOOLEAN: {ColumnType.BOOLEAN},
    ColumnType.TEXT: {ColumnType.TEXT},
    ColumnType.DATE: {ColumnType.DATE, ColumnType.TIMESTAMP},
    ColumnType.TIMESTAMP: {ColumnType.TIMESTAMP},  # PostgreSQL has dates that are no timestamps, and fails on them
}
LISTED = 12


def check(policy: Policy, engine: Engine, *, texts: Collection[str] = (), compared: Collection[str] = ()) -> None:
    """Raise PolicyError with every declared table or column that is missing or has another type.

    `texts` are the tables that are stored as text, each value of which is cast to what was declared; `compared` those
    that need no second look.
    """
    problems = [
        problem
        for name, table in policy.tables.items()
        if name not in compared
        for problem in _table(engine, name, table, is_text=name in texts)
    ]
    if problems:
        raise PolicyError(*problems)
    check_units(policy, engine)


def check_units(policy: Policy, engine: Engine) -> None:
    """Raise PolicyError where the units of a table cannot be told apart exactly, or differ in kind between tables."""
    kinds: dict[str, UnitKind] = {}
    problems = []
    for name, table in policy.tables.items():
        stored = {} if table.unit is None or table.public else _stored(engine, name) or {}
        if table.unit is None or table.unit not in stored:
            continue  # `check` has said so
        column = table.columns.get(table.unit)
        try:
            kinds[name] = unit_kind(None if column is None else _asked(column.type), stored[table.unit])
        except InputError as error:
            problems.append(f"table {quoted(name)}: unit = {quoted(table.unit)}: {error}")
    first = next(iter(kinds), "")
    problems += [
        f"table {quoted(name)}: its unit is compared as {kind}, and that of table {quoted(first)} as {kinds[first]}: "
        "declare one type for the unit's column in both"
        for name, kind in kinds.items()
        if kind is not kinds[first]
    ]
    if problems:
        raise PolicyError(*problems)


def _asked(declared: ColumnType | None) -> Type | None:
    """A declared type as plans have it."""
    if declared is None:
        return None
    return Type.NUMBER if declared in (ColumnType.DECIMAL, ColumnType.FLOAT) else Type(str(declared))


def _table(engine: Engine, name: str, table: Table, *, is_text: bool) -> Iterator[str]:
    stored = _stored(engine, name)
    if stored is None:
        yield (
            f"table {quoted(name)}: cannot be found in the data, or may not be read: check its name and source in the "
            "policy, and what the account may see"
        )
        return
    for column, declared in table.columns.items():
        place = f"table {quoted(name)}, column {quoted(column)}"
        if column not in stored:
            yield f"{place}: the data has no such column; {_meant(column, stored, is_text=is_text)}"
        elif not is_text:
            yield from (f"{place}: {problem}" for problem in _type(stored[column], declared))
    if table.unit is not None and table.unit not in stored:
        place = f"table {quoted(name)}: unit = {quoted(table.unit)}"
        yield f"{place}: the data has no such column; {_meant(table.unit, stored, is_text=is_text)}"


def _stored(engine: Engine, name: str) -> Mapping[str, str] | None:
    try:
        return engine.columns(name) or None
    except EngineError:
        return None


def _type(native: str, declared: Column) -> Iterator[str]:
    if declared.type is None or declared.hidden:
        return
    found = column_kind(native)
    if declared.type is ColumnType.INTEGER and found is ColumnType.DECIMAL and decimals(native) == 0:
        return
    if found is None:
        yield (
            f"it is declared as {declared.type}, and the data has {native}, which cannot be asked about: declare it "
            "hidden = true, or name a view as the table's source that casts it"
        )
    elif found not in FITS[declared.type]:
        yield f"it is declared as {declared.type}, and the data has {native}: declare type = {quoted(str(found))}"


def _meant(name: str, stored: Mapping[str, str], *, is_text: bool) -> str:
    """What somebody may have meant. The first line of a text file may be a person's row: it is not shown."""
    if is_text:
        return f"the first line of its file names {len(stored)} others; if it is no line of names, declare header"
    folded = {each.casefold(): each for each in stored}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {quoted(folded[close[0]])}?"
    return f"it has {', '.join(map(quoted, sorted(stored)[:LISTED]))}{' …' if len(stored) > LISTED else ''}"
