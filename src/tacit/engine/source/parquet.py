"""Parquet files: the declared columns are in every one of them, stored alike, and hold what an engine can read.

Footers are looked at, and no row, to say whether files fit. Whether every value can be read is found by reading them
once, in the engine itself; where it fails, questions read a copy in which such values are NULL (`held`). It has to be
known before any question: an engine that finds out on the way may pass over a value in one question and fail on it in
the next.

A type of a column is what its values mean, so two files that store the same decimal in different widths agree, and two
that count milliseconds and microseconds do not.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import PolicyError, SourceError
from tacit.engine.engine import opening
from tacit.engine.source.copies import Copies
from tacit.engine.source.held import held_table
from tacit.policy.declaration import quoted

__all__ = ["StoredKind", "Tail", "columns_in", "common_columns", "footer", "held_copy", "misfit", "tail_of"]

VERSION = 1  # of what a copy holds
MAGIC = b"PAR1"
END = 8  # bytes: the footer's length, and the magic word
LARGEST = 1 << 28

Tail = Callable[[int], bytes]
"""The last so many bytes of a file."""


@dataclass(frozen=True)
class StoredKind:
    """`name` says the type, as in "int32", "decimal(10,2)", "timestamp[ms]"; `utc` is of timestamps with a zone."""

    name: str
    utc: bool = False

    def __str__(self) -> str:
        return f"{self.name}, UTC" if self.utc else self.name


UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
PLAIN = {"BOOLEAN": "bool", "FLOAT": "float", "DOUBLE": "double", "INT32": "int32", "INT64": "int64", "INT96": "int96",
         "BYTE_ARRAY": "binary", "FIXED_LEN_BYTE_ARRAY": "binary"}  # fmt: skip


def columns_in(file: str, tail: Tail) -> dict[str, StoredKind]:
    """The columns of a Parquet file at its top level; PolicyError if it is none. `file` is only for the message."""
    try:
        end = tail(END)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC or length > LARGEST:
            raise ValueError
        schema = pq.read_metadata(BytesIO(MAGIC + tail(END + length))).schema
        found = {name: StoredKind("nested") for name in schema.to_arrow_schema().names}
        for column in (schema.column(i) for i in range(len(schema))):
            if column.path == column.name and column.max_repetition_level == 0 and column.max_definition_level <= 1:
                found[column.name] = _kind(column.physical_type, column.logical_type)
    except (pa.ArrowException, OSError, ValueError):
        pass  # left first: what a library says may quote the file
    else:
        return found
    raise PolicyError(f"{quoted(file)}: is not a Parquet file that can be read; hidden files begin with . or _")


def tail_of(path: Path) -> Tail:
    def tail(size: int) -> bytes:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return file.read(size)

    return tail


def misfit(file: str, found: Mapping[str, StoredKind], wanted: Mapping[str, tuple[StoredKind, str]]) -> str | None:
    """The first column that a file lacks or stores in another way. `wanted` says which other file stores it how."""
    for name, (kind, other) in wanted.items():
        if name not in found:
            return (
                f"{quoted(file)}: has no column {quoted(name)}, and {quoted(other)} has: every file of a table needs it"
            )
        if found[name] != kind:
            return (
                f"{quoted(file)}: stores the column {quoted(name)} as {found[name]}, and {quoted(other)} as {kind}: "
                "write all files of a table with the same types"
            )
    return None


def _kind(physical: str, logical: object) -> StoredKind:
    said = json.loads(logical.to_json())  # type: ignore[attr-defined]  # pyarrow has no types
    match said["Type"]:
        case "None":
            return StoredKind(PLAIN[physical])
        case "Int":
            return StoredKind(f"{'' if said['isSigned'] else 'u'}int{said['bitWidth']}")
        case "Decimal":
            return StoredKind(f"decimal({said['precision']},{said['scale']})")
        case "Timestamp":
            return StoredKind(f"timestamp[{UNITS[said['timeUnit']]}]", bool(said["isAdjustedToUTC"]))
        case "Date":
            return StoredKind("date")
        case "String" | "Enum" | "JSON" if physical == "BYTE_ARRAY":
            return StoredKind("string")
        case other:
            return StoredKind(f"{physical.lower()} ({str(other).lower()})")


def footer(path: Path) -> dict[str, StoredKind]:
    """The columns of a file and their types, from its footer."""
    found = columns_in(path.name, tail_of(path))
    folded = [name.casefold() for name in found]
    if not all(found) or len(set(folded)) < len(folded):
        raise SourceError(f"{quoted(path.name)}: needs columns with names that differ in more than capitals")
    return found


def common_columns(files: Sequence[Path], declared: Sequence[str] | None) -> list[str]:
    """The columns that all files have, stored alike. The declared ones must be among them; if nothing is declared, all
    must."""
    first, *others = map(footer, files)
    common = dict(first)
    for file, other in zip(files[1:], others, strict=True):
        for name in [name for name in common if common[name] != other.get(name)]:
            if declared is None or name in declared:
                what = "is stored in another way" if name in other else "is not there"
                raise SourceError(
                    f"{quoted(file.name)}: column {quoted(name)} {what}, compared with {quoted(files[0].name)}: all "
                    "files of a folder store a column in one way"
                )
            del common[name]
    missing = [name for name in declared or () if name not in first]
    if missing and any(missing[0] in other for other in others):
        raise SourceError(f"{quoted(files[0].name)}: column {quoted(missing[0])} is not there, and in others it is")
    return list(common)


def held_copy(file: Path, columns: Sequence[str], copies: Copies) -> Path:
    """A copy of a file in which everything can be read."""

    def key(content: str) -> str:
        return sha256("\0".join([f"held {VERSION}", content, *columns]).encode()).hexdigest()

    def write(handle: int) -> None:
        with os.fdopen(os.dup(handle), "wb") as out:
            writer = None
            for table in _tables(file, columns):
                writer = writer or pq.ParquetWriter(out, table.schema)
                writer.write_table(table)
            if writer is not None:
                writer.close()

    return opening(f"{quoted(file.name)}: cannot be read to its end", lambda: copies.of(file, key, write))


def _tables(file: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Row group by row group, at least one."""
    with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
        for group in range(opened.num_row_groups):
            yield held_table(opened.read_row_group(group, columns=list(columns)).select(list(columns)))
        if not opened.num_row_groups:
            yield held_table(opened.schema_arrow.empty_table().select(list(columns)))
