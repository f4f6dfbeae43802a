"""A table of the policy as examples: declared columns in, tensors out, by what the policy declares and no row.

Numbers are scaled from their bounds to [−1, 1]; values of a declared domain become one input each; what is missing
becomes 0. The gradients of one unit's rows, at most `per_unit` of them, are added up and clipped once.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.base import InputError
from tacit.desk import Run
from tacit.engine.result import UnitRows
from tacit.learn.need import need_torch
from tacit.learn.rows import ExampleBatch, Examples, InputSize, Rows
from tacit.learn.sampling import Indices
from tacit.plan.facts import Facts, domain_of
from tacit.plan.node import Scan

__all__ = ["Array", "TableRows", "encoded_column", "input_values"]

Array = np.ndarray[Any, np.dtype[Any]]
CATEGORIES = 1000  # values of a domain that become inputs of their own


class TableRows(Rows):
    """Rows of a private table of the policy. `label` is a column with a domain, for classes, or with bounds."""

    def __init__(self, table: str, *, features: Sequence[str], label: str, per_unit: int = 1) -> None:
        self.table, self.features, self.label = table, tuple(features), label
        self.tables = (table,)
        self.per_unit = per_unit
        if per_unit < 1 or not self.features:
            raise InputError("a table of examples needs at least one feature, and per_unit is 1 or more")
        self._scan: Scan | None = None

    def bind(self, session: Any) -> "TableRows":
        scan = session.scan(self.table, [*dict.fromkeys((*self.features, self.label))])
        found = copy(self)
        found._scan = scan
        if scan.unit is None:
            found.per_unit = 1
        found.inputs()  # what is not declared is told now
        return found

    def about(self) -> dict[str, Any]:
        return {
            "kind": "table", "table": self.table, "features": list(self.features), "label": self.label,
            "per_unit": self.per_unit,
        }  # fmt: skip

    def _facts(self, name: str) -> Facts:
        assert self._scan is not None  # bound to a session before anything else
        return self._scan.schema[name]

    def inputs(self) -> tuple[InputSize, ...]:
        if self._scan is None:
            return ()
        width = sum(len(input_values(name, self._facts(name)) or (0,)) for name in self.features)
        return InputSize((width,)), self.label_input()

    def label_input(self) -> InputSize:
        """The label: one of so many classes, or a number."""
        values = _label_values(self.label, self._facts(self.label))
        return InputSize((), None if values is None else len(values))

    @contextmanager
    def _opened(self, run: Run) -> Iterator[Examples]:
        assert self._scan is not None
        with run.open(run.engine.rows(self._scan, run.watch)) as rows:
            yield _TableExamples(rows, self)

    def open(self, run: Run) -> AbstractContextManager[Examples]:
        return self._opened(run)

    def read(self, columns: Mapping[str, pa.ChunkedArray]) -> tuple[Array, Array]:
        """Inputs and labels of all rows."""
        parts = [encoded_column(name, self._facts(name), columns[name]) for name in self.features]
        return np.concatenate(parts, axis=1), self.labels(columns)

    def labels(self, columns: Mapping[str, pa.ChunkedArray]) -> Array:
        """The label of each row; what is missing counts as the first."""
        facts = self._facts(self.label)
        values = _label_values(self.label, facts)
        if values is None:
            return np.asarray(encoded_column(self.label, facts, columns[self.label])[:, 0])
        return np.maximum(_places(values, columns[self.label]), 0)


class _TableExamples(Examples):
    def __init__(self, rows: UnitRows, source: TableRows) -> None:
        torch = need_torch()
        self.units, self._per_unit, self.grouped = rows.units, source.per_unit, source.per_unit > 1
        inputs, label = source.read(rows.columns)
        self._starts = rows.offsets[:-1].copy()
        self._counts = np.minimum(np.diff(rows.offsets), self._per_unit)
        self._inputs, self._label = torch.from_numpy(inputs), torch.from_numpy(label)

    def take(self, places: Indices) -> ExampleBatch:
        torch = need_torch()
        counts = self._counts[places]
        first = np.repeat(self._starts[places] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        at = torch.from_numpy(first + np.arange(int(counts.sum())))
        unit = torch.from_numpy(np.repeat(np.arange(len(places)), counts)) if self._per_unit > 1 else None
        return ExampleBatch((self._inputs.index_select(0, at), self._label.index_select(0, at)), unit)

    def mark(self) -> str:
        return "table"  # a spool of this run alone; another version of the table is another charge


def input_values(name: str, facts: Facts) -> Sequence[Any] | None:
    """The values of a column that become an input each; None for a number, which is one input."""
    if facts.type.numeric and facts.domain is None:
        if not facts.bounded:
            raise InputError(f'column "{name}" has no bounds, so it has no scale: declare bounds = [low, high] for it')
        return None
    values = domain_of(facts, CATEGORIES)
    if values is None:
        raise InputError(f'column "{name}" has no short list of values: declare group_keys for it, or leave it out')
    return values


def _label_values(name: str, facts: Facts) -> Sequence[Any] | None:
    """The classes of a label; None where it is a number to be predicted."""
    values = domain_of(facts, CATEGORIES)
    return input_values(name, facts) if values is None else values


def encoded_column(name: str, facts: Facts, column: pa.ChunkedArray) -> Array:
    """A column as inputs, by what is declared of it."""
    values = input_values(name, facts)
    if values is None:
        low, high = float(facts.low), float(facts.high)  # type: ignore[arg-type]  # numeric and bounded
        numbers = column.to_numpy().astype(np.float64)
        scaled = (2 * numbers - (low + high)) / max(high - low, 1e-300)
        return np.asarray(np.nan_to_num(np.clip(scaled, -1, 1), nan=0.0)[:, None], dtype=np.float32)
    places = _places(values, column)
    return np.asarray(places[:, None] == np.arange(len(values)), dtype=np.float32)


def _places(values: Sequence[Any], column: pa.ChunkedArray) -> Array:
    """The place of each value in the list; −1 for what is missing."""
    known = {value: place for place, value in enumerate(values)}
    coded = column.combine_chunks().dictionary_encode()
    found = np.array([known.get(value, -1) for value in coded.dictionary.to_pylist()] + [-1], dtype=np.int64)
    return np.asarray(found[coded.indices.fill_null(len(found) - 1).to_numpy()])
