"""The state folder: typed copies of sources that engines cannot read as they are, and which copy is of which file.

    index/<of a path>.json    the state in which a file was read, the hash of its content, and what was made of it
    copies/<key>.parquet      a copy; its key is a hash of the content and of the declared reading
    types/<of a path>.json    the types that the owner of a single file took over when it was first read
    keys/<of a version>.json  that no value of a key that links lead to is there twice in this version of its table

Everything is for its owner alone, and written beside its name first, then renamed: whoever reads sees a whole file or
none, and two processes that do the same work both succeed. Copies of an older content of a file are removed when a new
one is made: who was deleted from a source does not live on here.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from tacit.base import SourceError
from tacit.base.private_file import open_private, private_folder, write_private
from tacit.engine.source.listing import Stamp, hashed, present, settled, stamped
from tacit.noise import SecureRng
from tacit.policy.declaration import quoted
from tacit.policy.source import is_url

__all__ = ["CopiedFile", "Copies", "state_folder"]

STATE = "TACIT_STATE"
LARGE = 1 << 26  # bytes: whether a smaller file can be read is found in a moment, and need not be written down


def state_folder(ledger: str, folder: Path | None) -> Path:
    """$TACIT_STATE; else beside the ledger; else, if that is a database, beside the policy."""
    given = os.environ.get(STATE)
    if given:
        return Path(given).absolute()
    return (folder or Path.cwd()) / "tacit.copies" if is_url(ledger) else Path(f"{ledger}.copies")


@dataclass(frozen=True, kw_only=True)
class CopiedFile:
    """A file as it was read: its state then, hashes of its content and of its line of names, the copies made of it.

    `sound` are the columns of a Parquet file that an engine can read from the file itself.
    """

    path: str
    stamp: Stamp
    content: str = ""
    header: str = ""
    copies: tuple[str, ...] = ()
    sound: tuple[str, ...] = ()


class Copies:
    """What is in one state folder. Nothing is made before something is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._sound: dict[tuple[Path, Stamp], frozenset[str]] = {}

    @property
    def files(self) -> Path:
        return self.folder / "copies"

    # --- what was read

    def entry(self, path: Path) -> CopiedFile | None:
        """What is known of a file as it is now; None if it was not read, or has changed since."""
        found = self._entry(self._index(path))
        return found if found is not None and found.stamp == stamped(path) else None

    def remember(self, entry: CopiedFile) -> None:
        """Write down what was made of a file, and remove what was made of its older content."""
        entry = replace(entry, path=str(Path(entry.path).resolve()))
        place = self._index(Path(entry.path))
        before = self._entry(place)
        if before is not None and before.stamp == entry.stamp:  # another reading of the same content
            entry = replace(entry, copies=tuple(dict.fromkeys((*before.copies, *entry.copies))))
        self._write(place, asdict(entry))
        if before is not None:
            self._remove(set(before.copies) - set(entry.copies))

    def _entry(self, place: Path) -> CopiedFile | None:
        try:
            found = json.loads(place.read_bytes())
            stamp = Stamp(**found.pop("stamp"))
            copies, sound = (tuple(map(str, found.pop(name))) for name in ("copies", "sound"))
            return CopiedFile(**found, copies=copies, sound=sound, stamp=stamp)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # not there, or not ours: as if it had not been read

    def _entries(self) -> Iterator[tuple[Path, CopiedFile]]:
        for place in sorted((self.folder / "index").glob("*.json")):
            found = self._entry(place)
            if found is not None:
                yield place, found

    def _index(self, path: Path) -> Path:
        return self.folder / "index" / f"{_named(path)}.json"

    def sound(self, path: Path, stamp: Stamp, columns: Collection[str]) -> bool:
        """Whether it is known that an engine can read these columns of a file in this state."""
        known = self._sound.get((path, stamp), frozenset())
        entry = None if known else self.entry(path)
        return set(columns) <= (set(entry.sound) if entry is not None and entry.stamp == stamp else known)

    def keep_sound(self, path: Path, stamp: Stamp, columns: Collection[str]) -> None:
        self._sound = {key: found for key, found in self._sound.items() if key[0] != path}
        self._sound[path, stamp] = frozenset(columns)
        if stamp.size >= LARGE:
            with suppress(OSError, SourceError):  # then it is found again the next time
                self.remember(CopiedFile(path=str(path), stamp=stamp, sound=tuple(columns)))

    # --- copies

    def copy(self, key: str) -> Path | None:
        path = self.files / f"{key}.parquet"
        return path if path.is_file() else None

    def of(
        self,
        file: Path,
        key: Callable[[str], str],
        write: Callable[[int], str | None],
        header: Callable[[], str] = lambda: "",
    ) -> Path:
        """The copy of a file as it is now, made if it is not there; its key follows from the hash of its content.

        `write` fills an open file and gives the hash of what it read, where it knows it; `header` gives that of the
        line of names. SourceError if the file changes meanwhile.
        """
        stamp, known = present(file), self.entry(file)
        settled(stamp)
        content = known.content if known is not None and known.content else hashed(file)
        found = self.files / f"{key(content)}.parquet"

        def check(seen: str | None) -> None:
            if seen not in (content, None) or stamped(file) != stamp:
                raise SourceError(f"{quoted(file.name)}: changed while it was read: try again when nobody writes to it")

        if not found.is_file():
            self._make(found, lambda handle: check(write(handle)))  # which has a name only if it is of this content
        entry = CopiedFile(path=str(file), stamp=stamp, content=content, header=header(), copies=(found.stem,))
        check(None)
        self.remember(entry)
        return found

    def _make(self, place: Path, write: Callable[[int], None]) -> None:
        """A new file, all of it or nothing."""
        temporary = self._temporary(place.parent)
        try:
            handle = open_private(temporary, os.O_RDWR | os.O_EXCL)
            try:
                write(handle)
                os.fsync(handle)
            finally:
                os.close(handle)
            temporary.replace(place)
            folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)  # a name is on the disk only when its folder is
            finally:
                os.close(folder)
        finally:
            with suppress(OSError):
                temporary.unlink()

    def forget(self, paths: list[Path] | None = None, *, unused: bool = False) -> int:
        """Delete copies: those of these files, those of no file as it is now, or all of them. How many there were."""
        gone: set[str] = set()
        for place, entry in list(self._entries()):
            chosen = paths is None or Path(entry.path) in [path.resolve() for path in paths]
            if chosen and (not unused or stamped(Path(entry.path)) != entry.stamp):
                gone |= set(entry.copies)
                with suppress(OSError):
                    place.unlink()
        if paths is None:
            gone |= {path.stem for path in self.files.glob("*.parquet")}
            for left in self.files.glob(".*.partial"):
                with suppress(OSError):
                    left.unlink()
        return self._remove(gone)

    def _remove(self, keys: set[str]) -> int:
        """Remove copies that no entry names."""
        named = {key for _, entry in self._entries() for key in entry.copies}
        removed = 0
        for key in keys - named:
            with suppress(OSError):
                (self.files / f"{key}.parquet").unlink()
                removed += 1
        return removed

    # --- types of single files

    def types(self, path: Path) -> dict[str, str]:
        """The types that were taken over for the columns of a file, whatever its content is now."""
        try:
            found = json.loads((self.folder / "types" / f"{_named(path)}.json").read_bytes())
            return {str(name): str(kind) for name, kind in found["types"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def keep_types(self, path: Path, types: dict[str, str]) -> None:
        self._write(self.folder / "types" / f"{_named(path)}.json", {"path": str(path), "types": types})

    # --- keys that links lead to

    def checked(self, name: str) -> bool:
        """Whether a key of a version, by the hash of both, was looked at and has no value twice."""
        return (self.folder / "keys" / f"{name}.json").is_file()

    def keep_checked(self, name: str) -> None:
        self._write(self.folder / "keys" / f"{name}.json", {"repeated": 0})

    # --- files

    def _write(self, place: Path, content: dict[str, Any]) -> None:
        def fill(handle: int) -> None:
            with os.fdopen(os.dup(handle), "wb") as file:
                file.write(json.dumps(content).encode())

        self._make(place, fill)

    def _temporary(self, folder: Path) -> Path:
        """A new name in a folder, which is made if it is not there."""
        trouble = ""
        try:
            if not self.folder.exists():
                private_folder(self.folder)
                with suppress(FileExistsError):  # copies of people's data are nobody's history
                    write_private(self.folder / ".gitignore", "*\n")
            private_folder(folder)
        except OSError as error:
            trouble = error.strerror or "it cannot be made"
        if trouble:
            raise SourceError(f"the folder {self.folder} is needed for typed copies: {trouble}: set TACIT_STATE")
        return folder / f".{bytes(SecureRng().read(8)).hex()}.partial"


def _named(path: Path) -> str:
    return sha256(os.fsencode(path.resolve())).hexdigest()
