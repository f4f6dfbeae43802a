"""Whether a database has what the policy declares: names and types, before any row is read.

A declared type that the data does not have would fail on some values and not on others, so it is refused here, as are
units that cannot be told apart exactly, or not compared from table to table.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tacit.base import EngineError, InputError, PolicyError, SourceError, TacitError
from tacit.engine.engine import Engine, opening
from tacit.engine.source.form import DELIMITERS, TextForm
from tacit.engine.source.listing import DATABASES
from tacit.engine.source.reading import column_names
from tacit.engine.unit import UnitKind, column_kind, unit_kind
from tacit.plan.facts import Type
from tacit.policy import Column, ColumnType, Policy, Table
from tacit.policy.declaration import quoted
from tacit.policy.kind import decimals
from tacit.policy.source import identity, is_url

__all__ = ["Schema", "check", "check_units", "database_columns", "read_schema"]

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


CATALOGUE = """
    SELECT table_schema, table_name, column_name, data_type
    FROM information_schema.columns
    WHERE table_schema NOT IN ('information_schema', 'pg_catalog')
    ORDER BY table_schema, table_name, ordinal_position
"""


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Tables, each with its columns and the engine's name for their types ("" where the data does not say).

    `files` holds the file of each table that is one, `sources` the full name of a table that has another in its
    database; `engine` is what can read it.
    """

    tables: dict[str, dict[str, str]]
    engine: str = "duckdb"
    sources: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def read_schema(data: str | Path, form: TextForm | None = None) -> Schema:
    """The schema of a Parquet or CSV file, a folder of them, a DuckDB file, or a postgresql:// URL.

    `form` is how text files are written, if not as their ending says.
    """
    text = str(data)
    if re.match(r"postgres(ql)?(\+\w+)?://", text):
        return _postgres("postgresql:" + text.partition(":")[2])
    if is_url(text):
        raise InputError(f"{quoted(text)}: only postgresql:// can be read this way; write the policy file by hand")
    path = Path(text)
    if path.is_dir():
        return _folder(path, form)
    if not path.is_file():
        raise InputError(f"{quoted(path.name)}: there is no such file or folder")
    if path.suffix.lower() in DATABASES:
        return _duckdb(path)
    return Schema(tables={path.stem: _file(path, form)}, files={path.stem: text})


def _folder(folder: Path, form: TextForm | None) -> Schema:
    """One table for each file, called as the file is."""
    files = [
        path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix.lower() in {".parquet", *DELIMITERS}
    ]
    if not files:
        raise InputError(f"{quoted(str(folder))}: there are no Parquet or CSV files in this folder")
    twice = {path.stem for path in files if sum(other.stem == path.stem for other in files) > 1}
    names = {path: path.name if path.stem in twice else path.stem for path in files}
    return Schema(
        tables={names[path]: _file(path, form) for path in files}, files={names[path]: str(path) for path in files}
    )


def _file(path: Path, form: TextForm | None) -> dict[str, str]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return _parquet(path)
    if suffix in DELIMITERS:
        return dict.fromkeys(column_names(path, form or TextForm.of(path)), "")
    raise InputError(
        f"{quoted(path.name)}: cannot tell what this is: use .parquet, .csv, .tsv, .duckdb, a folder of such files, "
        "or a postgresql:// URL"
    )


def _parquet(path: Path) -> dict[str, str]:
    from pyarrow import parquet

    found = opening(f"{quoted(path.name)}: is not a Parquet file that can be read", lambda: parquet.read_schema(path))
    return _named(path.name, [(item.name, str(item.type)) for item in found])


def database_columns(path: Path, table: str) -> dict[str, str]:
    """Names and types of the columns of one table of a DuckDB file."""
    schema, dot, name = table.rpartition(".")
    wanted = (schema if dot else "main", name)
    found = {column: str(kind) for *place, column, kind in _catalogued(path) if tuple(place) == wanted}
    if not found:
        raise SourceError(f"{quoted(path.name)}: there is no table {quoted(table)} in it")
    return found


def _catalogued(path: Path) -> list[tuple[Any, ...]]:
    import duckdb

    def read() -> list[tuple[Any, ...]]:
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.execute(CATALOGUE).fetchall()

    if not path.is_file():
        raise SourceError(f"{quoted(path.name)}: there is no such file")
    return opening(f"{quoted(path.name)}: is not a DuckDB file that can be opened", read)


def _duckdb(path: Path) -> Schema:
    return _catalogue(_catalogued(path), usual="main", where=path.name, engine="duckdb")


def _postgres(url: str) -> Schema:
    try:
        import psycopg
    except ImportError:
        raise TacitError("PostgreSQL needs psycopg, which is not installed: pip install 'tacit[postgres]'") from None

    def read() -> list[tuple[Any, ...]]:
        with psycopg.connect(url, connect_timeout=10, options="-c default_transaction_read_only=on") as connection:
            return connection.execute(CATALOGUE).fetchall()

    rows = opening(f"{identity(url)}: cannot be reached or read", read)
    return _catalogue(rows, usual="public", where=identity(url), engine="postgres")


def _catalogue(rows: list[tuple[Any, ...]], *, usual: str, where: str, engine: str) -> Schema:
    """A table outside the usual schema goes by its own name where that is free, with its full name as the source."""
    if not rows:
        raise InputError(f"{quoted(where)}: there are no tables in it")
    full = dict.fromkeys((schema, table) for schema, table, _, _ in rows)
    tables: dict[str, dict[str, str]] = {}
    names, sources = {}, {}
    for schema, table in full:
        alone = schema == usual or sum(table == other for _, other in full) == 1
        names[schema, table] = name = table if alone else f"{schema}_{table}"
        if name in tables:
            raise InputError(f"{quoted(where)}: two tables would be called {quoted(name)}: write the policy by hand")
        tables[name] = {}
        if schema != usual:
            sources[name] = f"{schema}.{table}"
    for schema, table, column, kind in rows:
        tables[names[schema, table]][column] = "enum" if str(kind).upper().startswith("ENUM") else str(kind)
    return Schema(tables=tables, engine=engine, sources=sources)


def _named(where: str, columns: list[tuple[str, str]]) -> dict[str, str]:
    names = [name for name, _ in columns]
    if not columns or not all(names) or len(set(names)) < len(names):
        raise InputError(f"{quoted(where)}: needs columns with names, each a different one")
    return dict(columns)
