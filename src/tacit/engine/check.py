"""Whether a database has what the policy declares: names and types, before any row is read.

A declared type that the data does not have would fail on some values and not on others, so it is refused here.
"""

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from tacit.base import EngineError, PolicyError
from tacit.engine.engine import Engine
from tacit.policy import Column, ColumnType, Policy, Table
from tacit.policy.problem import quoted
from tacit.policy.types import understood

__all__ = ["check"]

FITS = {  # what may be stored where this is declared
    ColumnType.INTEGER: {ColumnType.INTEGER},
    ColumnType.DECIMAL: {ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT},
    ColumnType.FLOAT: {ColumnType.INTEGER, ColumnType.DECIMAL, ColumnType.FLOAT},
    ColumnType.BOOLEAN: {ColumnType.BOOLEAN},
    ColumnType.TEXT: {ColumnType.TEXT},
    ColumnType.DATE: {ColumnType.DATE, ColumnType.TIMESTAMP},
    ColumnType.TIMESTAMP: {ColumnType.TIMESTAMP},  # PostgreSQL has dates that are no timestamps, and fails on them
}
BINARY = ("blob", "bytea", "binary", "varbinary")  # may name people, and nothing else
LISTED = 12


def check(policy: Policy, engine: Engine, *, texts: Collection[str] = ()) -> None:
    """Raise PolicyError with every declared table or column that is missing or has another type.

    `texts` are the tables that are stored as text, each value of which is cast to what was declared.
    """
    problems = [
        problem
        for name, table in policy.tables.items()
        for problem in _table(engine, name, table, is_text=name in texts)
    ]
    if problems:
        raise PolicyError(*problems)


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
            yield f"{place}: the data has no such column; {_meant(column, stored)}"
        elif not is_text:
            yield from (f"{place}: {problem}" for problem in _type(stored[column], declared))
    if table.unit is None:
        return
    place = f"table {quoted(name)}: unit = {quoted(table.unit)}"
    if table.unit not in stored:
        yield f"{place}: the data has no such column; {_meant(table.unit, stored)}"
    elif not is_text and _kind(stored[table.unit]) is None and stored[table.unit].lower() not in BINARY:
        yield f"{place}: is stored as {stored[table.unit]}, which cannot name people: use an integer or a text"


def _stored(engine: Engine, name: str) -> Mapping[str, str] | None:
    try:
        return engine.columns(name) or None
    except EngineError:
        return None


def _type(native: str, declared: Column) -> Iterator[str]:
    if declared.type is None or declared.hidden:
        return
    found = _kind(native)
    if found is None:
        yield (
            f"it is declared as {declared.type}, and the data has {native}, which cannot be asked about: declare it "
            "hidden = true, or name a view as the table's source that casts it"
        )
    elif found not in FITS[declared.type]:
        yield f"it is declared as {declared.type}, and the data has {native}: declare type = {quoted(str(found))}"


def _kind(native: str) -> ColumnType | None:
    """What an engine's type is to us. Lists end in a bracket; Spark names a collation, which is not used."""
    return None if native.endswith("]") else understood(native.lower().partition(" collate ")[0])


def _meant(name: str, stored: Mapping[str, str]) -> str:
    folded = {each.casefold(): each for each in stored}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {quoted(folded[close[0]])}?"
    return f"it has {', '.join(map(quoted, sorted(stored)[:LISTED]))}{' …' if len(stored) > LISTED else ''}"
