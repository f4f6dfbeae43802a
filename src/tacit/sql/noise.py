"""Stage 8: noise. The only place that opens an `Exact`, and it does so for the receipt of the same program alone."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, log
from typing import Any

import numpy as np

from tacit.base.exact import Exact
from tacit.desk.job import open_exact
from tacit.engine.result import Result, Whole, coded
from tacit.ledger import Receipt
from tacit.mechanism import BinnedQuantiles, Exponential, KeyedCounts, KeySelection, Mechanism
from tacit.plan.bounded import LARGEST, OCTAVE, Bounded, Centre, Clip, per_row_target
from tacit.plan.choice import units_above
from tacit.plan.combined import Levels
from tacit.plan.facts import Value
from tacit.plan.price import PricedPlan
from tacit.program import Step, Task
from tacit.sql.stored import Codes, Groups, Noisy, NoisyPart

__all__ = [
    "centre_steps", "choose_bound", "choose_centre", "declared_groups", "drawn_edge", "edge_scores", "noisy_counts",
    "noisy_part", "release", "with_bound",
]  # fmt: skip

Flags = np.ndarray[Any, np.dtype[np.bool_]]

BLOCK = 2**23  # cells of quantiles at once


def choose_bound(
    priced: PricedPlan, step: Step, bounded: Bounded, units: Exact[Mapping[int, Whole]], receipt: Receipt
) -> int:
    """The bound for the clip that this step of the program chooses: the smallest edge with no more units above it than
    it aims at, or one near it. `units` are by clip. See docs/theory/clip-choice.md."""
    assert step.task is not None
    assert step.task.clip is not None  # as of every task to choose
    return drawn_edge(step, bounded, open_exact(units, priced.program, receipt)[step.task.clip])


def drawn_edge(step: Step, bounded: Bounded, between: Whole) -> int:
    """The same from the numbers of units between edges, of which there is one more: the last are above all of them."""
    assert isinstance(step.mechanism, Exponential)
    assert step.task is not None
    assert step.task.clip is not None  # as of every task to choose
    return bounded.clips[step.task.clip].edges[step.mechanism.sample(edge_scores(step, bounded, between))]


def edge_scores(step: Step, bounded: Bounded, between: Whole) -> list[int]:
    """The score of each edge: how many units too many are above it, and less the larger it is. The many that nobody
    reaches look all alike, and each adds to the noise. This part of it knows nothing of the data, so it costs nothing.
    """
    task, mechanism = step.task, step.mechanism
    assert isinstance(mechanism, Exponential)
    assert task is not None
    assert task.clip is not None
    clip = bounded.clips[task.clip]
    above = [int(n) for n in np.cumsum(between[::-1])[::-1][1:]]
    total = not bounded.keys and task.root is None and not per_row_target(bounded, clip)
    halved = Fraction(4 if total else 8, OCTAVE)  # how often the weight of an edge is halved, beside the one before
    later = ceil(halved * mechanism.scale * log(2))
    most = units_above(task, int(between.sum()))
    by_row = per_row_target(bounded, clip)
    targets = [floor(most * edge / clip.row) for edge in clip.edges] if by_row else [most] * len(clip.edges)
    return [-max(0, n - t) - later * place for n, t, place in zip(above, targets, clip.places.values(), strict=True)]


def centre_steps(priced: PricedPlan, number: int) -> list[tuple[Step, Centre]]:
    """The centres of a part, in their order, each with the step that chooses it."""
    steps = [(task, step) for task, step in priced.steps if (task.kind, task.part) == ("centre", number)]
    return [
        (step, centre) for centre in priced.parts[number].centres for task, step in steps if task.clip == centre.clip
    ]


def choose_centre(
    priced: PricedPlan, step: Step, centre: Centre, exact: Exact[Result], receipt: Receipt
) -> tuple[int, int]:
    """The cells of a centre that this step of the program chooses: of the number that an average is measured from, and
    of one as far from it as values lie."""
    mechanism = step.mechanism
    assert isinstance(mechanism, BinnedQuantiles)
    table = open_exact(exact, priced.program, receipt).ranks[centre.ranks.name]
    counts = np.zeros(mechanism.cells, dtype=np.int64)
    np.add.at(counts, table.columns["cell"].astype(np.int64), table.columns["count"].astype(np.int64))
    near, far = mechanism.sample(counts).tolist()
    return near, far


def release(priced: PricedPlan, number: int, part: Bounded, exact: Exact[Result], receipt: Receipt) -> NoisyPart:
    """Add the noise of the program's steps to one part, which has every bound filled in."""
    result = open_exact(exact, priced.program, receipt)
    groups, known = _groups(priced, number, part, result)
    place = groups.find(result.groups.keys, _length(result))

    def sums(clip: Clip) -> Any:
        columns = [result.groups.columns[name] for name in clip.names]
        inside = place >= 0
        truth = np.zeros((len(columns), len(groups)), dtype=np.result_type(*columns))
        for row, column in zip(truth, columns, strict=True):
            np.add.at(row, place[inside], column[inside])
        return truth

    def quantiles(clip: Clip, mechanism: BinnedQuantiles) -> Codes:
        return _quantiles(clip, mechanism, result, groups)

    return noisy_part(priced, number, part, groups, sums, quantiles, known)


def noisy_part(
    priced: PricedPlan,
    number: int,
    part: Bounded,
    groups: Groups,
    sums: Callable[[Clip], Any],
    quantiles: Callable[[Clip, BinnedQuantiles], Codes],
    known: Mapping[str, Noisy],
) -> NoisyPart:
    """The noise of every step of one part: on the `sums` of a clip's measures, one for all groups or one for each,
    and in the cells that `quantiles` draws. What is `known` was drawn before, to decide on the groups."""
    measures = dict(known)
    cells: dict[str, dict[str, Codes]] = {"quantiles": {}, "ends": {}}
    for task, step in priced.steps:
        if task.part != number or task.kind in ("choose", "centre", "select"):
            continue
        assert task.clip is not None
        clip = part.clips[task.clip]
        mechanism = _scaled(part, task, step)
        if isinstance(mechanism, BinnedQuantiles):
            cells[task.kind][clip.names[0]] = quantiles(clip, mechanism)
            continue
        truth, names = sums(clip), clip.names
        if isinstance(mechanism, KeyedCounts):  # of the groups that are shown, the rest has the same noise
            mechanism, truth, names = mechanism.noise, truth[1:], names[1:]
        for name, drawn in zip(names, mechanism.sample(truth) if names else (), strict=True):
            values = np.broadcast_to(np.asarray(drawn, np.float64), len(groups))
            measures[name] = Noisy(values, mechanism.family, float(mechanism.magnitude))
    centres = {
        part.clips[centre.clip].names[0]: (centre.middle, centre.row)
        for centre in part.centres
        if centre.middle is not None and centre.row is not None
    }
    return NoisyPart(groups=groups, measures=measures, centres=centres, **cells)


def _scaled(part: Bounded, task: Task, step: Step) -> Mechanism:
    """The mechanism of a step, in steps of its measures where it is in units of a bound."""
    assert task.clip is not None
    most = part.clips[task.clip].bound
    assert most is not None  # filled in before the run
    return step.mechanism.scaled(most if task.scaled else 1)


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


def _length(result: Result) -> int:
    if result.groups.keys:
        return len(result.groups.keys[0])
    return next((len(column) for column in result.groups.columns.values()), 1)


def _groups(priced: PricedPlan, number: int, part: Bounded, result: Result) -> tuple[Groups, dict[str, Noisy]]:
    """All groups where they are known in advance; else the ones that may be shown, in an order of their values, and
    the noisy counts that decided on them, if counts did."""
    if part.counted is not None:
        shown, noisy = noisy_counts(priced, number, part, result.groups.columns[part.counted])
        rows = np.flatnonzero(shown & _allowed(part, result))
        groups = Groups.sorted(result.groups.keys, rows)
        values = np.zeros(len(groups))
        values[groups.find(result.groups.keys, _length(result))[rows]] = noisy.values[rows]
        return groups, {part.counted: replace(noisy, values=values)}
    if part.presence is None:
        return declared_groups(part), {}
    (step,) = [step for task, step in priced.steps if task.part == number and task.kind == "select"]
    assert isinstance(step.mechanism, KeySelection)
    assert result.presence is not None  # as it was asked for
    shown = step.mechanism.sample(result.presence)
    return Groups.sorted(result.groups.keys, np.flatnonzero(shown & _allowed(part, result))), {}


def noisy_counts(priced: PricedPlan, number: int, part: Bounded, counts: Whole) -> tuple[Flags, Noisy]:
    """Which groups may be shown by their noisy count, and these counts, of all groups: of hidden ones it is 0."""
    ((task, step),) = [(t, s) for t, s in priced.steps if t.part == number and isinstance(s.mechanism, KeyedCounts)]
    mechanism = _scaled(part, task, step)
    assert isinstance(mechanism, KeyedCounts)
    drawn = mechanism.sample(counts)
    values = np.asarray(drawn.filled(0), np.float64)
    size = float(mechanism.magnitude)
    return ~np.ma.getmaskarray(drawn), Noisy(values, mechanism.family, size, least=float(mechanism.threshold()))


def _allowed(part: Bounded, result: Result) -> Flags:
    """Groups whose keys are among the declared ones, where there are such: of other rows nothing was promised."""
    found: Flags = np.ones(_length(result), np.bool_)
    for key, column in zip(part.keys, result.groups.keys, strict=True):
        if key.values is not None:
            allowed = {Fraction(float(v)) if isinstance(v, Fraction) else v for v in key.values}
            seen = coded(column)
            found &= np.array([value in allowed for value in seen.values], np.bool_)[seen.codes]
    return found


def declared_groups(part: Bounded) -> Groups:
    """Every combination of the declared values of the keys."""
    domains: list[tuple[Value, ...]] = []
    for key in part.keys:
        assert key.values is not None  # or there would be a presence
        domains.append(key.values)
    every = Groups.every(domains)
    return _of_levels(every, part.source) if isinstance(part.source, Levels) else every


def _of_levels(every: Groups, source: Levels) -> Groups:
    """Only groups that there are: in each level the keys that are not in it are NULL, and the others only where NULL
    can occur."""
    level = np.array([int(str(value)) for value in every.values[0]])[every.codes[0]]
    there: Flags = np.ones(len(every), np.bool_)
    for place, (_, key) in enumerate(source.keys, 1):
        null = np.array([value is None for value in every.values[place]], np.bool_)[every.codes[place]]
        inside = np.array([place - 1 in keys for keys in source.sets], np.bool_)[level]
        there &= np.where(inside, ~null | key.facts.nullable, null)
    codes = tuple(code[there] for code in every.codes)
    return Groups(values=every.values, codes=codes, size=int(there.sum()))


def _quantiles(clip: Clip, mechanism: BinnedQuantiles, result: Result, groups: Groups) -> Codes:
    """Groups are independent of each other, so they are drawn some at a time: a table of all cells may be huge."""
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
        np.add.at(some, (place[rows] - start, cells[rows].astype(np.int64)), counts[rows])
        found[start:stop] = mechanism.sample(some)
    return found
