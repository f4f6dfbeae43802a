"""The files behind a path of Spark as they are at this moment: here, or in storage that Hadoop knows, such as s3a://.

A path is a name: `[ab]`, `{a,b}`, `*` and `?` in it mean nothing, and neither do the names of folders. In a folder
every file at any depth counts, except those whose own name, or that of a folder on the way, begins with a dot or an
underscore, as in `_SUCCESS`.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tacit.base import EngineError, PolicyError
from tacit.engine.source.listing import stamped
from tacit.engine.source.parquet import Tail, tail_of
from tacit.policy.declaration import quoted
from tacit.policy.source import is_url

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["HIDDEN", "File", "Hadoop", "digest", "local_files", "name_only"]

HIDDEN = (".", "_")
PATTERN = set("{}[]*?\\")


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


def name_only(path: str) -> str:
    """A path in which no character is a pattern to Hadoop."""
    return "".join(f"\\{letter}" if letter in PATTERN else letter for letter in path)


class Hadoop:
    """The storage of a Spark session, from its driver."""

    def __init__(self, session: "SparkSession") -> None:
        self._jvm: Any = session._jvm
        self._conf = session._jsparkSession.sessionState().newHadoopConf()

    def files(self, place: str) -> tuple[File, ...]:
        """The file, or those in the folder, each with a path that names it and nothing else."""
        local = self._local(place)
        if local is None:
            found = self._remote(place)
        else:
            found = tuple(replace(file, path=f"file://{file.path}") for file in local_files(local))
        for file in found:
            name = file.path.rpartition("/")[2]
            if name.startswith(HIDDEN) or ":" in name:
                raise PolicyError(f"{quoted(name)}: Spark reads no file whose name begins with . or _ or holds a colon")
        return found

    def again(self, file: File) -> File:
        """The same file as it is now."""
        local = self._local(file.path)
        if local is None:
            status = self._system(file.path).getFileStatus(self._path(file.path))
            return File(file.path, *_state(status))
        (now,) = local_files(local)
        return replace(now, path=file.path)

    def check_same(self, files: Iterable[File]) -> None:
        """EngineError if one of them has changed."""
        if any(self.again(file) != file for file in files):
            raise EngineError

    def file(self, uri: str) -> File:
        """A file that Spark names, as it is now."""
        return self.again(File(unquote(uri), 0, ""))

    def tail(self, file: File) -> Tail:
        local = self._local(file.path)
        return tail_of(local) if local is not None else lambda size: self._end(file, size)

    def _end(self, file: File, size: int) -> bytes:
        stream = self._system(file.path).open(self._path(file.path))
        try:
            stream.seek(max(0, file.size - size))
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream, min(size, file.size)))
        finally:
            stream.close()

    def _path(self, place: str) -> Any:
        path = self._jvm.org.apache.hadoop.fs.Path
        return path(place) if is_url(place) else path(None, None, place)

    def _system(self, place: str) -> Any:
        return self._path(place).getFileSystem(self._conf)

    def _local(self, place: str) -> Path | None:
        """The path on this machine, if it is one: a path without a scheme is where Hadoop's default is."""
        if place.startswith("file:"):
            return Path("/" + place.removeprefix("file:").lstrip("/"))
        if is_url(place) or self._system(place).getUri().getScheme() != "file":
            return None
        return Path(place).absolute()

    def _remote(self, place: str) -> tuple[File, ...]:
        system, root = self._system(place), self._path(place)
        above = system.makeQualified(root).toString().rstrip("/")
        listed, found = system.listFiles(root, True), []
        while listed.hasNext():
            status = listed.next()
            path = status.getPath().toString()
            inside = path.removeprefix(above).strip("/").split("/")
            if not any(part.startswith(HIDDEN) for part in inside):
                found.append(File(path, *_state(status)))
        return tuple(sorted(found))


def _state(status: Any) -> tuple[int, str]:
    return status.getLen(), str(status.getModificationTime())
