"""A text source as it is declared, and its one strict reading by the curator into typed copies.

Questions read the copies. A file that changed since is not read until the curator has had it read again, so nothing in
a file can change how it is read while analysts ask.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq

from tacit.base import SourceError
from tacit.engine.engine import opening
from tacit.engine.source.cell import Caster, proposed
from tacit.engine.source.copies import Copies
from tacit.engine.source.listing import present
from tacit.engine.source.text import Readable, TextForm, TextReader
from tacit.policy.declaration import quoted
from tacit.policy.kind import ColumnType

__all__ = ["TextReading", "column_names", "propose_types"]

VERSION = 1  # of what a copy holds: to be raised when a rule of reading changes
Step = Callable[[int], None]
"""Is told how many bytes more were read."""


@dataclass(frozen=True, kw_only=True)
class TextReading:
    """`kinds` are the columns that are kept, with their types (None: every column, as text); `declared` are all names
    that the file must have."""

    form: TextForm
    kinds: Mapping[str, ColumnType] | None
    declared: Sequence[str] = ()

    def key(self, content: str) -> str:
        """The name of a copy of this content, read like this."""
        kinds = None if self.kinds is None else [[name, str(kind)] for name, kind in self.kinds.items()]
        plain = {"version": VERSION, "content": content, "form": asdict(self.form), "kinds": kinds}
        return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    def current(self, files: Sequence[Path], copies: Copies) -> list[tuple[Path, str]] | None:
        """The copies of all files as they are now, with their keys; None if one of them has to be read first."""
        found, headers = [], set()
        for file in files:
            entry = copies.entry(file)
            path = None if entry is None or not entry.content else copies.copy(self.key(entry.content))
            if entry is None or path is None:
                return None
            headers.add(entry.header)
            found.append((path, path.stem))
        return found if len(headers) <= 1 else None

    def read(self, files: Sequence[Path], copies: Copies, step: Step = lambda more: None) -> int:
        """Read all files strictly, those that are not read already; how many that were. All of them, or an error."""
        headers = {file: column_names(file, self.form) for file in files}
        for file, names in headers.items():
            if names != headers[files[0]]:
                raise SourceError(
                    f"{quoted(file.name)}: its first line names other columns than that of {quoted(files[0].name)}: "
                    "all files of a folder name the same, in the same order"
                )
            self._declared(file, names)
        made = 0
        for file in files:
            if self.current([file], copies) is None:
                opening(f"{quoted(file.name)} cannot be read", lambda file=file: self._one(file, copies, step))  # type: ignore[misc]
                made += 1
        return made

    def _declared(self, file: Path, names: Sequence[str]) -> None:
        missing = [name for name in self.declared if name not in names]
        if missing:
            line = "the first line of" if self.form.header is True else "the header declared for"
            raise SourceError(
                f"there is no column {quoted(missing[0])} among the {len(names)} that {line} {quoted(file.name)} "
                "names: correct its name in the policy"
            )

    def _one(self, file: Path, copies: Copies, step: Step) -> None:
        def header() -> str:
            return sha256(json.dumps(column_names(file, self.form)).encode()).hexdigest()

        copies.of(file, self.key, lambda handle: self._typed(file, handle, step), header)

    def _typed(self, file: Path, handle: int, step: Step) -> str:
        """Write the typed copy to an open file; the hash of what was read."""
        with file.open("rb") as raw, os.fdopen(os.dup(handle), "wb") as out:
            seen = _Seen(raw, step)
            reader = TextReader(seen, self.form, name=file.name)
            kinds = dict.fromkeys(reader.names, ColumnType.TEXT) if self.kinds is None else dict(self.kinds)
            caster = Caster(kinds)
            try:
                with pq.ParquetWriter(out, caster.schema) as writer:
                    for batch in reader.batches(list(kinds)):
                        table = caster.cast(batch)
                        if table.num_rows != batch.num_rows:
                            raise SourceError(f"{quoted(file.name)}: rows were lost on the way: this is a defect")
                        writer.write_table(table)
            finally:
                caster.close()
            return seen.hash.hexdigest()


class _Seen:
    """A file that is read once, with the hash of what was read."""

    def __init__(self, file: Readable, step: Step) -> None:
        self._file, self._step, self.hash = file, step, sha256()

    def read(self, size: int, /) -> bytes:
        block = self._file.read(size)
        self.hash.update(block)
        self._step(len(block))
        return block


def column_names(file: Path, form: TextForm) -> list[str]:
    """The names of the columns: the first line of the file, and no other."""

    def read() -> list[str]:
        with file.open("rb") as raw:
            return TextReader(raw, form, name=file.name).names

    present(file)
    return list(form.header) if isinstance(form.header, tuple) else opening(f"{quoted(file.name)} cannot be read", read)


def propose_types(file: Path, form: TextForm, step: Step = lambda more: None) -> dict[str, ColumnType]:
    """The types that all cells of each column have, for whoever owns the file to take over or to correct."""

    def read() -> dict[str, ColumnType]:
        with file.open("rb") as raw:
            reader = TextReader(_Seen(raw, step), form, name=file.name)
            return proposed(reader.names, reader.batches(reader.names))

    present(file)
    return opening(f"{quoted(file.name)} cannot be read", read)
