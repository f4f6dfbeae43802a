"""The files behind a table: which they are, of what kind, and in what state. Names are names, never patterns.

A folder is read as all the files in it of one kind, in the order of their names. Names that begin with `.` or `_` are
passed over, as are files of other kinds; folders in it, and two kinds together, are refused.
"""

import os
import time
from dataclasses import astuple, dataclass
from hashlib import file_digest
from pathlib import Path

from tacit.base import SourceError
from tacit.engine.source.text import DELIMITERS
from tacit.policy.declaration import quoted

__all__ = ["DATABASES", "PARQUET", "Listing", "Stamp", "hashed", "listed", "present", "settled", "stamped"]

DATABASES = (".duckdb", ".ddb", ".db")
PARQUET = ".parquet"
TICK = 50_000_000  # ns: two changes within one tick of a file system's clock may have the same time
COARSE = 2_000_000_000  # ns: and this much where times are whole seconds


@dataclass(frozen=True)
class Stamp:
    """The state of a file. Another state has another stamp: a change of the content changes at least `changed`."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int

    def __str__(self) -> str:
        return " ".join(map(str, astuple(self)))


@dataclass(frozen=True)
class Listing:
    """The data files at a path, all ending alike."""

    ending: str
    files: tuple[Path, ...]

    @property
    def text(self) -> bool:
        return self.ending in DELIMITERS


def stamped(path: Path | int) -> Stamp | None:
    """The state of a file now; None if there is none."""
    try:
        found = os.fstat(path) if isinstance(path, int) else path.stat()
    except OSError:
        return None
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def present(path: Path) -> Stamp:
    """The state of a file now; SourceError if there is none."""
    found = stamped(path)
    if found is None:
        raise SourceError(f"{quoted(path.name)}: there is no such file, or it may not be read")
    return found


def hashed(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def settled(stamp: Stamp) -> None:
    """Wait until a later change of this file is sure to have another time."""
    tick = TICK if stamp.changed % 1_000_000_000 else COARSE
    while 0 <= (left := stamp.changed + tick - time.time_ns()) <= tick:
        time.sleep(left / 1e9 + 0.001)


def listed(path: Path) -> Listing:
    """What is read where a source names this path."""
    kinds = (PARQUET, *DELIMITERS)
    if path.is_file():
        if path.suffix.lower() in DATABASES:
            raise SourceError(f"{quoted(path.name)}: say which table of this DuckDB file, as (file, table)")
        if path.suffix.lower() not in kinds:
            raise SourceError(f"{quoted(path.name)}: is not Parquet or CSV: its name must end in {', '.join(kinds)}")
        return Listing(path.suffix.lower(), (path,))
    if not path.is_dir():
        raise SourceError(f"{quoted(path.name)}: there is no such file or folder")
    inside = sorted(each for each in path.iterdir() if not each.name.startswith((".", "_")))
    folders = [each.name for each in inside if each.is_dir()]
    if folders:
        raise SourceError(
            f"{quoted(path.name)}: has the folder {quoted(folders[0])} in it, and folders in a folder are not read: "
            "put the files of one table into one folder"
        )
    files = tuple(each for each in inside if each.suffix.lower() in kinds)
    endings = sorted({each.suffix.lower() for each in files})
    if len(endings) != 1:
        what = f"has files of two kinds, {' and '.join(endings)}" if endings else "has no Parquet or CSV files in it"
        raise SourceError(f"{quoted(path.name)}: {what}: put files of one kind into one folder")
    return Listing(endings[0], files)
