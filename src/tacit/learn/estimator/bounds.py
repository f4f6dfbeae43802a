"""Between what each column lies: declared by whoever knows the columns, and never read from the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.base import InputError

__all__ = ["Array", "Bounds", "ColumnRange", "declared_range", "scaled"]

Array = np.ndarray[Any, np.dtype[Any]]
MISSING = "bounds are never read from the rows, since an extreme value is one person's"


class Bounds(Mapping[str, tuple[float, float]]):
    """The least and the greatest value of each column, by name: `Bounds(age=(18, 90), hours=(0, 99))`.

    Names that are no Python words go in a mapping: `Bounds({"hours per week": (0, 99)})`.
    """

    def __init__(self, columns: Mapping[str, tuple[float, float]] | None = None, /, **more: tuple[float, float]):
        found = {**(columns or {}), **more}
        self._columns = {str(name): _pair(pair, f"column {name!r}") for name, pair in found.items()}

    def __getitem__(self, name: str) -> tuple[float, float]:
        return self._columns[name]

    def __iter__(self) -> Any:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Bounds({self._columns!r})"


@dataclass(frozen=True, eq=False)
class ColumnRange:
    """Bounds of so many columns, in their order."""

    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.low)


def scaled(values: Array, within: ColumnRange) -> Array:
    """Each value clamped to its bounds, and these moved to [−1, 1]. A function of each value alone."""
    clamped = np.clip(values, within.low, within.high)
    return np.asarray((clamped - within.low) / (within.high - within.low) * 2 - 1)


def declared_range(bounds: Any, names: Sequence[str], model: str) -> ColumnRange:
    """Declared bounds for these columns: `Bounds` by name, or (low, high), each a number for all or one a column."""
    if bounds is None:
        raise InputError(
            f"{model} has no bounds for column {names[0]!r}: {MISSING}. Declare them, by name as "
            f"bounds=Bounds({names[0] if names[0].isidentifier() else 'age'}=(low, high), …) or for all columns as "
            "bounds=(low, high)"
        )
    if isinstance(bounds, Mapping):
        missing = [name for name in names if name not in bounds]
        if missing:
            known = ", ".join(map(repr, bounds)) or "none"
            raise InputError(
                f"column {missing[0]!r} has no bounds: {MISSING}. Declare {missing[0]!r}: (low, high) beside {known}"
            )
        pairs = [_pair(bounds[name], f"column {name!r}") for name in names]
        return ColumnRange(np.array([low for low, _ in pairs]), np.array([high for _, high in pairs]))
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise InputError(f"bounds must be Bounds(…) or a pair (low, high), not {bounds!r}") from None
    ends = []
    for end, word in ((low, "low"), (high, "high")):
        found = np.asarray(end, dtype=float)
        if found.shape not in ((), (len(names),)):
            raise InputError(
                f"bounds have {found.size} numbers for {word}, and there are {len(names)} columns: give one for all, "
                "or one for each"
            )
        ends.append(np.broadcast_to(found, (len(names),)).copy())
    for name, least, most in zip(names, *ends, strict=True):
        _pair((least, most), f"column {name!r}")
    return ColumnRange(*ends)


def _pair(pair: Any, what: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        raise InputError(f"bounds of {what} must be two numbers (low, high), not {pair!r}") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high and np.isfinite(high - low)):
        raise InputError(f"bounds of {what} must be finite and low less than high, not ({low:g}, {high:g})")
    return low, high
