"""Names and types of the columns of some data, and nothing else: no value is ever read.

A Parquet file says its types in its footer, a database in its catalogue. A CSV file has a line of names and no types;
finding them would mean looking at people's values, so they are left blank.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.base import InputError, SourceError, TacitError
from tacit.engine.engine import opening
from tacit.engine.source.form import DELIMITERS, TextForm
from tacit.engine.source.listing import DATABASES
from tacit.engine.source.reading import column_names
from tacit.policy.problem import quoted
from tacit.policy.source import identity, is_url

__all__ = ["Schema", "database_columns", "read_schema"]

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
