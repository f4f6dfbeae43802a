"""A bound on what one unit may count, chosen privately: its share of the price, and the step that chooses it."""

from dataclasses import replace
from fractions import Fraction
from math import ceil, sqrt

from tacit.base import Sensitivity
from tacit.loss import ZCDP, Pure
from tacit.mechanism import Exponential
from tacit.plan.bounded import BoundedQuestion, Norm, per_row_target
from tacit.plan.profiled import RELATIVE, group_count
from tacit.program import Step, Task

__all__ = ["choice_share", "choose_step"]

LEFT_OUT = 16  # times the square of a quantile's noise for one row: as many rows left out move it as far


def choice_share(groups: int, norm: Norm) -> Fraction:
    """The share of a choice of bound, beside 1 for the noise: the fewer groups, the more one bound decides."""
    wanted, least = (
        (Fraction(4, groups), Fraction(1, 8)) if norm == "l1" else (Fraction(36, groups**2), Fraction(1, 20))
    )
    return min(max(wanted, least), Fraction(3, 8))


def choose_step(bounded: BoundedQuestion, task: Task, share: Fraction) -> Step:
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
    noise = float(share / choice_share(groups, bounded.norm))
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
