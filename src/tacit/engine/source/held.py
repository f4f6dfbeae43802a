"""What an engine can hold: values that it cannot are NULL, cell by cell, so that none of them fails a question.

| stored | NULL is |
|---|---|
| text | what is not UTF-8 |
| timestamps in seconds or milliseconds | what is beyond the range of 64 bits of microseconds |
| dates in milliseconds | what is beyond 32 bits of days |

Times are kept in microseconds, or in nanoseconds if they are without a zone, decimals of more than 38 digits as
doubles. What no question can use (lists, structures) is not kept: such a column is there, and empty. Tables in memory
become Arrow first, from pandas and polars, without a word of what is in them.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.base import InputError, SourceError
from tacit.engine.engine import opening
from tacit.policy.declaration import quoted
from tacit.policy.kind import understood

__all__ = ["arrow_schema", "arrow_table", "held", "held_table"]

MICROSECONDS = {"s": 1_000_000, "ms": 1000}
TROUBLE = "table {} in memory cannot be read as an Arrow table: give every column one type"
DAY = 86_400_000
Wholes = np.ndarray[tuple[int], np.dtype[Any]]


def held_table(table: pa.Table) -> pa.Table:
    """The same rows."""
    columns = [held(column) for column in table.columns]
    return pa.table(columns, schema=pa.schema([(f.name, c.type) for f, c in zip(table.schema, columns, strict=True)]))


def held(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same cells, in a type that an engine has."""
    chunks = [_chunk(chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks) if chunks else pa.chunked_array([_chunk(pa.array([], column.type))])


def _chunk(array: pa.Array) -> pa.Array:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.UuidType):
        return _chunk(array.storage)
    if pa.types.is_dictionary(kind):
        return _chunk(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _chunk(pc.run_end_decode(array))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _text(array)
    if pa.types.is_timestamp(kind):
        return _times(array)
    if pa.types.is_date64(kind):
        days = np.floor_divide(_wholes(array), DAY)
        return _masked(days.astype(np.int32), np.abs(days) >= 2**31, array, pa.int32()).cast(pa.date32())
    if pa.types.is_decimal256(kind):
        return array.cast(pa.float64())
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    simple = understood(str(kind)) is not None or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    simple = simple or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind)
    return array if simple or isinstance(kind, pa.BaseExtensionType) else pa.nulls(len(array), pa.binary())


def _text(array: pa.Array) -> pa.Array:
    """Text that is UTF-8; only where some is not, cells are looked at one by one."""
    raw = (array.cast(pa.binary_view()) if pa.types.is_string_view(array.type) else array).cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        pass
    return pa.array([None if cell is None else _decoded(cell) for cell in raw.to_pylist()], pa.large_string())


def _decoded(cell: bytes) -> str | None:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return None


def _times(array: pa.Array) -> pa.Array:
    unit, zone = array.type.unit, None if array.type.tz is None else "UTC"  # the same moments, whatever the zone
    if unit == "us":
        return array.cast(pa.int64()).cast(pa.timestamp("us", zone))
    if unit == "ns" and zone is None:
        return array  # which DuckDB has, and names nobody: in microseconds two people could be one
    values = _wholes(array)
    if unit == "ns":
        micros, beyond = np.floor_divide(values, 1000), np.zeros(len(values), np.bool_)
    else:
        most = (2**63 - 1) // MICROSECONDS[unit]
        beyond = (values > most) | (values < -most)
        micros = np.where(beyond, 0, values) * MICROSECONDS[unit]
    return _masked(micros, beyond, array, pa.int64()).cast(pa.timestamp("us", zone))


def _wholes(array: pa.Array) -> Wholes:
    found: Wholes = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return found


def _masked(values: Wholes, gone: object, array: pa.Array, kind: pa.DataType) -> pa.Array:
    """`values`, NULL where `gone` or where the array was."""
    missing = array.is_null().to_numpy(zero_copy_only=False) | gone
    return pa.array(values, kind, mask=missing)


def arrow_table(source: Any, name: str = "data") -> pa.Table:
    """A table with the same rows, all of whose values an engine can hold."""
    return opening(TROUBLE.format(quoted(name)), lambda: held_table(_named(_arrow(source, name), name)))


def arrow_schema(source: Any, name: str = "data") -> pa.Schema:
    return opening(TROUBLE.format(quoted(name)), lambda: _named(_arrow(source, name), name).schema)


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
