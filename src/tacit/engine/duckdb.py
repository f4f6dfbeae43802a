"""DuckDB: files of Parquet or CSV, tables in memory, DuckDB's own files; everything in this process.

Tables become views in a database in memory. Then the door is locked: nothing outside the given files can be read or
written, no extension is loaded, no Python variable is taken for a table, and none of that can be switched back.
"""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from tacit.base import Exact, InputError
from tacit.engine.dialect import identifier, text_sql
from tacit.engine.engine import Progress, counts_from, failing_closed, result_from, steadily
from tacit.engine.relation import tables_of
from tacit.engine.render import norms_sql, statements
from tacit.engine.result import Result, Whole
from tacit.noise import SecureRng
from tacit.plan.bounded import Bounded

__all__ = ["DuckDBEngine"]

DATABASES = (".duckdb", ".ddb", ".db")
TEXTS = {".csv": ",", ".tsv": "\t"}
PATIENCE = 2.0  # seconds before progress is told
OFTEN = 0.2


class DuckDBEngine:
    """Tables by their declared names, each a path, a (DuckDB file, table in it), or a pyarrow, pandas or polars table.

    A path is a Parquet or CSV file, or a folder of them, all of one kind. Columns of CSV files are read as text and
    cast, value by value, to what was declared. `memory` is DuckDB's limit, such as "4GB"; beyond it, it spills to disk.
    """

    def __init__(
        self,
        tables: Mapping[str, Any],
        *,
        threads: int | None = None,
        memory: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._folder = TemporaryDirectory(prefix="tacit-")
        self._progress = progress
        self._lock = threading.Lock()
        self._files: dict[str, tuple[Path, ...]] = {}
        self._marks: dict[str, str] = {}
        self._attached: dict[Path, str] = {}
        self._tables: dict[str, str] = {}
        self._connection = duckdb.connect(":memory:")
        try:
            self._set(temp_directory=self._folder.name, python_enable_replacements=False, TimeZone="UTC")
            if threads is not None:
                self._set(threads=threads)
            if memory is not None:
                self._set(memory_limit=memory)
            if progress is not None:
                self._set(enable_progress_bar=True, enable_progress_bar_print=False)
            for name, source in tables.items():
                self._register(name, source)
            self._lock_down()
        except BaseException as error:
            self.close()
            if isinstance(error, duckdb.Error):
                raise InputError(f"a table cannot be opened in DuckDB: {type(error).__name__}") from None
            raise

    def run(self, bounded: Bounded) -> Exact[Result]:
        written = statements(bounded, "duckdb", self._tables)
        read = tables_of(bounded.source)
        return steadily(lambda: self.version(read), lambda: Exact(result_from(bounded, written, self._fetch)))

    def norms(self, bounded: Bounded, clip: int, edges: Sequence[int]) -> Exact[Whole]:
        written = norms_sql(bounded, clip, edges, "duckdb", self._tables)
        return failing_closed(lambda: Exact(counts_from(self._fetch(written), len(edges) + 1)))

    def version(self, tables: Collection[str]) -> str:
        """Files by path, size and time of the last change; tables in memory by a name they were given when read."""
        seen = sha256()
        for name in sorted(tables):
            seen.update(f"{name}\0{self._marks.get(name, '')}\0".encode())
            for path in self._files.get(name, ()):
                for file in sorted(path.iterdir()) if path.is_dir() else (path, path.with_name(path.name + ".wal")):
                    state = file.stat() if file.exists() else None
                    size = "" if state is None else f"{state.st_size}\0{state.st_mtime_ns}\0{state.st_ino}"
                    seen.update(f"{file}\0{size}\0".encode())
        return seen.hexdigest()

    def columns(self, table: str) -> dict[str, str]:
        if table not in self._tables:
            raise InputError(f"there is no table {table!r} in this engine")
        described = failing_closed(lambda: self._fetch(f"DESCRIBE SELECT * FROM {self._tables[table]}"))
        names, types = (column.to_pylist() for column in described[:2])
        return dict(zip(names, types, strict=True))

    def cancel(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()
        self._folder.cleanup()

    def _set(self, **settings: bool | int | str) -> None:
        for name, value in settings.items():
            self._connection.execute(
                f"SET {name} = {text_sql(str(value).lower() if isinstance(value, bool) else str(value), 'duckdb')}"
            )

    def _lock_down(self) -> None:
        paths = [path for found in self._files.values() for path in found]
        folders = [f"{path}/" for path in paths if path.is_dir()]
        files = [str(path) for path in paths if not path.is_dir()]
        for name, allowed in (("allowed_paths", files), ("allowed_directories", folders)):
            self._connection.execute(f"SET {name} = [{', '.join(text_sql(path, 'duckdb') for path in allowed)}]")
        self._set(autoinstall_known_extensions=False, autoload_known_extensions=False, allow_community_extensions=False)
        self._set(enable_external_access=False, lock_configuration=True)

    def _register(self, name: str, source: Any) -> None:
        if name.casefold() in (other.casefold() for other in self._tables):
            raise InputError(f"two tables are called {name!r}, as DuckDB reads names")
        # qualified, so that no name inside a statement is taken for it
        self._tables[name] = view = f"memory.main.{identifier(name, 'duckdb')}"
        if isinstance(source, str | Path):
            path = Path(source).resolve()
            self._files[name] = (path,)
            self._connection.execute(f"CREATE VIEW {view} AS SELECT * FROM {_reader(path)}")
        elif isinstance(source, tuple):
            path, inside = Path(source[0]).resolve(), str(source[1])
            self._files[name] = (path,)
            self._connection.execute(f"CREATE VIEW {view} AS SELECT * FROM {self._attach(path)}.{_dotted(inside)}")
        else:
            self._connection.register("tacit arriving", _arrow(source))
            # a copy: the caller's table may change later, and DuckDB's own is faster
            self._connection.execute(f'CREATE TABLE {view} AS SELECT * FROM "tacit arriving"')
            self._connection.unregister("tacit arriving")
            self._marks[name] = bytes(SecureRng().read(16)).hex()

    def _attach(self, path: Path) -> str:
        if path not in self._attached:
            if not path.is_file():
                raise InputError(f"{path.name}: there is no such DuckDB file")
            self._attached[path] = alias = identifier(f"file {len(self._attached)}", "duckdb")
            self._connection.execute(f"ATTACH {text_sql(str(path), 'duckdb')} AS {alias} (READ_ONLY)")
        return self._attached[path]

    def _fetch(self, statement: str) -> Sequence[Any]:
        with self._lock, self._watched():
            return list(self._connection.sql(statement).to_arrow_table().columns)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Tells progress from another thread while a query runs for long."""
        if self._progress is None:
            yield
            return
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(done, self._progress), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    def _watch(self, done: threading.Event, progress: Progress) -> None:
        if done.wait(PATIENCE):
            return
        while not done.wait(OFTEN):
            share = self._connection.query_progress()
            progress(min(max(share, 0.0), 100.0) / 100)
        progress(1.0)


def _reader(path: Path) -> str:
    """The table function for a file, or for a folder by the first kind of file in it."""
    if not path.exists():
        raise InputError(f"{path.name}: there is no such file or folder")
    if path.suffix.lower() in DATABASES:
        raise InputError(f"{path.name}: say which table of this DuckDB file, as (file, table)")
    kinds = [".parquet", *TEXTS]
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    kind = next((kind for kind in kinds if any(file.suffix.lower() == kind for file in files)), None)
    if kind is None:
        raise InputError(f"{path.name}: is not Parquet or CSV, nor a folder of such files")
    place = text_sql(f"{path}/*{kind}" if path.is_dir() else str(path), "duckdb")
    if kind == ".parquet":
        # a footer's least and largest values leave NaN out, and DuckDB would decide comparisons by them for whole files
        return f"read_parquet({place}, can_have_nan = true)"
    # text as it stands: sniffing types would make what a row means depend on the other rows
    delimiter = text_sql(TEXTS[kind], "duckdb")
    return f"read_csv({place}, header = true, all_varchar = true, delim = {delimiter}, quote = '\"', escape = '\"')"


def _dotted(name: str) -> str:
    parts = name.split(".")
    return ".".join(identifier(part, "duckdb") for part in (parts if len(parts) > 1 else ["main", *parts]))


def _arrow(source: Any) -> Any:
    """pyarrow as it is; pandas and polars through pyarrow, without looking at values."""
    import pyarrow

    if isinstance(source, pyarrow.Table):
        return source
    if type(source).__module__.split(".")[0] == "pandas":
        return pyarrow.Table.from_pandas(source, preserve_index=False)
    if hasattr(source, "to_arrow"):
        return source.to_arrow()
    raise InputError(
        f"a table is a path, a (file, table), or a pyarrow, pandas or polars table, not {type(source).__name__}"
    )
