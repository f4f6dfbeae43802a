"""What a curator does to data before analysts ask: compare names, have text read, delete what was read."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tacit.base import EngineError, PolicyError, TacitError
from tacit.engine.check import check, database_columns
from tacit.engine.connect import copies_of, local_sources, open_engine
from tacit.engine.dialect import DUCKDB
from tacit.engine.engine import opening
from tacit.engine.source.cell import stored_type
from tacit.engine.source.listing import listed
from tacit.engine.source.parquet import common_columns
from tacit.engine.source.reading import column_names
from tacit.engine.source.tables import FileSource
from tacit.policy import EngineName as Kind
from tacit.policy import Policy
from tacit.policy.declaration import instead, quoted

__all__ = ["Comparison", "compare_names", "forget_tables", "import_tables"]


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
    if policy.dataset.engine is Kind.POSTGRES:
        return _database(policy)
    looked = _Names()
    problems, remarks = [], []
    for name in policy.tables:
        try:
            source = local_sources(policy, only=(name,))[name]
            remarks += looked.add(name, source)
        except TacitError as error:
            problems += [f"table {quoted(name)}: {text}" for text in getattr(error, "problems", (str(error),))]
    problems += _checked(policy, looked, missing=set(policy.tables) - set(looked.tables))
    return Comparison(problems=tuple(problems), remarks=tuple(remarks))


def _checked(policy: Policy, looked: "_Names", missing: Collection[str]) -> Iterable[str]:
    try:
        check(policy, looked, texts=looked.texts, compared=missing)  # type: ignore[arg-type]  # it has columns
    except PolicyError as error:
        return tuple(map(str, error.problems))
    return ()


def _database(policy: Policy) -> Comparison:
    try:
        open_engine(policy).close()
    except PolicyError as error:
        return Comparison(problems=tuple(map(str, error.problems)))
    except TacitError as error:
        return Comparison(remarks=(f"names were not compared with the data: {error}",))
    return Comparison()


@dataclass
class _Names:
    """Names and types of tables, as an engine tells them."""

    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def add(self, name: str, source: FileSource | tuple[object, str]) -> list[str]:
        """Look at a table; remarks on it."""
        if not isinstance(source, FileSource):
            self.tables[name] = database_columns(source[0], source[1])  # type: ignore[arg-type]  # a path
            return []
        listing = listed(source.path.resolve())
        if not listing.text:
            common_columns(listing.files, source.declared)
            self.tables[name] = _parquet(listing.files[0])
            return []
        reading = source.reading(listing)
        self.texts.append(name)
        kept = {column: str(stored_type(kind)) for column, kind in (reading.kinds or {}).items()}
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
    sources = _files(policy, tables)
    listings = {name: listed(source.path.resolve()) for name, source in sources.items()}
    whole = sum(file.stat().st_size for listing in listings.values() if listing.text for file in listing.files)
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        progress(min(1.0, done / max(whole, 1)))

    problems = []
    for name, source in sources.items():
        if not listings[name].text:
            continue
        try:
            made = source.reading(listings[name]).read(listings[name].files, source.copies, step)
            found[name] = len(listings[name].files), made
        except TacitError as error:
            problems += [f"table {quoted(name)}: {text}" for text in getattr(error, "problems", (str(error),))]
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
