"""Rows as groups that look alike: columns as codes, and how many rows share each combination of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.csv import read_csv
from pyarrow.parquet import read_table

from tacit.base import InputError
from tacit.engine.engine import opening

__all__ = ["Codes", "Data", "Integers", "chosen", "combined", "encoded", "table_of"]

Data: TypeAlias = pa.Table | Path | str
Integers = NDArray[np.int64]

LARGEST = 1 << 62  # combinations that have a number; beyond it those that occur are numbered anew


@dataclass(frozen=True)
class Codes:
    """A column as numbers from 0 to `size` - 1; `values` says what each stands for, None if nothing can."""

    of: Integers
    size: int
    values: pa.Array | None = None


def table_of(data: Data, name: str = "data") -> pa.Table:
    """An Arrow table as it is, or the Parquet or CSV file at a path; it must hold at least one row."""
    if isinstance(data, pa.Table):
        table = data
    elif isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() not in {".parquet", ".csv"} or not path.is_file():
            raise InputError(f'{name}: "{path}" is no Parquet or CSV file that can be read')
        read = read_csv if path.suffix.lower() == ".csv" else read_table
        # what a library says of a file may quote people's values
        table = opening(f'{name}: "{path.name}" cannot be read as a table: correct it first', lambda: read(path))
    else:
        raise InputError(f"{name} must be an Arrow table or a path, not {type(data).__name__}")
    if not table.num_rows:
        raise InputError(f"{name} has no rows: there is nobody to look for")
    return table


def chosen(table: pa.Table, columns: Sequence[str], name: str) -> list[str]:
    """`columns` as a list, each of them there and named once."""
    if isinstance(columns, str):
        raise InputError(f'{name} must be a list of columns, as in {name}=["{columns}"]')
    found = list(columns)
    unknown = [column for column in found if column not in table.column_names]
    if unknown:
        raise InputError(f'{name}: there is no column "{unknown[0]}"; there are {", ".join(table.column_names)}')
    if not found or len(set(found)) != len(found):
        raise InputError(f"{name} must name at least one column, and each only once")
    return found


def encoded(column: pa.ChunkedArray | pa.Array) -> Codes:
    """One column as codes in order of first appearance; a missing value is a value of its own."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode(null_encoding="encode")
    elif whole.null_count:
        whole = whole.dictionary_decode().dictionary_encode(null_encoding="encode")
    return Codes(whole.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(whole.dictionary), whole.dictionary)


def combined(columns: Sequence[Codes]) -> Codes:
    """The combination of several columns as one; few of the codes below `size` need occur."""
    of, size = columns[0].of, columns[0].size
    for column in columns[1:]:
        if size * column.size > LARGEST:
            values, of = np.unique(of, return_inverse=True)
            size = len(values)
        of = of * column.size + column.of
        size *= column.size
    return Codes(of, size)
