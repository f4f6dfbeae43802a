"""What can be declared: files below one folder, and databases whose address is in the environment.

A curator in a browser names things; only the config says where they are. A name that leads out of the folder, by `..`
or by a symbolic link, is no name of anything. Names and types of columns are read, and no value; a text file is read as
a whole to propose types.
"""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from logging import WARNING
from pathlib import Path
from time import time_ns
from typing import Any

from tacit.base import InputError
from tacit.engine.names import Schema, read_schema
from tacit.engine.source.listing import DATABASES
from tacit.engine.source.reading import propose_types
from tacit.engine.source.text import DELIMITERS, TextForm
from tacit.policy.declaration import quoted
from tacit.policy.kind import ColumnType, decimals, understood
from tacit.policy.read import stamp_of
from tacit.server.db import Unavailable
from tacit.server.ops.config import Config
from tacit.server.ops.log import event

__all__ = ["DataSource", "Folder", "Sources"]

FILES = (".parquet", *DELIMITERS, *DATABASES)
MOST = 500  # files that are listed


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """A source and its schema, as a policy writes them: where everything is, and where single tables are."""

    schema: Schema
    source: str | None
    sources: Mapping[str, str]

    def json(self) -> dict[str, Any]:
        """Tables, each with its columns and the type that their own means; of text, the type that all its values have,
        for whoever declares it to confirm."""
        tables = []
        for table, natives in self.schema.tables.items():
            columns = [_column(name, native) for name, native in natives.items()]
            file = self.schema.files.get(table)
            if file is not None and not any(natives.values()):
                read = propose_types(Path(file), TextForm.of(Path(file)))
                columns = [column | {"type": read[column["name"]].value} for column in columns]
            tables.append({"name": table, "columns": columns})
        return {"engine": self.schema.engine, "tables": tables}


class Sources:
    """Everything that the config lets a curator declare."""

    def __init__(self, config: Config, environment: Mapping[str, str] | None = None) -> None:
        self.root = None if config.data is None else config.data.absolute()
        self.variables = config.sources
        self.environment = os.environ if environment is None else environment

    def listed(self) -> dict[str, list[str]]:
        """Names that `schema` takes: files and folders of files, and databases."""
        return {"files": self._files(), "databases": [name for name in self.variables if self.environment.get(name)]}

    def _files(self) -> list[str]:
        if self.root is None or not self.root.is_dir():
            return []
        found: list[str] = []
        for place, folders, files in os.walk(self.root):  # links to folders are not followed
            here = Path(place)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            names = [here / n for n in sorted(files) if n.lower().endswith(FILES) and not n.startswith(".")]
            inside = [path for path in names if self._within(path)]
            found += [path.relative_to(self.root).as_posix() for path in inside]
            whole = [path for path in inside if not path.name.lower().endswith(DATABASES)]
            if here != self.root and len(whole) > 1:
                found.append(f"{here.relative_to(self.root).as_posix()}/")
            if len(found) >= MOST:
                break
        return sorted(found)[:MOST]

    def _within(self, path: Path) -> bool:
        """Whether a path ends, after all links, below the folder."""
        try:
            return self.root is not None and path.resolve(strict=True).is_relative_to(self.root.resolve(strict=True))
        except (OSError, RuntimeError, ValueError):
            return False

    def file(self, name: str) -> Path:
        """The file or folder of this name. What is outside looks like what is not there."""
        given = Path(name)
        path = None if self.root is None else self.root / given
        plain = not given.is_absolute() and ".." not in given.parts and "\0" not in name
        if path is None or not plain or not given.parts or not self._within(path):
            raise InputError(
                f"there is no {quoted(name)} among the data that the service may read: see its `data` folder"
            )
        found = path.resolve()
        if found.is_dir() and not all(self._within(each) for each in found.iterdir()):
            raise InputError(f"{quoted(name)} has a link that leads elsewhere in it: remove it, or name a single file")
        return found

    def schema(self, *, file: str | None = None, database: str | None = None) -> DataSource:
        """Names and types of one source; exactly one is named."""
        if (file is None) == (database is None):
            raise InputError("name a file or a database: one of the two")
        if file is not None:
            path = self.file(file)
            schema = read_schema(path)
            whole = None if schema.files else str(path)
            return DataSource(schema=schema, source=whole, sources={**schema.sources, **schema.files})
        url = self.environment.get(database or "", "")
        if database not in self.variables or not url:
            raise InputError(f"there is no database {quoted(database or '')} among the `sources` of the service")
        if not url.startswith("postgres"):
            raise InputError(f"{database} holds no postgresql:// address: set it in the environment of the service")
        schema = read_schema(url)
        return DataSource(schema=schema, source=f"${{{database}}}", sources=schema.sources)


def _column(name: str, native: str) -> dict[str, Any]:
    """A column and what can be said of it from its type alone; one of no known type can only be hidden."""
    found = understood(native)
    digits = decimals(native) if found in (ColumnType.DECIMAL, ColumnType.FLOAT) else None
    step = None if digits is None else "1" if not digits else "0." + "1".rjust(digits, "0")
    kind = None if found is None else found.value
    return {"name": name, "native": native, "type": kind, "step": step, "askable": found is not None or not native}


SETTLED = 2_000_000_000  # ns after which a folder's time differs from that of any later change


class Folder:
    """Remembers what was seen. A folder that is not there, or None, has nothing new."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._seen: tuple[int, ...] | None = None
        self._broken: dict[Path, tuple[int, ...]] = {}

    def changed(self) -> bool:
        """Whether to look again: asked at each list and for each name that is not known, so it is one `stat`."""
        if self.path is None:
            return False
        stamp = stamp_of(self.path)
        if not stamp or stamp == self._seen:
            return any(stamp_of(path) != before for path, before in list(self._broken.items()))
        # two changes within one tick of the clock have one time: what was seen counts once that tick is over
        self._seen = stamp if time_ns() - stamp[0] > SETTLED else None
        return True

    def files(self) -> list[Path]:
        """The files in it, without those that are still as broken as they were."""
        if self.path is None or not self.path.is_dir():
            return []
        found = sorted(path for path in self.path.glob("*.toml") if not path.name.startswith("."))
        self._broken = {path: stamp for path, stamp in self._broken.items() if path in found}
        return [path for path in found if self._broken.get(path) != stamp_of(path)]

    def notice(self, what: str, take: Callable[[Path], object], there: Collection[Path]) -> None:
        """Take in the files that are not there yet. One that cannot be taken is left out until it changes."""
        for path in self.files():
            if path in there:
                continue
            try:
                take(path)
            except Unavailable:  # the file is not to blame: look again the next time
                self._seen = None
                return
            except Exception as error:  # whatever is wrong with it, the others are served
                self.broken(path)
                event(f"{what} left out", level=WARNING, file=path.name, error=type(error).__name__)

    def broken(self, path: Path) -> None:
        """Do not offer this one again until it changes."""
        self._broken[path] = stamp_of(path)
