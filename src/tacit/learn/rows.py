"""Where examples come from: arrays, Arrow and Parquet, torch datasets, and tables of a policy, unit by unit.

A source is described before it is read: what it is called, which tables it reads, and what one example looks like. It
is opened when the charge is on disk, and gives batches of tensors by the places of units. Of a table of the policy, the
gradients of one unit's rows are added up and clipped once.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.base import InputError, SourceError
from tacit.desk import Run
from tacit.learn.need import need_torch
from tacit.learn.sampling import Indices

__all__ = [
    "ArrayExamples",
    "ArrayRows",
    "ArrowRows",
    "DatasetRows",
    "ExampleBatch",
    "Examples",
    "InputSize",
    "Rows",
    "rows_of",
]

PROBES = 64  # items of a dataset that are looked at again, to see whether it changed
CHANGED = (
    "the data changed while the model was trained on it: nothing is released. Put back what was there and run again "
    "under the same charge, or plan anew under another name"
)


@dataclass(frozen=True)
class InputSize:
    """One input of one example: its `size`, and `below` where it is whole numbers from 0 up to that."""

    size: tuple[int, ...]
    below: int | None = None

    def empty(self) -> Any:
        """No examples of it."""
        torch = need_torch()
        return torch.zeros((0, *self.size), dtype=torch.float32 if self.below is None else torch.int64)


@dataclass(frozen=True)
class ExampleBatch:
    """`inputs` are tensors, the first axis over rows; `unit` says whose each row is, where units may have several."""

    inputs: tuple[Any, ...]
    unit: Any = None


class Examples(ABC):
    """A source that was opened: `units` is how many there are, which nobody is told; `grouped` says that one may have
    several rows."""

    units: int
    grouped: bool = False

    @abstractmethod
    def take(self, places: Indices) -> ExampleBatch:
        """The rows of these units."""

    @abstractmethod
    def mark(self) -> str:
        """A text that differs when the data do. It says something of them: it is kept beside the ledger only."""


class Rows(ABC):
    """A source before it is read."""

    tables: tuple[str, ...] = ()

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What is said of it in the program: declarations only."""

    @abstractmethod
    def inputs(self) -> tuple[InputSize, ...]:
        """What one row looks like, by its types and shapes and not by any value."""

    @abstractmethod
    def open(self, run: Run) -> AbstractContextManager[Examples]:
        """Read it, for a run that was paid for."""

    def mark(self) -> str:
        """What `Examples.mark` will say, for data that come with the source, which are looked through once for what
        they may not be; empty for tables of the policy, whose version the engine knows. Only a keyed hash of it leaves
        the process."""
        return ""

    def bind(self, session: Any) -> "Rows":
        """The same source, knowing what the session's policy declares."""
        del session
        return self


def rows_of(value: Any) -> Rows:
    """A source, or one made of a tuple of arrays; of anything else the error says what it needs to be told."""
    if isinstance(value, Rows):
        return value
    if isinstance(value, tuple | list) and value and all(hasattr(each, "shape") for each in value):
        return ArrayRows(*value)
    if isinstance(value, str | Path | pa.Table):
        raise InputError(
            "which columns are inputs and which is the label? Say learn.TableRows(name, features=…, label=…), one of "
            "the policy, or learn.ArrowRows(table or path, features=…, label=…)"
        )
    if hasattr(value, "batch_sampler"):
        raise InputError(
            "a DataLoader draws batches of its own, and here each row takes part by a coin of its own: say "
            "learn.DatasetRows(loader.dataset, [InputSize((3, 8, 8)), …])"
        )
    if hasattr(value, "__getitem__") and hasattr(value, "__len__"):
        raise InputError("what does one item look like? Say learn.DatasetRows(dataset, [InputSize((3, 8, 8)), …])")
    raise InputError(
        f"rows must be arrays, learn.TableRows, learn.ArrowRows or a torch dataset, not {type(value).__name__}"
    )


class ArrayExamples(Examples):
    """Arrays in memory, one row a unit."""

    def __init__(self, arrays: Sequence[Any], sizes: Sequence[InputSize]) -> None:
        torch = need_torch()
        self._tensors = [torch.as_tensor(each) for each in arrays]
        self.units = len(self._tensors[0])
        in_range(self._tensors, sizes)

    def take(self, places: Indices) -> ExampleBatch:
        at = need_torch().from_numpy(places)
        return ExampleBatch(tuple(each.index_select(0, at) for each in self._tensors))

    def mark(self) -> str:
        return mark_of(self._tensors)


def in_range(arrays: Sequence[Any], sizes: Sequence[InputSize]) -> None:
    """Raise if whole numbers are not what was declared: whoever brings arrays sees them."""
    for place, (each, size) in enumerate(zip(arrays, sizes, strict=True)):
        if size.below is not None and len(each) and not 0 <= int(each.min()) <= int(each.max()) < size.below:
            raise InputError(
                f"input {place} must be whole numbers from 0 to {size.below - 1}, as its shape declares, and some are "
                "not: mend the labels, or declare more of them"
            )


def mark_of(arrays: Sequence[Any]) -> str:
    """A hash of tensors or arrays, with their shapes and types."""
    torch, found = need_torch(), sha256()
    for each in map(torch.as_tensor, arrays):
        found.update(f"{tuple(each.shape)} {each.dtype}".encode())
        found.update(each.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


class ArrayRows(Rows):
    """Numpy arrays or tensors of equal length, one row a unit. `classes` is how many labels there are, for the last
    input if it holds whole numbers."""

    def __init__(self, *arrays: Any, classes: int | None = None) -> None:
        if not arrays or len({len(each) for each in arrays}) != 1:
            raise InputError("arrays must be one or more of equal length: one row for each unit")
        self._arrays, self._classes = arrays, classes
        whole = [_is_whole(each) for each in arrays]
        if any(whole) and classes is None:
            raise InputError(
                "an input holds whole numbers, and how many labels or tokens there are is not read from them: say "
                "learn.ArrayRows(…, classes=10)"
            )
        self._whole = whole

    def about(self) -> dict[str, Any]:
        shapes = [[*map(int, each.shape[1:])] for each in self._arrays]
        return {"kind": "arrays", "inputs": shapes, "classes": self._classes}

    def inputs(self) -> tuple[InputSize, ...]:
        pairs = zip(self._arrays, self._whole, strict=True)
        return tuple(InputSize(tuple(each.shape[1:]), self._classes if whole else None) for each, whole in pairs)

    def mark(self) -> str:
        in_range(self._arrays, self.inputs())
        return mark_of(self._arrays)

    def open(self, run: Run) -> AbstractContextManager[Examples]:
        del run
        return nullcontext(ArrayExamples(self._arrays, self.inputs()))


def _is_whole(array: Any) -> bool:
    kind = str(getattr(array, "dtype", ""))
    return "int" in kind or "bool" in kind


class ArrowRows(Rows):
    """An Arrow table, or a Parquet file: `features` are numbers, `label` whole numbers below `classes`, or a number."""

    def __init__(
        self, source: pa.Table | Path | str, *, features: Sequence[str], label: str, classes: int | None = None
    ) -> None:
        self._source, self._features, self._label, self._classes = source, tuple(features), label, classes
        schema = source.schema if isinstance(source, pa.Table) else _schema(Path(source))
        for name in (*self._features, label):
            if schema.get_field_index(name) < 0:
                raise InputError(f"there is no column {name!r}: there are {', '.join(schema.names[:20])}")
            kind = schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise InputError(f"column {name!r} holds {kind}, and a model takes numbers: encode it first")

    def about(self) -> dict[str, Any]:
        return {"kind": "arrow", "features": list(self._features), "label": self._label, "classes": self._classes}

    def inputs(self) -> tuple[InputSize, ...]:
        return InputSize((len(self._features),)), InputSize((), self._classes)

    def mark(self) -> str:
        arrays = self._read()
        in_range(arrays, self.inputs())
        return mark_of(arrays)

    def open(self, run: Run) -> AbstractContextManager[Examples]:
        del run
        return nullcontext(ArrayExamples(self._read(), self.inputs()))

    def _read(self) -> tuple[Any, Any]:
        names = [*self._features, self._label]
        whole = self._source if isinstance(self._source, pa.Table) else pq.read_table(self._source, columns=names)
        table = whole.select(names)
        columns = [table.column(name).to_numpy().astype(np.float64) for name in names]
        inputs = np.stack(columns[:-1], axis=1).astype(np.float32)
        label = columns[-1].astype(np.float32 if self._classes is None else np.int64)
        return inputs, label


def _schema(path: Path) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except (OSError, pa.ArrowException):
        raise InputError(f"{path} cannot be read as Parquet: nothing was charged") from None


class DatasetRows(Rows):
    """A torch dataset with a length, whose items are tuples of tensors of the `shapes` that are declared.

    Two datasets are told apart by their length and some of their items. Where that may not be enough, `version` is a
    name for the data that you change when they change; it is public.
    """

    def __init__(self, dataset: Any, shapes: Sequence[InputSize], *, version: str | None = None) -> None:
        if not shapes:
            raise InputError(
                "say what one item looks like: DatasetRows(dataset, [InputSize((3, 8, 8)), InputSize((), 10)])"
            )
        self._dataset, self._shapes, self._version = dataset, tuple(shapes), version

    def about(self) -> dict[str, Any]:
        return {"kind": "dataset"} | ({} if self._version is None else {"version": self._version})

    def mark(self) -> str:
        return _DatasetExamples(self._dataset, self._shapes).mark()

    def inputs(self) -> tuple[InputSize, ...]:
        return self._shapes

    def open(self, run: Run) -> AbstractContextManager[Examples]:
        del run
        return nullcontext(_DatasetExamples(self._dataset, self._shapes))


class _DatasetExamples(Examples):
    def __init__(self, dataset: Any, sizes: Sequence[InputSize]) -> None:
        self._dataset, self._sizes, self.units = dataset, sizes, len(dataset)

    def take(self, places: Indices) -> ExampleBatch:
        torch = need_torch()
        if len(self._dataset) != self.units:
            raise SourceError(CHANGED)
        if not len(places):
            return ExampleBatch(tuple(each.empty() for each in self._sizes))
        columns = zip(*(self._item(place) for place in places), strict=True)
        return ExampleBatch(tuple(torch.stack(column) for column in columns))

    def _item(self, place: Any) -> list[Any]:
        """One item as tensors of the declared shapes."""
        torch, item = need_torch(), self._dataset[int(place)]
        if not isinstance(item, tuple | list) or len(item) != len(self._sizes):
            raise InputError(
                f"an item of the dataset is a {type(item).__name__}, and must be a tuple of {len(self._sizes)} tensors "
                "or numbers, as its shapes declare"
            )
        found = [torch.as_tensor(each) for each in item]
        for number, (each, size) in enumerate(zip(found, self._sizes, strict=True)):
            if tuple(each.shape) != size.size:
                raise InputError(
                    f"input {number} of an item has shape {tuple(each.shape)}, and {size.size} is declared"
                )
        return found

    def mark(self) -> str:
        """All of it where it is made of tensors, else its length and some items: it may be too large to read."""
        if self.units:
            self._item(0)
        if tensors := getattr(self._dataset, "tensors", None):
            in_range(tensors, self._sizes)
            return mark_of(tensors)
        found = sha256(str(self.units).encode())
        for place in np.linspace(0, max(self.units - 1, 0), min(PROBES, self.units)).astype(int):
            item = self._item(place)
            in_range([each.view(1, *each.shape) for each in item], self._sizes)
            for each in item:
                found.update(np.ascontiguousarray(each.numpy()).tobytes())
        return found.hexdigest()
