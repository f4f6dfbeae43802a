"""What an engine answers, in whole numbers, before noise: only ever seen inside an `Exact`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.plan.facts import Type, Value

__all__ = ["Coded", "Result", "ResultTable", "coded", "keys_from", "whole_numbers"]

Whole = np.ndarray[tuple[int], np.dtype[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Coded(Sequence[Value]):
    """A column as its different values, and for each row which of them it has: few values are looked at one by one."""

    values: tuple[Value, ...]
    codes: Whole

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: Any) -> Any:
        found = self.codes[row]
        return tuple(self.values[code] for code in found) if isinstance(row, slice) else self.values[found]

    def __repr__(self) -> str:
        return "<Coded>"


def coded(values: Sequence[Value]) -> Coded:
    """A column of Python values, coded."""
    if isinstance(values, Coded):
        return values
    codes: dict[Value, int] = {}
    found = np.fromiter((codes.setdefault(value, len(codes)) for value in values), np.int64, len(values))
    return Coded(values=tuple(codes), codes=found)


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
        fast = _machine(values)
        if fast is not None:
            return fast
        values = values.to_pylist()
    exact = [0 if value is None else _whole(value) for value in values]
    if all(-(2**63) <= value < 2**63 for value in exact):
        return np.array(exact, dtype=np.int64)
    return np.array(exact, dtype=object)


def _machine(column: pa.ChunkedArray) -> Whole | None:
    """A column of Arrow as int64 without a Python object for each, if it is whole numbers that all fit."""
    if not (pa.types.is_integer(column.type) or pa.types.is_decimal(column.type)):
        return None
    try:
        exact = pc.cast(pc.fill_null(column, 0), pa.int64(), safe=True)  # refuses what is not whole or does not fit
    except pa.ArrowInvalid:
        return None
    found: Whole = exact.to_numpy()
    return found


def _whole(value: Any) -> int:
    whole = int(value)
    if isinstance(value, float) or whole != value:
        raise ValueError("not a whole number")
    return whole


def keys_from(values: Sequence[Any], kind: Type) -> Coded:
    """A key column as Python values of the closed list of types; numbers are exact."""
    if isinstance(values, pa.ChunkedArray):
        found = values.combine_chunks().dictionary_encode(null_encoding="encode")
        listed, codes = found.dictionary.to_pylist(), found.indices.to_numpy()
        return Coded(values=tuple(_key(value, kind) for value in listed), codes=codes.astype(np.int64))
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
