"""Stage 4: noise for every measure, so that the whole costs what was offered: the program, and the free quote.

The budget is shared among clips and quantiles alike, with smaller shares for choosing a clip or the keys to show.
Gaussian noise goes with l2 clips and is cheap for many groups; Laplace noise goes with l1 clips and needs no δ.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, log, prod, sqrt
from typing import Literal

from tacit.base import InputError, Refused, Relation, Sensitivity, positive, round_up
from tacit.base.declare import declare
from tacit.loss import ZCDP, Pure
from tacit.mechanism import BinnedQuantiles, DiscreteGaussian, DiscreteLaplace, Exponential, KeySelection
from tacit.plan.bound import bound
from tacit.plan.bounded import Bounded, Clip, Norm
from tacit.plan.contribution import Contribution, root_up
from tacit.plan.describe import describe
from tacit.plan.moments import PAIRS, VARIANCES, Planned
from tacit.plan.question import Question
from tacit.program import Program, Step, Task

__all__ = ["RELATIVE", "Budget", "Priced", "price", "rho_of"]

CHOOSE = Fraction(3, 20)  # shares beside 1 for a clip's noise and 1 for a quantile
SELECT = Fraction(1, 2)
ENDS = Fraction(1, 2)  # of intervals round a quantile
CONFIDENCE = Fraction(95, 100)
MISLED = 50
RELATIVE = {"avg", "quantile", *VARIANCES, *PAIRS}
MANY = 100  # groups that are assumed where keys are not known
ONE = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one program may cost: an amount of ε or ρ, and a δ of its own for what needs one."""

    currency: Literal["epsilon", "rho"]
    amount: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "amount", positive(self.amount, self.currency))


@dataclass(frozen=True, kw_only=True)
class Priced:
    """A planned question with its program, whose every step has a task."""

    question: Question
    planned: Planned
    program: Program
    norm: Norm

    @cached_property
    def steps(self) -> tuple[tuple[Task, Step], ...]:
        """What each step is for, in order."""
        steps = [step for step in self.program.steps if isinstance(step, Step)]
        return tuple((step.task, step) for step in steps if step.task is not None)

    def noise_step(self, part: int, name: str) -> tuple[Step, Clip]:
        """The step and clip that a measure's noise comes from."""
        for task, step in self.steps:
            if task.kind == "noise" and task.part == part and task.clip is not None:
                clip = self.planned.parts[part].clips[task.clip]
                if name in clip.names:
                    return step, clip
        raise InputError(f"no step adds noise to {name}")


def price(question: Question, budget: Budget, *, relation: Relation, unit: str, contribution: Contribution) -> Priced:
    """The program of least error that costs at most the budget."""
    if budget.currency == "rho":
        return _priced(question, "l2", budget.amount, budget, relation, unit, contribution)
    laplace = _priced(question, "l1", budget.amount, budget, relation, unit, contribution)
    if not budget.delta or not _many(laplace.planned):
        return laplace
    if any(part.presence for part in laplace.planned.parts):
        return laplace  # its δ is spent on the keys
    try:
        rho = rho_of(budget.amount, budget.delta)
    except InputError:
        return laplace  # so small a δ leaves Gaussian noise nothing
    gaussian = _priced(question, "l2", rho, budget, relation, unit, contribution)
    return gaussian if _spread(gaussian) < _spread(laplace) else laplace


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


def _many(planned: Planned) -> bool:
    return any(_groups(part) > 1 or len(clip.names) > 1 for part in planned.parts for clip in part.clips)


def _groups(part: Bounded) -> int:
    known = [key.values for key in part.keys]
    return max(1, prod(MANY if value is None else len(value) for value in known))


def _spread(priced: Priced) -> float:
    """The typical noise, for comparing two ways to answer: squared sizes relative to one row, over all clips."""
    total = 0.0
    for task, step in priced.steps:
        if task.kind == "noise":
            assert task.clip is not None  # noise is on a clip
            clip = priced.planned.parts[task.part].clips[task.clip]
            groups = _groups(priced.planned.parts[task.part])
            # a private bound is in units of itself; a unit in g groups has an l1 norm up to √g times its l2 norm
            row = float(clip.row) if clip.bound is not None else sqrt(groups) if clip.norm == "l2" else float(groups)
            size = step.mechanism.standard_deviation
            total += (size / row if clip.bound is not None else size * row) ** 2
    return total


def _priced(
    question: Question,
    norm: Norm,
    amount: Fraction,
    budget: Budget,
    relation: Relation,
    unit: str,
    contribution: Contribution,
) -> Priced:
    """Shares of ρ for l2, of ε for l1."""
    planned = bound(question, norm=norm, contribution=contribution)
    wanted = list(_wanted(planned))
    if not wanted:
        raise Refused("nothing in this query is an aggregate of private rows: ask for COUNT(*), SUM(x), AVG(x) …")
    whole = sum(weight for _, _, _, weight in wanted)
    selections = sum(kind == "select" for kind, *_ in wanted)
    steps = []
    for kind, part, clip, weight in wanted:
        share = amount * weight / whole
        if kind == "select":
            if not budget.delta:
                raise Refused(
                    "these groups are not known in advance, and showing some of them needs a delta: declare their keys "
                    f"{declare('in the policy (keys = […])', 'with keys={…}')}, or give the dataset and the query a "
                    "delta"
                )
            steps.append(_select(planned.parts[part], part, norm, share, budget.delta / selections, relation))
            continue
        assert clip is not None  # of everything else
        if kind == "choose":
            steps.append(_choose(planned, part, clip, norm, share))
        elif kind == "noise":
            steps.append(_noise(planned.parts[part], part, clip, norm, share, relation))
        else:
            steps.append(_quantiles(planned, part, clip, norm, share, relation, CONFIDENCE if kind == "ends" else None))
    as_whole = budget.delta if budget.currency == "epsilon" and norm == "l2" else None
    program = Program(
        steps=tuple(steps),
        tables=tuple(sorted(question.source.tables)),
        relation=relation,
        unit=unit,
        query={"parts": describe(planned.parts), "recipes": describe(planned.recipes)},
        delta=as_whole,
    )
    return Priced(question=question, planned=planned, program=program, norm=norm)


def _wanted(planned: Planned) -> Iterator[tuple[str, int, int | None, Fraction]]:
    """What needs a share: (kind, part, clip, weight), in the order things must happen."""
    for number, part in enumerate(planned.parts):
        ranks = {rank.name for rank in part.ranks}
        chosen = False  # one choice serves all clips that go by rows
        for place, clip in enumerate(part.clips):
            if clip.bound is None and not (clip.by_rows and chosen):
                chosen |= clip.by_rows
                yield "choose", number, place, CHOOSE
        if part.presence is not None:
            yield "select", number, None, SELECT
        for place, clip in enumerate(part.clips):
            if set(clip.names) & ranks:
                count = len(_orders(planned, number, clip))
                yield "quantiles", number, place, Fraction(count)
                yield "ends", number, place, ENDS * count
            else:
                yield "noise", number, place, ONE


def _orders(planned: Planned, part: int, clip: Clip) -> list[Fraction]:
    """The different quantiles asked of one value."""
    asked = {recipe.fraction for recipe in planned.recipes if recipe.part == part and recipe.inputs == clip.names}
    return sorted(order for order in asked if order is not None)


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


def _noise(part: Bounded, number: int, place: int, norm: Norm, share: Fraction, relation: Relation) -> Step:
    clip = part.clips[place]
    size = reach(clip, relation, part)
    single = not part.keys and len(clip.names) == 1 and clip.bound is not None
    task = Task(kind="noise", part=number, clip=place, measures=clip.names, scaled=clip.bound is None)
    name = f"noise on {', '.join(clip.names)}" + (", in units of the chosen bound" if task.scaled else "")
    if norm == "l1":
        moved = Sensitivity.scalar(size) if single else Sensitivity(l1=size)
        return Step(name=name, mechanism=DiscreteLaplace(scale=size / share), sensitivity=moved, task=task)
    moved = Sensitivity.scalar(size) if single else Sensitivity(l2=size)
    sigma = round_up(sqrt(size**2 / (2 * share)) * (1 + 1e-15))
    step = Step(name=name, mechanism=DiscreteGaussian(sigma=sigma), sensitivity=moved, task=task)
    rho = step.loss(relation=relation, unit="unit").cost().rho
    if rho is None or rho > share:  # a fine lattice states itself through a Gaussian of variance σ² − 4
        sigma = round_up(sqrt(size**2 / (2 * share) + 4) * (1 + 1e-14))
        step = replace(step, mechanism=DiscreteGaussian(sigma=sigma))
    return step


def _select(part: Bounded, number: int, norm: Norm, share: Fraction, delta: Fraction, relation: Relation) -> Step:
    assert part.presence is not None
    twice = 1 if relation is Relation.ADD_REMOVE else 2
    if norm == "l2":
        mechanism = KeySelection.from_rho(share / twice, delta=delta, one=part.presence.one)
    else:
        mechanism = KeySelection.from_epsilon(share / twice, delta=delta, one=part.presence.one)
    return Step(name="which groups to show", mechanism=mechanism, task=Task(kind="select", part=number))


def _choose(planned: Planned, number: int, clip: int, norm: Norm, share: Fraction) -> Step:
    """Raising the bound adds noise to every group and lets some units count in full: about √groups/√2ρ of them, or
    √2·groups/ε, should stay above it, and never fewer than the choice itself is uncertain by.

    Averages and quantiles lose little when units weigh less than their rows, and gain all of the noise: half of the
    units are above the bound there.
    """
    part = planned.parts[number]
    moved = Sensitivity.scalar(1)
    groups = _groups(part)
    if norm == "l2":
        mechanism = Exponential.from_loss(ZCDP(share), sensitivity=moved)
        noise = share / CHOOSE
        wanted = sqrt(groups / (2 * float(noise)))
    else:
        mechanism = Exponential.from_loss(Pure(share), sensitivity=moved)
        wanted = sqrt(2 * groups) / float(share / CHOOSE)
    doubt = float(mechanism.scale) * log(MISLED)  # a bound above everybody has 1/MISLED of the weight of a good one
    target = None if _relative(planned, number, clip) else ceil(max(wanted, doubt))
    return Step(
        name="how much one unit may count",
        mechanism=mechanism,
        sensitivity=moved,
        concentrated=norm == "l2",
        task=Task(kind="choose", part=number, clip=clip, measures=part.clips[clip].names, target=target),
    )


def _relative(planned: Planned, number: int, clip: int) -> bool:
    """Whether all that a choice of bound is for is averages and the like, which do not grow with the rows."""
    part = planned.parts[number]
    served = [part.clips[clip]]
    if served[0].by_rows:
        served = [other for other in part.clips if other.by_rows and other.bound is None]
    names = {name for other in served for name in other.names}
    made = [recipe.function for recipe in planned.recipes if recipe.part == number and names & set(recipe.inputs)]
    return all(function in RELATIVE for function in made)


def _quantiles(
    planned: Planned,
    part: int,
    clip: int,
    norm: Norm,
    share: Fraction,
    relation: Relation,
    confidence: Fraction | None,
) -> Step:
    bounded = planned.parts[part]
    of = bounded.clips[clip]
    ranks = next(rank for rank in bounded.ranks if rank.name in of.names)
    size = ONE if of.bound is None else of.bound
    over_groups = Sensitivity(l1=size) if norm == "l1" else Sensitivity(l2=size)
    moved = over_groups if bounded.keys else Sensitivity.scalar(size)
    mechanism = BinnedQuantiles.from_loss(
        Pure(share, relation=relation) if norm == "l1" else ZCDP(share, relation=relation),
        quantiles=_orders(planned, part, of),
        cells=ranks.cells,
        sensitivity=moved,
        confidence=confidence,
    )
    kind, what = ("quantiles", "quantiles") if confidence is None else ("ends", "intervals round quantiles")
    task = Task(kind=kind, part=part, clip=clip, measures=of.names, scaled=of.bound is None)
    name = f"{what} from {ranks.name}" + (", in units of the chosen bound" if task.scaled else "")
    return Step(name=name, mechanism=mechanism, sensitivity=moved, task=task)
