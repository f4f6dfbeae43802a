"""Stage 4: noise for every measure, so that the whole costs what was offered: the program, and the free quote.

The budget is shared among clips and quantiles alike, with smaller shares for choosing a clip or the keys to show.
Gaussian noise goes with l2 clips and is cheap for many groups; Laplace noise goes with l1 clips and needs no δ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import log, sqrt
from typing import Literal

from tacit.base import InputError, RefusalKind, Refused, Relation, Sensitivity, cached_property, positive, round_up
from tacit.base.problem import declare
from tacit.loss import ZCDP, Approx, Pure
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, DiscreteLaplace, KeyedCounts, KeySelection
from tacit.mechanism.additive import Additive
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded, BoundedQuestion, Clip, Norm, Recipe
from tacit.plan.centre import centre_step
from tacit.plan.choice import choice_share, choose_step
from tacit.plan.contribution import Contribution, root_up
from tacit.plan.describe import describe
from tacit.plan.finished import finished
from tacit.plan.keys import answer_error, by_counts
from tacit.plan.mu_squared import filled
from tacit.plan.profile import TableProfile
from tacit.plan.profiled import RELATIVE, group_count, with_profiles
from tacit.plan.question import LoweredQuestion
from tacit.program import Program, Step, Task

__all__ = ["CONFIDENCE", "RELATIVE", "Budget", "PricedPlan", "noise_step", "price", "reach", "rho_of"]

CENTRE = Fraction(1, 12)  # of a private centre
SELECT = Fraction(1, 2)  # shares beside 1 for a clip's noise and 1 for a quantile; `choice_share` is that of a bound
ENDS = Fraction(1, 5)  # of intervals round a quantile
CONFIDENCE = Fraction(95, 100)
ONE = Fraction(1)
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

    @cached_property
    def measured(self) -> "tuple[tuple[slice, PricedPlan], ...]":
        """Each of the questions that are measured together, as a plan of its own, and which parts are its."""
        found, first = [], 0
        for question in self.question.measured:
            own = slice(first, first + question.parts)
            mine = [recipe for recipe in self.recipes if own.start <= recipe.part < own.stop]
            recipes = tuple(replace(recipe, part=recipe.part - first) for recipe in mine)
            found.append((own, replace(self, question=question, parts=self.parts[own], recipes=recipes)))
            first = own.stop
        return tuple(found)

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
            tables=tuple(sorted(question.tables)),
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
        rho = rho_of(budget.amount, budget.delta - keys)
        gaussian = finished(lambda more: best("l2", more, keys), rho, budget.amount, budget.delta)
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
            "a delta",
            kind=RefusalKind.DECLARATION,
        )
    for task, weight in wanted:
        share = amount * weight / whole
        match task.kind:
            case "select":
                yield _select(bounded, task, share, delta / selections, relation)
            case "choose":
                yield choose_step(bounded, task, share)
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
                task = Task(kind="choose", part=number, clip=place, measures=clip.names)
                yield task, choice_share(bounded, task)
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
