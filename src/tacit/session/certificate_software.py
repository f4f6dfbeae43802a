"""Which software made an answer: the version, and a hash of the source files that are installed."""

from functools import cache
from hashlib import sha256
from pathlib import Path

from tacit.base.version import VERSION

__all__ = ["software"]


@cache
def software() -> dict[str, str | None]:
    """Name, version, and SHA-256 over the names and hashes of all files of the package; None if they cannot be read.

    Worked out once in a process: it is about what runs, not about what was installed over it since. It never raises,
    since it is asked for when an answer was paid for already.
    """
    return {"name": "tacit", "version": VERSION, "source": _source(Path(__file__).parents[1])}


def _source(folder: Path) -> str | None:
    whole = sha256()
    try:
        files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in files):
            whole.update(f"{name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    except (OSError, ValueError):
        return None
    return whole.hexdigest()
