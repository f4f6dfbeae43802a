"""Parquet files: the declared columns are in every one of them, stored alike, and hold what an engine can read.

Footers are looked at, and no row, to say whether files fit. Whether every value can be read is found by reading them
once, in the engine itself; where it fails, questions read a copy in which such values are NULL (`held`). It has to be
known before any question: an engine that finds out on the way may pass over a value in one question and fail on it in
the next.
"""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import SourceError
from tacit.engine.engine import opening
from tacit.engine.source.copies import CopiedFile, Copies
from tacit.engine.source.footer import StoredKind, columns_in, tail_of
from tacit.engine.source.held import held_table
from tacit.engine.source.listing import settled, stamped
from tacit.policy.declaration import quoted

__all__ = ["common_columns", "footer", "held_copy"]

VERSION = 1  # of what a copy holds


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
    first = footer(files[0])
    common = dict(first)
    for file in files[1:]:
        other = footer(file)
        for name in [name for name in common if common[name] != other.get(name)]:
            if declared is None or name in declared:
                what = "is stored in another way" if name in other else "is not there"
                raise SourceError(
                    f"{quoted(file.name)}: column {quoted(name)} {what}, compared with {quoted(files[0].name)}: all "
                    "files of a folder store a column in one way"
                )
            del common[name]
    missing = [name for name in declared or () if name not in first]
    if missing and len(files) > 1 and any(missing[0] in footer(file) for file in files[1:]):
        raise SourceError(f"{quoted(files[0].name)}: column {quoted(missing[0])} is not there, and in others it is")
    return list(common)


def held_copy(file: Path, columns: Sequence[str], copies: Copies) -> Path:
    """A copy of a file in which everything can be read."""

    def make() -> Path:
        stamp = stamped(file)
        if stamp is None:
            raise SourceError(f"{quoted(file.name)}: there is no such file")
        known = copies.entry(file)
        settled(stamp)
        content = known.content if known is not None and known.content else _hashed(file)
        key = sha256("\0".join([f"held {VERSION}", content, *columns]).encode()).hexdigest()
        found = copies.copy(key)
        if found is None:
            copies.make(lambda handle: _written(file, columns, handle, key))
            found = copies.copy(key)
        if found is None or stamped(file) != stamp:
            raise SourceError(f"{quoted(file.name)}: changed while it was read: try again when nobody writes to it")
        copies.remember(CopiedFile(path=str(file), stamp=stamp, content=content, copies=(key,)))
        return found

    return opening(f"{quoted(file.name)}: cannot be read to its end", make)


def _written(file: Path, columns: Sequence[str], handle: int, key: str) -> str:
    with os.fdopen(os.dup(handle), "wb") as out:
        writer = None
        for table in _tables(file, columns):
            writer = writer or pq.ParquetWriter(out, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return key


def _tables(file: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Row group by row group, at least one."""
    with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
        for group in range(opened.num_row_groups):
            yield held_table(opened.read_row_group(group, columns=list(columns)).select(list(columns)))
        if not opened.num_row_groups:
            yield held_table(opened.schema_arrow.empty_table().select(list(columns)))


def _hashed(file: Path) -> str:
    with file.open("rb") as raw:
        seen = sha256()
        while block := raw.read(1 << 22):
            seen.update(block)
        return seen.hexdigest()
