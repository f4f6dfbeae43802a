"""Files and folders for their owner alone: 0600 and 0700, whatever the umask.

Only what is made here gets these rights. A file or folder that was there keeps its own: whoever opened it to a group
meant to.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["FILE", "FOLDER", "nothing_for_others", "open_private", "private_folder", "settle", "write_private"]

FILE, FOLDER = 0o600, 0o700


def private_folder(path: Path) -> Path:
    """Make a folder, and those above it that are missing, each for its owner alone; the folder."""
    missing = []
    place = path.absolute()
    while not place.exists():
        missing.append(place)
        place = place.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # somebody else was first
            each.mkdir(mode=FOLDER)
            each.chmod(FOLDER)  # the umask may have taken bits away
    path.mkdir(exist_ok=True)  # an error if a file is in its place
    return path


def open_private(path: Path, flags: int, *, mode: int = FILE) -> int:
    """A file descriptor, as `os.open` gives it. A file that is not there is made, with exactly these rights."""
    while True:
        try:
            file = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            with suppress(FileNotFoundError):  # removed at this moment: make it
                return os.open(path, flags & ~os.O_CREAT | os.O_CLOEXEC)
            continue
        with suppress(PermissionError):  # a file system that keeps no rights
            os.fchmod(file, mode)
        return file


def write_private(path: Path, content: bytes | str, *, mode: int = FILE) -> None:
    """Write a new file; FileExistsError if there is one."""
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_EXCL, mode=mode), "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def settle(path: Path) -> None:
    """Have a file on disk; or a folder, and with it the names in it, which syncing a file does not see to."""
    place = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(place)
    finally:
        os.close(place)


@contextmanager
def nothing_for_others() -> Iterator[None]:
    """While it lasts, whatever this process or a library in it makes is its owner's alone. The umask is the whole
    process's, so this is for commands and not for libraries."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
