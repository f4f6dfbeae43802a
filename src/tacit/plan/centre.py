"""A private centre: averages are measured from a number near the values, found for a small part of the price.

Measured from the middle of wide bounds every row is about as large as half of the range, and so is the noise; and a
unit that is clipped weighs the less the farther its values are from there, which pulls the average to the middle. From
a centre among the values rows are small, few units need clipping, and those pull nowhere in particular.
"""

from dataclasses import replace
from fractions import Fraction
from math import floor

from tacit.base import Relation, Sensitivity
from tacit.loss import ZCDP, Pure
from tacit.mechanism import BinnedQuantiles
from tacit.plan.bounded import Bounded, BoundedQuestion, Centre, Clip, Measure, Norm, Ranks
from tacit.plan.cells import Piece, rising_cells
from tacit.plan.expression import Expression
from tacit.plan.moments import Grid, moment, range_of, values
from tacit.program import Step, Task

__all__ = ["STEPS", "centre_of", "centre_part", "centre_step", "with_centre"]

QUANTILES = (Fraction(3, 5), Fraction(17, 20))  # the centre, and as far from it as a row counts
STEPS = 2**19  # of half a range: the least that a row counts has a thousand
LEAST = 1000  # parts of the range, of which a row counts one at least
CELLS = 256
FIRST = 64  # times what a row counts at the centre, which is the first edge to choose the bound from
ONE = 2**16  # steps of a row: a unit of more rows has no say


def centre_of(name: str, value: Expression, grid: Grid, clip: int, times: int) -> Centre:
    """For the average of a value on this grid, whose measures have the clip in that place; a row counts as many `times`
    as far as values lie from it."""
    low, high = range_of(value)
    pieces = rising_cells(low, high, value.facts.step or grid.step, CELLS)
    return Centre(clip=clip, ranks=Ranks(name=name, value=value, pieces=pieces, one=ONE), step=grid.step, times=times)


def centre_part(part: Bounded, centre: Centre, norm: Norm) -> Bounded:
    """What is run to find it: ranks over all rows, of which those of one unit have a mass of one row together."""
    name = centre.ranks.name
    clip = Clip(names=(name,), scales=(Fraction(1),), norm=norm, bound=Fraction(ONE), row=Fraction(ONE))
    return Bounded(source=part.source, keys=(), measures=(), clips=(clip,), ranks=(centre.ranks,))


def centre_step(bounded: BoundedQuestion, task: Task, share: Fraction, relation: Relation) -> Step:
    """Two quantiles in one group of all rows, to which a unit adds a mass of one row at most."""
    part = bounded.parts[task.part]
    (ranks,) = [centre.ranks for centre in part.centres if centre.clip == task.clip]
    moved = Sensitivity.scalar(ranks.one)
    mechanism = BinnedQuantiles.from_loss(
        Pure(share, relation=relation) if bounded.norm == "l1" else ZCDP(share, relation=relation),
        quantiles=QUANTILES,
        cells=ranks.cells,
        sensitivity=moved,
    )
    return Step(name=f"where {ranks.name} is measured from", mechanism=mechanism, sensitivity=moved, task=task)


def with_centre(part: Bounded, place: int, cells: tuple[int, int]) -> Bounded:
    """The part with the centre in that place at the first of two cells, and rows that count the way to the second."""
    centre = part.centres[place]
    value, clip = centre.ranks.value, part.clips[centre.clip]
    near, far = (_middle(cell, centre.ranks.pieces) for cell in cells)
    low, high = range_of(value)
    most = max(1, -(-(high - low) // centre.step))
    grid = Grid(low, centre.step, most).round(near, value.facts)
    row = min(max(floor(centre.times * (far - near) / centre.step), -(-most // LEAST)), most)
    count, total = clip.names
    made: dict[str, Measure] = {count: values(count, value, half=row), total: moment(total, value, grid)}
    return replace(
        part,
        measures=tuple(made.get(measure.name, measure) for measure in part.measures),
        clips=(*part.clips[: centre.clip], replace(clip, row=Fraction(row * FIRST)), *part.clips[centre.clip + 1 :]),
        centres=tuple(
            replace(other, middle=grid.middle, row=row) if other is centre else other for other in part.centres
        ),
    )


def _middle(cell: int, pieces: tuple[Piece, ...]) -> Fraction:
    for piece in pieces:
        if cell < piece.cells:
            break
        cell -= piece.cells
    return piece.low + piece.width * (2 * cell + 1) / 2
