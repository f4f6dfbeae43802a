"""The rows of one private table, grouped by unit, for those who learn from rows: spooled once to a file without a name.

What is read is what every question reads (`scan.py`, `unit.py`): declared columns with their facts enforced, numbers as
doubles, and no row of nobody's. Rows come in batches and go to the disk, so a table need not fit into memory. The file
is its owner's alone and has no name from its first byte on, so nothing of it is left behind: not after `close`, not
after an error, and not after a process was killed.
"""

import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.base import EngineError, InputError
from tacit.engine.dialect import Dialect
from tacit.engine.relation import has_unit
from tacit.engine.scan import UNIT, scan_sql
from tacit.engine.unit import StoredTable
from tacit.plan.facts import Type
from tacit.plan.node import Scan

__all__ = ["BATCH", "UnitRows", "batches_of", "rows_sql", "spooled"]

BATCH = 10_000  # rows in memory at once, where an engine gives them one by one
NUMBER = "tacit number"  # of a unit, in the order of units
KINDS = {
    Type.INTEGER: pa.float64(),  # as the SQL path holds them: all whole numbers in it are exact
    Type.NUMBER: pa.float64(),
    Type.TEXT: pa.large_string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}


class UnitRows:
    """Columns by name, as Arrow arrays over the mapped file, and `offsets`: rows of unit i are offsets[i]:offsets[i+1].

    Units are in an order that is the engine's own, and so are the rows of a unit. Close it when the work is done.
    """

    def __init__(self, file: IO[bytes], offsets: npt.NDArray[np.int64]) -> None:
        self.offsets = offsets
        offsets.flags.writeable = False
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        table = pa.ipc.open_file(pa.py_buffer(self._map)).read_all()
        self.columns: Mapping[str, pa.ChunkedArray] = dict(zip(table.column_names, table.columns, strict=True))

    @property
    def units(self) -> int:
        return len(self.offsets) - 1

    def close(self) -> None:
        """Let go of the file. Arrays that somebody still holds stay readable, and keep it until they are gone."""
        self.columns = {}
        with suppress(BufferError):  # somebody holds an array: the map goes with the last of them
            self._map.close()

    def __enter__(self) -> "UnitRows":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def rows_sql(scan: Scan, dialect: Dialect, tables: Mapping[str, StoredTable]) -> str:
    """SELECT of the columns, and of the number of each row's unit, by which they are ordered.

    The engine numbers units: it compares them as it does in every question, and none is turned into a value here.
    """
    if not scan.private:
        raise InputError(f"table {scan.table!r} is public: rows are read by unit, of a private table")
    names = [dialect.identifier(source.name) for source in scan.columns]
    number, order = dialect.identifier(NUMBER), ""
    if has_unit(scan):
        names.append(f"DENSE_RANK() OVER (ORDER BY {dialect.identifier(UNIT)}) AS {number}")
        order = f" ORDER BY {number}"
    return f"SELECT {', '.join(names) or '1 AS one'} FROM ({scan_sql(scan, dialect, tables)}) AS r{order}"


def batches_of(scan: Scan, rows: Iterable[Sequence[Any]]) -> Iterator[pa.RecordBatch]:
    """Rows of Python values, one by one, as batches."""
    schema, left = _read(scan), iter(rows)
    while some := list(islice(left, BATCH)):
        arrays = [pa.array(column, kind) for column, kind in zip(zip(*some, strict=True), schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def spooled(scan: Scan, batches: Iterable[pa.RecordBatch], most: int) -> UnitRows:
    """What `rows_sql` gave, on the disk; more than `most` bytes are a failure, as is an order that is none."""
    schema = _stored(scan)
    starts: list[npt.NDArray[np.int64]] = []
    count, last = 0, 0
    with TemporaryFile(prefix="tacit-") as file:  # its map keeps what is in it
        with pa.ipc.new_file(file, schema) as writer:
            for batch in batches:
                if not batch.num_rows:
                    continue
                if has_unit(scan):
                    numbers = batch.column(batch.num_columns - 1).cast(pa.int64()).to_numpy()
                    steps = np.diff(numbers, prepend=last)
                    if steps.min() < 0 or steps.max() > 1:
                        raise EngineError
                    starts.append(np.flatnonzero(steps) + count)
                    last = int(numbers[-1])
                columns = [batch.column(i).cast(kind) for i, kind in enumerate(schema.types)]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
                count += batch.num_rows
                if file.tell() > most:
                    raise EngineError
        file.flush()
        offsets = np.concatenate([*starts, [count]]) if has_unit(scan) else np.arange(count + 1)
        return UnitRows(file, offsets.astype(np.int64))


def _stored(scan: Scan) -> pa.Schema:
    return pa.schema([(source.name, KINDS[source.facts.type]) for source in scan.columns])


def _read(scan: Scan) -> pa.Schema:
    """The same with the numbers of units, where rows have them."""
    return _stored(scan).append(pa.field(NUMBER, pa.int64())) if has_unit(scan) else _stored(scan)
