"""What is released: a table of noisy answers, a model, synthetic rows, labels, a choice; with how it was made.

A release is only released numbers and public facts, so it may be stored, sent and shown as it is.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.csv import write_csv
from pyarrow.parquet import write_table

from tacit.base import InputError, TacitError
from tacit.base.former import former_names
from tacit.desk.coverage import Coverage
from tacit.desk.file import OCTETS, ReleaseFile, ending_of
from tacit.desk.show import as_html, as_text, measured, notes_shown, number, table_of

if TYPE_CHECKING:
    import pandas
    import polars

    from tacit.desk.certificate.certificate import Certificate
    from tacit.ledger import Ledger
    from tacit.ledger.checkpoint import Signer

__all__ = ["KINDS", "ContentRelease", "Release", "TableRelease", "release_from_bytes", "release_of"]

VERSION = 1
KINDS = ("table", "model", "rows", "labels", "choice", "value")
MARK = b"tacit release\n"  # how the bytes of one begin that is no table


@dataclass(frozen=True, kw_only=True, repr=False)
class Release(ABC):
    """What every release has: `notes` are what its reader should know, `facts` are how it was made and paid for, `name`
    is what a service calls it."""

    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = field(default=False, compare=False)
    name: str = field(default="", compare=False)

    @abstractmethod
    def json(self) -> dict[str, Any]:
        """Everything as plain data."""

    @abstractmethod
    def value(self) -> Any:
        """What is released, where it is one thing."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Everything, to be stored; `release_from_bytes` reads it."""

    @abstractmethod
    def file(self) -> ReleaseFile:
        """What is released, as a file; a table is CSV with its intervals."""

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """What a certificate says it is about: its kind and size, and the hash by which it is known again."""

    @former_names(key="signing_key")
    def certificate(
        self,
        *,
        ledger: "Ledger | Path | str | None" = None,
        signing_key: "Signer | Path | str | None" = None,
        sql: str | None = None,
    ) -> "Certificate":
        """How this was made and what it promises, for somebody who was not there.

        With the `ledger` that it was paid from, the certificate proves its place there; with a private `signing_key` it
        is signed. `sql` is what was asked, which a release does not know.
        """
        from tacit.desk.certificate.certificate import certify

        return certify(self, ledger=ledger, signing_key=signing_key, sql=sql)


@dataclass(frozen=True, kw_only=True, repr=False)
class ContentRelease(Release):
    """A release that is no table: `content` in the form that `media` names, such as the weights of a model."""

    kind: str
    content: bytes
    media: str = OCTETS

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.kind == "table":
            raise InputError(f"kind must be one of {', '.join(KINDS[1:])}, not {self.kind!r}")

    def value(self) -> Any:
        """The content: read where it is JSON or text, else the bytes."""
        if self.media == "application/json":
            return json.loads(self.content)
        return self.content.decode() if self.media.startswith("text/") else self.content

    def json(self) -> dict[str, Any]:
        readable = self.media == "application/json" or self.media.startswith("text/")
        shown = self.value() if readable else None
        return {**self._head, "value": shown, "bytes": len(self.content)}

    @property
    def _head(self) -> dict[str, Any]:
        return {"kind": self.kind, "media": self.media, "notes": list(self.notes), "facts": dict(self.facts)}

    def to_bytes(self) -> bytes:
        head = json.dumps({"version": VERSION, **self._head}, separators=(",", ":")).encode()
        return b"".join([MARK, head, b"\n", self.content])

    def file(self) -> ReleaseFile:
        return ReleaseFile(self.content, self.media, ending_of(self.kind, self.media))

    def description(self) -> dict[str, Any]:
        digest = sha256(self.content).hexdigest()
        return {"kind": self.kind, "media": self.media, "bytes": len(self.content), "sha256": digest}

    def __repr__(self) -> str:
        return f"<{self.kind}, {len(self.content):,} bytes of {self.media}>"


def release_of(found: Any, *, kind: str | None = None, facts: Mapping[str, Any]) -> Release:
    """What somebody's own code made, as a release: an Arrow table, bytes, a text, or what JSON holds."""
    if isinstance(found, pa.Table):
        return TableRelease(table=found, intervals={}, facts=facts)
    if isinstance(found, bytes):
        return ContentRelease(kind=kind or "model", content=found, facts=facts)
    if isinstance(found, str):
        return ContentRelease(kind=kind or "value", content=found.encode(), media="text/plain", facts=facts)
    try:
        content = json.dumps(found, allow_nan=False).encode()
    except (TypeError, ValueError):
        raise InputError("a job gives a table (Arrow), bytes, a text, or what JSON holds") from None
    return ContentRelease(kind=kind or "value", content=content, media="application/json", facts=facts)


def release_from_bytes(data: bytes, *, cached: bool = False) -> Release:
    """The inverse of `to_bytes`."""
    if not data.startswith(MARK):
        return replace(TableRelease.from_bytes(data), cached=cached)
    line, _, content = data[len(MARK) :].partition(b"\n")
    try:
        head = json.loads(line)
        if head["version"] != VERSION:
            raise InputError(f"this stored release has version {head['version']}, and this tacit reads {VERSION}")
        notes, facts = tuple(head["notes"]), head["facts"]
        return ContentRelease(
            kind=head["kind"], media=head["media"], content=content, notes=notes, facts=facts, cached=cached
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("these bytes are not a release: they come from its to_bytes()") from None


@dataclass(frozen=True, kw_only=True, repr=False)
class TableRelease(Release):
    """The answer to one question. `table` has a column for each item of the SELECT list.

    `intervals` holds, for a column of noisy numbers, the two ends of an interval at `confidence`, and `coverage` what
    it covers there: the truth, or only the noise, beyond which clipping may have taken something.
    """

    table: pa.Table
    intervals: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]]
    confidence: float = 0.95
    coverage: Mapping[str, Coverage] = field(default_factory=dict)

    def covers(self, column: str) -> Coverage:
        """What the interval of a column covers: the noise, if nothing is known."""
        return self.coverage.get(column, Coverage(of="noise"))

    @property
    def noise_only(self) -> set[str]:
        """The noisy columns whose intervals do not cover the truth."""
        return {name for name in self.intervals if self.covers(name).of != "truth"}

    def arrow(self, *, intervals: bool = False) -> pa.Table:
        """The table; with `intervals` each noisy column is followed by its ends, `x_low` and `x_high`, and by what they
        cover, `x_covers`."""
        if not intervals:
            return self.table
        names, columns = [], []
        for name in self.table.column_names:
            names.append(name)
            columns.append(self.table.column(name))
            if name in self.intervals:
                for end, values in zip(("low", "high"), self.intervals[name], strict=True):
                    names.append(f"{name}_{end}")
                    columns.append(pa.chunked_array([pa.array(list(values), pa.float64())]))
                names.append(f"{name}_covers")
                covers = [self.covers(name).of] * self.table.num_rows
                columns.append(pa.chunked_array([pa.array(covers, pa.string())]))
        return pa.table(columns, names=names)

    def to_pandas(self, *, intervals: bool = False) -> "pandas.DataFrame":
        """The table for pandas, which must be installed."""
        try:
            frame: pandas.DataFrame = self.arrow(intervals=intervals).to_pandas()
        except ImportError as missing:
            raise TacitError("to_pandas() needs pandas, which is not installed: pip install pandas") from missing
        return frame

    def to_polars(self, *, intervals: bool = False) -> "polars.DataFrame":
        """The table for polars, which must be installed."""
        try:
            import polars
        except ImportError as missing:
            raise TacitError("to_polars() needs polars, which is not installed: pip install polars") from missing
        frame = polars.from_arrow(self.arrow(intervals=intervals))
        assert isinstance(frame, polars.DataFrame)  # of a table, not of one column
        return frame

    def rows(self) -> list[dict[str, Any]]:
        """The table as plain Python."""
        found: list[dict[str, Any]] = self.table.to_pylist()
        return found

    def value(self) -> Any:
        """The answer, where it is a single number."""
        if self.table.num_rows != 1 or self.table.num_columns != 1:
            raise InputError(
                f"this answer has {self.table.num_rows} rows and {self.table.num_columns} columns, not one"
            )
        return self.table.column(0)[0].as_py()

    def interval(self, column: str | None = None, row: int = 0) -> tuple[float | None, float | None]:
        """The interval of one number."""
        name = column if column is not None else next(iter(self.intervals), None)
        if name is None or name not in self.intervals:
            noisy = ", ".join(self.intervals) or "none"
            raise InputError(f"there is no interval for {name!r}: noisy columns are {noisy}")
        low, high = self.intervals[name]
        return low[row], high[row]

    def to_csv(self, where: Path | str | IO[bytes]) -> None:
        """The table with its intervals as a CSV file, at a path or into an open file; lists are written as JSON."""
        table = self.arrow(intervals=True)
        for place, column in enumerate(table.columns):
            if pa.types.is_list(column.type):
                texts = [None if value is None else json.dumps(_plain(value)) for value in column.to_pylist()]
                table = table.set_column(place, table.column_names[place], pa.array(texts, pa.string()))
        write_csv(table, str(where) if isinstance(where, Path) else where)

    def to_parquet(self, where: Path | str | IO[bytes]) -> None:
        """The table with its intervals as a Parquet file, with facts and notes in its metadata."""
        told = {**self.facts, "confidence": self.confidence, "notes": list(self.notes)}
        table = self.arrow(intervals=True).replace_schema_metadata({"tacit": json.dumps(told)})
        write_table(table, str(where) if isinstance(where, Path) else where)

    def json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "columns": self.table.column_names,
            "rows": [[_plain(value) for value in row] for row in zip(*self.table.to_pydict().values(), strict=True)],
            "intervals": {name: [list(low), list(high)] for name, (low, high) in self.intervals.items()},
            "confidence": self.confidence,
            "coverage": {name: self.covers(name).json() for name in self.intervals},
            "notes": list(self.notes),
            "facts": dict(self.facts),
        }

    def plot(self, path: Path | str | None = None, *, truth: Mapping[str, Sequence[float | None]] | None = None) -> Any:
        """Each number with its interval, as an Altair chart; with `path` also written there. Needs the extra `plot`.

        `truth` has the true numbers of columns, row by row, to be drawn beside them: only of made-up data are they
        anybody's to show.
        """
        try:
            from tacit.plot import answer, page, write
        except ImportError as missing:
            raise TacitError(
                f"plot() needs {missing.name}, which is not installed: pip install 'tacit[plot]'"
            ) from missing
        rows = [{name: _plotted(value) for name, value in row.items()} for row in self.rows()]
        chart = answer(rows, self.intervals, truth=truth or {}, noise_only=self.noise_only)
        if path is not None:
            asked = str(self.facts.get("dataset", "")) or "Private answer"
            told = f"points are noisy answers, lines their intervals, which hold with {self.confidence:.0%} probability"
            write(page([[chart]], title=asked, subtitle=told), Path(path))
        return chart

    def description(self) -> dict[str, Any]:
        columns = [
            {"name": name, "type": str(self.table.schema.field(place).type), "noisy": name in self.intervals}
            for place, name in enumerate(self.table.column_names)
        ]
        digest = sha256(self.file().content).hexdigest()
        return {"kind": "table", "columns": columns, "rows": self.table.num_rows, "csv_sha256": digest}

    def file(self) -> ReleaseFile:
        out = BytesIO()
        self.to_csv(out)
        return ReleaseFile(out.getvalue(), "text/csv", ".csv")

    def to_bytes(self) -> bytes:
        """An Arrow stream of the table and its intervals, with everything else in its metadata."""
        head = {
            "version": VERSION,
            "confidence": self.confidence,
            "notes": list(self.notes),
            "facts": dict(self.facts),
            "intervals": list(self.intervals),
            "coverage": {name: covers.json() for name, covers in self.coverage.items()},
        }
        ends = [pa.array(list(end), pa.float64()) for pair in self.intervals.values() for end in pair]
        names = [*self.table.column_names, *(str(number) for number in range(len(ends)))]
        whole = pa.table([*self.table.columns, *ends], names=names).replace_schema_metadata({"tacit": json.dumps(head)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, whole.schema) as writer:
            writer.write_table(whole)
        return bytes(sink.getvalue().to_pybytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> "TableRelease":
        """The inverse of `to_bytes`."""
        try:
            with pa.ipc.open_stream(data) as reader:
                whole = reader.read_all()
            head = json.loads(whole.schema.metadata[b"tacit"])
        except (pa.ArrowException, KeyError, TypeError, ValueError):
            raise InputError("these bytes are not a release: they come from TableRelease.to_bytes()") from None
        if head["version"] != VERSION:
            raise InputError(f"this stored answer has version {head['version']}, and this release reads {VERSION}")
        whole = whole.replace_schema_metadata(None)
        count = whole.num_columns - 2 * len(head["intervals"])
        ends = [column.to_pylist() for column in whole.columns[count:]]
        return cls(
            table=whole.select(range(count)),
            intervals={name: (ends[2 * i], ends[2 * i + 1]) for i, name in enumerate(head["intervals"])},
            confidence=head["confidence"],
            coverage={name: Coverage.from_json(covers) for name, covers in head.get("coverage", {}).items()},
            notes=tuple(head["notes"]),
            facts=head["facts"],
        )

    def cells(self) -> list[list[str]]:
        """The first rows as texts: numbers with what their noise is within."""
        shown = self.table.slice(0, LINES).to_pydict()
        columns = [[self._cell(name, value, i) for i, value in enumerate(values)] for name, values in shown.items()]
        return [list(row) for row in zip(*columns, strict=True)]

    def _cell(self, name: str, value: Any, row: int) -> str:
        if value is None:
            return "–"
        if name not in self.intervals or isinstance(value, list):
            return str(_plain(value))
        low, high = (ends[row] for ends in self.intervals[name])
        if low is None or high is None:
            return number(value)
        below, above = value - low, high - value
        # a value that was rounded to a whole number is not quite in the middle, and its noise is as large as before
        rounded = isinstance(value, int) and abs(below - above) <= 1
        shown = measured(value, (below + above) / 2 if rounded else max(below, above))
        return f"{shown} noise" if name in self.noise_only else shown

    @property
    def _remarks(self) -> list[str]:
        more = self.table.num_rows - LINES
        return [*([f"{more:,} more rows are not shown"] if more > 0 else []), *self.notes]

    def __rich__(self) -> Any:
        from rich.console import Group

        names = self.table.column_names
        return Group(table_of(names, self.cells(), right=self.intervals), *notes_shown(self._remarks))

    def __repr__(self) -> str:
        return as_text(self.__rich__())

    def _repr_html_(self) -> str:
        return as_html(self.table.column_names, self.cells(), self._remarks)


LINES = 60  # of a table that is shown whole


def _plotted(value: Any) -> Any:
    return str(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return value.isoformat() if isinstance(value, date | datetime) else value
