"""What profiles say of a bounded question: bounds for its clips, and what those take from its answers.

Only rows of one private table are known by its profile: some of them (WHERE), with columns of public tables beside them
that match at most once. A subquery by unit, or a join of two private tables, makes rows that no profile counted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod, sqrt
from typing import Any

from tacit.plan.bounded import LARGEST, Bounded, BoundedQuestion, Clip, Measure, Recipe
from tacit.plan.moments import PAIRS, VARIANCES, column_of, range_of
from tacit.plan.node import Filter, Join, Node, Project, Scan
from tacit.plan.profile import STRICT, ClippingLoss, Kind, Shape, SizeHistogram, TableProfile

__all__ = ["MANY", "RELATIVE", "Missing", "group_count", "lowest", "missing_of", "with_profiles"]

RELATIVE = {"avg", "quantile", *VARIANCES, *PAIRS}
MANY = 300  # groups that are assumed where keys are not known

Profiles = Mapping[str, TableProfile]


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What clipping takes from an aggregate: of its one number, or of all groups together if it is `grouped`. The
    profile that tells was taken of this `version` of the table."""

    aggregate: str
    table: str
    version: str
    shape: Shape
    grouped: bool
    loss: ClippingLoss

    def json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns into an equal one."""
        return {
            "aggregate": self.aggregate,
            "table": self.table,
            "version": self.version,
            "shape": self.shape,
            "grouped": self.grouped,
            "loss": self.loss.json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Missing":
        """The inverse of `json`."""
        return cls(**{**data, "loss": ClippingLoss.from_json(data["loss"])})


def group_count(part: Bounded) -> int:
    """How many groups a part has, or is assumed to have."""
    known = [key.values for key in part.keys]
    return max(1, prod(MANY if value is None else len(value) for value in known))


def with_profiles(
    bounded: BoundedQuestion,
    profiles: Profiles,
    deviations: Callable[[BoundedQuestion], Mapping[tuple[int, int], float]],
) -> BoundedQuestion:
    """The question with a bound for every clip that was left open and that a profile knows.

    Over groups an l2 norm says how a unit's rows are spread, which no profile counts: such a bound is chosen privately.
    `deviations` tells, for a question with these bounds, the standard deviation of each clip's noise by its part and
    place, as a multiple of the bound. It depends on which clips have bounds, and not on how large they are.
    """
    open_clips = {
        (number, place): known
        for number, part in enumerate(bounded.parts)
        for place, clip in enumerate(part.clips)
        if clip.bound is None and not _spread(part, clip) and (known := _known(part, clip, profiles)) is not None
    }
    if not open_clips:
        return bounded
    tried = _with_bounds(bounded, {at: bounded.parts[at[0]].clips[at[1]].row for at in open_clips})
    noise = deviations(tried)
    kind: Kind = "laplace" if bounded.norm == "l1" else "gaussian"
    found = {at: _bound(bounded, at, known, noise.get(at, 1.0), kind) for at, known in open_clips.items()}
    return _with_bounds(bounded, found)


def missing_of(bounded: BoundedQuestion, profiles: Profiles) -> tuple[Missing, ...]:
    """What each aggregate may be missing, where a profile tells."""
    found = []
    for recipe in bounded.recipes:
        part = bounded.parts[recipe.part]
        clip = next(clip for clip in part.clips if recipe.inputs[0] in clip.names)
        known = None if clip.exempt or clip.bound is None else _known(part, clip, profiles)
        if known is not None and known.histogram.established:
            made = _missing(recipe, part, clip, known)
            if made is not None:
                found.append(made)
    return tuple(found)


def _spread(part: Bounded, clip: Clip) -> bool:
    """Whether a norm depends on how rows are spread over groups."""
    return clip.norm == "l2" and bool(part.keys)


@dataclass(frozen=True)
class _Known:
    """The histogram of what a clip bounds, the clip's steps in one of its units, and whether `all` rows are there."""

    profile: TableProfile
    histogram: SizeHistogram
    steps: Fraction
    all: bool


def _known(part: Bounded, clip: Clip, profiles: Profiles) -> _Known | None:
    scan, every = _scan_of(part.source)
    profile = None if scan is None else profiles.get(scan.table)
    if scan is None or profile is None:
        return None
    if clip.by_rows:
        return _Known(profile, profile.rows, clip.row, every) if profile.rows.usable else None
    measure = next((measure for measure in part.measures if measure.name in clip.names), None)
    if len(clip.names) != 1 or measure is None or measure.kind != "sum" or measure.value is None:
        return None
    column = column_of(measure.value, part.source)
    histogram = None if column is None else profile.histograms.get(column)
    if histogram is None or not histogram.usable:
        return None
    return _Known(profile, histogram, 1 / measure.step, every)


def _scan_of(source: Node) -> tuple[Scan | None, bool]:
    """The private table whose rows these are, and whether all of them are."""
    match source:
        case Scan():
            return source, True
        case Project():
            return _scan_of(source.below)
        case Filter():
            return _scan_of(source.below)[0], False
        case Join() if source.unique and source.left.private and not source.right.private:
            scan, every = _scan_of(source.left)
            return scan, every and source.kind == "left"
    return None, False


def _bound(bounded: BoundedQuestion, at: tuple[int, int], known: _Known, noise: float, kind: Kind) -> Fraction:
    """In steps: for averages and the like as many units above it as cost them little, else the best for totals."""
    part = bounded.parts[at[0]]
    clip, groups, histogram = part.clips[at[1]], group_count(part), known.histogram
    made = [recipe for recipe in bounded.recipes if recipe.part == at[0] and set(recipe.inputs) & set(clip.names)]
    if all(recipe.function in RELATIVE for recipe in made):
        units = histogram.units
        size = histogram.for_ratio(min(units / 2, 2 * sqrt(units * groups * noise)))
    elif part.keys:
        size = histogram.for_groups(noise, groups)
    else:
        shapes = {_shape(recipe, part, clip, known) for recipe in made if recipe.function not in RELATIVE}
        shape: Shape = "either" if "either" in shapes else "part" if "part" in shapes else "exact"
        size = histogram.for_total(noise, kind, shape)
    steps = size * known.steps
    return min(Fraction(LARGEST), Fraction(max(1, -(-steps.numerator // steps.denominator))))


def _with_bounds(bounded: BoundedQuestion, bounds: Mapping[tuple[int, int], Fraction]) -> BoundedQuestion:
    parts = []
    for number, part in enumerate(bounded.parts):
        clips = [
            replace(clip, bound=bounds[number, place]) if (number, place) in bounds else clip
            for place, clip in enumerate(part.clips)
        ]
        parts.append(replace(part, clips=tuple(clips)))
    return replace(bounded, parts=tuple(parts))


def _missing(recipe: Recipe, part: Bounded, clip: Clip, known: _Known) -> Missing | None:
    if recipe.function not in ("count", "sum", "histogram"):
        return None
    shape = _shape(recipe, part, clip, known)
    assert clip.bound is not None
    size = clip.bound / known.steps
    if part.keys:
        loss = known.histogram.loss(size, shape, 1 / known.steps, STRICT, each=clip.by_rows)
    else:
        loss = known.histogram.loss(size, shape, 1 / known.steps)
    if recipe.function == "sum" and clip.by_rows:  # so many rows, each as large as one can be
        loss = loss.scaled(float(_largest(recipe, part)))
    return Missing(
        aggregate=recipe.name,
        table=known.profile.table,
        version=known.profile.version,
        shape=shape,
        grouped=bool(part.keys),
        loss=loss,
    )


def _shape(recipe: Recipe, part: Bounded, clip: Clip, known: _Known) -> Shape:
    low = lowest(recipe, part)
    if recipe.function == "sum" and (low is None or low < 0):
        return "either"
    measure = _measure(part, recipe.inputs[0])
    plain = len(clip.names) == 1 and (measure.value is None or not clip.by_rows)
    return "exact" if known.all and plain and not part.keys else "part"


def _measure(part: Bounded, name: str) -> Measure:
    return next(measure for measure in part.measures if measure.name == name)


def lowest(recipe: Recipe, part: Bounded) -> Fraction | None:
    """The least value that a row adds to a sum; zero for counts."""
    if recipe.function != "sum":
        return Fraction(0)
    if len(recipe.inputs) == 1:
        return _measure(part, recipe.inputs[0]).low * recipe.step
    for centre in part.centres:  # wherever it is
        if part.clips[centre.clip].names == recipe.inputs:
            return range_of(centre.ranks.value)[0]
    return recipe.middle - _measure(part, recipe.inputs[1]).high * recipe.step


def _largest(recipe: Recipe, part: Bounded) -> Fraction:
    """The largest size of a value in a sum that is measured from a middle."""
    half = _measure(part, recipe.inputs[1]).high * recipe.step
    return abs(recipe.middle) + half
