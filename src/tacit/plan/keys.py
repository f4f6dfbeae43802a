"""Keys that nobody listed: the two ways to show them, and what ways to answer are compared by before anything is read.

By weights: each unit spreads a vector over its groups, whose noisy total is compared with a threshold; that takes a
share of the price, and counts are bought apart. By counts: the noisy count that is shown anyway is compared itself.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt

from tacit.mechanism import KeyedCounts, KeySelection, Mechanism
from tacit.plan.bounded import Bounded, BoundedQuestion, Clip, Measure, Norm
from tacit.plan.profiled import group_count
from tacit.program import Step, Task

__all__ = ["answer_error", "by_counts"]

LOG = 5.5  # 0.8·log 1000
STEPS = 16  # of one, in a count that decides on keys


def by_counts(bounded: BoundedQuestion) -> BoundedQuestion | None:
    """The question with keys shown by a count of it, if it has one of rows or of units."""
    found = bounded
    for number, part in enumerate(bounded.parts):
        counted = part.presence and _counted(part)
        if part.presence and not counted:
            return None
        if counted:
            parts = (*found.parts[:number], replace(part, presence=None, counted=counted), *found.parts[number + 1 :])
            found = _coarser(replace(found, parts=parts), number, counted)
    return found


def _coarser(bounded: BoundedQuestion, number: int, counted: str) -> BoundedQuestion:
    """The same with fewer steps to one of the count that decides on keys, in l2, where a threshold has to hide a unit
    in very many groups with a step in each: the fewer steps, the fewer such groups. Rounding takes at most a step from
    each group of a unit above the bound, and nothing from others."""
    part = bounded.parts[number]
    (clip,) = [clip for clip in part.clips if counted in clip.names]
    (measure,) = [measure for measure in part.measures if measure.name == counted]
    times = max(1, measure.high // STEPS)
    most = None if clip.bound is None else clip.bound / times
    if bounded.norm != "l2" or clip.exempt or len(clip.names) > 1 or times * STEPS != measure.high or times < 2:
        return bounded
    if most is not None and most < STEPS:
        return bounded  # less than one row of a unit counts: rounding would leave little of it
    fewer = replace(measure, low=STEPS, high=STEPS)
    made = replace(
        part,
        measures=tuple(fewer if each is measure else each for each in part.measures),
        clips=tuple(replace(clip, row=clip.row / times, bound=most) if each is clip else each for each in part.clips),
    )
    recipes = tuple(
        replace(recipe, half=STEPS) if recipe.part == number and counted in recipe.inputs else recipe
        for recipe in bounded.recipes
    )
    return replace(bounded, parts=(*bounded.parts[:number], made, *bounded.parts[number + 1 :]), recipes=recipes)


def _counted(part: Bounded) -> str | None:
    """The first measure of a clip, if every row of a group adds to it, and never less than nothing: a count of units
    rather than of rows, since a group has no more of them, and one that has its clip for itself."""
    measures = {measure.name: measure for measure in part.measures}
    centred = {part.clips[centre.clip].names[0] for centre in part.centres}  # of which steps of a row are chosen later
    names = {clip.names[0]: len(clip.names) for clip in part.clips if clip.names[0] not in centred}
    first = {name: size for name, size in names.items() if _counts(measures.get(name))}
    return min(first, key=lambda name: (measures[name].kind != "units", first[name])) if first else None


def _counts(measure: Measure | None) -> bool:
    if measure is None or measure.kind == "distinct":
        return False
    return measure.value is None and measure.low == measure.high > 0


Steps = Iterable[tuple[Task, Step]]


def answer_error(bounded: BoundedQuestion, steps: Steps) -> float:
    """What ways to answer are compared by, in rows: the typical noise, as often as it is met, and where keys are not
    listed what a group needs to be shown.

    Let sizes of groups lie evenly on a log scale up to a thousand times that need. A group that is not shown is wrong
    by its size, which comes to the need over all sizes below it; one that is shown is wrong by 0.8 standard deviations,
    over a range of log 1000. The largest units are taken to have c² rows in as many groups, c being the rows of a
    declared clip: in full they count in l2, and one row in c in l1, where all of the error weighs c times as much. Most
    units have c rows in as many groups, or a root of what the largest have.
    """
    steps = tuple(steps)
    needed, weight = 0.0, 1.0
    for task, step in steps:
        if isinstance(step.mechanism, KeySelection | KeyedCounts):
            part = bounded.parts[task.part]
            clip = None if task.clip is None else bounded.clip_of(task)
            needed += _rows_needed(part, clip, step.mechanism)
            weight = max([weight, *(_cut(other) for other in part.clips)])
    return weight * (needed + LOG * sqrt(_squares(bounded, steps)))


def _cut(clip: Clip) -> float:
    """How many rows of the largest units count as one."""
    rows = 1 if clip.exempt or clip.bound is None or clip.norm == "l2" else clip.bound / clip.row
    return float(max(1, rows))


def _squares(bounded: BoundedQuestion, steps: Steps) -> float:
    """The typical noise: squared sizes relative to one row, over all clips."""
    total = 0.0
    for task, step in steps:
        if task.kind == "noise":
            clip = bounded.clip_of(task)
            rows = _largest(bounded.parts[task.part], clip.norm)
            size = step.mechanism.standard_deviation
            total += (size / float(clip.row) if clip.bound is not None else size * rows) ** 2
    return total


def _largest(part: Bounded, norm: Norm) -> float:
    """The norm of the largest units, which a private bound is a unit of: they are in some of the groups, about √g of g,
    so that their l1 norm is √g rows where their l2 norm is g^¼."""
    groups = sqrt(group_count(part))
    return sqrt(groups) if norm == "l2" else groups


def _rows_needed(part: Bounded, clip: Clip | None, mechanism: Mechanism) -> float:
    """How many rows a group of typical units has that is shown with 95 % probability: each of them has one in it."""
    if isinstance(mechanism, KeySelection):
        known = [int(other.bound / other.row) for other in part.clips if other.bound is not None]
        keys = max(1, known[0]) if known else round(_largest(part, "l2"))
        return mechanism.needed(keys=min(keys, mechanism.most))
    assert isinstance(mechanism, KeyedCounts)
    assert clip is not None
    if clip.bound is None:
        mechanism = mechanism.scaled(ceil(clip.row * Fraction(_largest(part, clip.norm))))
    (counted,) = [measure for measure in part.measures if measure.name == part.counted]
    return mechanism.needed() / counted.high
