"""Tables in memory, as Arrow: from pandas and polars without a word of what is in them."""

from typing import Any

import pyarrow as pa

from tacit.base import InputError, SourceError
from tacit.engine.engine import opening
from tacit.engine.source.held import held_table
from tacit.policy.declaration import quoted

__all__ = ["arrow_schema", "arrow_table"]


def arrow_table(source: Any, name: str = "data") -> pa.Table:
    """A table with the same rows, all of whose values an engine can hold."""
    return opening(_trouble(name), lambda: held_table(_named(_arrow(source, name), name)))


def arrow_schema(source: Any, name: str = "data") -> pa.Schema:
    """Names and types of the columns."""
    return opening(_trouble(name), lambda: _named(_arrow(source, name), name).schema)


def _named(table: pa.Table, name: str) -> pa.Table:
    """The table, if names tell its columns apart."""
    folded = [column.casefold() for column in table.column_names]
    for place, column in enumerate(folded):
        if not column or column in folded[:place]:
            raise SourceError(
                f"table {quoted(name)}: columns need names that differ in more than capitals, and number {place + 1} "
                f"{'repeats one' if column else 'has none'}: rename it"
            )
    return table


def _trouble(name: str) -> str:
    return f"table {quoted(name)} in memory cannot be read as an Arrow table: give every column one type"


def _arrow(source: Any, name: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns"):
        return _pandas(source, name)
    if hasattr(source, "to_arrow"):
        objects = [name for name, kind in dict(getattr(source, "schema", {})).items() if str(kind) == "Object"]
        if objects:  # of polars: Arrow would be given addresses in memory
            raise SourceError(f"table {quoted(name)}: column {quoted(objects[0])} holds objects: give it a type")
        found = source.to_arrow()
        if isinstance(found, pa.Table):
            return found
    raise InputError(
        f"a table is a path, a (file, table), or a pyarrow, pandas or polars table, not {type(source).__name__}"
    )


def _pandas(frame: Any, name: str) -> pa.Table:
    """Column by column, so that the one at fault can be named."""
    arrays = []
    for place, label in enumerate(frame.columns):
        trouble = (
            f"table {quoted(name)}: column {quoted(str(label))} holds values of more than one type, or of none that "
            "Arrow has: give it a type, as in frame.astype({…})"
        )
        arrays.append(opening(trouble, lambda place=place: pa.Array.from_pandas(frame.iloc[:, place])))  # type: ignore[misc]
    return pa.table(arrays, names=[str(label) for label in frame.columns])
