"""What can be seen of a table of Spark's catalog in its analysed plan."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.engine.dialect import SPARK
from tacit.engine.views.shape import View, check_shape

__all__ = ["SparkPlan", "check_units"]

FILES = ("parquet", "orc", "avro")
TEXTS = ("csv", "json", "text", "xml")
LEAVES = {"LocalRelation", "OneRowRelation", "Range", "CTERelationRef"}
BY_ROW = LEAVES | {
    "CTERelationDef", "Filter", "Generate", "Join", "LogicalRelation", "Project", "Sort", "SubqueryAlias", "Union",
    "View", "WithCTE",
}  # fmt: skip
FOREIGN = {
    "ApplyFunctionExpression", "HiveGenericUDF", "HiveGenericUDTF", "HiveSimpleUDF", "HiveUDAFFunction", "PythonUDAF",
    "PythonUDF", "PythonUDTF", "ScalaAggregator", "ScalaUDAF", "ScalaUDF", "V2Aggregator",
}  # fmt: skip
SUBQUERIES = {"Exists", "InSubquery", "LateralSubquery", "ListQuery", "ScalarSubquery"}
OWN = "org.apache.spark."
MADE_FRESH = "write the rows into a table (CREATE TABLE … USING parquet AS SELECT …) and declare that"


@dataclass
class SparkPlan:
    """A plan, as Spark writes it in JSON."""

    plan: Any
    nodes: set[str] = field(default_factory=set)
    expressions: set[str] = field(default_factory=set)
    providers: set[str] = field(default_factory=set)
    is_foreign: bool = False
    has_places: bool = False

    def __post_init__(self) -> None:
        for node in _nodes(self.plan):
            name = _last(node["class"])
            self.nodes.add(name)
            if name == "LogicalRelation":
                self.providers.add(str(((node.get("catalogTable") or {}).get("provider")) or ""))
            elif node.get("num-children") == 0 and name not in LEAVES:
                self.is_foreign = True
        for part in _dictionaries(self.plan):
            name = _last(str(part.get("class", "")))
            self.expressions.add(name)
            self.has_places |= name == "AttributeReference" and part.get("name") == "_metadata"
            called = str(part.get("staticObject") or "")
            self.is_foreign |= name in FOREIGN or (name == "StaticInvoke" and not called.startswith(OWN))
        self.is_foreign |= not self.providers <= {*FILES}

    @property
    def is_steady(self) -> bool:
        """Whether reading it twice gives the same rows, as long as its files stay what they are."""
        return not self.is_foreign and self.is_by_row

    @property
    def is_by_row(self) -> bool:
        """Whether nothing in it looks at several rows at once."""
        return self.nodes <= BY_ROW

    @property
    def is_plain(self) -> bool:
        """Whether each row is made of one row."""
        return self.is_by_row and "Join" not in self.nodes and not self.expressions & SUBQUERIES

    def problem(self, *, is_deterministic: bool) -> str | None:
        """Why it cannot be read at all."""
        if not is_deterministic:
            return (
                "it calls a function that gives another value each time, such as rand() or uuid(), and rows are read "
                f"more than once: {MADE_FRESH}"
            )
        if "Sample" in self.nodes:
            return f"it takes a sample, which is another one each time it is read: {MADE_FRESH}"
        if self.has_places:
            return f"it uses _metadata, the place of a row in its file, which follows from other rows: {MADE_FRESH}"
        if "" in self.providers:
            return (
                "it reads files by their path, so that one of them decides the schema of all: declare the path itself "
                "as the table's source, or a table of the catalog with its columns"
            )
        texts = sorted(self.providers & {*TEXTS})
        if texts:
            return f"it is stored as {texts[0]}, in which one row can change how another is read: {MADE_FRESH}"
        return None


def check_units(session: Any, name: str, unit: str | None) -> None:
    """PolicyError if rows of a private view can depend on several units. `name` is quoted."""
    view, space = _definition(session, name)

    def behind(parts: tuple[str, ...]) -> View | None:
        named = ".".join(SPARK.identifier(part) for part in parts)
        return _definition(session, f"{space}.{named}" if len(parts) == 1 and space else named)[0]

    if view is not None:
        check_shape(view, unit, SPARK, behind, ())


def _definition(session: Any, name: str) -> tuple[View | None, str]:
    """The query of a view, and where the names in it are looked for; None for a table."""
    rows = [(row[0], row[1]) for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()]
    start = next((place for place, (title, _) in enumerate(rows) if title.startswith("# Detailed")), len(rows))
    said = dict(rows[start:])
    if said.get("Type") != "VIEW":
        return None, ""
    own = tuple(title for title, _ in rows[:start] if title)
    shown = tuple(re.findall(r"`([^`]*)`", said.get("View Query Output Columns") or ""))
    query = View(sql=said.get("View Text") or "", columns=() if own == shown else own)
    return query, said.get("View Catalog and Namespace") or ""


def _nodes(plan: Any) -> Iterator[Mapping[str, Any]]:
    """Every node of a plan and of the plans inside its expressions."""
    for node in plan:
        yield node
        for value in node.values():
            for part in _dictionaries(value):
                if isinstance(part.get("plan"), list):
                    yield from _nodes(part["plan"])


def _dictionaries(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _dictionaries(part)
    elif isinstance(value, list):
        for part in value:
            yield from _dictionaries(part)


def _last(name: str) -> str:
    return name.rpartition(".")[2]
