"""A table as Spark reads it for one question: Parquet files that were just listed, or a name in the catalog.

Spark lists files when a DataFrame is made and reads them by the lengths it saw then, so each question that finds other
files gets a new DataFrame of exactly these, with the schema that was compared with every footer. Nothing is taken from
the names of folders, nothing from statistics in footers, and a value that Spark cannot hold is NULL: timestamps and
dates are read as the integers they are stored as, and made timestamps where they fit.

Spark keeps the files of a catalog's table in mind too, so such a table is refreshed before each question and analysed
anew, and its files are compared before and after. What is not made of files (another database, a Python data source) or
calls somebody's functions cannot be seen through: such rows are copied once for the question, and a copy that is lost
fails rather than being made a second time.
"""

import json
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from tacit.base import EngineError, PolicyError
from tacit.engine.dialect import SPARK
from tacit.engine.source.hadoop import File, Hadoop, digest, name_only
from tacit.engine.source.parquet import StoredKind, columns_in, misfit
from tacit.engine.views.spark import SparkPlan, check_units
from tacit.noise import SecureRng
from tacit.policy.declaration import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CatalogTable", "ParquetTable", "Views"]

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
        """Names and types. Reads no rows."""
        kinds = {name: kind for columns in reversed(self._known.values()) for name, kind in columns.items()}
        return {name: _native(kind) for name, kind in kinds.items()}

    def version(self) -> str:
        """A text that differs whenever the rows may have; PolicyError if the data no longer is what was opened."""
        return digest(self._fitting())

    @contextmanager
    def reading(self, columns: Collection[str]) -> Iterator[str]:
        """A view with these columns of the rows as they are now; it fails in the end if they changed."""
        footers = self._fitting()
        yield self._view(footers)
        self._hadoop.check_same(footers)

    def _listed(self) -> Footers:
        """The files of this moment, with the columns of each."""
        files, known = self._hadoop.files(self._place), self._known
        if not files:
            raise PolicyError(f"{quoted(self._place)}: there is no Parquet file in this folder")
        new = {file: columns_in(self._name(file), self._hadoop.tail(file)) for file in files if file not in known}
        self._known = {file: _told_apart(new[file]) if file in new else known[file] for file in files}
        return self._known

    def _fitting(self) -> Footers:
        """The files of this moment, every one of which has the columns that there were when the table was opened."""
        footers = self._listed()
        for file, columns in footers.items():
            problem = misfit(self._name(file), columns, self._wanted)
            if problem is not None:
                raise PolicyError(problem)
        return footers

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
        self._hadoop.check_same(footers)  # Spark has seen the same files
        self._built.append((footers, view))
        if len(self._built) > KEPT:
            self._views.drop(self._built.popleft()[1])
        return view

    def _frame(self, footers: Footers) -> "DataFrame":
        from pyspark.sql.types import DataType, StructField, StructType

        first, *others = footers.values()
        stored = {name: _stored(kind) for name, kind in first.items() if all(o.get(name) == kind for o in others)}
        kinds = {name: first[name] for name, found in stored.items() if found is not None}  # which Spark can read
        schema = StructType([StructField(name, DataType.fromDDL(stored[name] or "")) for name in kinds])
        reader = self._views.session.read.schema(schema).option("recursiveFileLookup", "true")
        reader = reader.option("tacit", digest(footers))  # Spark tells relations apart by their options: nobody's cache
        frame = reader.parquet(*(name_only(file.path) for file in footers))
        if len(frame.inputFiles()) != len(footers):
            raise EngineError
        read = {SPARK.identifier(name): kind for name, kind in kinds.items()}
        return frame.selectExpr(*(f"{_value(raw, kind)} AS {raw}" for raw, kind in read.items()))


def _told_apart(columns: Mapping[str, StoredKind]) -> dict[str, StoredKind]:
    """Spark takes names that differ in case alone for one, and fails: such columns cannot be asked about."""
    spelled: dict[str, list[str]] = {}
    for name in columns:
        spelled.setdefault(name.lower(), []).append(name)
    return {
        name: StoredKind(f"columns {' and '.join(map(quoted, same))}") if len(same) > 1 else columns[name]
        for same in spelled.values()
        for name in same
    }


def _stored(kind: StoredKind) -> str | None:
    """What Spark reads it as; None for what it cannot."""
    if kind.name.startswith("timestamp["):
        return "bigint"
    if kind.name.startswith("decimal("):
        return kind.name if int(kind.name[8:].partition(",")[0]) <= WIDEST else None
    return STORED.get(kind.name)


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


class CatalogTable:
    """A name in the catalog, as `table`, `schema.table` or `catalog.schema.table`.

    Of a private one, `unit` is the column that names its unit, or None where each row is one.
    """

    def __init__(self, views: Views, hadoop: Hadoop, name: str, unit: str | None, *, is_private: bool) -> None:
        self._views, self._hadoop = views, hadoop
        self._unit, self._is_private = unit, is_private
        self._name = SPARK.dotted(name)
        self._footers: set[File] = set()
        self._types: dict[str, str] = {}
        self._look()

    def columns(self) -> dict[str, str]:
        return self._types

    def version(self) -> str:
        """A new text at each call: of a catalog's table no change can be seen cheaply."""
        self._look()
        return bytes(SecureRng().read(16)).hex()

    @contextmanager
    def reading(self, columns: Collection[str]) -> Iterator[str]:
        frame, seen = self._look()
        files = [self._hadoop.file(uri) for uri in frame.inputFiles()]
        chosen = frame.selectExpr(*(SPARK.identifier(name) for name in columns) if columns else ("1 AS one",))
        copy = None if seen.is_steady else chosen.localCheckpoint()
        view = self._views.add(chosen if copy is None else copy)
        try:
            yield view
            self._hadoop.check_same(files)
        finally:
            self._views.drop(view)
            if copy is not None:
                copy._jdf.queryExecution().analyzed().rdd().unpersist(False)

    def _look(self) -> tuple["DataFrame", SparkPlan]:
        """The rows as they are now, and what can be seen of how they are made."""
        session = self._views.session
        session.catalog.refreshTable(self._name)
        frame = session.table(self._name)
        plan: Any = frame._jdf.queryExecution().analyzed()
        seen = SparkPlan(json.loads(plan.toJSON()))
        problem = seen.problem(is_deterministic=bool(plan.deterministic()))
        speculative = str(session.sparkContext.getConf().get("spark.speculation", "false")).lower() == "true"
        if problem is None and not seen.is_steady and speculative:
            problem = (
                "it cannot be seen to be the same each time, so it is copied once for a question, and Spark may make "
                "two copies that differ: set spark.speculation to false, or declare a Parquet table"
            )
        if problem is not None:
            raise PolicyError(problem)
        if self._is_private and "View" in seen.nodes and not seen.is_plain:
            check_units(session, self._name, self._unit)
        if "parquet" in seen.providers:
            self._check_footers(frame)
        self._types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        return frame, seen

    def _check_footers(self, frame: "DataFrame") -> None:
        """Spark fails on a timestamp in milliseconds that is far off: one row would decide whether an answer comes."""
        files = {self._hadoop.file(uri) for uri in frame.inputFiles() if uri.lower().endswith(".parquet")}
        for file in files - self._footers:
            kinds = columns_in(file.path.rpartition("/")[2], self._hadoop.tail(file)).values()
            if any(kind.name == "timestamp[ms]" for kind in kinds):
                raise PolicyError(
                    "its files hold timestamps in milliseconds, some of which Spark fails on: declare the path of the "
                    "files as the table's source, which reads those as NULL, or write them in microseconds"
                )
        self._footers = files
