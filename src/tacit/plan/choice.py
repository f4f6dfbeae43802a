"""A bound on what one unit may count, chosen privately: its share of the price, and the step that chooses it.

Raising the bound adds noise to every number and lets some units count in full: it is worth it while more units than a
target are above it. Shares, targets and weights are the best of grids over made-up data, and were judged on other
shapes than they were found by (docs/theory/clip-choice.md); privacy needs none of them.
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil, isqrt, sqrt

from tacit.base import Sensitivity
from tacit.loss import ZCDP, Pure
from tacit.mechanism import Exponential
from tacit.plan.bounded import Bounded, BoundedQuestion, Norm, per_row_target
from tacit.plan.profiled import RELATIVE, group_count
from tacit.program import Step, Task

__all__ = ["choice_share", "choose_step", "units_above"]

EASY = Fraction(1, 20)  # the share where so many units are above the best bound that little noise finds it
LEFT_OUT = 16  # times the square of a quantile's noise for one row: as many rows left out move it as far
PARTS = 10_000  # of one, that a task's root is counted in
ROOT = 0.04  # times the units, over ε, of which an average of one group leaves the root above its bound,
LEAN = {"l1": 5 * sqrt(2), "l2": 2.4 / sqrt(2)}  # and no more than so many for each group, over ε or √ρ
MOVED = 50  # units for each group, over ε² or 8ρ, whose weights move a quantile about as far as noise does
FEW = 50  # groups that are taken to be shown, where keys are not listed
SHOWN = {"l1": 80, "l2": 70}  # units above the best bound there, times √ε


def choice_share(bounded: BoundedQuestion, task: Task) -> Fraction:
    """The share of a choice of bound, beside 1 for the noise: the fewer groups, the more one bound decides."""
    part, norm = bounded.parts[task.part], bounded.clip_of(task).norm
    if _relative(bounded, task):
        single = norm == "l1" and _centred(bounded, task)
        return min(max(Fraction(1, 2 * _groups(part)), EASY), Fraction(1, 5)) if single else EASY
    groups = group_count(part)
    wanted, least = (Fraction(4, groups), Fraction(1, 12)) if norm == "l1" else (Fraction(36, groups**2), EASY)
    return min(max(wanted, least), Fraction(3, 8))


def choose_step(bounded: BoundedQuestion, task: Task, share: Fraction) -> Step:
    """The score is how many units above the bound are too many: all scores fall or all rise with a unit, whatever it is
    replaced by, so that it is monotone, for fixed targets and for those that go by the number of units.

    Totals aim at few units, and averages and quantiles, which lose little when units weigh less than their rows, at
    more: at a root of their number from a private centre, where whoever has unusual values is above the bound first,
    and at half of them elsewhere; but at no more than lean about as far as the noise goes, however many units there
    are. Rows that are left out of a quantile over everything move it as rows do that were never drawn: there `target`
    is for each row of the bound.
    """
    part, clip = bounded.parts[task.part], bounded.clip_of(task)
    moved, noise = Sensitivity.scalar(1), share / choice_share(bounded, task)
    loss = ZCDP(share) if bounded.norm == "l2" else Pure(share)
    mechanism = Exponential.from_loss(loss, sensitivity=moved, monotone=True)
    square = float(noise**2 if bounded.norm == "l1" else 8 * noise)
    if per_row_target(part, clip):
        task = replace(task, target=ceil(LEFT_OUT / square))
    elif not _relative(bounded, task):
        wanted = _left_out(bounded, task, float(noise))
        task = replace(task, target=ceil(max(wanted, float(mechanism.scale) / 2)))
    elif _centred(bounded, task):
        groups, size = _groups(part), float(noise)
        root = ROOT * groups**1.8 / _epsilon(size, bounded.norm)
        most = LEAN[bounded.norm] * max(groups, 2) / (size if bounded.norm == "l1" else sqrt(size))
        task = replace(task, root=ceil(root * PARTS), most=ceil(most))
    else:
        task = replace(task, most=ceil(max(MOVED * _groups(part) / square, float(mechanism.scale) / 2)))
    return Step(
        name="how much one unit may count",
        mechanism=mechanism,
        sensitivity=moved,
        concentrated=bounded.norm == "l2",
        task=task,
    )


def units_above(task: Task, units: int) -> int:
    """How many of so many units may be above a bound, before there are too many. With one unit more it grows by 0 or 1,
    as the units above a bound do: so no score rises, or none falls, whatever the target goes by."""
    if task.target is not None:
        return task.target
    root = units if task.root is None else isqrt(task.root * units // PARTS)
    return min(units // 2, root, units if task.most is None else task.most)


def _epsilon(amount: float, norm: Norm) -> float:
    """Of ρ, the ε with about as much noise for a unit of usual spread."""
    return amount if norm == "l1" else 4 * sqrt(amount)


def _groups(part: Bounded) -> int:
    return FEW if any(key.values is None for key in part.keys) else group_count(part)


def _left_out(bounded: BoundedQuestion, task: Task, noise: float) -> float:
    """About how many units are best left above the bound of totals: groups/ε, or a third of 2·groups/√2ρ, since l2
    norms of units in several groups lie closer together. Of keys that nobody listed only groups that are shown have
    noise, the fewer the more of it there is."""
    part = bounded.parts[task.part]
    if part.presence is not None or part.counted is not None:
        return SHOWN[bounded.norm] / sqrt(_epsilon(noise, bounded.norm))
    groups = group_count(part)
    return groups / noise if bounded.norm == "l1" else 2 * groups / (3 * sqrt(2 * noise))


def _centred(bounded: BoundedQuestion, task: Task) -> bool:
    return any(centre.clip == task.clip for centre in bounded.parts[task.part].centres)


def _relative(bounded: BoundedQuestion, task: Task) -> bool:
    """Whether all that a choice of bound is for is averages and the like, which do not grow with the rows."""
    served = [bounded.clip_of(task)]
    if served[0].by_rows:
        served = [other for other in bounded.parts[task.part].clips if other.by_rows and other.bound is None]
    names = {name for other in served for name in other.names}
    made = [recipe for recipe in bounded.recipes if recipe.part == task.part and names & set(recipe.inputs)]
    return all(recipe.function in RELATIVE for recipe in made)
