"""From a policy to the engine that reads its tables."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base import PolicyError, TacitError
from tacit.engine.check import check
from tacit.engine.engine import Engine
from tacit.engine.source.copies import Copies, state_folder
from tacit.engine.source.form import DELIMITERS
from tacit.engine.source.listing import DATABASES, listed
from tacit.engine.source.tables import DatabaseSource, FileSource
from tacit.engine.watch import Limits
from tacit.policy import Policy, Table
from tacit.policy.dataset import EngineName as Kind
from tacit.policy.declaration import quoted
from tacit.policy.model import Where
from tacit.policy.source import filled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["copies_of", "local_sources", "local_table", "open_engine"]

ENDINGS = (".parquet", *DELIMITERS, "")
MASTER = re.compile(r"spark://.+|k8s://.+|yarn|local(-cluster)?(\[[^\]]+\])?")


def open_engine(policy: Policy, *, limits: Limits | None = None) -> Engine:
    """The engine that the policy names, with every declared table and nothing else, of the declared types.

    `limits` are of each question; left out, they are those of `Limits()`.
    """
    places = {name: policy.where(name) for name in policy.tables}
    kind = policy.dataset.engine
    if kind is Kind.DUCKDB:
        local = local_sources(policy)
        texts = [name for name, source in local.items() if isinstance(source, FileSource) and listed(source.path).text]
        return _checked(policy, _duckdb(local, limits), texts)
    engine = _postgres(policy, places, limits) if kind is Kind.POSTGRES else _spark(policy, places, limits)
    return _checked(policy, engine, ())


def copies_of(policy: Policy) -> Copies:
    """Where the typed copies of a dataset are."""
    return Copies(state_folder(policy.ledger(), policy.folder))


def local_sources(policy: Policy, *, only: Collection[str] | None = None) -> dict[str, Any]:
    """The tables of a dataset in DuckDB: files with what is declared of them, or tables of a DuckDB file."""
    copies, remedy = copies_of(policy), f"tacit data import {policy.file}".strip()
    found: dict[str, Any] = {}
    for name, table in policy.tables.items():
        if only is not None and name not in only:
            continue
        place = local_table(name, policy.where(name))
        if isinstance(place, Path):
            found[name] = FileSource(path=place, table=table, copies=copies, remedy=remedy)
        else:
            found[name] = DatabaseSource(place[0], place[1], table.unit, not table.public)
    return found


def _checked(policy: Policy, engine: Engine, texts: Collection[str]) -> Engine:
    """The engine, compared with the policy; text was, when it was read."""
    try:
        check(policy, engine, compared=texts)
    except BaseException:
        engine.close()
        raise
    return engine


def _duckdb(local: Mapping[str, Any], limits: Limits | None) -> Engine:
    from tacit.engine.duckdb import DuckDBEngine

    return DuckDBEngine(local, limits=limits)


def _postgres(policy: Policy, places: Mapping[str, Where], limits: Limits | None) -> Engine:
    from tacit.engine.postgres import PostgresEngine

    files = [name for name, where in places.items() if where.file is not None]
    if files:
        raise PolicyError(
            *(
                f'table {quoted(name)}: its source is a file, and engine = "postgres" reads tables of a database: '
                'write the name it has there, such as source = "schema.table", or engine = "duckdb"'
                for name in files
            )
        )
    urls = {where.database for where in places.values() if where.database is not None}
    if len(urls) != 1:
        raise PolicyError(
            'engine = "postgres" needs the address of the database: write source = "postgresql://user@host/name" '
            "under [dataset]"
        )
    names = {name: where.name or name for name, where in places.items()}
    return PostgresEngine(urls.pop(), names, units=_units(policy), limits=limits)


def _spark(policy: Policy, places: Mapping[str, Where], limits: Limits | None) -> Engine:
    from tacit.engine.spark import SparkEngine

    texts = [name for name, where in places.items() if Path(where.file or "").suffix.lower() in DELIMITERS]
    if texts:
        raise PolicyError(
            *(f"table {quoted(name)}: Spark reads Parquet or tables of its catalog, not CSV" for name in texts)
        )
    master = filled(policy.dataset.source or "local[*]")
    if MASTER.fullmatch(master) is None:
        raise PolicyError(
            f'source = {quoted(master)} is not where a Spark master is: write "spark://host:7077" or "local[4]" under '
            "[dataset], and where the data lies as the source of each table"
        )
    tables = {name: where.file if where.file is not None else where.name or name for name, where in places.items()}
    spark, failed = _running(master) or master, ""
    try:
        columns = {name: _columns(table) for name, table in policy.tables.items()}
        return SparkEngine(spark, tables, columns=columns, units=_units(policy), limits=limits)
    except TacitError:
        raise
    except Exception as error:  # of py4j and of Spark, which share no class
        failed = type(error).__name__
    raise TacitError(f"Spark cannot be started, or its master {master} cannot be reached: {failed}")


def _units(policy: Policy) -> dict[str, str | None]:
    """The private tables with the columns that name their units."""
    return {name: table.unit for name, table in policy.tables.items() if not table.public}


def _columns(table: Table) -> set[str]:
    """The stored columns that questions may read."""
    named = {name for name, column in table.columns.items() if not column.hidden}
    return named if table.unit is None else {*named, table.unit}


def _running(master: str) -> "SparkSession | None":
    """The session that this process has already, which is used beside its owner and not stopped."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None  # the engine says what to install
    session = SparkSession.getActiveSession()
    if session is not None and session.sparkContext.master != master:
        raise PolicyError(
            f"this process has a Spark session on {session.sparkContext.master} already, and none can be started on "
            f"{master}: stop it first, or use it, as in Session(policy, analyst, engine=SparkEngine(spark, tables))"
        )
    return session


def local_table(name: str, where: Where) -> Any:
    """A file, or a table in a DuckDB file, or the file of that name in a folder."""
    if where.file is not None:
        return Path(where.file)
    if where.database is None:
        raise PolicyError(
            f'table "{name}" has no source: declare source = "file.parquet" for it, or a source for the dataset'
        )
    place = Path(where.database)
    if place.suffix.lower() in DATABASES and not place.is_dir():
        return place, where.name or name
    if place.is_dir():
        for ending in ENDINGS:
            found = place / f"{where.name or name}{ending}"
            if found.exists():
                return found
        raise PolicyError(f'table "{name}": the folder {place} has no {where.name or name}.parquet and no .csv')
    return place
