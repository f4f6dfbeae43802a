"""The declared tables inside one DuckDB, and versions that are of what is read.

Each table is a view. Files are reached through links of our own making, so that no character of a path is a pattern and
no folder's name a column. A version says in what state the data is, and the view is made anew, before a version is
given, whenever that state is another than the one it was made for: so no answer is of older data than its version.
"""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from tacit.base import InputError, PolicyError, SourceError
from tacit.engine.dialect import DUCKDB
from tacit.engine.engine import opening
from tacit.engine.source.copies import Copies
from tacit.engine.source.held import arrow_table
from tacit.engine.source.keys import LinkKeys, repeated_sql
from tacit.engine.source.listing import Listing, listed, settled, stamped
from tacit.engine.source.parquet import common_columns, held_copy
from tacit.engine.source.reading import TextReading
from tacit.engine.source.text import TextForm
from tacit.engine.unit import compared_as_stored
from tacit.engine.views.duckdb import is_steady
from tacit.noise import SecureRng
from tacit.policy import ColumnType, Table
from tacit.policy.declaration import quoted

__all__ = ["DatabaseSource", "DuckDBTables", "FileSource"]

State = tuple[str, ...]
NO_KEYS = LinkKeys()
TRIES = 3
FOR_TEXT = ("delimiter", "quote", "header", "encoding", "null")  # what is declared of text alone


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """A file or folder, and what is declared of the table in it.

    `copies` is where typed copies are. `at_once` lets text be read when the engine needs it, by the owner who asks;
    else the curator has had it read before.
    """

    path: Path
    copies: Copies
    table: Table | None = None
    at_once: bool = False
    remedy: str = "tacit data import"  # what the curator runs
    keys: LinkKeys = NO_KEYS

    @property
    def declared(self) -> tuple[str, ...] | None:
        """The columns that the data must have; None if nothing is declared."""
        if self.table is None:
            return None
        return tuple(dict.fromkeys([*self._named, *self.table.columns]))

    @property
    def _named(self) -> tuple[str, ...]:
        """The columns that say whose a row is, of this table or of one that is linked to it."""
        return () if self.table is None else (*self.table.needed, *(column for column, _ in self.keys.columns))

    def reading(self, listing: Listing) -> TextReading:
        """How text is read: the unit and the columns that can be asked about, as the declared types."""
        form = TextForm.of(listing.files[0], self.table)
        if self.table is None:
            return TextReading(form=form, kinds=None)
        columns = self.table.columns
        kinds = {name: column.type for name, column in columns.items() if column.type and not column.hidden}
        for name in self._named:
            if name not in kinds:
                named = columns.get(name)
                kinds[name] = (named.type if named else None) or ColumnType.TEXT
        return TextReading(form=form, kinds=kinds, declared=self.declared or ())


class DatabaseSource(NamedTuple):
    """A table or view of a DuckDB file; of a private one, the column whose values are one unit's each, if there is
    one."""

    path: Path
    name: str
    unit: str | None = None
    is_private: bool = False
    keys: LinkKeys = NO_KEYS


@dataclass
class _OpenTable:
    """A table, the state of its data that the view was made for, and the version that goes with it."""

    source: Any
    state: State | None = None
    version: str = ""
    allowed: list[str] = field(default_factory=list)


class DuckDBTables:
    """Tables by their declared names; `names` says how each is called in a statement. `folder` is ours alone."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection, self._folder = connection, folder.resolve()
        self._lock = threading.RLock()
        self._tables: dict[str, _OpenTable] = {}
        self._attached: dict[Path, tuple[str, State]] = {}
        self._numbers = count()
        self.names: dict[str, str] = {}

    def add(self, name: str, source: Any) -> None:
        """Make a table of a FileSource, a (DuckDB file, table in it), or a table in memory."""
        if name.casefold() in (other.casefold() for other in self.names):
            raise InputError(f"two tables are called {name!r}, as DuckDB reads names")
        # qualified, so that no name inside a statement is taken for it
        self.names[name] = f"memory.main.{DUCKDB.identifier(name)}"
        if isinstance(source, tuple):
            source = DatabaseSource(Path(source[0]), str(source[1]), *source[2:])
        self._tables[name] = _OpenTable(source)
        self._renew(name)

    def version(self, tables: Collection[str]) -> str:
        """Files by path and state, text by its content and reading, tables in memory by a name they were given."""
        seen = sha256()
        with self._lock:
            for name in sorted(tables):
                seen.update(f"{name}\0".encode(errors="surrogateescape"))
                if name in self._tables:
                    self._renew(name)
                    seen.update(f"{self._tables[name].version}\0".encode(errors="surrogateescape"))
        return seen.hexdigest()

    def reach(self) -> None:
        """Raise SourceError for a table that cannot be read now that the door is locked: better here than in a question
        that was paid for."""
        for name, view in self.names.items():

            def look(view: str = view) -> None:
                with self._connection.cursor() as cursor:
                    cursor.execute(f"DESCRIBE SELECT * FROM {view}")

            opening(f"table {quoted(name)} cannot be read by DuckDB: are there odd characters in its path?", look)

    def allowed(self) -> dict[str, list[str]]:
        """What the engine has to read, by DuckDB's name for the setting. It looks at paths without their links."""
        found = [path for table in self._tables.values() for path in table.allowed]
        folders = [f"{self._folder}/", *(path for path in found if path.endswith("/"))]
        return {"allowed_paths": [path for path in found if not path.endswith("/")], "allowed_directories": folders}

    # --- one table

    def _renew(self, name: str) -> None:
        """Make the view again if the data is in another state than it was made for."""
        with self._lock:
            for _ in range(TRIES):
                opening(f"table {quoted(name)} cannot be opened in DuckDB", lambda: self._renewed(name))
                if self._tables[name].state == self._state(name):
                    return
        raise SourceError(f"table {quoted(name)}: its data changes while it is opened: try again when nobody writes")

    def _renewed(self, name: str) -> None:
        table, state = self._tables[name], self._state(name)
        if state == table.state:
            return
        table.state = None  # until all is done
        if isinstance(table.source, FileSource):
            table.version = self._file(name, table)
        elif isinstance(table.source, DatabaseSource):
            table.version = self._database(name, table, table.source, state)
        else:
            with self._connection.cursor() as cursor:
                cursor.register("tacit arriving", arrow_table(table.source, name))
                # a copy: the caller's table may change later, and DuckDB's own is faster
                cursor.execute(f'CREATE TABLE {self.names[name]} AS SELECT * FROM "tacit arriving"')
                cursor.unregister("tacit arriving")
            table.source, table.version = None, bytes(SecureRng().read(16)).hex()
        if isinstance(table.source, FileSource | DatabaseSource):
            self._check_keys(name, table.source, table.version)
        table.state = state

    def _check_keys(self, name: str, source: FileSource | DatabaseSource, version: str) -> None:
        if not source.keys.columns:
            return
        with self._connection.cursor() as cursor:
            described = cursor.execute(f"DESCRIBE SELECT * FROM {self.names[name]}").fetchall()
            types = {column: kind for column, kind, *_ in described}

            def constrained(column: str, declared: ColumnType | None) -> bool:
                if isinstance(source, FileSource) or not compared_as_stored(declared, types.get(column, "")):
                    return False
                schema, _, inside = source.name.rpartition(".")
                alias = self._attached[source.path.resolve()][0]
                place = (alias, schema.rpartition(".")[2] or "main", inside)
                return (column,) in _unique_keys(cursor, *place)

            def count(column: str, declared: ColumnType | None) -> int:
                sql = repeated_sql(self.names[name], column, declared, types[column], DUCKDB)
                return int(cursor.execute(sql).fetchall()[0][0])

            missing = [column for column, _ in source.keys.columns if column not in types]
            if missing:
                raise SourceError(
                    f"table {quoted(name)}: links lead to {quoted(missing[0])}, and there is no such column"
                )
            source.keys.require(name, version, constrained, count)

    def _state(self, name: str) -> State:
        """The state of the data now. Names the table where there is none."""
        source = self._tables[name].source
        if isinstance(source, FileSource):
            found = opening(f"{quoted(source.path.name)} cannot be found", lambda: listed(source.path.resolve()))
            return tuple(f"{file}\0{stamped(file)}" for file in found.files)
        if isinstance(source, DatabaseSource):
            path = source.path.resolve()
            if not path.is_file():
                raise SourceError(f"{quoted(path.name)}: there is no such DuckDB file")
            return str(stamped(path)), str(stamped(path.with_name(path.name + ".wal")))
        return ("in memory",)

    def _view(self, name: str, select: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(f"CREATE OR REPLACE VIEW {self.names[name]} AS {select}")

    def _database(self, name: str, table: _OpenTable, source: DatabaseSource, state: State) -> str:
        """A table of a DuckDB file, attached in this state; a copy where its rows follow from their order."""
        path = source.path.resolve()
        table.allowed = [str(path), f"{path}.wal"]
        alias, before = self._attached.get(path, ("", None))
        with self._connection.cursor() as cursor:
            if before != state:
                if alias:
                    cursor.execute(f"DETACH DATABASE IF EXISTS {DUCKDB.identifier(alias)}")
                alias = f"file {next(self._numbers)}"
                cursor.execute(f"ATTACH {DUCKDB.text(str(path))} AS {DUCKDB.identifier(alias)} (READ_ONLY)")
                self._attached[path] = alias, state
            inside = f"{DUCKDB.identifier(alias)}.{DUCKDB.dotted(source.name, 'main')}"
            if not self._seen(cursor, name, source, alias):
                copy = f"memory.main.{DUCKDB.identifier(f'tacit copy of {name}')}"
                cursor.execute(f"CREATE OR REPLACE TABLE {copy} AS SELECT * FROM {inside}")
                inside = copy
        self._view(name, f"SELECT * FROM {inside}")
        return "\0".join((str(path), *state))

    def _seen(self, cursor: duckdb.DuckDBPyConnection, name: str, source: DatabaseSource, alias: str) -> bool:
        schema, _, inside = source.name.rpartition(".")
        schema = schema.rpartition(".")[2] or "main"
        try:
            return is_steady(cursor, alias, schema, inside, source.unit, is_private=source.is_private)
        except PolicyError as error:
            problems = error.problems
        raise PolicyError(*(f"table {quoted(name)}: {problem}" for problem in problems))

    # --- files

    def _file(self, name: str, table: _OpenTable) -> str:
        source: FileSource = table.source
        real = source.path.resolve()
        listing = listed(real)
        copies = source.copies
        if not table.allowed:
            table.allowed = [f"{real}/" if real.is_dir() else str(real), f"{copies.files.resolve()}/"]
            table.allowed += [str(file.resolve()) for file in listing.files]
        elif table.allowed[0].rstrip("/") != str(real):
            raise SourceError(f"table {quoted(name)}: its source is at another place now: open a new session")
        if listing.text:
            return self._text(name, source, listing, copies)
        usual = {item.name: item.default for item in fields(Table)}
        given = [word for word in FOR_TEXT if source.table and getattr(source.table, word) != usual[word]]
        if given and source.table is not None:
            raise PolicyError(
                f"{source.table.place}: {given[0]} is for CSV and TSV files, and {quoted(source.path.name)} is none: "
                "remove it"
            )
        files = listing.files
        columns = common_columns(files, source.declared)
        kept = columns if source.declared is None else [column for column in columns if column in source.declared]
        if not all(self._sound(file, kept, copies) for file in files):
            files = tuple(held_copy(file, columns, copies) for file in files)
        chosen = ", ".join(map(DUCKDB.identifier, columns))
        self._view(name, f"SELECT {chosen} FROM {self._linked(files)}")
        return "\0".join(f"{file}\0{stamped(file)}" for file in listing.files)

    def _text(self, name: str, source: FileSource, listing: Listing, copies: Copies) -> str:
        reading = source.reading(listing)
        found = reading.current(listing.files, copies)
        if found is None and source.at_once:
            reading.read(listing.files, copies)
            found = reading.current(listing.files, copies)
        if found is None:
            raise SourceError(
                f"table {quoted(name)}: {quoted(source.path.name)} has not been read yet, or has changed since it was: "
                f"its curator runs `{source.remedy}`"
            )
        self._view(name, f"SELECT * FROM {self._linked([path for path, _ in found])}")
        return "\0".join(key for _, key in found)

    def _sound(self, file: Path, columns: Sequence[str], copies: Copies) -> bool:
        """Whether DuckDB can read every value of these columns. It is found once for a state of a file."""
        stamp, known = stamped(file), copies.entry(file)
        if known is not None and known.copies:
            return False
        if stamp is None or copies.sound(file, stamp, columns):
            return True
        hashes = ", ".join(f"bit_xor(hash({DUCKDB.identifier(column)}))" for column in columns) or "count(*)"
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(f"SELECT {hashes} FROM {self._linked([file])}").fetchall()
        except duckdb.Error:
            return False
        settled(stamp)
        if stamped(file) == stamp:
            copies.keep_sound(file, stamp, columns)
        return True

    def _linked(self, files: Sequence[Path]) -> str:
        """The table function that reads these files, each by a link with a name of no meaning."""
        folder = self._folder / "links" / str(next(self._numbers))
        folder.mkdir(parents=True)
        links = {folder / f"{number}.parquet": file for number, file in enumerate(files)}
        for link, file in links.items():
            link.symlink_to(file)
        listed_links = ", ".join(DUCKDB.text(str(link)) for link in links)
        # a footer's least and largest values leave NaN out, and DuckDB would decide comparisons by them for whole files
        return f"read_parquet([{listed_links}], can_have_nan = true, hive_partitioning = false, union_by_name = false)"


UNIQUE = (
    "SELECT constraint_column_names FROM duckdb_constraints() WHERE database_name = ? "
    "AND lower(schema_name) = lower(?) AND lower(table_name) = lower(?) "
    "AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
)


def _unique_keys(cursor: duckdb.DuckDBPyConnection, *place: str) -> list[tuple[str, ...]]:
    """The columns of which the database holds that no values are there twice; none of a view."""
    return [tuple(columns) for (columns,) in cursor.execute(UNIQUE, list(place)).fetchall()]
