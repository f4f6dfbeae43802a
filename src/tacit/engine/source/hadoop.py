"""Files where Spark sees them: on this machine, or in any storage that Hadoop knows, such as hdfs:// and s3a://."""

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tacit.base import PolicyError
from tacit.engine.source.files import HIDDEN, File, local_files
from tacit.engine.source.footer import Tail, tail_of
from tacit.policy.declaration import quoted
from tacit.policy.source import is_url

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Hadoop", "name_only"]

PATTERN = set("{}[]*?\\")


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
        found = self._remote(place) if local is None else local_files(local)
        if local is not None:
            found = tuple(File(f"file://{file.path}", file.size, file.state) for file in found)
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
        return File(file.path, now.size, now.state)

    def file(self, uri: str) -> File:
        """A file that Spark names, as it is now."""
        path = unquote(uri)
        return self.again(File(path, 0, ""))

    def tail(self, file: File) -> Tail:
        local = self._local(file.path)
        return tail_of(local) if local is not None else lambda size: self._end(file, size)

    def _end(self, file: File, size: int) -> bytes:
        stream = self._system(file.path).open(self._path(file.path))
        try:
            start = max(0, file.size - size)
            stream.seek(start)
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
