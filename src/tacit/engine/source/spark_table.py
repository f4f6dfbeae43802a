"""A table as Spark reads it for one question: Parquet files that were just listed, or a name in the catalog.

Spark lists files when a DataFrame is made and reads them by the lengths it saw then, so each question that finds other
files gets a new DataFrame of exactly these, with the schema that was compared with every footer. Nothing is taken from
the names of folders, nothing from statistics in footers, and a value that Spark cannot hold is NULL: timestamps and
dates are read as the integers they are stored as, and made timestamps where they fit.
"""

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from tacit.base import EngineError, PolicyError
from tacit.engine.dialect import SPARK
from tacit.engine.source.files import File, digest
from tacit.engine.source.footer import StoredKind, columns_in, misfit
from tacit.engine.source.hadoop import Hadoop, name_only
from tacit.noise import SecureRng
from tacit.policy.declaration import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

__all__ = ["ParquetTable", "SparkTable", "Views"]

Footers = dict[File, Mapping[str, StoredKind]]
KEPT = 16  # views of earlier files, for questions that still run
PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = int((datetime(1, 1, 1, tzinfo=UTC) - EPOCH).total_seconds())
AFTER = int((datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH).total_seconds()) + 1
INTEGERS = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint",
            "uint8": "smallint", "uint16": "int", "uint32": "bigint", "uint64": "decimal(20,0)"}  # fmt: skip
STORED = {**INTEGERS, "bool": "boolean", "float": "float", "double": "double", "string": "string", "binary": "binary",
          "int96": "timestamp", "date": "int"}  # fmt: skip
WIDEST = 38  # digits of a decimal


class SparkTable(Protocol):
    """One declared table."""

    def columns(self) -> dict[str, str]:
        """Names and types. Reads no rows."""
        ...

    def version(self) -> str:
        """A text that differs whenever the rows may have; PolicyError if the data no longer is what was opened."""
        ...

    def reading(self, columns: Collection[str]) -> Any:
        """A context in which a view has these columns of the rows as they are now; it fails if they change."""
        ...


class Views:
    """Temporary views with names nobody else has."""

    def __init__(self, session: "SparkSession") -> None:
        self.session = session
        self._prefix = f"tacit_{bytes(SecureRng().read(8)).hex()}"
        self._numbers = count()

    def add(self, frame: "DataFrame") -> str:
        name = f"{self._prefix}_{next(self._numbers)}"
        frame.createOrReplaceTempView(name)
        return name

    def drop(self, name: str) -> None:
        self.session.catalog.dropTempView(name)


class ParquetTable:
    """Parquet files at a path. `wanted` are the columns that each file must have, of one type; None for all."""

    def __init__(self, views: Views, hadoop: Hadoop, place: str, wanted: Collection[str] | None) -> None:
        self._views, self._hadoop, self._place = views, hadoop, place
        self._known: Footers = {}
        self._built: deque[tuple[Footers, str]] = deque()
        self._wanted: dict[str, tuple[StoredKind, str]] = {}
        footers = self._listed()
        for file, columns in footers.items():
            for name, kind in columns.items():
                if wanted is None or name in wanted:
                    self._wanted.setdefault(name, (kind, self._name(file)))
        self._check_folders(wanted or (), footers)
        self._fitting()

    def columns(self) -> dict[str, str]:
        kinds = {name: kind for columns in reversed(self._known.values()) for name, kind in columns.items()}
        return {name: _native(kind) for name, kind in kinds.items()}

    def version(self) -> str:
        return digest(self._fitting())

    @contextmanager
    def reading(self, columns: Collection[str]) -> Iterator[str]:
        footers = self._fitting()
        yield self._view(footers)
        self._check_same(footers)

    def _listed(self) -> Footers:
        """The files of this moment, with the columns of each."""
        files, known = self._hadoop.files(self._place), self._known
        if not files:
            raise PolicyError(f"{quoted(self._place)}: there is no Parquet file in this folder")
        self._known = {file: known[file] if file in known else self._footer(file) for file in files}
        return self._known

    def _footer(self, file: File) -> Mapping[str, StoredKind]:
        return _told_apart(columns_in(self._name(file), self._hadoop.tail(file)))

    def _fitting(self) -> Footers:
        """The files of this moment, every one of which has the columns that there were when the table was opened."""
        footers = self._listed()
        for file, columns in footers.items():
            problem = misfit(self._name(file), columns, self._wanted)
            if problem is not None:
                raise PolicyError(problem)
        return footers

    def _check_same(self, files: Collection[File]) -> None:
        if any(self._hadoop.again(file) != file for file in files):
            raise EngineError

    def _check_folders(self, wanted: Collection[str], files: Collection[File]) -> None:
        parts = {part.partition("=")[0] for file in files for part in file.path.split("/")[:-1] if "=" in part}
        for name in wanted:
            if name in parts and name not in self._wanted:
                raise PolicyError(
                    f"column {quoted(name)}: is in the names of folders alone, which are not read: write the column "
                    "into the files, or declare a table of Spark's catalog in which it has a type"
                )

    def _name(self, file: File) -> str:
        """Of a file, below the table's own path."""
        place = self._place.removeprefix("file:").rstrip("/")
        _, found, inside = file.path.partition(f"/{place.lstrip('/')}/")
        return inside if found else file.path.rpartition("/")[2]

    def _view(self, footers: Footers) -> str:
        for known, view in tuple(self._built):
            if known.keys() == footers.keys():
                return view
        view = self._views.add(self._frame(footers))
        self._check_same(footers)  # Spark has seen the same files
        self._built.append((footers, view))
        if len(self._built) > KEPT:
            self._views.drop(self._built.popleft()[1])
        return view

    def _frame(self, footers: Footers) -> "DataFrame":
        from pyspark.sql.types import StructField, StructType

        kinds = _agreed(footers)
        schema = StructType([StructField(name, _type(kind)) for name, kind in kinds.items()])
        reader = self._views.session.read.schema(schema).option("recursiveFileLookup", "true")
        reader = reader.option("tacit", digest(footers))  # Spark tells relations apart by their options: nobody's cache
        frame = reader.parquet(*(name_only(file.path) for file in footers))
        if len(frame.inputFiles()) != len(footers):
            raise EngineError
        read = {SPARK.identifier(name): kind for name, kind in kinds.items()}
        return frame.selectExpr(*(f"{_value(raw, kind)} AS {raw}" for raw, kind in read.items()))


def _agreed(footers: Footers) -> dict[str, StoredKind]:
    """The columns that every file has, of one type that Spark can read."""
    first, *others = footers.values()
    return {
        name: kind
        for name, kind in first.items()
        if _stored(kind) is not None and all(other.get(name) == kind for other in others)
    }


def _told_apart(columns: Mapping[str, StoredKind]) -> dict[str, StoredKind]:
    """Spark takes names that differ in case alone for one, and fails: such columns cannot be asked about."""
    spelled: dict[str, list[str]] = {}
    for name in columns:
        spelled.setdefault(name.lower(), []).append(name)
    return {
        name: kind
        if len(same := spelled[name.lower()]) == 1
        else StoredKind(f"columns {' and '.join(map(quoted, same))}")
        for name, kind in columns.items()
    }


def _stored(kind: StoredKind) -> str | None:
    """What Spark reads it as; None for what it cannot."""
    if kind.name.startswith("timestamp["):
        return "bigint"
    if kind.name.startswith("decimal("):
        return kind.name if int(kind.name[8:].partition(",")[0]) <= WIDEST else None
    return STORED.get(kind.name)


def _type(kind: StoredKind) -> "DataType":
    from pyspark.sql.types import DataType

    return DataType.fromDDL(_stored(kind) or "")


def _native(kind: StoredKind) -> str:
    """The name of the type to a curator: what is understood, or what it is."""
    if kind.name in ("timestamp[ns]", "int96"):
        return "timestamp_ns"  # cut to microseconds: it names nobody
    if kind.name.startswith("timestamp["):
        return "timestamp" if kind.utc else "timestamp_ntz"
    if kind.name in ("date", *INTEGERS):
        return kind.name if kind.name.startswith(("date", "u")) else INTEGERS[kind.name]
    return _stored(kind) or kind.name.replace("decimal(", f"more than {WIDEST} digits (")


def _value(raw: str, kind: StoredKind) -> str:
    """A column as its declared type, or NULL."""
    if kind.name == "date":
        return f"date_from_unix_date({raw})"
    if not kind.name.startswith("timestamp["):
        return raw
    unit = kind.name[10:12]
    each = PER_SECOND[unit]
    micros = {"ms": f"{raw} * 1000", "us": raw, "ns": f"CAST(floor({raw} / 1000BD) AS BIGINT)"}[unit]
    inside = f"{raw} >= {FIRST * each} AND {raw} < {AFTER * each}"
    if unit == "ns":  # all of them are years from 1677 to 2262
        inside = f"{raw} IS NOT NULL"
    made = f"timestamp_micros({micros})"
    return f"CASE WHEN {inside} THEN {made if kind.utc else f'CAST({made} AS TIMESTAMP_NTZ)'} END"
