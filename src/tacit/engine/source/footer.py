"""What a Parquet file says of its columns in its footer: names and types, and no value.

A type here is what its values mean, so two files that store the same decimal in different widths agree, and two that
count milliseconds and microseconds do not.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from tacit.base import PolicyError
from tacit.policy.declaration import quoted

__all__ = ["StoredKind", "Tail", "columns_in", "misfit", "tail_of"]

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
    import pyarrow
    from pyarrow import parquet

    try:
        end = tail(END)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC or length > LARGEST:
            raise ValueError
        schema = parquet.read_metadata(BytesIO(MAGIC + tail(END + length))).schema
        found = {name: StoredKind("nested") for name in schema.to_arrow_schema().names}
        for column in (schema.column(i) for i in range(len(schema))):
            if column.path == column.name and column.max_repetition_level == 0 and column.max_definition_level <= 1:
                found[column.name] = _kind(column.physical_type, column.logical_type)
    except (pyarrow.ArrowException, OSError, ValueError):
        pass  # left first: what a library says may quote the file
    else:
        return found
    raise PolicyError(f"{quoted(file)}: is not a Parquet file that can be read; hidden files begin with . or _")


def tail_of(path: Path) -> Tail:
    """Of a local file."""

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
