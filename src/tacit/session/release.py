"""Stage 8: noise. The only place that opens an `Exact`, and it does so for a receipt alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.base.exact import Exact, opened
from tacit.engine.result import Result, Table, Whole
from tacit.ledger import Receipt
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, DiscreteLaplace, Exponential, KeySelection
from tacit.noise import Rng
from tacit.plan.bounded import Bounded, Clip, Key
from tacit.plan.facts import Value
from tacit.plan.price import Priced, Task
from tacit.plan.program import Step
from tacit.session.estimate import Noisy

__all__ = ["Released", "choose_bound", "release"]

Keys = tuple[Value, ...]


@dataclass(frozen=True, kw_only=True)
class Released:
    """One part of the answer after noise: the groups, and per group each noisy measure and quantile.

    `quantiles` has, for the name of each `Ranks`, cells of shape (groups, quantiles), and `ends` the two ends of an
    interval round each, of shape (groups, quantiles, 2).
    """

    groups: tuple[Keys, ...]
    measures: Mapping[str, Noisy]
    quantiles: Mapping[str, np.ndarray[Any, np.dtype[np.int64]]]
    ends: Mapping[str, np.ndarray[Any, np.dtype[np.int64]]]


def choose_bound(step: Step, task: Task, units: Exact[Whole], clip: Clip, receipt: Receipt, rng: Rng | None) -> int:
    """The bound for a clip: an edge with about `target` units above it."""
    _paid(receipt)
    mechanism = step.mechanism
    assert isinstance(mechanism, Exponential)
    assert task.target is not None
    between = opened(units)  # one more than edges: the last is of units above all of them
    above = np.cumsum(between[::-1])[::-1][1:]
    scores = [-abs(int(count) - task.target) for count in above]
    return clip.edges[mechanism.sample(scores, rng)]


def release(
    priced: Priced, part: int, bounded: Bounded, exact: Exact[Result], receipt: Receipt, rng: Rng | None = None
) -> Released:
    """Add the noise of the program's steps to one part. `bounded` is the part with every bound filled in."""
    _paid(receipt)
    result = opened(exact)
    steps = [(task, step) for task, step in zip(priced.tasks, priced.program.steps, strict=True) if task.part == part]
    groups = _groups(bounded, result, steps, rng)
    place = {_matched(key): number for number, key in enumerate(groups)}
    measures: dict[str, Noisy] = {}
    quantiles: dict[str, Any] = {}
    ends: dict[str, Any] = {}
    for task, step in steps:
        if task.kind in ("choose", "select"):
            continue
        assert task.clip is not None
        clip, original = bounded.clips[task.clip], priced.planned.parts[part].clips[task.clip]
        assert clip.bound is not None  # filled in before the run
        units = Fraction(1) if original.bound is not None else clip.bound
        if task.kind == "noise":
            measures.update(_noised(step, clip, units, result, place, rng))
        else:
            drawn = _quantiles(step, clip, units, result, place, rng)
            (quantiles if task.kind == "quantiles" else ends)[clip.names[0]] = drawn
    return Released(groups=groups, measures=measures, quantiles=quantiles, ends=ends)


def _paid(receipt: Receipt) -> None:
    if not isinstance(receipt, Receipt):
        raise InputError("nothing is released without a receipt: charge the program first")


def _groups(bounded: Bounded, result: Result, steps: list[tuple[Task, Step]], rng: Rng | None) -> tuple[Keys, ...]:
    """All groups where they are known in advance; else the ones that selection shows, in an order of their values."""
    if bounded.presence is None:
        domains = [_domain(key) for key in bounded.keys]
        return tuple(product(*domains)) if prod(map(len, domains)) else ()
    (step,) = [step for task, step in steps if task.kind == "select"]
    mechanism = step.mechanism
    assert isinstance(mechanism, KeySelection)
    assert result.presence is not None  # as it was asked for
    found = _rows(result.groups)
    within = [_allowed(bounded.keys, key) for key in found]
    shown = mechanism.sample(result.presence, rng)
    kept = [key for key, show, fits in zip(found, shown.tolist(), within, strict=True) if show and fits]
    return tuple(sorted(kept, key=lambda key: tuple((value is None, str(type(value)), value) for value in key)))


def _rows(table: Table) -> list[Keys]:
    return list(zip(*table.keys, strict=True)) if table.keys else [()] * len(next(iter(table.columns.values())))


def _matched(key: Keys) -> Keys:
    """Keys as an engine gives them back: a number is the double nearest to it."""
    return tuple(Fraction(float(value)) if isinstance(value, Fraction) else value for value in key)


def _domain(key: Key) -> tuple[Value, ...]:
    values = key.values
    assert values is not None  # or there would be a presence
    return values


def _allowed(keys: tuple[Key, ...], values: Keys) -> bool:
    """Whether each value is one that its key can take; of other rows nothing was promised."""
    return all(key.values is None or value in _matched(key.values) for key, value in zip(keys, values, strict=True))


def _noised(
    step: Step, clip: Clip, units: Fraction, result: Result, place: Mapping[Keys, int], rng: Rng | None
) -> dict[str, Noisy]:
    truth = np.zeros((len(clip.names), len(place)), dtype=object)
    rows = [place.get(key, -1) for key in _rows(result.groups)]
    for number, name in enumerate(clip.names):
        for row, value in zip(rows, result.groups.columns[name].tolist(), strict=True):
            if row >= 0:
                truth[number, row] = int(value)
    if all(abs(value) < 2**62 for value in truth.ravel()):
        truth = truth.astype(np.int64)
    mechanism = step.mechanism
    if isinstance(mechanism, DiscreteGaussian):
        mechanism, kind, size = replace(mechanism, sigma=mechanism.sigma * units), "gaussian", "sigma"
    else:
        assert isinstance(mechanism, DiscreteLaplace)  # the two kinds there are
        mechanism, kind, size = replace(mechanism, scale=mechanism.scale * units), "laplace", "scale"
    noisy = mechanism.sample(truth, rng)
    width = float(getattr(mechanism, size))
    return {
        name: Noisy(np.asarray(noisy[number], dtype=np.float64), kind, width)  # type: ignore[arg-type]
        for number, name in enumerate(clip.names)
    }


def _quantiles(
    step: Step, clip: Clip, units: Fraction, result: Result, place: Mapping[Keys, int], rng: Rng | None
) -> np.ndarray[Any, np.dtype[np.int64]]:
    mechanism = step.mechanism
    assert isinstance(mechanism, BinnedQuantiles)
    mechanism = replace(mechanism, scale=mechanism.scale * units, margin=mechanism.margin * units)
    table = result.ranks[clip.names[0]]
    counts = np.zeros((len(place), mechanism.cells), dtype=np.int64)
    rows = np.array([place.get(key, -1) for key in _rows(table)], dtype=np.int64)
    inside = rows >= 0
    counts[rows[inside], table.columns["cell"][inside]] = table.columns["count"][inside]
    if not place:
        shape = (0, len(mechanism.quantiles), 2) if mechanism.margin else (0, len(mechanism.quantiles))
        return np.zeros(shape, dtype=np.int64)
    return mechanism.sample(counts, rng)
