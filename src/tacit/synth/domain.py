"""Columns as people have them, and the cells in which they are counted: fixed by declarations, or found privately.

A row is in one cell of each column. Missing values have a cell of their own, so no row is ever dropped for one. A
number is in a bin between public edges, and comes back as a uniform draw within it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacit.base import InputError
from tacit.plan.expression import Column, Expression, constant
from tacit.plan.facts import Type, Value
from tacit.plan.operation import call
from tacit.synth.sample import Codes, uniforms

__all__ = ["MISSING", "OTHER", "Bins", "CategoryCells", "Domain", "DomainColumn", "column_from_json", "point_of"]

MISSING, OTHER = "(missing)", "(other)"
EPOCH = date(1970, 1, 1).toordinal()
ARROW = {Type.BOOLEAN: pa.bool_(), Type.INTEGER: pa.int64(), Type.NUMBER: pa.float64(), Type.TEXT: pa.string(),
         Type.DATE: pa.date32(), Type.TIMESTAMP: pa.timestamp("us")}  # fmt: skip
Axis = date | datetime | Fraction


@dataclass(frozen=True, kw_only=True)
class DomainColumn(ABC):
    """One column as cells. The last of them is of missing values, where there can be any."""

    kind: ClassVar[str]

    name: str
    type: Type
    nullable: bool

    @property
    @abstractmethod
    def shown(self) -> tuple[str, ...]:
        """What the cells of values are called."""

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.shown, *((MISSING,) if self.nullable else ()))

    @property
    def size(self) -> int:
        return len(self.shown) + self.nullable

    @abstractmethod
    def expression(self, column: Column) -> Expression:
        """The number of a row's cell, as a closed expression."""

    @abstractmethod
    def arrow(self, codes: Codes) -> pa.Array:
        """A value for each cell number, as an Arrow column: in a bin, one that is drawn uniformly."""

    @abstractmethod
    def find(self, wanted: Any) -> list[int]:
        """The cells that somebody means by a value, a list of values, or a range."""

    @abstractmethod
    def json(self) -> dict[str, Any]:
        """Plain data that `column_from_json` turns into an equal column."""

    def _head(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "type": self.type.value, "nullable": self.nullable}

    def _no_such(self, wanted: Any) -> InputError:
        some = ", ".join(self.labels[:8])
        return InputError(f"column {self.name!r} has no cell {wanted!r}: its cells are {some}")


@dataclass(frozen=True, kw_only=True)
class CategoryCells(DomainColumn):
    """A cell for each of some values. With `other` one more, for values that are in none of them."""

    kind: ClassVar[str] = "categories"

    categories: tuple[Value, ...]
    other: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        return (*map(_label, self.categories), *((OTHER,) if self.other else ()))

    def expression(self, column: Column) -> Expression:
        rest = constant(len(self.categories))
        if not self.categories:
            found: Expression = rest if self.other else constant(0)
            if not self.nullable:
                return call("case", call("is_null", column), found, found)
        else:
            pairs = [each for place, value in enumerate(self.categories) for each in (constant(value), constant(place))]
            last = rest if self.other or self.nullable else constant(len(self.categories) - 1)
            found = call("switch", column, *pairs, last)
        if not self.nullable:
            return found
        return call("case", call("is_null", column), constant(self.size - 1), found)

    def arrow(self, codes: Codes) -> pa.Array:
        listed = [_plain(value) for value in self.categories]
        listed += [OTHER if self.type is Type.TEXT else None] if self.other else []
        listed += [None] if self.nullable else []
        return pa.array(listed, ARROW[self.type]).take(pa.array(codes))

    def find(self, wanted: Any) -> list[int]:
        if isinstance(wanted, list | tuple | set | frozenset):
            return sorted({cell for each in wanted for cell in self.find(each)})
        if self.nullable and _missing(wanted):
            return [self.size - 1]
        for cell, value in enumerate(self.categories):
            if value == wanted or _label(value) == str(wanted):
                return [cell]
        if wanted == OTHER and self.other:
            return [len(self.categories)]
        raise self._no_such(wanted)

    def json(self) -> dict[str, Any]:
        return self._head() | {"categories": [_stored(value) for value in self.categories], "other": self.other}


@dataclass(frozen=True, kw_only=True)
class Bins(DomainColumn):
    """Bin i holds edges[i] ≤ value < edges[i + 1]; the last one its upper end too. Whole numbers and dates have edges
    that count them: the upper end is one more than the highest."""

    kind: ClassVar[str] = "bins"

    edges: tuple[Axis, ...]
    step: Fraction | None = None

    @property
    def discrete(self) -> bool:
        return self.type in (Type.INTEGER, Type.DATE)

    @property
    def shown(self) -> tuple[str, ...]:
        if not self.discrete:
            return tuple(f"{_label(low)}–{_label(high)}" for low, high in pairwise(self.edges))
        found = []
        for low, high in pairwise(self.edges):
            last = high - timedelta(days=1) if isinstance(high, date) else high - 1
            found.append(_label(low) if low == last else f"{_label(low)}–{_label(last)}")
        return tuple(found)

    def expression(self, column: Column) -> Expression:
        cases: list[Expression] = []
        if self.nullable:
            cases += [call("is_null", column), constant(self.size - 1)]
        for cell, edge in enumerate(self.edges[1:-1]):
            cases += [call("lt", column, constant(edge)), constant(cell)]
        last = constant(len(self.edges) - 2)
        return call("case", *cases, last) if cases else call("case", call("is_null", column), last, last)

    def arrow(self, codes: Codes) -> pa.Array:
        missing = codes >= len(self.edges) - 1
        low, wide = (each[np.where(missing, 0, codes)] for each in self._numbers)
        drawn = uniforms(len(codes)) * wide
        if self.discrete:
            whole = (low + np.floor(drawn)).astype(np.int64)
            if self.type is Type.INTEGER:
                return pa.array(whole, mask=missing)
            return pa.array((whole - EPOCH).astype(np.int32), mask=missing).cast(pa.date32())
        if self.type is Type.TIMESTAMP:
            begin = self.edges[0]
            assert isinstance(begin, datetime)
            start = round((begin - datetime(1970, 1, 1)).total_seconds() * 1_000_000)
            return pa.array(start + np.floor((low + drawn) * 1e6).astype(np.int64), pa.timestamp("us"), mask=missing)
        if self.step is None:
            return pa.array(low + drawn, mask=missing)
        first, many = (each[np.where(missing, 0, codes)] for each in self._steps(self.step))
        grid = first + np.floor(drawn / wide * many)
        return pa.array(grid * self.step.numerator / self.step.denominator, mask=missing)

    def _steps(self, step: Fraction) -> tuple[Codes, Codes]:
        """The first multiple of the step in each bin, and how many there are; of a bin that has none, the next."""
        starts = [ceil(Fraction(edge) / step) for edge in self.edges[:-1]]  # type: ignore[arg-type]  # numbers
        starts.append(floor(Fraction(self.edges[-1]) / step) + 1)  # type: ignore[arg-type]
        points = np.array(starts, np.int64)
        return points[:-1], np.maximum(np.diff(points), 1)

    @property
    def _numbers(self) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
        """The lower ends of the bins, and their widths."""
        points = np.array([point_of(edge, self.edges[0]) for edge in self.edges])
        return points[:-1], np.diff(points)

    def find(self, wanted: Any) -> list[int]:
        if self.nullable and _missing(wanted):
            return [self.size - 1]
        try:
            ends = self.ends(wanted)
        except (TypeError, ValueError, InputError):
            raise self._no_such(wanted) from None
        starts, wide = self._numbers
        low, *highs = (point_of(end, self.edges[0]) for end in ends)
        for high in highs:
            inside = np.flatnonzero((starts + wide > low) & (starts < high))
            if len(inside) and starts[inside[0]] >= low and (starts + wide)[inside[-1]] <= high:
                return [int(each) for each in inside]
        if not len(inside):
            raise self._no_such(wanted)
        near = ", ".join(self.shown[cell] for cell in inside[:6].tolist())
        raise InputError(
            f"column {self.name!r} is known in bins, and {_text(wanted)} cuts one of them: say whole bins, such as "
            f"{near}"
        )

    def ends(self, wanted: Any) -> tuple[Axis, ...]:
        """Where a value or a range begins, and where it may end: right after its last value; and of numbers that are
        no whole ones also at it, which is what a bin is called by."""
        low, high = wanted if isinstance(wanted, list | tuple) and len(wanted) == 2 else (wanted, wanted)
        first, last = _axis(low, self.type), _axis(high, self.type)
        if isinstance(first, date) or isinstance(last, date):
            return (first, last) if isinstance(last, datetime) else (first, last + timedelta(days=1))  # type: ignore[operator]  # of one type
        if self.discrete:
            return Fraction(ceil(first)), Fraction(floor(last) + 1)
        return (first, last) if self.step is None else (first, last, last + self.step)

    def cut(self, wanted: Sequence[Any]) -> "Bins":
        """The same with edges at the ends of some values and ranges, so that each is of whole bins."""
        edges = set(self.edges)
        for each in wanted:
            if _missing(each):
                continue
            try:
                first, *_, last = self.ends(each)
            except (TypeError, ValueError, InputError):
                raise self._no_such(each) from None
            edges |= {edge for edge in (first, last) if self.edges[0] < edge < self.edges[-1]}  # type: ignore[operator]  # of one type
        return replace(self, edges=tuple(sorted(edges)))

    def json(self) -> dict[str, Any]:
        step = None if self.step is None else str(self.step)
        return self._head() | {"edges": [_stored(edge) for edge in self.edges], "step": step}


def point_of(value: Axis, first: Axis) -> float:
    """Where a value lies on its axis: numbers as they are, dates in days, timestamps in seconds after the first."""
    if isinstance(value, datetime):
        assert isinstance(first, datetime)
        return (value - first).total_seconds()
    return float(value.toordinal()) if isinstance(value, date) else float(value)


def _axis(value: Any, kind: Type) -> Axis:
    """A value that somebody typed, as the column has it."""
    if isinstance(value, str) and kind.temporal:
        return datetime.fromisoformat(value) if kind is Type.TIMESTAMP else date.fromisoformat(value)
    if kind.temporal != isinstance(value, date):
        raise TypeError
    if kind is Type.TIMESTAMP and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value if isinstance(value, date) else Fraction(str(value))


def _missing(wanted: Any) -> bool:
    return wanted is None or (isinstance(wanted, str) and wanted == MISSING)


def _text(wanted: Any) -> str:
    return f"{wanted[0]} to {wanted[1]}" if isinstance(wanted, list | tuple) else str(wanted)


def _label(value: Value) -> str:
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{float(value):.6g}"
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    return str(value)


def _plain(value: Value) -> Any:
    return (int(value) if value.denominator == 1 else float(value)) if isinstance(value, Fraction) else value


def _stored(value: Value) -> Any:
    """A value as JSON keeps it: what is no text, number or truth says what it is."""
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    assert isinstance(value, date)
    return {"timestamp" if isinstance(value, datetime) else "date": value.isoformat()}


READ: dict[str, Any] = {"fraction": Fraction, "date": date.fromisoformat, "timestamp": datetime.fromisoformat}


def _read(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    ((kind, text),) = stored.items()
    return READ[kind](text)


def column_from_json(data: Any) -> DomainColumn:
    """The inverse of `json`."""
    head = {"name": data["name"], "type": Type(data["type"]), "nullable": data["nullable"]}
    if data["kind"] == "bins":
        step = None if data["step"] is None else Fraction(data["step"])
        return Bins(**head, edges=tuple(_read(each) for each in data["edges"]), step=step)
    categories = tuple(_read(each) for each in data["categories"])
    return CategoryCells(**head, categories=categories, other=data["other"])


@dataclass(frozen=True)
class Domain:
    """The columns of a synthetic table, by place."""

    columns: tuple[DomainColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(each.size for each in self.columns)

    def place(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"there is no column {name!r} in this table: it has {', '.join(self.names)}")
        return self.names.index(name)

    def clique(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(sorted({self.place(name) for name in names}))

    def with_column(self, column: DomainColumn) -> "Domain":
        return replace(self, columns=tuple(column if each.name == column.name else each for each in self.columns))

    def json(self) -> list[dict[str, Any]]:
        return [each.json() for each in self.columns]

    @classmethod
    def from_json(cls, data: Any) -> "Domain":
        return cls(tuple(column_from_json(each) for each in data))
