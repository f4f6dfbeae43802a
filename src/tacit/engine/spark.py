"""Spark: an existing session or a master's URL; tables of its catalog, or Parquet files it can reach."""

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base import Exact, InputError, TacitError
from tacit.engine.dialect import identifier
from tacit.engine.engine import counts_from, failing_closed, result_from, steadily
from tacit.engine.relation import tables_of
from tacit.engine.render import norms_sql, statements
from tacit.engine.result import Result, Whole
from tacit.noise import SecureRng
from tacit.plan.bounded import Bounded

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
}


class SparkEngine:
    """Tables by their declared names: each a name in the catalog, or the path of Parquet files.

    `spark` is a session, which is left as it is (we work in one of our own beside it, so its temporary views are not
    seen), or a master's URL such as spark://host:7077 or local[2], whose session is stopped with this engine.
    """

    def __init__(self, spark: "SparkSession | str", tables: Mapping[str, str | Path]) -> None:
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise TacitError("Spark needs pyspark, which is not installed: pip install 'tacit[spark]'") from None
        self._own = isinstance(spark, str)
        if isinstance(spark, str):
            spark = (
                SparkSession.builder.master(spark).appName("tacit").config("spark.ui.enabled", "false").getOrCreate()
            )
        self._session = spark.newSession()
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        self._group = f"tacit-{bytes(SecureRng().read(8)).hex()}"
        self._tables: dict[str, str] = {}
        self._paths: dict[str, Path] = {}
        for name, place in tables.items():
            self._register(name, place)

    def run(self, bounded: Bounded) -> Exact[Result]:
        written = statements(bounded, "spark", self._tables)
        local = tables_of(bounded.source) & self._paths.keys()  # of others no change can be seen
        return steadily(lambda: self.version(local), lambda: Exact(result_from(bounded, written, self._fetch)))

    def norms(self, bounded: Bounded, clip: int, edges: Sequence[int]) -> Exact[Whole]:
        written = norms_sql(bounded, clip, edges, "spark", self._tables)
        return failing_closed(lambda: Exact(counts_from(self._fetch(written), len(edges) + 1)))

    def version(self, tables: Collection[str]) -> str:
        """Local files by path, size and time of the last change; for anything else a new text at each call."""
        seen = sha256()
        for name in sorted(tables):
            path = self._paths.get(name)
            if path is None or not path.exists():
                return bytes(SecureRng().read(16)).hex()
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                state = file.stat()
                seen.update(f"{name}\0{file}\0{state.st_size}\0{state.st_mtime_ns}\0{state.st_ino}\0".encode())
        return seen.hexdigest()

    def columns(self, table: str) -> dict[str, str]:
        if table not in self._tables:
            raise InputError(f"there is no table {table!r} in this engine")
        fields = failing_closed(lambda: self._session.table(self._tables[table]).schema.fields)
        return {field.name: field.dataType.simpleString() for field in fields}

    def cancel(self) -> None:
        self._session.sparkContext.cancelJobGroup(self._group)

    def close(self) -> None:
        if self._own:
            self._session.stop()

    def _register(self, name: str, place: str | Path) -> None:
        text = str(place)
        local = Path(text.removeprefix("file://"))
        view = f"{self._group.replace('-', '_')}_{len(self._tables)}"
        failed = ""
        try:
            if isinstance(place, Path) or "/" in text:
                self._session.read.parquet(text).createOrReplaceTempView(view)
                if "://" not in text or text.startswith("file://"):
                    self._paths[name] = local
            else:
                parts = ".".join(identifier(part, "spark") for part in text.split("."))
                self._session.table(parts).createOrReplaceTempView(view)
        except Exception as error:  # of py4j and of Spark, which share no class
            failed = type(error).__name__
        if failed:
            raise InputError(f"table {name!r} cannot be opened in Spark: {failed}")
        self._tables[name] = identifier(view, "spark")

    def _fetch(self, statement: str) -> Sequence[Sequence[Any]]:
        self._session.sparkContext.setJobGroup(self._group, "tacit", interruptOnCancel=True)
        found = self._session.sql(statement)
        rows = found.collect()
        return list(zip(*rows, strict=True)) if rows else [()] * len(found.columns)
