"""CSV and TSV, read strictly: one grammar, and a file that does not keep to it is refused as a whole.

A text file cannot keep its rows apart when it is malformed: a quote that is not closed swallows the rows after it. So
nothing is mended and nothing is guessed. The grammar is that of RFC 4180: cells between delimiters, lines that end in
LF or CR LF, every line with as many cells as the first; a quote stands at the beginning of a cell or nowhere, and
inside a quoted cell it is doubled. No NUL, no bytes that are not in the encoding; one byte order mark, at the start.

In this grammar a byte is inside quotes if and only if an odd number of quotes stand before it, so cells are found by
counting, for a whole block of the file at once. What is found is checked, and what was checked is what is used: there
is no second parser. Messages name lines, counted as an editor does, and never what stands in them.
"""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacit.base import PolicyError, SourceError, cached_property
from tacit.policy import Table
from tacit.policy.declaration import quoted

__all__ = ["DELIMITERS", "Readable", "TextForm", "TextReader"]

DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, kw_only=True)
class TextForm:
    """`header` is True where the first line names the columns, else their names; `null` are the texts of no value."""

    delimiter: str = ","
    quote: str = '"'
    header: bool | tuple[str, ...] = True
    encoding: str = "utf-8"
    null: tuple[str, ...] = ("",)

    @classmethod
    def of(cls, path: Path, table: Table | None = None) -> "TextForm":
        """What is declared of a table, with the delimiter that goes with the ending of its files."""
        usual = DELIMITERS.get(path.suffix.lower(), ",")
        if table is None:
            return cls(delimiter=usual)
        if table.delimiter is None and table.quote == usual:
            raise PolicyError(
                f"{table.place}: quote = {quoted(usual)} is the delimiter of {path.suffix} files too: declare delimiter"
            )
        return cls(
            delimiter=table.delimiter or usual,
            quote=table.quote,
            header=table.header,
            encoding=str(table.encoding.value),
            null=table.null,
        )


BLOCK = 1 << 24  # bytes looked at together
LONGEST = 1 << 26  # bytes of one line
LISTED = 5
LF, CR = 10, 13
MISPLACED = 'quote such cells and double the quotes in them, or declare quote = "" if no cell has quotes around it'

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Places = np.ndarray[tuple[int], np.dtype[np.int64]]


class Readable(Protocol):
    """A binary file, as far as it is needed here."""

    def read(self, size: int, /) -> bytes: ...


@dataclass
class _Faults:
    """Lines that break one rule: how many, and the first of them."""

    what: str
    count: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, lines: Sequence[int] | Places) -> None:
        self.count += len(lines)
        self.lines += [int(line) for line in lines[: LISTED - len(self.lines)]]

    def __str__(self) -> str:
        more = f" and {self.count - len(self.lines):,} more" if self.count > len(self.lines) else ""
        return f"line{'s' if self.count > 1 else ''} {', '.join(f'{line:,}' for line in self.lines)}{more}: {self.what}"


@dataclass(frozen=True)
class _Block:
    """Some bytes of a file that begin where a line does."""

    raw: bytes
    delimiter: int
    quote: int

    @cached_property
    def bytes(self) -> Bytes:
        return np.frombuffer(self.raw, np.uint8)

    @cached_property
    def quotes(self) -> Places:
        """Where quotes are: they open and close by turns."""
        return _where(self.bytes == self.quote) if self.quote >= 0 else np.array([], np.int64)

    @cached_property
    def marks(self) -> Places:
        """Where cells end: delimiters and line feeds outside quotes."""
        return self._outside(_where((self.bytes == self.delimiter) | (self.bytes == LF)))

    def _outside(self, places: Places) -> Places:
        if not len(self.quotes):
            return places
        found: Places = places[np.searchsorted(self.quotes, places) % 2 == 0]
        return found

    @cached_property
    def feeds(self) -> Places:
        """Where in `marks` lines end."""
        return _where(self.bytes[self.marks] == LF)

    def upto(self, feed: int) -> "_Block":
        """The lines until the given one of `feeds`, with it."""
        return _Block(self.raw[: int(self.marks[self.feeds[feed]]) + 1], self.delimiter, self.quote)

    def cells(self) -> tuple[Places, Places]:
        """Where the content of each cell begins and ends, without quotes around it and the CR of a line's end."""
        data, ends = self.bytes, self.marks.copy()
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1))
        last = self.feeds[ends[self.feeds] > starts[self.feeds]]
        ends[last] -= data[ends[last] - 1] == CR
        if len(self.quotes):
            around = _where((ends > starts) & (data[np.minimum(starts, len(data) - 1)] == self.quote))
            starts[around] += 1
            ends[around] -= 1
        return starts, ends

    def lines(self, places: Places) -> Places:
        """The line of each place, from 0."""
        found: Places = np.searchsorted(_where(self.bytes == LF), places)
        return found

    def misplaced(self) -> Places:
        """Quotes that stand where none may: those that open not at the beginning of a cell, or close not at its end."""
        data, opening, closing = self.bytes, self.quotes[0::2], self.quotes[1::2]
        before = data[np.maximum(opening - 1, 0)]
        good = (opening == 0) | (before == self.delimiter) | (before == LF) | (before == self.quote)
        after, beyond = (data[np.minimum(closing + step, len(data) - 1)] for step in (1, 2))
        fine = (after == self.delimiter) | (after == LF) | (after == self.quote) | ((after == CR) & (beyond == LF))
        fine |= closing == len(data) - 1
        return np.sort(np.concatenate((opening[~good], closing[~fine])))

    def returns(self) -> Places:
        """CRs outside quotes that do not end a line."""
        outside = self._outside(_where(self.bytes == CR))
        alone: Places = outside[self.bytes[np.minimum(outside + 1, len(self.bytes) - 1)] != LF]
        return alone

    @property
    def doubled(self) -> bool:
        """Whether a quote is written inside a cell."""
        return bool(np.any(np.diff(self.quotes)[1::2] == 1))


class TextReader:
    """One file, from its first byte to its last. `names` is known at once; `batches` gives every row, or raises.

    `name` is how messages call the file. Faults of one kind are said together, and each kind alone: a quote that is out
    of place makes nonsense of the lines after it.
    """

    def __init__(self, file: Readable, form: TextForm, *, name: str) -> None:
        self.name, self.form = name, form
        self._blocks = _decoded(file, form.encoding, name)
        self._rest = next(self._blocks, b"").removeprefix(codecs.BOM_UTF8)
        self._line = 1  # number of the first line of `_rest`
        self.names: list[str] = list(form.header) if isinstance(form.header, tuple) else self._header()

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns as text, NULL where a cell says that there is no value."""
        cells = "1 cell" if len(self.names) == 1 else f"{len(self.names)} cells"
        width = _Faults(f"not {cells}, as the {'header' if self.form.header is True else 'names'}")
        while (block := self._lines()) is not None:
            self._check(block)
            counts = np.diff(block.feeds, prepend=-1)
            wrong = _where(counts != len(self.names))
            if len(wrong):
                begins = np.concatenate((np.zeros(1, np.int64), block.marks[block.feeds][:-1] + 1))
                width.add(block.lines(begins[wrong]) + self._line)
            elif not width.count:
                yield self._batch(block, columns)
            self._line += block.raw.count(b"\n")
        if width.count:
            raise self._refusal(width, "give every line as many cells, or declare the delimiter")

    def _lines(self, first: bool = False) -> _Block | None:
        """The complete lines at hand, or the first line only; None at the end."""
        while True:
            block = _Block(self._rest, ord(self.form.delimiter), ord(self.form.quote) if self.form.quote else -1)
            if len(block.feeds):
                found = block.upto(0 if first else -1)
                self._rest = self._rest[len(found.raw) :]
                return found
            more = b"" if len(self._rest) > LONGEST else next(self._blocks, b"")
            if more:
                self._rest += more
            elif not self._rest:
                return None
            elif len(self._rest) > LONGEST or len(block.quotes) % 2:
                self._check_endless(block)
            else:
                self._rest += b"\n"  # the last line may go without

    def _header(self) -> list[str]:
        block = self._lines(first=True)
        if block is None:
            raise SourceError(f"{quoted(self.name)}: is empty, and its first line should name the columns")
        self._check(block)
        quote = self.form.quote
        cells = [block.raw[start:end].decode() for start, end in zip(*block.cells(), strict=True)]
        names = [(cell.replace(quote * 2, quote) if quote else cell).strip() for cell in cells]
        self._line += block.raw.count(b"\n")
        for place, each in enumerate(names):
            if not each or each in names[:place]:
                raise SourceError(
                    f"{quoted(self.name)}: its first line should name the columns, and cell {place + 1} of it "
                    f"{'repeats a name' if each else 'is empty'}: correct it, or, if the file has no line of names, "
                    'declare them as in header = ["id", "age"]'
                )
        return names

    def _batch(self, block: _Block, columns: Sequence[str]) -> pa.RecordBatch:
        starts, ends = block.cells()
        width, arrays = len(self.names), []
        for column in columns:
            place = self.names.index(column)
            found = _sliced(block.raw, starts[place::width], ends[place::width])
            if block.doubled:
                found = pc.replace_substring(found, self.form.quote * 2, self.form.quote)
            for empty in self.form.null:
                found = pc.if_else(pc.equal(found, empty), pa.scalar(None, pa.string()), found)
            arrays.append(found)
        if not columns:
            return pa.record_batch([pa.nulls(len(block.feeds))], names=["nothing"])
        return pa.record_batch(arrays, schema=pa.schema([(name, pa.string()) for name in columns]))

    def _check(self, block: _Block) -> None:
        """Raise for the first rule that these lines break."""
        self._refuse(block, block.misplaced(), "a quote in the middle of a cell", MISPLACED)
        self._refuse(block, block.returns(), "a carriage return that does not end the line", "quote such cells")
        self._refuse(block, _where(block.bytes == 0), "a NUL byte", 'remove it, or declare encoding = "utf-16"')
        wrong = np.array([], np.int64)
        try:
            str(block.raw, "utf-8")
        except UnicodeDecodeError as error:
            wrong = np.array([error.start])
        remedy = 'save it as UTF-8, or declare encoding = "windows-1252"'
        self._refuse(block, wrong, "bytes that are not UTF-8", remedy)

    def _check_endless(self, block: _Block) -> None:
        """Raise for what is wrong with lines that do not end."""
        self._refuse(block, block.misplaced(), "a quote in the middle of a cell", MISPLACED)
        is_open = len(block.quotes) % 2 == 1
        what = "a quote that is never closed" if is_open else f"is longer than {LONGEST >> 20} MB"
        self._refuse(block, block.quotes[-1:] if is_open else np.array([0]), what, "correct it, or declare the quote")

    def _refuse(self, block: _Block, places: Places, what: str, remedy: str) -> None:
        if len(places):
            faults = _Faults(what)
            faults.add(np.unique(block.lines(places)) + self._line)
            raise self._refusal(faults, remedy)

    def _refusal(self, faults: _Faults, remedy: str) -> SourceError:
        return SourceError(f"{quoted(self.name)} cannot be read as a table: {faults}: {remedy}")


def _where(condition: Any) -> Places:
    found: Places = np.flatnonzero(condition)
    return found


def _sliced(raw: bytes, starts: Places, ends: Places) -> pa.Array:
    """Pieces of one buffer as an array of text. Pieces and gaps lie in it by turns; every second one is taken."""
    offsets = np.empty(2 * len(starts), np.int32)
    offsets[0::2], offsets[1::2] = starts, ends
    both = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(raw))
    return both.take(pa.array(np.arange(0, len(offsets) - 1, 2)))


def _decoded(file: Readable, encoding: str, name: str) -> Iterator[bytes]:
    """The file in blocks of UTF-8; what is UTF-8 already is checked with its lines."""
    if encoding == "utf-8":
        while block := file.read(BLOCK):
            yield block
        return
    decoder, line = codecs.getincrementaldecoder(encoding)("strict"), 1
    while True:
        block = file.read(BLOCK)
        wrong = None
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            wrong = line + block[: error.start].count(b"\n")
        if wrong is not None:
            raise SourceError(
                f"{quoted(name)} cannot be read as a table: line {wrong:,}: bytes that are not {encoding}: declare the "
                "encoding that it has"
            )
        line += text.count("\n")
        if text:
            yield text.encode()
        if not block:
            return
