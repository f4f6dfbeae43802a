"""What a curator does to data before analysts ask: read its schema, compare names, have text read or deleted."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from tacit.base import EngineError, InputError, PolicyError, SourceError, TacitError
from tacit.engine.connect import check, copies_of, local_sources, open_engine
from tacit.engine.dialect import DUCKDB
from tacit.engine.engine import opening
from tacit.engine.foreign_keys import IN_DUCKDB, IN_POSTGRES, proposed_links
from tacit.engine.postgres import MISSING
from tacit.engine.source.cell import STORED
from tacit.engine.source.listing import DATABASES, listed
from tacit.engine.source.parquet import common_columns
from tacit.engine.source.reading import column_names
from tacit.engine.source.tables import DatabaseSource, FileSource
from tacit.engine.source.text import DELIMITERS, TextForm
from tacit.policy import EngineName as Kind
from tacit.policy import Policy, TableLink
from tacit.policy.declaration import instead, quoted
from tacit.policy.source import identity, is_url

__all__ = ["Comparison", "Schema", "compare_names", "forget_tables", "import_tables", "read_schema"]


CATALOGUE = """
    SELECT table_schema, table_name, column_name, data_type
    FROM information_schema.columns
    WHERE table_schema NOT IN ('information_schema', 'pg_catalog')
    ORDER BY table_schema, table_name, ordinal_position
"""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A policy beside the names and types of its data: what is wrong, and what is worth knowing."""

    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def compare_names(policy: Policy) -> Comparison:
    """Whether the declared files, tables and columns are there: footers, catalogues, first lines are read, no row."""
    try:
        policy.ledger()
        for name in policy.tables:
            policy.where(name)
    except PolicyError as error:  # a variable of the environment that is set where questions are asked
        return Comparison(remarks=(f"names were not compared with the data: {error}",))
    if policy.dataset.engine is Kind.SPARK:
        return Comparison(remarks=("names were not compared with the data: `tacit check --data` asks Spark",))
    problems: list[str] = []
    if policy.dataset.engine is Kind.POSTGRES:
        try:
            open_engine(policy).close()
        except PolicyError as error:
            problems += map(str, error.problems)
        except TacitError as error:
            return Comparison(remarks=(f"names were not compared with the data: {error}",))
        return Comparison(problems=tuple(problems))
    looked = _Names()
    remarks = []
    for name in policy.tables:
        try:
            remarks += looked.add(name, local_sources(policy, only=(name,))[name])
        except TacitError as error:
            problems += _told(name, error)
    try:
        missing = set(policy.tables) - set(looked.tables)
        check(policy, looked, texts=looked.texts, compared=missing)  # type: ignore[arg-type]  # it has columns
    except PolicyError as error:
        problems += map(str, error.problems)
    return Comparison(problems=tuple(problems), remarks=tuple(remarks))


def _told(name: str, error: TacitError) -> list[str]:
    return [f"table {quoted(name)}: {text}" for text in getattr(error, "problems", (str(error),))]


@dataclass
class _Names:
    """Names and types of tables, as an engine tells them."""

    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def add(self, name: str, source: FileSource | DatabaseSource) -> list[str]:
        """Look at a table; remarks on it."""
        if isinstance(source, DatabaseSource):
            schema, dot, table = source.name.rpartition(".")
            wanted = (schema if dot else "main", table)
            columns = {column: str(kind) for *place, column, kind in _catalogued(source.path) if tuple(place) == wanted}
            if not columns:
                raise SourceError(f"{quoted(source.path.name)}: there is no table {quoted(source.name)} in it")
            self.tables[name] = columns
            return []
        listing = listed(source.path.resolve())
        if not listing.text:
            common_columns(listing.files, source.declared)
            self.tables[name] = _parquet(listing.files[0])
            return []
        reading = source.reading(listing)
        self.texts.append(name)
        kept = {column: str(STORED[kind]) for column, kind in (reading.kinds or {}).items()}
        self.tables[name] = {column: kept.get(column, "") for column in column_names(listing.files[0], reading.form)}
        if reading.current(listing.files, source.copies) is not None:
            return []
        return [f"table {quoted(name)}: {quoted(source.path.name)} has not been read as it is now: `{source.remedy}`"]

    def columns(self, table: str) -> dict[str, str]:
        if table not in self.tables:
            raise EngineError
        return self.tables[table]


def _parquet(file: Path) -> dict[str, str]:
    """The columns of a Parquet file and DuckDB's names for their types, from its footer."""

    def read() -> dict[str, str]:
        with TemporaryDirectory(prefix="tacit-") as folder, duckdb.connect(":memory:") as connection:
            link = Path(folder) / "0.parquet"
            link.symlink_to(file)
            place = DUCKDB.text(str(link))
            found = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({place}, hive_partitioning = false)")
            return {str(name): str(kind) for name, kind, *_ in found.fetchall()}

    return opening(f"{quoted(file.name)}: is not a Parquet file that can be read", read)


def import_tables(
    policy: Policy, tables: Collection[str] | None = None, progress: Callable[[float], None] = lambda share: None
) -> dict[str, tuple[int, int]]:
    """Read the text sources of these tables strictly, where that was not done; of each how many files it has, and how
    many were read now. Tables of other kinds are read as they are, and left out."""
    found = {}
    listings = {name: (source, listed(source.path.resolve())) for name, source in _files(policy, tables).items()}
    texts = {name: (source, listing) for name, (source, listing) in listings.items() if listing.text}
    whole = sum(file.stat().st_size for _, listing in texts.values() for file in listing.files)
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        progress(min(1.0, done / max(whole, 1)))

    problems = []
    for name, (source, listing) in texts.items():
        try:
            found[name] = len(listing.files), source.reading(listing).read(listing.files, source.copies, step)
        except TacitError as error:
            problems += _told(name, error)
    if problems:
        raise PolicyError(*problems)
    return found


def forget_tables(policy: Policy, tables: Collection[str] | None = None, *, unused: bool = False) -> int:
    """Delete the typed copies of these tables, or of all; how many there were."""
    copies = copies_of(policy)
    if tables is None:
        return copies.forget(unused=unused)
    files = [file for source in _files(policy, tables).values() for file in listed(source.path.resolve()).files]
    return copies.forget(files, unused=unused)


def _files(policy: Policy, tables: Collection[str] | None) -> dict[str, FileSource]:
    for name in tables or ():
        if name not in policy.tables:
            raise PolicyError(f"there is no table {quoted(name)}: {instead(name, policy.tables, those='tables')}")
    if policy.dataset.engine is not Kind.DUCKDB:
        return {}
    local = local_sources(policy, only=tables)
    return {name: source for name, source in local.items() if isinstance(source, FileSource)}


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
    links: dict[str, tuple[TableLink, ...]] = field(default_factory=dict)  # foreign keys of the database


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
        return _catalogue(
            _catalogued(path), _catalogued(path, IN_DUCKDB), usual="main", where=path.name, engine="duckdb"
        )
    return Schema(tables={path.stem: _file(path, form)}, files={path.stem: text})


def _folder(folder: Path, form: TextForm | None) -> Schema:
    """One table for each file, called as the file is."""
    kinds = {".parquet", *DELIMITERS}
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix.lower() in kinds]
    if not files:
        raise InputError(f"{quoted(str(folder))}: there are no Parquet or CSV files in this folder")
    twice = {path.stem for path in files if sum(other.stem == path.stem for other in files) > 1}
    named = {path.name if path.stem in twice else path.stem: path for path in files}
    tables = {name: _file(path, form) for name, path in named.items()}
    return Schema(tables=tables, files={name: str(path) for name, path in named.items()})


def _file(path: Path, form: TextForm | None) -> dict[str, str]:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        from pyarrow import parquet

        schema = opening(
            f"{quoted(path.name)}: is not a Parquet file that can be read", lambda: parquet.read_schema(path)
        )
        if not all(schema.names) or not 0 < len(set(schema.names)) == len(schema.names):
            raise InputError(f"{quoted(path.name)}: needs columns with names, each a different one")
        return {item.name: str(item.type) for item in schema}
    if suffix in DELIMITERS:
        return dict.fromkeys(column_names(path, form or TextForm.of(path)), "")
    raise InputError(
        f"{quoted(path.name)}: cannot tell what this is: use .parquet, .csv, .tsv, .duckdb, a folder of such files, "
        "or a postgresql:// URL"
    )


def _catalogued(path: Path, asked: str = CATALOGUE) -> list[tuple[Any, ...]]:
    def read() -> list[tuple[Any, ...]]:
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.execute(asked).fetchall()

    if not path.is_file():
        raise SourceError(f"{quoted(path.name)}: there is no such file")
    return opening(f"{quoted(path.name)}: is not a DuckDB file that can be opened", read)


def _postgres(url: str) -> Schema:
    try:
        import psycopg
    except ImportError:
        raise TacitError(MISSING) from None

    def read() -> list[list[tuple[Any, ...]]]:
        with psycopg.connect(url, connect_timeout=10, options="-c default_transaction_read_only=on") as connection:
            return [connection.execute(asked.encode()).fetchall() for asked in (CATALOGUE, IN_POSTGRES)]

    rows, foreign = opening(f"{identity(url)}: cannot be reached or read", read)
    return _catalogue(rows, foreign, usual="public", where=identity(url), engine="postgres")


def _catalogue(
    rows: list[tuple[Any, ...]], foreign: list[tuple[Any, ...]], *, usual: str, where: str, engine: str
) -> Schema:
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
    return Schema(tables=tables, engine=engine, sources=sources, links=proposed_links(foreign, names))
