"""From a policy to the engine that reads its tables."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base import PolicyError, TacitError
from tacit.engine.check import check
from tacit.engine.engine import Engine, Progress
from tacit.policy import Policy
from tacit.policy.dataset import Engine as Kind
from tacit.policy.model import Where
from tacit.policy.problem import quoted
from tacit.policy.source import filled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_engine"]

DATABASES = {".duckdb", ".ddb", ".db"}
TEXTS = {".csv", ".tsv"}
ENDINGS = (".parquet", *sorted(TEXTS), "")
MASTER = re.compile(r"spark://.+|k8s://.+|yarn|local(-cluster)?(\[[^\]]+\])?")


def open_engine(policy: Policy, *, progress: Progress | None = None) -> Engine:
    """The engine that the policy names, with every declared table and nothing else, of the declared types."""
    places = {name: policy.where(name) for name in policy.tables}
    kind = policy.dataset.engine
    if kind is Kind.DUCKDB:
        local = {name: _local(name, where) for name, where in places.items()}
        return _checked(policy, _duckdb(local, progress), {name for name, place in local.items() if _is_text(place)})
    return _checked(policy, _postgres(places) if kind is Kind.POSTGRES else _spark(policy, places), set())


def _checked(policy: Policy, engine: Engine, texts: set[str]) -> Engine:
    try:
        check(policy, engine, texts=texts)
    except BaseException:
        engine.close()
        raise
    return engine


def _duckdb(local: Mapping[str, Any], progress: Progress | None) -> Engine:
    from tacit.engine.duckdb import DuckDBEngine

    return DuckDBEngine(local, progress=progress)


def _postgres(places: Mapping[str, Where]) -> Engine:
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
    return PostgresEngine(urls.pop(), {name: where.name or name for name, where in places.items()})


def _spark(policy: Policy, places: Mapping[str, Where]) -> Engine:
    from tacit.engine.spark import SparkEngine

    texts = [name for name, where in places.items() if _is_text(where.file or "")]
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
        return SparkEngine(spark, tables)
    except TacitError:
        raise
    except Exception as error:  # of py4j and of Spark, which share no class
        failed = type(error).__name__
    raise TacitError(f"Spark cannot be started, or its master {master} cannot be reached: {failed}")


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


def _local(name: str, where: Where) -> Any:
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


def _is_text(place: Any) -> bool:
    """Whether every value of it is text: a CSV file, or a folder of them and of nothing better."""
    if not isinstance(place, Path | str):
        return False
    path = Path(place)
    endings = {file.suffix.lower() for file in path.iterdir()} if path.is_dir() else {path.suffix.lower()}
    return bool(endings & TEXTS) and ".parquet" not in endings
