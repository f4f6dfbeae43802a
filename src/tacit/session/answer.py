"""What an analyst gets: a table of noisy answers, an interval for each number, and what it cost.

A release is only released numbers and public facts, so it may be stored, sent and shown as it is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tacit.base import InputError, TacitError

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["Release"]

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Release:
    """The answer to one question. `table` has a column for each item of the SELECT list.

    `intervals` holds, for a column of noisy numbers, the two ends of an interval that covers the noise at `confidence`.
    `notes` are what an analyst should know: clipping, suppression, extreme quantiles. `facts` are how it was made.
    """

    table: pa.Table
    intervals: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]]
    confidence: float = 0.95
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = field(default=False, compare=False)

    def arrow(self, *, intervals: bool = False) -> pa.Table:
        """The table; with `intervals` each noisy column is followed by its two ends, `x_low` and `x_high`."""
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
        return pa.table(columns, names=names)

    def to_pandas(self, *, intervals: bool = False) -> "pandas.DataFrame":
        """The table for pandas, which must be installed."""
        frame: pandas.DataFrame = self.arrow(intervals=intervals).to_pandas()
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
            raise InputError(f"there is no interval for {name!r}: noisy columns are {', '.join(self.intervals)}")
        low, high = self.intervals[name]
        return low[row], high[row]

    def json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "columns": self.table.column_names,
            "rows": [[_plain(value) for value in row.values()] for row in self.rows()],
            "intervals": {name: [list(low), list(high)] for name, (low, high) in self.intervals.items()},
            "confidence": self.confidence,
            "notes": list(self.notes),
            "facts": dict(self.facts),
        }

    def plot(self, path: Path | str | None = None) -> Any:
        """Each number with its interval, as an Altair chart; with `path` also written there. Needs the extra `plot`."""
        try:
            from tacit.plot import answer, page, write
        except ImportError as missing:
            raise TacitError(
                f"plot() needs {missing.name}, which is not installed: pip install 'tacit[plot]'"
            ) from missing
        rows = [{name: _plotted(value) for name, value in row.items()} for row in self.rows()]
        chart = answer(rows, self.intervals)
        if path is not None:
            asked = str(self.facts.get("dataset", "")) or "Private answer"
            told = f"points are noisy answers, lines cover the noise with {self.confidence:.0%} probability"
            write(page([[chart]], title=asked, subtitle=told), Path(path))
        return chart

    def certificate(self) -> dict[str, Any]:
        """How this answer was made and what it promises, as plain data."""
        return {**self.facts, "confidence": self.confidence, "notes": list(self.notes)}

    def to_bytes(self) -> bytes:
        """For the ledger's store: an Arrow stream with everything else in its metadata."""
        head = {
            "version": VERSION,
            "confidence": self.confidence,
            "notes": list(self.notes),
            "facts": dict(self.facts),
            "intervals": {name: [list(low), list(high)] for name, (low, high) in self.intervals.items()},
        }
        table = self.table.replace_schema_metadata({"tacit": json.dumps(head)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue().to_pybytes())

    @classmethod
    def from_bytes(cls, data: bytes, *, cached: bool = False) -> "Release":
        """The inverse of `to_bytes`."""
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
        head = json.loads(table.schema.metadata[b"tacit"])
        if head["version"] != VERSION:
            raise InputError(f"this stored answer has version {head['version']}; this release reads {VERSION}")
        return cls(
            table=table.replace_schema_metadata(None),
            intervals={name: (low, high) for name, (low, high) in head["intervals"].items()},
            confidence=head["confidence"],
            notes=tuple(head["notes"]),
            facts=head["facts"],
            cached=cached,
        )

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=None, pad_edge=False, header_style="bold")
        for name in self.table.column_names:
            shown.add_column(name, justify="right" if name in self.intervals else "left")
        rows = self.rows()
        for number, row in enumerate(rows[:LINES]):
            shown.add_row(*(Text(self._cell(name, value, number)) for name, value in row.items()))
        parts: list[Any] = [shown]
        if len(rows) > LINES:
            parts.append(Text(f"… and {len(rows) - LINES:,} more rows", style="dim"))
        parts += [Text(f"• {note}", style="yellow") for note in self.notes]
        return Group(*parts)

    def _cell(self, name: str, value: Any, row: int) -> str:
        if name not in self.intervals or value is None or isinstance(value, list):
            return "–" if value is None else str(_plain(value))
        low, high = (ends[row] for ends in self.intervals[name])
        if low is None or high is None:
            return _number(value)
        return f"{_number(value)} ± {_number(max(high - value, value - low))}"

    def __repr__(self) -> str:
        from io import StringIO

        from rich.console import Console

        out = StringIO()
        Console(file=out, width=100, color_system=None).print(self.__rich__())
        return out.getvalue().rstrip()

    def _repr_html_(self) -> str:
        from html import escape

        heads = "".join(f"<th>{escape(name)}</th>" for name in self.table.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(self._cell(name, value, i))}</td>" for name, value in row.items()) + "</tr>"
            for i, row in enumerate(self.rows()[:LINES])
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><ul>{notes}</ul>"


LINES = 60  # of a table that is shown whole


def _plotted(value: Any) -> Any:
    return str(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else value


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
