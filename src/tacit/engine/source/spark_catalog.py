"""A table or view of Spark's catalog, as it is at the moment of each question.

Spark keeps the files of a catalog's table in mind too, so the table is refreshed before each question and analysed
anew, and its files are compared before and after. What is not made of files (another database, a Python data source) or
calls somebody's functions cannot be seen through: such rows are copied once for the question, and a copy that is lost
fails rather than being made a second time.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tacit.base import EngineError, PolicyError
from tacit.engine.dialect import SPARK
from tacit.engine.source.files import File
from tacit.engine.source.footer import columns_in
from tacit.engine.source.hadoop import Hadoop
from tacit.engine.source.spark_table import Views
from tacit.engine.views.spark import Seen, check_units
from tacit.noise import SecureRng

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["CatalogTable"]


class CatalogTable:
    """A name in the catalog, as `table`, `schema.table` or `catalog.schema.table`.

    Of a private one, `unit` is the column that names its unit, or None where each row is one.
    """

    def __init__(self, views: Views, hadoop: Hadoop, name: str, unit: str | None, *, is_private: bool) -> None:
        self._views, self._hadoop = views, hadoop
        self._unit, self._is_private = unit, is_private
        self._name = ".".join(SPARK.identifier(part) for part in name.split("."))
        self._footers: set[File] = set()
        self._types: dict[str, str] = {}
        self._look()

    def columns(self) -> dict[str, str]:
        """As they were at the last look."""
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
            if any(self._hadoop.again(file) != file for file in files):
                raise EngineError
        finally:
            self._views.drop(view)
            if copy is not None:
                copy._jdf.queryExecution().analyzed().rdd().unpersist(False)

    def _frame(self) -> "DataFrame":
        session = self._views.session
        session.catalog.refreshTable(self._name)
        return session.table(self._name)

    def _look(self) -> tuple["DataFrame", Seen]:
        """The rows as they are now, and what can be seen of how they are made."""
        frame = self._frame()
        plan: Any = frame._jdf.queryExecution().analyzed()
        seen = Seen(json.loads(plan.toJSON()))
        problem = seen.problem(is_deterministic=bool(plan.deterministic()))
        if problem is None and not seen.is_steady and self._is_speculative():
            problem = (
                "it cannot be seen to be the same each time, so it is copied once for a question, and Spark may make "
                "two copies that differ: set spark.speculation to false, or declare a Parquet table"
            )
        if problem is not None:
            raise PolicyError(problem)
        if self._is_private and "View" in seen.nodes and not seen.is_plain:
            check_units(self._views.session, self._name, self._unit)
        if "parquet" in seen.providers:
            self._check_footers(frame)
        self._types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
        return frame, seen

    def _is_speculative(self) -> bool:
        return str(self._views.session.sparkContext.getConf().get("spark.speculation", "false")).lower() == "true"

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
