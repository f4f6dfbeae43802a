"""Ever coarser labels for a value: zip codes with fewer digits, ages in wider bands, categories in larger groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tacit.attack.label import ANY, masked, stretch
from tacit.base import InputError

__all__ = ["Hierarchy"]


@dataclass(frozen=True)
class Hierarchy:
    """`levels[i]` gives the label of a value on level i + 1. Level 0 is the value itself, the topmost is `*`."""

    levels: tuple[Callable[[Any], str], ...] = ()

    @classmethod
    def digits(cls, *hidden: int) -> "Hierarchy":
        """Zip codes and the like: `digits(1, 2)` hides the last character, then the last two."""
        if any(n < 1 for n in hidden) or list(hidden) != sorted(set(hidden)):
            raise InputError(f"hidden is {hidden}: at least 1, and more on each level")
        return cls(tuple(partial(_masked, n) for n in hidden))

    @classmethod
    def bands(cls, *widths: int) -> "Hierarchy":
        """Whole numbers: `bands(5, 10)` are 20-24, then 20-29. Each width is a multiple of the one before it."""
        before = (1, *widths)
        if any(wide <= narrow or wide % narrow for narrow, wide in zip(before, widths, strict=False)):
            raise InputError(
                f"widths are {widths}: each must be a larger multiple of the one before, and the first over 1"
            )
        return cls(tuple(partial(_band, width) for width in widths))

    @classmethod
    def tree(cls, *groups: Mapping[Any, str]) -> "Hierarchy":
        """Categories: each mapping names, for every value, its group on the next level."""
        return cls(tuple(partial(_group, dict(named)) for named in groups))

    @property
    def top(self) -> int:
        """The level on which nothing is told."""
        return len(self.levels) + 1

    def labels(self, values: Sequence[Any], level: int) -> list[Any]:
        """The labels of `values` on one level."""
        if level == 0:
            return list(values)
        return [ANY] * len(values) if level == self.top else [self.levels[level - 1](value) for value in values]


def _masked(hidden: int, value: Any) -> str:
    return masked(str(value), hidden)


def _band(width: int, value: Any) -> str:
    if not isinstance(value, int):
        raise InputError("bands are for whole numbers without missing values: use tree for anything else")
    low = value // width * width
    return stretch(low, low + width - 1)


def _group(named: Mapping[Any, str], value: Any) -> str:
    if value not in named:
        raise InputError("a tree lacks a group for a value of its column: name one for each")
    return named[value]
