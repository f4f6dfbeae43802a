"""Window functions over released values."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from tacit.plan.expression import Expression
from tacit.plan.operation import Held
from tacit.plan.window import Order, WindowCall, WindowFrame

__all__ = ["ranks", "window_values"]

Values = Callable[[Expression], list[Held]]


def ranks(values: Sequence[Any], by: Order) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Where each value stands in the order that was asked for; equal values stand together."""
    known = sorted({value for value in values if value is not None}, reverse=by.descending)
    place = {value: number for number, value in enumerate(known)}
    place[None] = len(known) if by.nulls == "last" else -1
    return np.fromiter((place[value] for value in values), np.int64, len(values))


def window_values(call: WindowCall, size: int, values: Values) -> list[Held]:
    """The value of a window in each of so many rows."""
    columns = [values(each) for each in call.partition]
    partitions: dict[tuple[Held, ...], list[int]] = {}
    for row, key in enumerate(zip(*columns, strict=True) if columns else [()] * size):
        partitions.setdefault(key, []).append(row)
    keys = [ranks(values(by.expression), by) for by in call.order]
    arguments = [values(each) for each in call.arguments]
    found: list[Held] = [None] * size
    for rows in partitions.values():
        standing = [tuple(int(key[row]) for key in keys) for row in rows]
        order = sorted(range(len(rows)), key=standing.__getitem__)  # equal ones stay in the order they came in
        ordered = [rows[place] for place in order]
        inside = _Partition([standing[place] for place in order], [[a[row] for row in ordered] for a in arguments])
        for row, value in zip(ordered, inside.values(call), strict=True):
            found[row] = value
    return found


class _Partition:
    """The rows of one partition in their order: where each stands, and the arguments."""

    def __init__(self, standing: list[tuple[int, ...]], arguments: list[list[Held]]) -> None:
        self.standing, self.arguments, self.size = standing, arguments, len(standing)
        begins = [place == 0 or standing[place] != standing[place - 1] for place in range(self.size)]
        first = [0] * self.size
        for place in range(1, self.size):
            first[place] = place if begins[place] else first[place - 1]
        self.first = first
        self.dense = list(accumulate(begins))
        last = [0] * self.size
        for place in reversed(range(self.size)):
            together = place + 1 < self.size and not begins[place + 1]
            last[place] = last[place + 1] if together else place
        self.last = last

    def values(self, call: WindowCall) -> list[Held]:
        size = self.size
        match call.function:
            case "row_number":
                return [float(place + 1) for place in range(size)]
            case "rank":
                return [float(first + 1) for first in self.first]
            case "dense_rank":
                return [float(rank) for rank in self.dense]
            case "percent_rank":
                return [first / (size - 1) if size > 1 else 0.0 for first in self.first]
            case "cume_dist":
                return [(last + 1) / size for last in self.last]
            case "ntile":
                return self._tiles(int(float(self.arguments[0][0] or 1)))  # type: ignore[arg-type]  # a number
            case "lag" | "lead":
                return self._shifted(1 if call.function == "lead" else -1)
        frames = [self._frame(call.frame, place) for place in range(size)]
        if not self.arguments:
            return [float(max(0, last - first)) for first, last in frames]  # COUNT(*)
        if call.function in ("count", "sum", "avg"):
            return self._summed(call.function, frames)
        return [self._framed(call.function, first, last) for first, last in frames]

    def _tiles(self, tiles: int) -> list[Held]:
        """As even as can be, the larger ones first."""
        each, more = divmod(self.size, tiles)
        found: list[Held] = []
        for tile in range(min(tiles, self.size)):
            found += [float(tile + 1)] * (each + (tile < more))
        return found

    def _shifted(self, way: int) -> list[Held]:
        value, *more = self.arguments
        found: list[Held] = []
        for place in range(self.size):
            far = int(float(more[0][place] or 0)) if more else 1  # type: ignore[arg-type]  # a number
            other = place + way * far
            rest = more[1][place] if len(more) > 1 else None
            found.append(value[other] if 0 <= other < self.size else rest)
        return found

    def _frame(self, frame: WindowFrame, place: int) -> tuple[int, int]:
        """From which place to before which."""
        first = 0 if frame.first is None else max(0, place + frame.first)
        last = self.size if frame.last is None else min(self.size, place + frame.last + 1)
        if frame.peers:
            first = 0 if frame.first is None else self.first[place]
            last = self.size if frame.last is None else self.last[place] + 1
        return first, last

    def _summed(self, function: str, frames: list[tuple[int, int]]) -> list[Held]:
        """By differences of running totals, so that a long frame takes no longer than a short one."""
        counts = [0, *accumulate(value is not None for value in self.arguments[0])]
        totals = [Fraction(0)]
        if function != "count":
            steps: Any = (Fraction(value or 0) for value in self.arguments[0])  # type: ignore[arg-type]  # numbers
            totals = list(accumulate(steps, initial=Fraction(0)))
        found: list[Held] = []
        for first, last in frames:
            count = counts[max(first, last)] - counts[first]
            if function == "count":
                found.append(float(count))
            else:
                total = totals[max(first, last)] - totals[first]
                found.append(None if not count else float(total / count if function == "avg" else total))
        return found

    def _framed(self, function: str, first: int, last: int) -> Held:
        inside: list[Any] = self.arguments[0][first:last]
        if function in ("first_value", "last_value"):
            return (inside[0] if function == "first_value" else inside[-1]) if inside else None
        known = [value for value in inside if value is not None]
        found: Held = None if not known else min(known) if function == "min" else max(known)
        return found
