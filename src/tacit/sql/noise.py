"""Stage 8: noise. The only place that opens an `Exact`, and it does so for the receipt of the same program alone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.base.exact import Exact
from tacit.desk.job import open_exact
from tacit.engine.result import Result, Whole, coded
from tacit.ledger import Receipt
from tacit.mechanism import BinnedQuantiles, Exponential, KeySelection
from tacit.plan.bounded import LARGEST, Bounded, Clip
from tacit.plan.facts import Value
from tacit.plan.price import Priced
from tacit.program import Step, Task
from tacit.sql.estimate import Noisy
from tacit.sql.groups import Codes, Groups

__all__ = [
    "Released",
    "StoredAnswer",
    "choose_bound",
    "drawn_edge",
    "noisy",
    "quantiles_of",
    "release",
    "unmeasured",
    "with_bound",
]

BLOCK = 2**23  # cells of quantiles at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """One part of the answer after noise: the groups, and per group each noisy measure and quantile.

    `quantiles` has, for the name of each `Ranks`, cells of shape (groups, quantiles), and `ends` the two ends of an
    interval round each, of shape (groups, quantiles, 2).
    """

    groups: Groups
    measures: Mapping[str, Noisy]
    quantiles: Mapping[str, Codes]
    ends: Mapping[str, Codes]


def choose_bound(priced: Priced, step: Step, bounded: Bounded, units: Exact[Whole], receipt: Receipt) -> int:
    """The bound for the clip that this step of the program chooses: an edge with about `target` units above it, or
    half of them. One unit that comes, goes or changes moves the number above by one, and half the difference between
    above and below by one at most.

    Larger edges have less weight from the start, half for each: the many that nobody reaches look all alike, and
    together they would outweigh the right one. Such a weight knows nothing of the data, so it costs nothing.
    """
    return drawn_edge(step, bounded, open_exact(units, priced.program, receipt))


def drawn_edge(step: Step, bounded: Bounded, between: Whole) -> int:
    """The same from the numbers of units between edges, of which there is one more: the last are above all of them."""
    task, mechanism = step.task, step.mechanism
    assert isinstance(mechanism, Exponential)
    assert task is not None
    assert task.clip is not None  # as of every task to choose
    above = np.cumsum(between[::-1])[::-1][1:]
    later = ceil(mechanism.scale * log(2))
    everybody = int(between.sum())
    off = [abs(2 * int(n) - everybody) // 2 if task.target is None else abs(int(n) - task.target) for n in above]
    scores = [-distance - later * place for place, distance in enumerate(off)]
    return bounded.clips[task.clip].edges[mechanism.sample(scores)]


def release(priced: Priced, part: int, bounded: Bounded, exact: Exact[Result], receipt: Receipt) -> Released:
    """Add the noise of the program's steps to one part. `bounded` is the part with every bound filled in."""
    result = open_exact(exact, priced.program, receipt)
    steps = [(task, step) for task, step in priced.steps if task.part == part]
    groups = _groups(bounded, result, steps)
    place = groups.find(result.groups.keys, _length(result))
    measures: dict[str, Noisy] = {}
    quantiles: dict[str, Codes] = {}
    ends: dict[str, Codes] = {}
    for task, step in steps:
        if task.kind in ("choose", "select"):
            continue
        assert task.clip is not None
        clip, original = bounded.clips[task.clip], priced.planned.parts[part].clips[task.clip]
        assert clip.bound is not None  # filled in before the run
        units = Fraction(1) if original.bound is not None else clip.bound
        if task.kind == "noise":
            measures.update(_noised(step, clip, units, result, place, len(groups)))
        else:
            drawn = _quantiles(step, clip, units, result, groups)
            (quantiles if task.kind == "quantiles" else ends)[clip.names[0]] = drawn
    return Released(groups=groups, measures=measures, quantiles=quantiles, ends=ends)


def with_bound(part: Bounded, clip: int, chosen: int) -> Bounded:
    """The part with the bound that was chosen for a clip, and for the others that go by rows, as many rows."""
    made = replace(part.clips[clip], bound=Fraction(chosen))
    clips = [made if place == clip else other for place, other in enumerate(part.clips)]
    if made.by_rows:
        clips = [_in_rows(other, chosen / made.row) for other in clips]
    return replace(part, clips=tuple(clips))


def _in_rows(clip: Clip, rows: Fraction) -> Clip:
    """A clip that goes by rows, bounded to so many, if it has no bound yet."""
    if not clip.by_rows or clip.bound is not None:
        return clip
    return replace(clip, bound=min(Fraction(LARGEST), Fraction(ceil(rows * clip.row))))


def unmeasured(bounded: Bounded) -> Released | None:
    """The groups of a part that measures nothing and whose keys are declared: there is nothing to run."""
    if bounded.measures or bounded.ranks or bounded.presence is not None:
        return None
    return Released(groups=_declared(bounded), measures={}, quantiles={}, ends={})


def _length(result: Result) -> int:
    if result.groups.keys:
        return len(result.groups.keys[0])
    return next((len(column) for column in result.groups.columns.values()), 1)


def _groups(bounded: Bounded, result: Result, steps: list[tuple[Task, Step]]) -> Groups:
    """All groups where they are known in advance; else the ones that selection shows, in an order of their values."""
    if bounded.presence is None:
        return _declared(bounded)
    (step,) = [step for task, step in steps if task.kind == "select"]
    mechanism = step.mechanism
    assert isinstance(mechanism, KeySelection)
    assert result.presence is not None  # as it was asked for
    shown = mechanism.sample(result.presence)
    for key, column in zip(bounded.keys, result.groups.keys, strict=True):
        if key.values is not None:  # of other rows nothing was promised
            allowed = {Fraction(float(v)) if isinstance(v, Fraction) else v for v in key.values}
            seen = coded(column)
            shown = shown & np.array([value in allowed for value in seen.values], np.bool_)[seen.codes]
    return Groups.sorted(result.groups.keys, np.flatnonzero(shown))


def _declared(bounded: Bounded) -> Groups:
    domains: list[tuple[Value, ...]] = []
    for key in bounded.keys:
        assert key.values is not None  # or there would be a presence
        domains.append(key.values)
    return Groups.every(domains)


def _noised(step: Step, clip: Clip, units: Fraction, result: Result, place: Codes, size: int) -> dict[str, Noisy]:
    columns = [result.groups.columns[name] for name in clip.names]
    inside = place >= 0
    truth = np.zeros((len(columns), size), dtype=np.result_type(*columns))
    for number, column in enumerate(columns):
        np.add.at(truth[number], place[inside], column[inside])
    return noisy(step, clip, units, truth)


def noisy(step: Step, clip: Clip, units: Fraction, truth: Any) -> dict[str, Noisy]:
    """Noise of a step on the measures of its clip, in `units` of it: an array for each."""
    mechanism = step.mechanism.scaled(units)
    found, law, size = mechanism.sample(truth), mechanism.family, float(mechanism.magnitude)
    return {name: Noisy(np.asarray(found[number], np.float64), law, size) for number, name in enumerate(clip.names)}


def quantiles_of(step: Step, units: Fraction) -> BinnedQuantiles:
    """The mechanism of a step that draws quantiles, in `units` of its clip's bound."""
    mechanism = step.mechanism
    assert isinstance(mechanism, BinnedQuantiles)
    return mechanism.scaled(units)


def _quantiles(step: Step, clip: Clip, units: Fraction, result: Result, groups: Groups) -> Codes:
    """Groups are independent of each other, so they are drawn some at a time: a table of all cells may be huge."""
    mechanism = quantiles_of(step, units)
    table = result.ranks[clip.names[0]]
    cells, counts = table.columns["cell"], table.columns["count"]
    place = groups.find(table.keys, len(cells))
    shape = (len(groups), len(mechanism.quantiles), 2) if mechanism.margin else (len(groups), len(mechanism.quantiles))
    found = np.zeros(shape, dtype=np.int64)
    block = max(1, BLOCK // mechanism.cells)
    for start in range(0, len(groups), block):
        stop = min(start + block, len(groups))
        some = np.zeros((stop - start, mechanism.cells), dtype=np.int64)
        rows = np.flatnonzero((place >= start) & (place < stop))
        some[place[rows] - start, cells[rows].astype(np.int64)] = counts[rows]
        found[start:stop] = mechanism.sample(some)
    return found


VERSION = 1
HEAD = 8  # bytes that say how long the text before the numbers is


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredAnswer:
    """Every part of a release after noise, and its facts."""

    parts: tuple[Released, ...]
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


def _described(part: Released, arrays: list[np.ndarray[Any, np.dtype[Any]]]) -> dict[str, Any]:
    """A part in words; its arrays are appended in the order in which `_read` takes them."""
    groups = part.groups
    first = len(arrays)
    if not groups.complete:  # else they follow from the values
        arrays.extend(code.astype("<i8") for code in groups.codes)
    arrays.extend(noisy.values.astype("<f8") for noisy in part.measures.values())
    arrays.extend(cells.astype("<i8") for found in (part.quantiles, part.ends) for cells in found.values())
    return {
        "first": first,
        "size": groups.size,
        "complete": groups.complete,
        "values": [[_plain(value) for value in values] for values in groups.values],
        "measures": [[name, noisy.kind, noisy.size.hex()] for name, noisy in part.measures.items()],
        "quantiles": list(part.quantiles),
        "ends": list(part.ends),
    }


def _read(part: dict[str, Any], arrays: Sequence[Any]) -> Released:
    ahead = iter(arrays[part["first"] :])
    values = tuple(tuple(_value(value) for value in found) for found in part["values"])
    if part["complete"]:
        groups = Groups.every(values)
    else:
        groups = Groups(values=values, codes=tuple(next(ahead) for _ in values), size=part["size"])
    return Released(
        groups=groups,
        measures={name: Noisy(next(ahead), kind, float.fromhex(size)) for name, kind, size in part["measures"]},
        quantiles={name: next(ahead) for name in part["quantiles"]},
        ends={name: next(ahead) for name in part["ends"]},
    )


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
