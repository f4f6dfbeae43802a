"""Ever coarser labels for a value: zip codes with fewer digits, ages in wider bands, categories in larger groups."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.csv import read_csv
from pyarrow.parquet import read_table

from tacit.base import InputError
from tacit.engine.engine import opening

__all__ = [
    "ANY",
    "Codes",
    "Data",
    "Hierarchy",
    "Integers",
    "any_of",
    "chosen",
    "combined",
    "covers",
    "encoded",
    "masked",
    "stretch",
    "table_of",
]

ANY = "*"
NUMBER = r"-?\d+(?:\.\d+)?"
STRETCH = re.compile(rf"({NUMBER})-({NUMBER})")
BEYOND = re.compile(rf"(<=|>=|<|>)\s*({NUMBER})")


def masked(text: str, hidden: int) -> str:
    """The text with its last `hidden` characters starred."""
    kept = max(0, len(text) - hidden)
    return text[:kept] + "*" * (len(text) - kept)


def stretch(low: Any, high: Any) -> str:
    """Everything from `low` to `high`."""
    return str(low) if low == high else f"{low}-{high}"


def any_of(values: Iterable[Any]) -> str:
    """One of `values`."""
    listed = sorted(map(str, values))
    return listed[0] if len(listed) == 1 else "{" + ", ".join(listed) + "}"


def covers(label: Any, value: Any) -> bool:
    """Whether a person with `value` may be behind a row that says `label`."""
    said, known = str(label), str(value)
    if said in {ANY, known}:
        return True
    if said.startswith("{") and said.endswith("}"):
        return known in said[1:-1].split(", ")
    if said.endswith("*"):
        return len(said) == len(known) and known.startswith(said.rstrip("*"))
    try:
        number = float(known)
    except ValueError:
        return False
    if found := STRETCH.fullmatch(said):
        return float(found[1]) <= number <= float(found[2])
    if found := BEYOND.fullmatch(said):
        end = float(found[2])
        return {"<": number < end, "<=": number <= end, ">": number > end, ">=": number >= end}[found[1]]
    return False


@dataclass(frozen=True)
class Hierarchy:
    """`levels[i]` gives the label of a value on level i + 1. Level 0 is the value itself, the topmost is `*`."""

    levels: tuple[Callable[[Any], str], ...] = ()

    @classmethod
    def digits(cls, *hidden: int) -> "Hierarchy":
        """Zip codes and the like: `digits(1, 2)` hides the last character, then the last two."""
        if any(n < 1 for n in hidden) or list(hidden) != sorted(set(hidden)):
            raise InputError(f"hidden is {hidden}: at least 1, and more on each level")
        return cls(tuple(partial(_masked, n) for n in hidden))

    @classmethod
    def bands(cls, *widths: int) -> "Hierarchy":
        """Whole numbers: `bands(5, 10)` are 20-24, then 20-29. Each width is a multiple of the one before it."""
        before = (1, *widths)
        if any(wide <= narrow or wide % narrow for narrow, wide in zip(before, widths, strict=False)):
            raise InputError(
                f"widths are {widths}: each must be a larger multiple of the one before, and the first over 1"
            )
        return cls(tuple(partial(_band, width) for width in widths))

    @classmethod
    def tree(cls, *groups: Mapping[Any, str]) -> "Hierarchy":
        """Categories: each mapping names, for every value, its group on the next level."""
        return cls(tuple(partial(_group, dict(named)) for named in groups))

    @property
    def top(self) -> int:
        """The level on which nothing is told."""
        return len(self.levels) + 1

    def labels(self, values: Sequence[Any], level: int) -> list[Any]:
        """The labels of `values` on one level."""
        if level == 0:
            return list(values)
        return [ANY] * len(values) if level == self.top else [self.levels[level - 1](value) for value in values]


def _masked(hidden: int, value: Any) -> str:
    return masked(str(value), hidden)


def _band(width: int, value: Any) -> str:
    if not isinstance(value, int):
        raise InputError("bands are for whole numbers without missing values: use tree for anything else")
    low = value // width * width
    return stretch(low, low + width - 1)


def _group(named: Mapping[Any, str], value: Any) -> str:
    if value not in named:
        raise InputError("a tree lacks a group for a value of its column: name one for each")
    return named[value]


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
