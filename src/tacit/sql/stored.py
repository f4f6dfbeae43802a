"""What is kept of an answer: its groups as columns, and for each of them the noisy numbers.

Groups are columns so that a million of them are found and matched without a loop over rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np

from tacit.base import InputError
from tacit.engine.result import coded
from tacit.plan.bounded import Recipe
from tacit.plan.facts import Value

__all__ = ["Groups", "Noisy", "NoisyPart", "StoredAnswer"]

Array = np.ndarray[Any, np.dtype[np.float64]]
Codes = np.ndarray[Any, np.dtype[np.int64]]
VERSION = 1
HEAD = 8  # bytes that say how long the text before the numbers is


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """For each key its different values, and for each group which of them it has. Without keys there is one group.

    `complete` says that all combinations are there, in the order in which the last key goes fastest.
    """

    values: tuple[tuple[Value, ...], ...]
    codes: tuple[Codes, ...]
    size: int
    complete: bool = False

    def __len__(self) -> int:
        return self.size

    @classmethod
    def every(cls, domains: Sequence[tuple[Value, ...]]) -> "Groups":
        """All combinations of declared values."""
        sizes = tuple(map(len, domains))
        size = prod(sizes)
        codes = np.unravel_index(np.arange(size), sizes) if sizes and size else [np.zeros(0, np.int64)] * len(sizes)
        return cls(values=tuple(domains), codes=tuple(np.asarray(c, np.int64) for c in codes), size=size, complete=True)

    @classmethod
    def sorted(cls, columns: Sequence[Sequence[Value]], rows: Codes) -> "Groups":
        """These rows of some key columns, in the order of their values, NULL last."""
        values, codes = [], []
        for column in map(coded, columns):
            found = column.codes[rows]
            listed = [column.values[code] for code in np.unique(found).tolist()]
            ordered = tuple(sorted((value for value in listed if value is not None), key=_ordered))
            known = {value: code for code, value in enumerate(ordered)} | {None: len(ordered)}
            values.append((*ordered, None))
            codes.append(np.array([known.get(value, -1) for value in column.values], np.int64)[found])
        order = np.lexsort(codes[::-1])
        return cls(values=tuple(values), codes=tuple(code[order] for code in codes), size=len(rows))

    def column(self, key: int) -> list[Value]:
        """The value of one key in each group."""
        values = self.values[key]
        return [values[code] for code in self.codes[key].tolist()]

    def find(self, columns: Sequence[Sequence[Value]], rows: int) -> Codes:
        """The number of the group that each of `rows` rows of key columns is in; −1 for none."""
        mine, theirs = np.zeros(self.size, np.int64), np.zeros(rows, np.int64)
        inside = np.full(rows, self.size > 0)
        for values, codes, column in zip(self.values, self.codes, columns, strict=True):
            known = {_as_read(value): code for code, value in enumerate(values)}
            seen = coded(column)
            found = np.array([known.get(value, -1) for value in seen.values], np.int64)[seen.codes]
            inside &= found >= 0
            mine, theirs = mine * len(values) + codes, theirs * len(values) + found
            if not self.complete:  # numbers grow with each key: only the ones that occur are kept
                kept, mine = np.unique(mine, return_inverse=True)
                place = np.minimum(np.searchsorted(kept, theirs), max(len(kept) - 1, 0))
                inside &= kept[place] == theirs if len(kept) else False
                theirs = place
        if not self.complete:
            number = np.zeros(self.size, np.int64)
            number[mine] = np.arange(self.size)
            theirs = number[theirs] if self.size else theirs
        return np.where(inside, theirs, -1)


def _ordered(value: Value) -> Any:
    return value


def _as_read(value: Value) -> Value:
    """A key as an engine gives it back: a number is the double nearest to it."""
    return Fraction(float(value)) if isinstance(value, Fraction) else value


@dataclass(frozen=True)
class Noisy:
    """A released measure: one number per group, and the size of the noise in it (σ, or a Laplace scale).

    Where only groups are shown in which this number is at least so much, `least` says that.
    """

    values: Array
    kind: Literal["gaussian", "laplace"]
    size: float | Array  # of all groups, or of each
    least: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyPart:
    """One part of the answer after noise: the groups, and per group each noisy measure and quantile.

    `quantiles` has, for the name of each `Ranks`, cells of shape (groups, quantiles), and `ends` the two ends of an
    interval round each, of shape (groups, quantiles, 2). `centres` are what averages were measured from, and how many
    steps their rows count, by the name of the measure of those.
    """

    groups: Groups
    measures: Mapping[str, Noisy]
    quantiles: Mapping[str, Codes]
    ends: Mapping[str, Codes]
    centres: Mapping[str, tuple[Fraction, int]] = field(default_factory=dict)

    def measured(self, recipe: Recipe) -> Recipe:
        """The recipe with the centre that was chosen for it, and what a row counts from there."""
        if not recipe.inputs or recipe.inputs[0] not in self.centres:
            return recipe
        middle, row = self.centres[recipe.inputs[0]]
        return replace(recipe, middle=middle, half=row)


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredAnswer:
    """Every part of a release after noise, and its facts."""

    parts: tuple[NoisyPart, ...]
    facts: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """Text that describes the arrays, then the arrays, little end first."""
        arrays: list[np.ndarray[Any, np.dtype[Any]]] = []
        parts = [_described(part, arrays) for part in self.parts]
        shapes = [[array.dtype.str, list(array.shape)] for array in arrays]
        head = {"version": VERSION, "facts": dict(self.facts), "parts": parts, "arrays": shapes}
        text = json.dumps(head, separators=(",", ":")).encode()
        return b"".join([len(text).to_bytes(HEAD, "little"), text, *(array.tobytes() for array in arrays)])

    @classmethod
    def from_bytes(cls, data: bytes) -> "StoredAnswer":
        """The inverse of `to_bytes`."""
        at = HEAD + int.from_bytes(data[:HEAD], "little")
        head = json.loads(data[HEAD:at])
        if head["version"] != VERSION:
            raise InputError(f"this stored answer has version {head['version']}, and this release reads {VERSION}")
        arrays = []
        for kind, shape in head["arrays"]:
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(data, dtype=np.dtype(kind), count=count, offset=at).reshape(shape)
            at += array.nbytes
            arrays.append(array)
        return cls(parts=tuple(_read(part, arrays) for part in head["parts"]), facts=head["facts"])


def _described(part: NoisyPart, arrays: list[np.ndarray[Any, np.dtype[Any]]]) -> dict[str, Any]:
    """A part in words; its arrays are appended in the order in which `_read` takes them."""
    groups = part.groups
    first = len(arrays)
    if not groups.complete:  # else they follow from the values
        arrays.extend(code.astype("<i8") for code in groups.codes)
    arrays.extend(noisy.values.astype("<f8") for noisy in part.measures.values())
    arrays.extend(cells.astype("<i8") for found in (part.quantiles, part.ends) for cells in found.values())
    centres = {name: [str(middle), row] for name, (middle, row) in part.centres.items()}
    return {
        **({"centres": centres} if centres else {}),
        "first": first,
        "size": groups.size,
        "complete": groups.complete,
        "values": [[_plain(value) for value in values] for values in groups.values],
        "measures": [[name, noisy.kind, *_sizes(noisy)] for name, noisy in part.measures.items()],
        "quantiles": list(part.quantiles),
        "ends": list(part.ends),
    }


def _read(part: dict[str, Any], arrays: Sequence[Any]) -> NoisyPart:
    ahead = iter(arrays[part["first"] :])
    values = tuple(tuple(_value(value) for value in found) for found in part["values"])
    if part["complete"]:
        groups = Groups.every(values)
    else:
        groups = Groups(values=values, codes=tuple(next(ahead) for _ in values), size=part["size"])
    return NoisyPart(
        groups=groups,
        measures={
            name: Noisy(next(ahead), kind, *map(float.fromhex, sizes)) for name, kind, *sizes in part["measures"]
        },
        quantiles={name: next(ahead) for name in part["quantiles"]},
        ends={name: next(ahead) for name in part["ends"]},
        centres={name: (Fraction(middle), row) for name, (middle, row) in part.get("centres", {}).items()},
    )


def _sizes(noisy: Noisy) -> list[str]:
    """The size of the noise as it was drawn, and the least that is shown where there is such."""
    return [float(size).hex() for size in (noisy.size, noisy.least) if size is not None]


def _plain(value: Value) -> Any:
    """What JSON has is itself; of the rest, a word for the kind and a text."""
    if isinstance(value, Fraction):
        return ["number", str(value)]
    if isinstance(value, datetime):
        return ["timestamp", value.isoformat()]
    if isinstance(value, date):
        return ["date", value.isoformat()]
    return value


def _value(stored: Any) -> Value:
    if not isinstance(stored, list):
        plain: Value = stored  # None, a truth value, a whole number or a text
        return plain
    kind, text = stored
    if kind == "number":
        return Fraction(text)
    return datetime.fromisoformat(text) if kind == "timestamp" else date.fromisoformat(text)
