"""Stage 4: noise for every measure, so that the whole costs what was offered: the program, and the free quote.

The budget is shared among clips and quantiles alike, with smaller shares for choosing a clip or the keys to show.
Gaussian noise goes with l2 clips and is cheap for many groups; Laplace noise goes with l1 clips and needs no δ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, sqrt
from typing import Literal

from tacit.base import InputError, Refused, Relation, Sensitivity, cached_property, positive, round_up
from tacit.base.problem import declare
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, DiscreteLaplace, Exponential, KeyedCounts, KeySelection
from tacit.mechanism.additive import Additive
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded, BoundedQuestion, Clip, Norm, Recipe, per_row_target
from tacit.plan.centre import centre_step
from tacit.plan.contribution import Contribution, root_up
from tacit.plan.describe import describe
from tacit.plan.keys import answer_error, by_counts
from tacit.plan.mu_squared import filled
from tacit.plan.profile import TableProfile
from tacit.plan.profiled import RELATIVE, group_count, with_profiles
from tacit.plan.question import LoweredQuestion
from tacit.program import Program, Step, Task

__all__ = ["CONFIDENCE", "RELATIVE", "Budget", "PricedPlan", "noise_step", "price", "reach", "rho_of"]

CENTRE = Fraction(1, 8)  # of a private centre
SELECT = Fraction(1, 2)  # shares beside 1 for a clip's noise and 1 for a quantile; `_choice` is that of a bound
ENDS = Fraction(1, 3)  # of intervals round a quantile
CONFIDENCE = Fraction(95, 100)
ONE = Fraction(1)
LEFT_OUT = 16  # times the square of a quantile's noise for one row: as many rows left out move it as far
IN_UNITS = ", in units of the chosen bound"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one program may cost: an amount of ε, ρ or μ², and a δ of its own for what needs one."""

    currency: Literal["epsilon", "rho", "mu_squared"]
    amount: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "amount", positive(self.amount, self.currency))


@dataclass(frozen=True, kw_only=True)
class PricedPlan(BoundedQuestion):
    """A bounded question with its program, whose every step has a task, and the `profiles` of its tables."""

    question: LoweredQuestion
    program: Program
    profiles: Mapping[str, TableProfile] = field(default_factory=dict)

    @cached_property
    def steps(self) -> tuple[tuple[Task, Step], ...]:
        """What each step is for, in order."""
        steps = [step for step in self.program.steps if isinstance(step, Step)]
        return tuple((step.task, step) for step in steps if step.task is not None)

    def noise_in(self, recipe: Recipe) -> tuple[Step, Clip]:
        """The step whose noise an aggregate has, or the ends of its interval if it is a quantile; and the clip."""
        kind = "ends" if recipe.function == "quantile" else "noise"
        for task, step in self.steps:
            if (task.kind, task.part) == (kind, recipe.part) and recipe.inputs[0] in task.measures:
                return step, self.clip_of(task)
        raise InputError(f"no step adds noise to {recipe.inputs[0]}")


def price(
    question: LoweredQuestion, budget: Budget, *, relation: Relation, unit: str, contribution: Contribution
) -> PricedPlan:
    """The program of least error that costs at most the budget."""

    def within(bounded: BoundedQuestion, amount: Fraction, delta: Fraction) -> PricedPlan:
        norm = bounded.norm
        if contribution.profiles:

            def deviations(tried: BoundedQuestion) -> dict[tuple[int, int], float]:
                return _deviations(tried, amount, relation)

            bounded = with_profiles(bounded, contribution.profiles, deviations)
        program = Program(
            steps=tuple(_steps(bounded, amount, delta, relation)),
            tables=tuple(sorted(question.source.tables)),
            relation=relation,
            unit=unit,
            query={"parts": describe(bounded.parts), "recipes": describe(bounded.recipes)},
            delta=budget.delta if budget.currency == "epsilon" and norm == "l2" else None,
        )
        return PricedPlan(
            question=question,
            norm=norm,
            parts=bounded.parts,
            recipes=bounded.recipes,
            program=program,
            profiles=contribution.profiles,
        )

    def best(norm: Norm, amount: Fraction, delta: Fraction) -> PricedPlan:
        """The better of the two ways to show keys that nobody listed; where all are listed there is but one."""
        bounded = bound(question, norm=norm, contribution=contribution)
        ways = [bounded, by_counts(bounded)] if any(part.presence for part in bounded.parts) else [bounded]
        return min((within(way, amount, delta) for way in ways if way is not None), key=_error)

    if budget.currency == "rho":
        return best("l2", budget.amount, budget.delta)
    if budget.currency == "mu_squared":
        return filled(lambda rho: best("l2", rho, budget.delta), budget.amount)
    laplace = best("l1", budget.amount, budget.delta)
    if not budget.delta or not _many(laplace):
        return laplace
    unlisted = any(key.values is None for part in laplace.parts for key in part.keys)
    keys = budget.delta / 2 if unlisted else Fraction(0)  # of δ, to show keys with; the rest turns ε into ρ
    try:
        gaussian = best("l2", rho_of(budget.amount, budget.delta - keys), keys)
    except InputError:
        return laplace  # so small a δ leaves Gaussian noise nothing
    if not unlisted and _chooses(gaussian) and not _chooses(laplace):
        return laplace  # its bounds are known, and of those that are not only a guess could be compared
    return gaussian if _error(gaussian) < _error(laplace) else laplace


def _chooses(priced: PricedPlan) -> bool:
    return any(task.kind == "choose" for task, _ in priced.steps)


SMALLEST = 2.0**-60  # of ρ


@lru_cache(maxsize=256)
def rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The most ρ that is within (ε, δ), to a part in 10^9; never more.

    False position with halved weights (the Illinois rule) on logarithms, where the curve is nearly straight: some eight
    steps where halving takes sixty. Whatever the steps are, what is returned was checked to be within.
    """

    def beyond(rho: float) -> float:
        spent = Fraction(ZCDP(Fraction(rho)).epsilon(delta).upper)
        return log(max(spent / epsilon, Fraction(1, 10**9))) if spent <= epsilon else max(1e-15, log(spent / epsilon))

    low, high = SMALLEST, max(1.0, 2 * float(epsilon))
    under, over = beyond(low), beyond(high)
    if under > 0:
        raise InputError("epsilon and delta are so small that nothing fits: raise one of them")
    if over <= 0:
        return Fraction(high)
    side = 0
    for _ in range(200):
        if high <= low * (1 + 1e-9):
            break
        share = min(max(under / (under - over), 1e-10), 1 - 1e-10)
        middle = low * (high / low) ** share
        if not low < middle < high:
            break
        found = beyond(middle)
        if found <= 0:
            low, under, over, side = middle, found, over / 2 if side < 0 else over, -1
        else:
            high, over, under, side = middle, found, under / 2 if side > 0 else under, 1
    return Fraction(low)


def _error(priced: PricedPlan) -> float:
    return answer_error(priced, priced.steps)


def _many(bounded: BoundedQuestion) -> bool:
    return any(group_count(part) > 1 or len(clip.names) > 1 for part in bounded.parts for clip in part.clips)


def _steps(bounded: BoundedQuestion, amount: Fraction, delta: Fraction, relation: Relation) -> Iterator[Step]:
    """A step for everything that needs one, each with its share of the amount: of ρ for l2, of ε for l1."""
    wanted = list(_wanted(bounded))
    if not wanted:
        raise Refused("nothing in this query is an aggregate of private rows: ask for COUNT(*), SUM(x), AVG(x) …")
    whole = sum(weight for _, weight in wanted)
    selections = sum(task.kind == "select" or _shows_keys(bounded, task) for task, _ in wanted)
    if selections and not delta:
        raise Refused(
            "these groups are not known in advance, and showing some of them needs a delta: declare their keys "
            f"{declare('in the policy (group_keys = […])', 'with group_keys={…}')}, or give the dataset and the query "
            "a delta"
        )
    for task, weight in wanted:
        share = amount * weight / whole
        match task.kind:
            case "select":
                yield _select(bounded, task, share, delta / selections, relation)
            case "choose":
                yield _choose(bounded, task, share)
            case "noise" if _shows_keys(bounded, task):
                yield _counts(bounded, task, share, delta / selections, relation)
            case "centre":
                yield centre_step(bounded, task, share, relation)
            case "noise":
                yield _noise(bounded, task, share, relation)
            case _:
                yield _quantiles(bounded, task, share, relation)


def _deviations(bounded: BoundedQuestion, amount: Fraction, relation: Relation) -> dict[tuple[int, int], float]:
    """The standard deviation of the noise of each clip that has a bound, as a multiple of it."""
    wanted = list(_wanted(bounded))
    each = amount / sum(weight for _, weight in wanted)
    found = {}
    for task, weight in wanted:
        if (
            task.clip is not None
            and task.kind in ("noise", "ends")
            and (most := bounded.clip_of(task).bound) is not None
        ):
            noise = _noise(bounded, task, each * weight, relation).mechanism.standard_deviation
            found[task.part, task.clip] = noise / float(most)
    return found


def _wanted(bounded: BoundedQuestion) -> Iterator[tuple[Task, Fraction]]:
    """What needs a share, and how large a one, in the order things must happen."""
    for number, part in enumerate(bounded.parts):
        ranks = {rank.name for rank in part.ranks}
        for centre in part.centres:
            names = part.clips[centre.clip].names
            yield Task(kind="centre", part=number, clip=centre.clip, measures=names), CENTRE
        chosen = False  # one choice serves all clips that go by rows
        for place, clip in enumerate(part.clips):
            if clip.bound is None and not (clip.by_rows and chosen):
                chosen |= clip.by_rows
                yield (
                    Task(kind="choose", part=number, clip=place, measures=clip.names),
                    _choice(group_count(part), clip.norm),
                )
        if part.presence is not None:
            yield Task(kind="select", part=number), SELECT
        for place, clip in sorted(enumerate(part.clips), key=lambda found: part.counted not in found[1].names):
            task = Task(kind="noise", part=number, clip=place, measures=clip.names, scaled=clip.bound is None)
            if set(clip.names) & ranks:
                count = len(_orders(bounded, task))
                yield replace(task, kind="quantiles"), Fraction(count)
                yield replace(task, kind="ends"), ENDS * count
            else:
                yield task, ONE


def _orders(bounded: BoundedQuestion, task: Task) -> list[Fraction]:
    """The different quantiles asked of one value."""
    recipes = [recipe for recipe in bounded.recipes if (recipe.part, recipe.inputs) == (task.part, task.measures)]
    return sorted({recipe.fraction for recipe in recipes if recipe.fraction is not None})


def reach(clip: Clip, relation: Relation, part: Bounded) -> Fraction:
    """How far one unit moves the clipped vector. Replacing it is taking one vector away and adding another."""
    size = ONE if clip.bound is None else clip.bound
    if relation is Relation.ADD_REMOVE:
        return size
    measures = [measure for measure in part.measures if measure.name in clip.names]
    positive_only = all(measure.low >= 0 for measure in measures)
    if positive_only and not part.keys and len(clip.names) == 1:
        return size  # two numbers between 0 and the bound
    if positive_only and clip.norm == "l2":
        return size * root_up(Fraction(2))  # no coordinate of one vector cancels one of the other
    return 2 * size


def _noise(bounded: BoundedQuestion, task: Task, share: Fraction, relation: Relation) -> Step:
    part, clip = bounded.parts[task.part], bounded.clip_of(task)
    size = reach(clip, relation, part)
    name = f"noise on {', '.join(clip.names)}{IN_UNITS if task.scaled else ''}"
    alone = not part.keys and len(clip.names) == 1 and clip.bound is not None
    return noise_step(name, size, share, _moved(size, bounded.norm, alone=alone), bounded.norm, relation, task)


def _shows_keys(bounded: BoundedQuestion, task: Task) -> bool:
    """Whether the noise of a clip also decides on keys."""
    return task.kind == "noise" and bounded.parts[task.part].counted in task.measures


def _counts(bounded: BoundedQuestion, task: Task, share: Fraction, delta: Fraction, relation: Relation) -> Step:
    """The noise of a count, below a threshold of which no group is shown."""
    step, clip = _noise(bounded, task, share, relation), bounded.clip_of(task)
    assert isinstance(step.mechanism, Additive)
    mechanism = KeyedCounts(noise=step.mechanism, delta=delta, most=ONE if clip.bound is None else clip.bound)
    return replace(step, name=f"{step.name}, and which groups to show", mechanism=mechanism)


def noise_step(
    name: str, size: Fraction, share: Fraction, moved: Sensitivity, norm: Norm, relation: Relation, task: Task
) -> Step:
    """The least noise for what moves by `size` in a norm that costs at most `share`: of ε for l1, of ρ for l2."""
    if norm == "l1":
        return Step(name=name, mechanism=DiscreteLaplace(scale=size / share), sensitivity=moved, task=task)
    sigma = round_up(sqrt(size**2 / (2 * share)) * (1 + 1e-15))
    step = Step(name=name, mechanism=DiscreteGaussian(sigma=sigma), sensitivity=moved, task=task)
    rho = step.loss(relation=relation, unit="unit").cost().rho
    if rho is None or rho > share:  # a fine lattice states itself through a Gaussian of variance σ² − 4
        sigma = round_up(sqrt(size**2 / (2 * share) + 4) * (1 + 1e-14))
        step = replace(step, mechanism=DiscreteGaussian(sigma=sigma))
    return step


def _moved(size: Fraction, norm: Norm, *, alone: bool) -> Sensitivity:
    """By how much one unit moves one number, or a vector in this norm."""
    if alone:
        return Sensitivity.scalar(size)
    return Sensitivity(l1=size) if norm == "l1" else Sensitivity(l2=size)


def _select(bounded: BoundedQuestion, task: Task, share: Fraction, delta: Fraction, relation: Relation) -> Step:
    presence = bounded.parts[task.part].presence
    assert presence is not None
    zcdp = bounded.norm == "l2"
    loss = ZCDP(share, delta=delta, relation=relation) if zcdp else Approx(share, delta, relation=relation)
    mechanism = KeySelection.from_loss(loss, one=presence.one)
    return Step(name="which groups to show", mechanism=mechanism, task=task)


def _choice(groups: int, norm: Norm) -> Fraction:
    """The share of a choice of bound, beside 1 for the noise: the fewer groups, the more one bound decides."""
    wanted, least = (
        (Fraction(4, groups), Fraction(1, 8)) if norm == "l1" else (Fraction(36, groups**2), Fraction(1, 20))
    )
    return min(max(wanted, least), Fraction(3, 8))


def _choose(bounded: BoundedQuestion, task: Task, share: Fraction) -> Step:
    """Raising the bound adds noise to every group and lets some units count in full: it is worth it while more than
    about √2·groups/ε units are above it, or a third of 2·groups/√2ρ, since l2 norms of units in several groups lie
    closer together. Fewer than half of what the choice is uncertain by cannot be aimed at. Shares, targets and weights
    are the best of a grid over twelve shapes of data, three sizes and ε from 0.1 to 4; privacy needs none of them.

    The score is how many units above the bound are too many: all scores fall or all rise with a unit, whatever it is
    replaced by, so that it is monotone. See docs/theory/clip-choice.md.

    Averages and quantiles lose little when units weigh less than their rows, and gain all of the noise: half of the
    units are above the bound there, which is not monotone. Not so for averages from a private centre, where rows are
    small: as few as for totals, since whoever has unusual values is above it first. Nor for quantiles over everything:
    rows that are left out move a quantile as rows do that were never drawn, so `target` is for each row of the bound.
    """
    moved = Sensitivity.scalar(1)
    groups = group_count(bounded.parts[task.part])
    noise = float(share / _choice(groups, bounded.norm))
    by_row = per_row_target(bounded.parts[task.part], bounded.clip_of(task))
    relative = _relative(bounded, task) and not by_row
    loss, wanted = (
        (ZCDP(share), 2 * groups / (3 * sqrt(2 * noise)))
        if bounded.norm == "l2"
        else (Pure(share), sqrt(2) * groups / noise)
    )
    mechanism = Exponential.from_loss(loss, sensitivity=moved, monotone=not relative)
    if by_row:
        wanted = LEFT_OUT / (noise**2 if bounded.norm == "l1" else 8 * noise)
    target = None if relative else ceil(max(wanted, float(mechanism.scale) / 2))
    return Step(
        name="how much one unit may count",
        mechanism=mechanism,
        sensitivity=moved,
        concentrated=bounded.norm == "l2",
        task=replace(task, target=target),
    )


def _relative(bounded: BoundedQuestion, task: Task) -> bool:
    """Whether all that a choice of bound is for is averages and the like, which do not grow with the rows."""
    if any(centre.clip == task.clip for centre in bounded.parts[task.part].centres):
        return False
    served = [bounded.clip_of(task)]
    if served[0].by_rows:
        served = [other for other in bounded.parts[task.part].clips if other.by_rows and other.bound is None]
    names = {name for other in served for name in other.names}
    made = [recipe for recipe in bounded.recipes if recipe.part == task.part and names & set(recipe.inputs)]
    return all(recipe.function in RELATIVE for recipe in made)


def _quantiles(bounded: BoundedQuestion, task: Task, share: Fraction, relation: Relation) -> Step:
    part, clip = bounded.parts[task.part], bounded.clip_of(task)
    (ranks,) = [rank for rank in part.ranks if rank.name in clip.names]
    moved = _moved(ONE if clip.bound is None else clip.bound, bounded.norm, alone=not part.keys)
    mechanism = BinnedQuantiles.from_loss(
        Pure(share, relation=relation) if bounded.norm == "l1" else ZCDP(share, relation=relation),
        quantiles=_orders(bounded, task),
        cells=ranks.cells,
        sensitivity=moved,
        confidence=CONFIDENCE if task.kind == "ends" else None,
    )
    what = "intervals round quantiles" if task.kind == "ends" else "quantiles"
    name = f"{what} from {ranks.name}{IN_UNITS if task.scaled else ''}"
    return Step(name=name, mechanism=mechanism, sensitivity=moved, task=task)
