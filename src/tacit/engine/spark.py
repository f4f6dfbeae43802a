"""Spark: an existing session or a master's URL; tables of its catalog, or Parquet files it can reach."""

import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tacit.base import EngineError, InputError, PolicyError, TacitError
from tacit.engine.dialect import SPARK
from tacit.engine.engine import Look, Reading, SqlEngine, StatementReader, failing_closed
from tacit.engine.relation import columns_of
from tacit.engine.result import batches_of
from tacit.engine.source.hadoop import Hadoop
from tacit.engine.source.keys import LinkKeys, repeated_sql
from tacit.engine.source.spark_table import CatalogTable, ParquetTable, Views
from tacit.engine.unit import StoredTable
from tacit.engine.watch import Instance, Limits, Seats
from tacit.noise import SecureRng
from tacit.plan.node import Node, Scan
from tacit.policy import ColumnType
from tacit.policy.declaration import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkEngine"]

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.variable.substitute": "false",
    # old dates are read as they stand, and never fail
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.parquet.binaryAsString": "false",
    # least and largest values in footers leave NaN out, or follow another order of text: they decide nothing
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
    "spark.sql.optimizer.metadataOnly": "false",
    # every file counts, and none decides how another is read
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.orc.mergeSchema": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.sources.validatePartitionColumns": "false",
}


class SparkEngine(SqlEngine):
    """Tables by their declared names: each a name in the catalog, or the path of Parquet files.

    `spark` is a session, which is left as it is (we work in one of our own beside it, so its temporary views are not
    seen), or a master's URL such as spark://host:7077 or local[2], whose session is stopped with this engine.
    `columns` are those that every file must have, all where it is left out. `units` has the private tables, each with
    the column that names its unit, or None where each row is one: their views must keep units apart. `keys` are columns
    that links lead to, which the curator has looked at in this version of their files.

    Each question is a group of jobs, which time ends. Memory and temporary files are a matter of the cluster's
    executors; of a session that we start, an answer larger than the memory of a question fails, and questions share the
    executors evenly.
    """

    dialect = SPARK

    def __init__(
        self,
        spark: "SparkSession | str",
        tables: Mapping[str, str | Path],
        *,
        columns: Mapping[str, Collection[str]] | None = None,
        units: Mapping[str, str | None] | None = None,
        keys: Mapping[str, LinkKeys] | None = None,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise TacitError("Spark needs pyspark, which is not installed: pip install 'tacit[spark]'") from None
        self._own = isinstance(spark, str)
        if isinstance(spark, str):
            building = SparkSession.builder.master(spark).appName("tacit").config("spark.ui.enabled", "false")
            building = building.config("spark.driver.maxResultSize", str(limits.bytes_of_memory))
            spark = building.config("spark.scheduler.mode", "FAIR").getOrCreate()
        _silenced()
        self._session = spark.newSession()
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        self._seats: Seats[_Instance] = Seats(limits, _Instance(self._session), lambda: _Instance(self._session))
        self._views, self._hadoop = Views(self._session), Hadoop(self._session)
        self._tables: dict[str, ParquetTable | CatalogTable] = {}
        for name, place in tables.items():
            self._register(name, place, None if columns is None else columns.get(name, ()), units or {})
        self._keys = dict(keys or {})
        for name in self._keys:
            self._check_keys(name, self._tables[name].version())

    def _prepared(self, instance: "_Instance", source: Node) -> tuple[Look, Reading]:
        @contextmanager
        def reading() -> Iterator[tuple[Mapping[str, str], StatementReader]]:
            """From views that are there while it is read; leaving them is an error if their data changed."""
            instance.begin()
            with ExitStack() as stack:
                reads = columns_of(source).items()
                views = {name: stack.enter_context(self._tables[name].reading(columns)) for name, columns in reads}
                names = {name: SPARK.identifier(view) for name, view in views.items()}
                yield names, StatementReader(instance.fetch, instance.batches)

        return (lambda table: StoredTable(sql=table, types=self.columns(table))), reading

    def version(self, tables: Collection[str]) -> str:
        """Files by path, size and times of change; for anything else a new text at each call."""
        self._seats.check()
        seen = sha256()
        for name in sorted(tables):
            if name not in self._tables:
                raise InputError(f"there is no table {name!r} in this engine")
            version = self._tables[name].version()
            if name in self._keys:
                self._check_keys(name, version)
            seen.update(f"{name}\0{version}\0".encode())
        return seen.hexdigest()

    def _check_keys(self, name: str, version: str) -> None:
        def count(column: str, declared: ColumnType | None) -> int:
            def read() -> int:
                with self._tables[name].reading({column}) as view:
                    sql = repeated_sql(SPARK.identifier(view), column, declared, self._columns(name)[column], SPARK)
                    return int(self._session.sql(sql).collect()[0][0])

            return failing_closed(read)

        self._keys[name].require(name, version, lambda column, declared: False, count)

    def _columns(self, table: str) -> dict[str, str]:
        return self._tables[table].columns()

    def ready(self) -> None:
        self._seats.check()
        if failing_closed(lambda: self._session.sparkContext._jsc.sc().isStopped()):
            raise EngineError

    def close(self) -> None:
        self._seats.close()
        if self._own:
            self._session.stop()

    def _register(
        self, name: str, place: str | Path, wanted: Collection[str] | None, units: Mapping[str, str | None]
    ) -> None:
        storage, text, failed = (self._views, self._hadoop), str(place), ""
        try:
            if isinstance(place, Path) or "/" in text:
                self._tables[name] = ParquetTable(*storage, text, wanted)
            else:
                self._tables[name] = CatalogTable(*storage, text, units.get(name), is_private=name in units)
        except PolicyError as error:
            failed = str(error)
        except Exception as error:  # of py4j and of Spark, which share no class
            failed = f"cannot be opened in Spark: {type(error).__name__}"
        if failed:
            raise PolicyError(f"table {quoted(name)}: {failed}")


_quiet = threading.local()
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # write errors, values included, to standard error


def _silenced() -> None:
    """Have pyspark write nothing of errors in threads that read for us; others are left as they are."""
    from pyspark.logger import PySparkLogger

    def passes(_: logging.LogRecord) -> bool:
        return not getattr(_quiet, "reading", False)

    for name in LOGGERS:
        logger = PySparkLogger.getLogger(name)
        if not logger.filters:
            logger.addFilter(passes)


class _Instance(Instance):
    """A group of jobs of its own, in whatever thread works for it."""

    def __init__(self, session: "SparkSession") -> None:
        self._session, self._context = session, session.sparkContext
        self._group = self._pool = f"tacit-{bytes(SecureRng().read(8)).hex()}"
        self._interrupted = False

    def begin(self) -> None:
        """The jobs of this thread are now of this group."""
        _quiet.reading = True
        self._context.setJobGroup(self._group, "tacit", interruptOnCancel=True)
        self._context.setLocalProperty("spark.scheduler.pool", self._pool)

    def fetch(self, statement: str) -> Sequence[Sequence[Any]]:
        found = self._session.sql(statement)
        rows = found.collect()
        return list(zip(*rows, strict=True)) if rows else [()] * len(found.columns)

    def batches(self, statement: str, scan: Scan) -> Iterator[pa.RecordBatch]:
        return batches_of(scan, self._session.sql(statement).toLocalIterator())

    def interrupt(self) -> None:
        self._interrupted = True
        self._context.cancelJobGroup(self._group)

    def sound(self) -> bool:
        """As good as new under another name: a cancel may still be on its way to this one."""
        if self._interrupted:
            self._group, self._interrupted = f"tacit-{bytes(SecureRng().read(8)).hex()}", False
        return True
