"""Tables of counts with intervals that come from the measurements.

An interval covers the true count because it is a noisy count with known noise: all measured tables that hold the
columns are summed to them and weighted by what their noise allows. Where none of them was measured together there is
no such count, and none is made up: the fitted count then stands alone (docs/theory/synth-intervals.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from tacit.desk.show import as_html, as_text, margin, number, table_of
from tacit.synth.domain import Domain
from tacit.synth.fit import NoisyTable
from tacit.synth.sample import Codes
from tacit.synth.tree import Clique, Floats

__all__ = ["FittedMarginal", "estimate_of", "spread_back"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedMarginal:
    """`fitted` is the model's count in each cell; `estimate` and `error` are of the measurements alone, with NaN where
    none tells; the interval is at `confidence`."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    fitted: Floats
    estimate: Floats
    error: Floats
    confidence: float

    @property
    def measured(self) -> bool:
        """Whether every cell has an interval."""
        return not bool(np.isnan(self.error).any())

    @property
    def low(self) -> Floats:
        return np.asarray(self.estimate - self._by * self.error)

    @property
    def high(self) -> Floats:
        return np.asarray(self.estimate + self._by * self.error)

    @property
    def _by(self) -> float:
        return float(ndtri(0.5 + self.confidence / 2))

    @property
    def table(self) -> pa.Table:
        """A row for each cell."""
        cells = np.indices(self.fitted.shape).reshape(self.fitted.ndim, -1)
        columns: dict[str, Any] = {
            name: pa.array([labels[code] for code in codes.tolist()])
            for name, labels, codes in zip(self.names, self.labels, cells, strict=True)
        }
        for name, values in (("count", self.fitted), ("low", self.low), ("high", self.high)):
            flat = values.ravel()
            columns[name] = pa.array(flat, mask=np.isnan(flat))
        return pa.table(columns)

    def to_pandas(self) -> Any:
        return self.table.to_pandas()

    def _cells(self) -> list[list[str]]:
        rows = []
        for row in self.table.slice(0, 60).to_pylist():
            ends = (
                "not measured" if row["low"] is None else f"{number(round(row['low']))} to {number(round(row['high']))}"
            )
            rows.append([*(row[name] for name in self.names), number(round(row["count"])), ends])
        return rows

    def __rich__(self) -> Any:
        return table_of([*self.names, "count", f"{self.confidence:.0%} interval"], self._cells(), right=("count",))

    def __repr__(self) -> str:
        return as_text(self.__rich__())

    def _repr_html_(self) -> str:
        return as_html([*self.names, "count", f"{self.confidence:.0%} interval"], self._cells(), [])

    @property
    def typical(self) -> str:
        """The usual half of an interval."""
        known = self.error[~np.isnan(self.error)]
        return margin(self._by * float(np.median(known))) if known.size else "unknown"


def spread_back(table: Floats, clique: Clique, merges: Mapping[int, Codes]) -> Floats:
    """A table of merged cells over all cells: those that were measured together have equal parts."""
    for axis, place in enumerate(clique):
        merge = merges.get(place)
        if merge is not None:
            sizes = np.bincount(merge)
            shape = [-1 if at == axis else 1 for at in range(table.ndim)]
            table = np.take(table / sizes.reshape(shape), merge, axis=axis)
    return table


def estimate_of(
    clique: Clique, tables: Sequence[NoisyTable], merges: Mapping[int, Codes], domain: Domain
) -> tuple[Floats, Floats]:
    """What the measurements alone say of some columns, and its standard error; NaN where they do not tell."""
    shape = tuple(domain.sizes[place] for place in clique)
    weights, values = np.zeros(shape), np.zeros(shape)
    for each in tables:
        if not set(clique) <= set(each.clique):
            continue
        gone = tuple(axis for axis, place in enumerate(each.clique) if place not in clique)
        counts, variance = each.counts.sum(axis=gone), each.variance.sum(axis=gone)
        told = np.ones(shape, np.bool_)
        for axis, place in enumerate(clique):
            merge = merges.get(place)
            if merge is None or counts.shape[axis] == domain.sizes[place]:
                continue
            alone = np.bincount(merge)[merge] == 1
            told &= alone.reshape([-1 if at == axis else 1 for at in range(len(clique))])
            counts, variance = np.take(counts, merge, axis=axis), np.take(variance, merge, axis=axis)
        weights += np.where(told, 1 / variance, 0.0)
        values += np.where(told, counts / variance, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.where(weights > 0, values / weights, np.nan),
            np.where(weights > 0, 1 / np.sqrt(weights), np.nan),
        )
