"""From a policy to the engine that reads its tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.base import PolicyError
from tacit.engine.engine import Engine, Progress
from tacit.policy import Policy
from tacit.policy.dataset import Engine as Kind
from tacit.policy.model import Where

__all__ = ["open_engine"]

DATABASES = {".duckdb", ".ddb", ".db"}
ENDINGS = (".parquet", ".csv", ".tsv", "")


def open_engine(policy: Policy, *, progress: Progress | None = None) -> Engine:
    """The engine that the policy names, with every declared table and nothing else."""
    places = {name: policy.where(name) for name in policy.tables}
    kind = policy.dataset.engine
    if kind is Kind.DUCKDB:
        from tacit.engine.duckdb import DuckDBEngine

        return DuckDBEngine({name: _local(name, where) for name, where in places.items()}, progress=progress)
    if kind is Kind.POSTGRES:
        from tacit.engine.postgres import PostgresEngine

        return PostgresEngine(_one(places), {name: where.name or name for name, where in places.items()})
    from tacit.engine.spark import SparkEngine

    tables: dict[str, Any] = {
        name: Path(where.file) if where.file is not None else where.name or name for name, where in places.items()
    }
    return SparkEngine(_one(places) or "local[*]", tables)


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


def _one(places: Mapping[str, Where]) -> str:
    """The database that all tables are in."""
    found = {where.database for where in places.values() if where.database is not None}
    if len(found) > 1:
        raise PolicyError("the tables lie in several databases: one policy reads one")
    return found.pop() if found else ""
