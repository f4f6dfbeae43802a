"""What an engine answers, before noise and only ever seen inside an `Exact`: whole numbers by group, or rows by unit.

Rows are those of one private table, for those who learn from rows, spooled once to a file. What is read is what every
question reads (`scan.py`, `unit.py`): declared columns with their facts enforced, numbers as doubles, and no row of
nobody's. They come in batches and go to the disk, so a table need not fit into memory. The file is its owner's alone
and has no name from its first byte on, so nothing of it is left behind: not after `close`, not after an error, and not
after a process was killed.
"""

import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.base import EngineError
from tacit.engine.relation import has_unit
from tacit.engine.render import Statements
from tacit.plan.bounded import Bounded
from tacit.plan.facts import Type, Value
from tacit.plan.node import Scan

__all__ = [
    "CodedColumn", "Fetch", "Result", "ResultTable", "UnitRows", "Whole", "answer_groups", "batches_of", "coded",
    "counts_from", "keys_from", "result_from", "spooled", "whole_numbers",
]  # fmt: skip

BATCH = 10_000  # rows in memory at once, where an engine gives them one by one
KINDS = {
    Type.INTEGER: pa.float64(),  # as the SQL path holds them: all whole numbers in it are exact
    Type.NUMBER: pa.float64(),
    Type.TEXT: pa.large_string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
}

Fetch = Callable[[str], Sequence[Sequence[Any]]]
"""Runs one SELECT and gives its columns."""

Whole = np.ndarray[tuple[int], np.dtype[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedColumn(Sequence[Value]):
    """A column as its different values, and for each row which of them it has: few values are looked at one by one."""

    values: tuple[Value, ...]
    codes: Whole

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: Any) -> Any:
        found = self.codes[row]
        return tuple(self.values[code] for code in found) if isinstance(row, slice) else self.values[found]

    def __repr__(self) -> str:
        return "<CodedColumn>"


def coded(values: Sequence[Value]) -> CodedColumn:
    if isinstance(values, CodedColumn):
        return values
    codes: dict[Value, int] = {}
    found = np.fromiter((codes.setdefault(value, len(codes)) for value in values), np.int64, len(values))
    return CodedColumn(values=tuple(codes), codes=found)


@dataclass(frozen=True, kw_only=True, eq=False)
class ResultTable:
    """Groups that occur, one a row: `keys[i]` holds the values of the i-th key, `columns` whole numbers by name.

    Whole numbers are int64 where all of a column fit, else Python ints in an array of objects.
    """

    keys: tuple[Sequence[Value], ...]
    columns: Mapping[str, Whole]

    def __repr__(self) -> str:
        return "<Table>"  # true answers are not for logs


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The groups with their measures, and `presence` where keys are unknown; for each Ranks a table with cells.

    A table of ranks has the groups' keys, and the columns "cell" and "count". Without keys, `groups` has one row.
    """

    groups: ResultTable
    presence: Whole | None
    ranks: Mapping[str, ResultTable]

    def __repr__(self) -> str:
        return "<Result>"


def whole_numbers(values: Iterable[Any]) -> Whole:
    """Whole numbers as an engine gives them (int, Decimal), exactly; NULL, of a sum over nothing, is zero."""
    if isinstance(values, pa.ChunkedArray):
        if pa.types.is_integer(values.type) or pa.types.is_decimal(values.type):
            with suppress(pa.ArrowInvalid):  # which is raised for what is not whole or does not fit
                fast: Whole = pc.cast(pc.fill_null(values, 0), pa.int64(), safe=True).to_numpy()
                return fast  # without a Python object for each
        values = values.to_pylist()
    exact = [0 if value is None else _whole(value) for value in values]
    if all(-(2**63) <= value < 2**63 for value in exact):
        return np.array(exact, dtype=np.int64)
    return np.array(exact, dtype=object)


def _whole(value: Any) -> int:
    whole = int(value)
    if isinstance(value, float) or whole != value:
        raise ValueError("not a whole number")
    return whole


def keys_from(values: Sequence[Any], kind: Type) -> CodedColumn:
    """A key column as Python values of the closed list of types; numbers are exact."""
    if isinstance(values, pa.ChunkedArray):
        found = values.combine_chunks().dictionary_encode(null_encoding="encode")
        listed, codes = found.dictionary.to_pylist(), found.indices.to_numpy()
        return CodedColumn(values=tuple(_key(value, kind) for value in listed), codes=codes.astype(np.int64))
    return coded([_key(value, kind) for value in values])


def _key(value: Any, kind: Type) -> Value:
    if value is None:
        return None
    match kind:
        case Type.BOOLEAN:
            return bool(value)
        case Type.INTEGER:
            return _whole(value)
        case Type.NUMBER:
            return Fraction(value) if isinstance(value, Decimal | int) else Fraction(float(value))
        case Type.TEXT:
            return str(value)
        case Type.DATE:
            return value.date() if isinstance(value, datetime) else date(value.year, value.month, value.day)
        case Type.TIMESTAMP:
            stamp: datetime = value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
            return stamp.replace(tzinfo=None)


def result_from(bounded: Bounded, statements: Statements, fetch: Fetch) -> Result:
    """The result of a question's statements."""
    count = len(bounded.keys)
    columns = answer_groups(statements, count, fetch)
    keys = _keys(bounded, columns)
    named = {m.name: whole_numbers(column) for m, column in zip(bounded.measures, columns[count:], strict=False)}
    presence = None if bounded.presence is None else whole_numbers(columns[-1])
    ranks = {}
    for ranked, statement in zip(bounded.ranks, statements.ranks, strict=True):
        found = fetch(statement)
        cells, counts = found[count:]
        table = {"cell": whole_numbers(cells), "count": whole_numbers(counts)}
        ranks[ranked.name] = ResultTable(keys=_keys(bounded, found), columns=table)
    return Result(groups=ResultTable(keys=keys, columns=named), presence=presence, ranks=ranks)


def answer_groups(statements: Statements, keys: int, fetch: Fetch) -> Sequence[Sequence[Any]]:
    """The columns of the groups, by the shorter way where that holds."""
    if statements.groups is None:
        return [()] * keys
    if statements.light is not None:
        *columns, odd = fetch(statements.light)
        if not any(whole_numbers(odd).tolist()):
            return columns
    return fetch(statements.groups)


def _keys(bounded: Bounded, columns: Sequence[Sequence[Any]]) -> tuple[CodedColumn, ...]:
    return tuple(keys_from(columns[i], key.facts.type) for i, key in enumerate(bounded.keys))


def counts_from(columns: Sequence[Sequence[Any]], cells: int) -> Whole:
    """Counts by cell as an array of all cells."""
    counts = np.zeros(cells, dtype=np.int64)
    for cell, count in zip(*(whole_numbers(column).tolist() for column in columns), strict=True):
        counts[cell] = count
    return counts


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


def batches_of(scan: Scan, rows: Iterable[Sequence[Any]]) -> Iterator[pa.RecordBatch]:
    """Rows of Python values, one by one, as batches."""
    schema, left = _stored(scan), iter(rows)
    if has_unit(scan):
        schema = schema.append(pa.field("rows", pa.int64()))  # of the row's unit
    while some := list(islice(left, BATCH)):
        arrays = [pa.array(column, kind) for column, kind in zip(zip(*some, strict=True), schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def spooled(scan: Scan, batches: Iterable[pa.RecordBatch], most: int) -> UnitRows:
    """What `rows_sql` gave, on the disk; more than `most` bytes are a failure, as is an order that is none."""
    schema, starts = _stored(scan), _Starts()
    count = 0
    with TemporaryFile(prefix="tacit-") as file:  # its map keeps what is in it
        with pa.ipc.new_file(file, schema) as writer:
            for batch in batches:
                if not batch.num_rows:
                    continue
                if has_unit(scan):
                    starts.add(batch.column(batch.num_columns - 1).cast(pa.int64()).to_numpy())
                columns = [batch.column(i).cast(kind) for i, kind in enumerate(schema.types)]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
                count += batch.num_rows
                if file.tell() > most:
                    raise EngineError
        file.flush()
        return UnitRows(file, starts.offsets() if has_unit(scan) else np.arange(count + 1, dtype=np.int64))


class _Starts:
    """Where units begin, from the number of rows that each row's unit has: k of them in a row that say k are a unit."""

    def __init__(self) -> None:
        self._found: list[npt.NDArray[np.int64]] = []
        self._rows = self._size = self._seen = 0  # so many rows of the last unit, which has `_size`, were seen

    def add(self, sizes: npt.NDArray[np.int64]) -> None:
        runs = np.flatnonzero(np.diff(sizes, prepend=self._size))  # where another size begins than the one before
        before = np.full(len(sizes), -self._seen)  # for each row, where its run of equal sizes begins
        before[runs] = runs
        places = (np.arange(len(sizes)) - np.maximum.accumulate(before)) % np.maximum(sizes, 1)
        ends = np.concatenate([[self._seen], (places + 1) % np.maximum(sizes, 1)])
        if sizes.min() < 1 or ends[runs].any():  # a size changed inside a unit
            raise EngineError
        self._found.append(np.flatnonzero(places == 0) + self._rows)
        self._rows, self._size, self._seen = self._rows + len(sizes), int(sizes[-1]), int(ends[-1])

    def offsets(self) -> npt.NDArray[np.int64]:
        if self._seen:
            raise EngineError  # the last unit is not complete
        return np.concatenate([*self._found, np.array([self._rows])]).astype(np.int64)


def _stored(scan: Scan) -> pa.Schema:
    return pa.schema([(source.name, KINDS[source.facts.type]) for source in scan.columns])
