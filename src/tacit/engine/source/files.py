"""The files behind a path, as they are at this moment.

A path is a name: `[ab]`, `{a,b}`, `*` and `?` in it mean nothing, and neither do the names of folders. In a folder
every file at any depth counts, except those whose own name, or that of a folder on the way, begins with a dot or an
underscore, as in `_SUCCESS`.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tacit.base import PolicyError
from tacit.engine.source.listing import stamped
from tacit.policy.declaration import quoted

__all__ = ["HIDDEN", "File", "digest", "local_files"]

HIDDEN = (".", "_")


@dataclass(frozen=True, order=True)
class File:
    """`path` as the reader is told it; `state` changes whenever the file does, as far as its storage says."""

    path: str
    size: int
    state: str


def digest(files: Iterable[File]) -> str:
    """A text that differs whenever the files do."""
    seen = sha256()
    for file in sorted(files):
        for part in (file.path, str(file.size), file.state):
            seen.update(part.encode(errors="surrogateescape") + b"\0")
    return seen.hexdigest()


def local_files(place: Path) -> tuple[File, ...]:
    """The file, or those in the folder; PolicyError where there are none, or where it cannot be told which."""
    if not place.is_dir():
        return (_file(place),)
    found = []
    for folder, folders, names in os.walk(place, onerror=_unreadable):
        links = [name for name in folders if Path(folder, name).is_symlink() and not name.startswith(HIDDEN)]
        if links:
            raise PolicyError(
                f"{quoted(str(Path(folder, links[0]).relative_to(place)))}: is a link to a folder, which is not "
                "followed: move the folder itself here, or declare it as a table of its own"
            )
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        found += [_file(Path(folder, name)) for name in names if not name.startswith(HIDDEN)]
    return tuple(sorted(found))


def _file(path: Path) -> File:
    now = stamped(path)
    if now is None:
        raise PolicyError(f"{quoted(path.name)}: there is no such file, or it may not be read")
    return File(str(path), now.size, str(now))


def _unreadable(error: OSError) -> None:
    raise PolicyError(f"{quoted(Path(str(error.filename)).name)}: this folder may not be read") from None
