"""Scores and events of outputs with many parts: vectors, answers of an interactive run, records, histograms.

A score of an output must not depend on the other outputs of its batch, not even on how long the longest of them is.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from tacit.auditor.events import Event, Score
from tacit.auditor.outputs import NUMBER, Bools, Floats, Outputs, Shape, spelled, tokens

__all__ = ["number_scores", "part_events", "shape_scores"]

COLUMNS = 48  # coordinates looked at one by one
STEPS = 16  # neighbouring coordinates that are compared
PARTS = 48  # parts of a sequence looked at one by one


def number_scores(left: Outputs, right: Outputs) -> list[Score]:
    """The output itself if it is one number; else each coordinate, sums, norms, extremes, order."""
    width = max(left.width, right.width)
    single = all(isinstance(shape, str) for shape in (*left.shapes, *right.shapes))
    if width == 0:
        return []
    if width == 1:
        return [Score("the output" if single else "its number", _column(0))]
    found = [Score(f"number {place + 1}", _column(place)) for place in range(min(width, COLUMNS))]
    found += [
        Score("the sum of its numbers", _total(lambda column: column)),
        Score("the largest of its numbers", _over(lambda table: np.nanmax(table, axis=1))),
        Score("the smallest of its numbers", _over(lambda table: np.nanmin(table, axis=1))),
        Score("the l1 norm of its numbers", _total(np.abs)),
        Score("the sum of squares of its numbers", _total(np.square)),
        Score("the place of the largest number", _over(lambda table: np.nanargmax(table, axis=1) + 1.0)),
        Score("the place of the smallest number", _over(lambda table: np.nanargmin(table, axis=1) + 1.0)),
    ]
    found += [
        Score(f"number {place + 2} minus number {place + 1}", _step(place)) for place in range(min(width - 1, STEPS))
    ]
    return found


def shape_scores(left: Outputs, right: Outputs) -> list[Score]:
    """Lengths, counts of yes and no, how long until the first yes, and how long a sequence goes on without one."""
    shapes = {*left.shapes, *right.shapes}
    if len(shapes) < 2 or not any(len(tokens(shape)) > 1 for shape in shapes):
        return []
    middle = max(len(tokens(shape)) for shape in shapes) // 2
    return [
        Score("the number of its parts", _by_shape(lambda yes, no: (yes | no).sum(axis=1))),
        Score("the number of yeses", _by_shape(lambda yes, no: yes.sum(axis=1))),
        Score("the number of noes", _by_shape(lambda yes, no: no.sum(axis=1))),
        Score("the number of noes before the first yes", _by_shape(lambda yes, no: (no & ~_seen(yes)).sum(axis=1))),
        Score("the number of yeses before the first no", _by_shape(lambda yes, no: (yes & ~_seen(no)).sum(axis=1))),
        Score("the number of yeses after the last no", _by_shape(lambda yes, no: (yes & ~_ahead(no)).sum(axis=1))),
        Score("the number of changes between yes and no", _by_shape(_changes)),
        Score(f"the number of yeses after part {middle}", _by_shape(lambda yes, no: yes[:, middle:].sum(axis=1))),
        Score(f"the number of noes up to part {middle}", _by_shape(lambda yes, no: no[:, :middle].sum(axis=1))),
    ]


def part_events(left: Outputs, right: Outputs) -> list[Event]:
    """Part i is so and so, for each part of a sequence and whatever stands there, numbers apart."""
    shapes = sorted({*left.shapes, *right.shapes}, key=repr)
    if len(shapes) < 2:
        return []
    seen: dict[tuple[int, Shape], None] = {}
    for shape in shapes:
        for place, token in enumerate(tokens(shape)[:PARTS]):
            seen[place, token] = None
    several = any(len(tokens(shape)) > 1 for shape in shapes)
    if not several or len(seen) > 4 * PARTS:
        return []
    return [_part_is(place, token) for place, token in seen]


def _part_is(place: int, token: Shape) -> Event:
    def contains(outputs: Outputs) -> Bools:
        table, codes = outputs.parts
        if place >= table.shape[1] or token not in codes:
            return np.zeros(len(outputs), dtype=np.bool_)
        return np.asarray((table[:, place] == codes[token])[outputs.kinds])

    return Event(f"part {place + 1} of the output is {spelled(token)}", contains)


def _column(place: int) -> Callable[[Outputs], Floats]:
    return lambda outputs: outputs.column(place)


def _step(place: int) -> Callable[[Outputs], Floats]:
    return lambda outputs: outputs.column(place + 1) - outputs.column(place)


def _over(measure: Callable[[Floats], Any]) -> Callable[[Outputs], Floats]:
    """A measure of the numbers of each output that has any."""

    def of(outputs: Outputs) -> Floats:
        found = np.full(len(outputs), np.nan)
        some = ~np.isnan(outputs.numbers).all(axis=1) if outputs.width else np.zeros(len(outputs), dtype=np.bool_)
        if some.any():
            found[some] = measure(outputs.numbers[some])
        return found

    return of


def _total(measure: Callable[[Floats], Floats]) -> Callable[[Outputs], Floats]:
    """A sum over the numbers of an output, from the first to the last: the same whatever the width of its batch."""

    def of(outputs: Outputs) -> Floats:
        found = np.zeros(len(outputs))
        for place in range(outputs.width):
            column = outputs.numbers[:, place]
            found += np.where(np.isnan(column), 0.0, measure(column))
        found[np.isnan(outputs.column(0))] = np.nan
        return found

    return of


def _by_shape(measure: Callable[[Bools, Bools], Any]) -> Callable[[Outputs], Floats]:
    """A measure of where a sequence says yes and where no, taken once for each shape."""

    def of(outputs: Outputs) -> Floats:
        table, codes = outputs.parts
        said = np.array([*map(_yes, codes), False], dtype=np.bool_)
        yes: Bools = said[table]  # −1, past the end of a sequence, is the last: False
        return np.asarray(measure(yes, (table >= 0) & ~yes), dtype=np.float64)[outputs.kinds]

    return of


def _yes(token: Hashable) -> bool:
    """True, a number, a text: whatever is not False, None or a special value."""
    if isinstance(token, tuple):
        return not (token[0] == "=" and (token[2] is None or token[2] is False))
    return isinstance(token, str) and token.startswith(NUMBER)


def _seen(said: Bools) -> Bools:
    """Whether it has been said up to here."""
    return np.logical_or.accumulate(said, axis=1)


def _ahead(said: Bools) -> Bools:
    """Whether it will be said from here on."""
    return _seen(said[:, ::-1])[:, ::-1]


def _changes(yes: Bools, no: Bools) -> Any:
    known = yes[:, 1:] | no[:, 1:]
    return ((yes[:, 1:] != yes[:, :-1]) & known).sum(axis=1)
