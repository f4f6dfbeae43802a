"""The release of a census: a table of whole numbers for each level, which all agree, and how far they may be wrong.

What is stored is one Arrow table: each narrowest place with its wider ones, the categories and a count, and each place
at least once, with a count of zero if nobody lives there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow.csv import write_csv
from pyarrow.parquet import write_table

from tacit.base import InputError, TacitError, cached_property
from tacit.census.schema import COUNT, DETAIL, TOTAL, CellSchema, Recode
from tacit.census.spine import Spine
from tacit.census.topdown import LevelCounts
from tacit.desk import ContentRelease
from tacit.desk.release import release_from_bytes

__all__ = ["MEDIA", "CensusTables", "tables_to_bytes"]

MEDIA = "application/vnd.apache.arrow.stream"
FORMAT = "tacit census 1"
METADATA = b"tacit census"


def tables_to_bytes(spine: Spine, schema: CellSchema, counts: LevelCounts, about: Mapping[str, Any]) -> bytes:
    """What is stored: an Arrow stream, with what it is about in its metadata."""
    missing = np.setdiff1d(np.arange(len(spine.names[-1])), counts.place)
    first = int(np.flatnonzero(schema.possible)[0])
    place = np.concatenate([counts.place, missing])
    order = np.argsort(place, kind="stable")
    place = place[order]
    cell = np.concatenate([counts.cell, np.full(len(missing), first)])[order]
    count = np.concatenate([counts.count, np.zeros(len(missing), dtype=np.int64)])[order]
    columns: dict[str, Any] = {name: column.take(pa.array(place)) for name, column in spine.columns().items()}
    for name, values in schema.categories.items():
        codes = pa.array(schema.parts[name][cell].astype(np.int32))
        columns[name] = pa.DictionaryArray.from_arrays(codes, _values(values))
    columns[COUNT] = pa.array(count)
    told = {"format": FORMAT, **about, "levels": list(spine.levels), "schema": schema.json()}
    table = pa.table(columns).replace_schema_metadata({METADATA: json.dumps(told)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _values(values: Sequence[Any]) -> pa.Array:
    return pa.array([float(value) if isinstance(value, Fraction) else value for value in values])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CensusTables:
    """What a census gave. `table(level)` is a table of one level, `errors()` how far its numbers may be wrong."""

    release: ContentRelease

    def __post_init__(self) -> None:
        if self.release.media != MEDIA or self._about.get("format") != FORMAT:
            raise InputError("this release is no census")

    @classmethod
    def from_bytes(cls, data: bytes) -> "CensusTables":
        """From what `to_bytes` gave."""
        found = release_from_bytes(data)
        if not isinstance(found, ContentRelease):
            raise InputError("this release is no census")
        return cls(release=found)

    @classmethod
    def read(cls, path: Path | str) -> "CensusTables":
        """From a file that `save` wrote."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None

    def to_bytes(self) -> bytes:
        return self.release.to_bytes()

    def save(self, path: Path | str) -> None:
        """Everything in one file, with how it was made; `read` reads it."""
        try:
            Path(path).write_bytes(self.to_bytes())
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None

    @property
    def cached(self) -> bool:
        """Whether it was known already, and nothing was paid now."""
        return self.release.cached

    @property
    def notes(self) -> tuple[str, ...]:
        return self.release.notes

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.release.facts

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self._about["levels"])

    @cached_property
    def arrow(self) -> pa.Table:
        """Every count that is not zero, and a row for each place in which nobody lives."""
        try:
            with pa.ipc.open_stream(self.release.content) as reader:
                return reader.read_all()
        except pa.ArrowException:
            raise InputError("this release is damaged: its table cannot be read") from None

    @cached_property
    def _about(self) -> dict[str, Any]:
        try:
            found = json.loads((self.arrow.schema.metadata or {}).get(METADATA, b"{}"))
        except ValueError:
            found = {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def schema(self) -> CellSchema:
        told = self._about["schema"]
        categories = {name: tuple(self._categories(name)) for name in told["columns"]}
        recodes = {
            name: Recode(
                column=each["column"], groups=dict(zip(categories[each["column"]], each["groups"], strict=True))
            )
            for name, each in told["recodes"].items()
        }
        return CellSchema(categories=categories, recodes=recodes)

    def _categories(self, name: str) -> list[Any]:
        return list(self.arrow.column(name).chunk(0).dictionary.to_pylist())

    @cached_property
    def _codes(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The cell and the count of each row."""
        cell = np.zeros(self.arrow.num_rows, dtype=np.int64)
        for name, size in zip(self.schema.categories, self.schema.shape, strict=True):
            cell = cell * size + self._places(name)
        return cell, self.arrow.column(COUNT).to_numpy()

    def _places(self, name: str) -> np.ndarray[Any, Any]:
        return np.asarray(self.arrow.column(name).combine_chunks().indices.to_numpy())

    def table(self, level: str, query: str = DETAIL, *, zeros: bool | None = None) -> pa.Table:
        """The counts of a query in each place of a level, with the places it lies in: of "total", of one column or of
        several ("age*sex"), or of all. Counts of zero are listed too, but for "detail", unless `zeros` says so."""
        if level not in self.levels:
            raise InputError(f"there is no level {level!r}: the levels are {', '.join(self.levels)}")
        codes, groups = self.schema.partition(query)
        names, labels = self.schema.labels(query)
        cell, count = self._codes
        ids = self._places(level)
        size = len(self._categories(level))
        key = ids * np.int64(groups) + codes[cell]
        if query != DETAIL if zeros is None else zeros:
            rows, found = np.arange(size * groups), np.zeros(size * groups, dtype=np.int64)
            np.add.at(found, key, count)
        else:
            there = count > 0
            rows, of = np.unique(key[there], return_inverse=True)
            found = np.zeros(len(rows), dtype=np.int64)
            np.add.at(found, of, count[there])
        first = np.full(size, -1)
        first[ids[::-1]] = np.arange(len(ids))[::-1]
        shown = self.levels[: self.levels.index(level) + 1]
        wide = {name: self.arrow.column(name).cast(pa.string()).take(pa.array(first[rows // groups])) for name in shown}
        columns = {name: _values([labels[row][place] for row in (rows % groups)]) for place, name in enumerate(names)}
        return pa.table({**wide, **columns, COUNT: pa.array(found)})

    def total(self, level: str) -> dict[str, int]:
        """How many people there are in each place of a level."""
        found = self.table(level, TOTAL)
        return dict(zip(found.column(level).to_pylist(), found.column(COUNT).to_pylist(), strict=True))

    def errors(self) -> list[dict[str, Any]]:
        """For each level and query the noise that was added to each count, and the mean absolute error to expect."""
        return list(self._about["errors"])

    def to_parquet(self, where: Path | str | IO[bytes]) -> None:
        """All counts, with facts and notes in the metadata."""
        told = {**self.facts, "notes": list(self.notes)}
        table = self.arrow.replace_schema_metadata({"tacit": json.dumps(told)})
        write_table(table, str(where) if isinstance(where, Path) else where)

    def to_csv(self, where: Path | str | IO[bytes]) -> None:
        """All counts."""
        kinds = [each.value_type if pa.types.is_dictionary(each) else each for each in self.arrow.schema.types]
        table = self.arrow.cast(pa.schema(zip(self.arrow.column_names, kinds, strict=True)))
        write_csv(table, str(where) if isinstance(where, Path) else where)

    def plot(self, path: Path | str | None = None) -> Any:
        """The noise of each query at each level, and the error to expect of its counts, as an Altair chart; with `path`
        also written there. Needs the extra `plot`."""
        try:
            from tacit.plot import page, write
        except ImportError as missing:
            raise _no_plot("plot()", missing) from missing
        chart = self._chart()
        if path is not None:
            title = f"What a census of {self.facts.get('dataset', 'people')} does to its counts"
            write(page([[chart]], title=title, subtitle="by level and query"), Path(path))
        return chart

    def _chart(self) -> Any:
        from tacit.plot import CountError, census_errors

        ways = [("count, to expect", "error", 1.0), ("noise of one count", "noise", sqrt(2 / pi))]
        errors = [
            CountError(each["level"], each["query"], way, each[name] * factor)
            for way, name, factor in ways
            for each in self.errors()
            if each[name] is not None
        ]
        return census_errors(errors, title=("Mean absolute error of one count", "zero is drawn at the left end"))

    def report(self) -> str:
        """A page: what was counted, what is held exactly and so not protected, and how far each count may be wrong.
        Nothing is read for it. Needs the extra `plot`."""
        try:
            from tacit.plot.report import ReportTable, Section, pictured, report
        except ImportError as missing:
            raise _no_plot("a report", missing) from missing
        totals = {level: list(self.total(level).values()) for level in self.levels}
        places = tuple(
            (level, f"{len(counts):,}", f"{sum(count > 0 for count in counts):,}", f"{max(counts):,}")
            for level, counts in totals.items()
        )
        errors = tuple(
            (each["level"], each["query"], f"{each['counts']:,}", f"{each['share']:.2%}",
             "not measured" if each["noise"] is None else f"{each['noise']:.4g}", f"{each['error']:.3g}")
            for each in self.errors()
        )  # fmt: skip
        sections = [
            Section(
                title="Places",
                lines=(f"{sum(totals[self.levels[0]]):,} people by these tables, in {self.schema.cells:,} cells.",),
                table=ReportTable(("level", "places", "with people", "most people"), places),
            ),
            Section(
                title="How far counts may be wrong",
                lines=("Before the tables were put together every count that was measured had noise of this size.",),
                picture=pictured(self._chart(), "the error of a count of each query, level by level"),
                table=ReportTable(("level", "query", "counts", "share of ρ", "noise (σ)", "error about"), errors),
            ),
        ]
        return report(f"Census of {self.facts.get('dataset', 'people')}", lead=self.notes, sections=sections)

    def problems(self) -> list[str]:
        """What is wrong with the numbers themselves: nothing, of a release that is whole."""
        found = []
        _, count = self._codes
        if not pa.types.is_integer(self.arrow.column(COUNT).type):
            found.append("counts are not whole numbers")
        if len(count) and count.min() < 0:
            found.append("a count is negative")
        for wide, narrow in zip(self.levels, self.levels[1:], strict=False):
            pairs = np.unique(np.stack([self._places(narrow), self._places(wide)]), axis=1)
            if len(np.unique(pairs[0])) < pairs.shape[1]:
                found.append(f"a {narrow} lies in two places of level {wide}")
        return found

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(self._categories(level)):,} × {level}" for level in self.levels)
        return f"<census of {int(self._codes[1].sum()):,} people: {sizes}; {self.schema.cells:,} cells>"


def _no_plot(what: str, missing: ImportError) -> TacitError:
    return TacitError(f"{what} needs {missing.name}, which is not installed: pip install 'tacit[plot]'")
