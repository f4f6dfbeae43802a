"""What a mechanism put out, many times: how it is drawn, and a shape and a row of numbers for each output.

A shape is everything about an output but its finite numbers: the type and order of its parts, truth values, texts,
None, and the special values NaN and ±infinity. So `(None, True, 2.5)` and `(None, True, -1.0)` have one shape, and
events over shapes cover special values, types and lengths without further ado.

How an output is read depends on that output alone, never on the others of its batch: else an event would not be a set
of outputs, and a certificate no certificate. So numbers in arrays have no type here: a batch has one, an output not.
"""

import inspect
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from itertools import groupby, repeat
from math import inf, isfinite, isnan, nan
from multiprocessing import get_context
from numbers import Real
from typing import Any

import numpy as np

from tacit.base import InputError, cached_property, whole
from tacit.mechanism import Mechanism
from tacit.mechanism.additive import Additive
from tacit.noise import Rng

__all__ = [
    "NUMBER",
    "Bools",
    "Floats",
    "Ints",
    "OutputSource",
    "Outputs",
    "Shape",
    "exact_number",
    "opened_source",
    "spelled",
    "tokens",
]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Shape = Hashable

NUMBER = "#"  # how the token of a finite number begins; its type follows
KINDS = ("f", "nan", "inf", "-inf")


@dataclass(frozen=True, eq=False)
class Outputs:
    """n outputs: `kinds` points into `shapes`, `numbers` holds each output's finite numbers in order, then NaN."""

    kinds: Ints
    shapes: tuple[Shape, ...]
    numbers: Floats

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def width(self) -> int:
        """The most numbers that an output has."""
        return int(self.numbers.shape[1])

    @classmethod
    def of(cls, batch: Any) -> "Outputs":
        """A numpy array (its first axis counts outputs) or a sequence of outputs of any kind."""
        if isinstance(batch, np.ndarray) and batch.dtype != object and batch.ndim:
            if batch.dtype.kind == "b":
                return cls._of_truths(batch.reshape(len(batch), -1), scalar=batch.ndim == 1)
            if batch.dtype.kind in "iuf":
                return cls._of_numbers(batch.reshape(len(batch), -1), scalar=batch.ndim == 1)
        if isinstance(batch, np.ndarray) and batch.ndim:
            rows = batch.reshape(len(batch), -1).tolist()
            return cls._of_objects([row[0] for row in rows] if batch.ndim == 1 else rows, untyped=True)
        if isinstance(batch, str | bytes) or not isinstance(batch, Sequence):
            raise InputError(f"a vectorised mechanism must return an array or a list, not {type(batch).__name__}")
        return cls._of_objects(batch)

    @classmethod
    def _of_numbers(cls, table: np.ndarray[Any, Any], *, scalar: bool) -> "Outputs":
        kind = f"{NUMBER}number"
        numbers = table.astype(np.float64)
        finite = np.isfinite(numbers)
        if finite.all():
            shape: Shape = kind if scalar else ("array", *(kind,) * table.shape[1])
            return cls(np.zeros(len(table), dtype=np.int64), (shape,), numbers)
        marks = np.where(finite, 0, np.where(np.isnan(numbers), 1, np.where(numbers > 0, 2, 3))).astype(np.uint8)
        found, kinds = np.unique(marks, axis=0, return_inverse=True)
        names = (kind, *KINDS[1:])
        shapes = [tuple(names[int(mark)] for mark in row) for row in found]
        spelled_out = tuple(row[0] if scalar else ("array", *row) for row in shapes)
        order = np.argsort(~finite, axis=1, kind="stable")  # finite numbers first, in their order
        packed = np.take_along_axis(np.where(finite, numbers, nan), order, axis=1)
        return cls(kinds.reshape(-1).astype(np.int64), spelled_out, packed)

    @classmethod
    def _of_truths(cls, table: np.ndarray[Any, Any], *, scalar: bool) -> "Outputs":
        packed = np.packbits(table, axis=1)
        _, first, kinds = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        rows = [tuple(table[i].tolist()) for i in first.tolist()]
        shapes = tuple(_truth(row[0]) if scalar else ("array", *map(_truth, row)) for row in rows)
        return cls(kinds.reshape(-1).astype(np.int64), shapes, np.empty((len(table), 0)))

    @classmethod
    def _of_objects(cls, batch: Sequence[Any], *, untyped: bool = False) -> "Outputs":
        places: dict[Shape, int] = {}
        kinds = np.empty(len(batch), dtype=np.int64)
        rows: list[list[float]] = []
        for i, output in enumerate(batch):
            row: list[float] = []
            shape = _read(output, row)
            kinds[i] = places.setdefault(_untyped(shape) if untyped else shape, len(places))
            rows.append(row)
        width = max(map(len, rows), default=0)
        numbers = np.array([row + [nan] * (width - len(row)) for row in rows], dtype=np.float64)
        return cls(kinds, tuple(places), numbers.reshape(len(batch), width))

    @classmethod
    def joined(cls, parts: Iterable["Outputs"]) -> "Outputs":
        """All outputs of several batches, in their order."""
        batches = list(parts)
        places: dict[Shape, int] = {}
        kinds, tables = [np.empty(0, dtype=np.int64)], []
        width = max((batch.width for batch in batches), default=0)
        for batch in batches:
            codes = np.array([places.setdefault(shape, len(places)) for shape in batch.shapes], dtype=np.int64)
            kinds.append(codes[batch.kinds])
            tables.append(np.pad(batch.numbers, ((0, 0), (0, width - batch.width)), constant_values=nan))
        return cls(np.concatenate(kinds), tuple(places), np.concatenate([np.empty((0, width)), *tables]))

    def part(self, which: slice | Bools) -> "Outputs":
        """Some of the outputs."""
        return Outputs(self.kinds[which], self.shapes, self.numbers[which])

    def column(self, place: int) -> Floats:
        """The number at `place` of each output, NaN where there is none."""
        return self.numbers[:, place] if place < self.width else np.full(len(self), nan)

    @cached_property
    def parts(self) -> tuple[Ints, dict[Shape, int]]:
        """For each shape a row of codes, one for each of its parts, then −1; and the code of each part."""
        rows = [tokens(shape) for shape in self.shapes]
        codes: dict[Shape, int] = {}
        table = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int64)
        for place, row in enumerate(rows):
            table[place, : len(row)] = [codes.setdefault(token, len(codes)) for token in row]
        return table, codes

    def of_shape(self, wanted: Iterable[Shape]) -> Bools:
        """Which outputs have one of these shapes."""
        chosen = set(wanted)
        return np.array([shape in chosen for shape in self.shapes], dtype=np.bool_)[self.kinds]


def _truth(value: bool) -> Shape:
    return ("=", "bool", value)


def _read(output: Any, row: list[float]) -> Shape:
    """The shape of one output; its finite numbers are appended to `row`."""
    if output is None or isinstance(output, bool | str | bytes):
        return ("=", type(output).__name__, output)
    if isinstance(output, np.generic):
        return _read(output.item(), row)
    if isinstance(output, Real | Decimal):
        return _number(output, row)
    if isinstance(output, np.ndarray):
        return ("array", *(_read(part, row) for part in output.tolist())) if output.ndim else _read(output.item(), row)
    if isinstance(output, list | tuple):
        return (type(output).__name__, *[_read(part, row) for part in output])
    if isinstance(output, dict):
        return ("dict", *[(_read(key, []), repr(key), _read(part, row)) for key, part in output.items()])
    if is_dataclass(output) and not isinstance(output, type):
        parts = [(field.name, _read(getattr(output, field.name), row)) for field in fields(output)]
        return (type(output).__name__, *parts)
    if isinstance(output, set | frozenset):
        return ("set", *sorted(repr(part) for part in output))
    return ("=", type(output).__name__, repr(output))


def _number(output: Any, row: list[float]) -> Shape:
    try:
        number = float(output)
    except OverflowError:  # an integer beyond every double
        number = inf if output > 0 else -inf
    if isfinite(number):
        row.append(number)
        return NUMBER + type(output).__name__
    return "nan" if isnan(number) else KINDS[2] if number > 0 else KINDS[3]


def _untyped(shape: Shape) -> Shape:
    """The shape that the same output has in an array of numbers."""
    if isinstance(shape, tuple) and shape and shape[0] == "list":
        return ("array", *map(_untyped, shape[1:]))
    return f"{NUMBER}number" if isinstance(shape, str) and shape.startswith(NUMBER) else shape


def tokens(shape: Shape) -> tuple[Shape, ...]:
    """The parts of a sequence's shape; of anything else, itself."""
    if isinstance(shape, tuple) and shape and shape[0] in {"list", "tuple", "array"}:
        return shape[1:]
    return (shape,)


def spelled(shape: Shape) -> str:
    """A shape in words: `(None, True, number)`."""
    if isinstance(shape, str):
        return "number" if shape.startswith(NUMBER) else shape
    if not isinstance(shape, tuple) or not shape:
        return repr(shape)
    head, *parts = shape
    if head == "=":
        return repr(parts[1])
    if head in {"list", "tuple", "array"}:
        return f"({_runs([spelled(part) for part in parts])})"
    if head == "dict":
        return "{" + ", ".join(f"{part[1]}: {spelled(part[2])}" for part in parts) + "}"
    if head == "set":
        return "{" + ", ".join(parts) + "}"
    return f"{head}({', '.join(f'{part[0]}={spelled(part[1])}' for part in parts)})"


def _runs(words: list[str]) -> str:
    """`None, None, None, True` as `None × 3, True`."""
    counted = ((word, len(list(same))) for word, same in groupby(words))
    return ", ".join(word if count == 1 else f"{word} × {count}" for word, count in counted)


def exact_number(value: float) -> str:
    """A number as one would write it, and read it back."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


CHUNK = 1 << 16
HEAD = 64  # outputs compared to notice that a batch came twice
DISTINCT = 8  # so many different outputs among them do not repeat in order by chance


@dataclass(frozen=True)
class AuditTarget:
    """A mechanism, or a function of the data that returns one output, or `size` of them; sent to other processes."""

    target: Any
    rng: Rng | None

    @property
    def name(self) -> str:
        return str(getattr(self.target, "__name__", type(self.target).__name__))

    def outputs(self, data: Any, size: int) -> Outputs:
        """So many of them."""
        target = self.target
        if isinstance(target, Additive):
            each = np.asarray(data)
            if each.dtype.kind in "iu" and target.lattice.granularity != 1 and np.abs(each).max(initial=0) < 2**52:
                each = each.astype(float)  # the same numbers, and a fine lattice reads an array of doubles faster
            return Outputs.of(target.sample(np.broadcast_to(each, (size, *each.shape)).copy(), self.rng))
        if isinstance(target, Mechanism):
            return Outputs.of([target.sample(data, self.rng) for _ in range(size)])
        if not _takes_size(target):
            return Outputs.of([target(data) for _ in range(size)])
        batch = target(data, size=size)
        if not isinstance(batch, Sized):
            kind = type(batch).__name__
            raise InputError(f"{self.name} takes size, so it must return that many outputs, not {kind}")
        if len(batch) != size:
            raise InputError(f"{self.name} was asked for {size} outputs and returned {len(batch)}")
        return Outputs.of(batch)


class OutputSource:
    """Draws outputs, in other processes where there are several, and notices noise that repeats itself."""

    def __init__(self, target: AuditTarget, pool: ProcessPoolExecutor | None, workers: int) -> None:
        self._target, self._pool, self._workers = target, pool, workers
        self._heads: set[bytes] = set()

    def batches(self, data: Any, size: int) -> Iterator[Outputs]:
        """`size` fresh outputs, in pieces."""
        piece = CHUNK if self._pool is None else max(HEAD, min(CHUNK, -(-size // self._workers)))
        sizes = [min(piece, size - start) for start in range(0, size, piece)]
        if self._pool is None:
            drawn: Iterator[Outputs] = map(self._target.outputs, repeat(data), sizes)
        else:
            drawn = self._pool.map(self._target.outputs, [data] * len(sizes), sizes)
        for batch in drawn:
            self._refuse_repeats(batch)
            yield batch

    def outputs(self, data: Any, size: int) -> Outputs:
        """`size` fresh outputs."""
        return Outputs.joined(self.batches(data, size))

    def _refuse_repeats(self, batch: Outputs) -> None:
        if len(batch) < HEAD:
            return
        head = batch.part(slice(HEAD))
        rows = [(head.shapes[kind], row.tobytes()) for kind, row in zip(head.kinds.tolist(), head.numbers, strict=True)]
        mark = repr(rows).encode()
        if mark in self._heads and len(set(rows)) >= DISTINCT:
            raise InputError(
                f"{self._target.name} gave the same {HEAD} outputs twice: its random source has a fixed seed, or a "
                "copy of it in every process. An audit needs independent outputs: draw fresh randomness in each call"
            )
        self._heads.add(mark)


@contextmanager
def opened_source(target: Mechanism | Callable[..., Any], *, workers: int, rng: Rng | None) -> Iterator[OutputSource]:
    """A source of outputs of `target`, with as many processes as `workers` says."""
    count, drawn = whole(workers, "workers", least=1), AuditTarget(target, rng)
    if count == 1:
        yield OutputSource(drawn, None, 1)
        return
    if rng is not None:
        raise InputError("workers must be 1 when rng is given: a random source cannot be shared between processes")
    try:
        pickle.dumps(drawn)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"{drawn.name} cannot be sent to other processes: define it at the top of a module, or pass workers=1"
        ) from error
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield OutputSource(drawn, pool, count)


def _takes_size(target: Callable[..., Any]) -> bool:
    try:
        return "size" in inspect.signature(target).parameters
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
