"""A question whose every answer has a proven sensitivity: what an engine runs, and what noise is added to.

Everything is in whole numbers. A measure is a vector over the groups: for each group the sum over units of what they
contribute, after each unit's whole contribution was clipped.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tacit.plan.cells import Piece
from tacit.plan.expression import Expression
from tacit.plan.facts import Facts, Value
from tacit.plan.node import IF_GIVEN, UNSAID, Node
from tacit.program import Task

__all__ = [
    "LARGEST",
    "OCTAVE",
    "Bounded",
    "BoundedQuestion",
    "Centre",
    "Clip",
    "Key",
    "Measure",
    "Norm",
    "Presence",
    "Ranks",
    "Recipe",
    "per_row_target",
]

Norm = Literal["l1", "l2"]

OCTAVE = 8  # bounds to choose from between one and twice it
LARGEST = 2**40  # of a bound, and of one row, in steps: engines add up more rows than there are without overflow


@dataclass(frozen=True, kw_only=True)
class Key:
    """What rows are grouped by. With a domain every group is known in advance, NULL too where it can occur."""

    name: str
    expression: Expression

    @property
    def facts(self) -> Facts:
        return self.expression.facts

    @property
    def values(self) -> tuple[Value, ...] | None:
        domain = self.facts.domain
        return None if domain is None else (*domain, *((None,) if self.facts.nullable else ()))


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A whole number per row, in steps, added up. Rows where it is NULL add nothing.

    kind "sum": floor(value/step + 1/2) − offset, clamped to low..high; without a value, `high` for each row.
    kind "units": `high` for each unit in each group where it has a row with a value that is not NULL.
    kind "distinct": the same for each different value in a group, `high` where low = high; of each unit at most `cap`
    (group, value) pairs count, the first ones in the order of values and then keys. It cannot be scaled, so its clip is
    exempt.

    Where low = high every row that counts counts that much. Clipping rounds toward zero, so that counts of 1 vanish
    under any weight below one: a count that may be clipped is better kept in finer steps.
    """

    name: str
    kind: Literal["sum", "units", "distinct"] = "sum"
    value: Expression | None = None
    step: Fraction = Fraction(1)
    offset: int = 0  # in steps
    low: int = 1  # of one row, after the offset
    high: int = 1
    cap: int | None = None
    shares: tuple[int, ...] = field(default=(), metadata=IF_GIVEN)  # so many times a row counts in each level


@dataclass(frozen=True, kw_only=True)
class Ranks:
    """How many rows lie in each cell of a divided range, for quantiles: cell i holds edge_i ≤ value < edge_i+1.

    In the piece that a value lies in, the first or the last if it lies beyond, its cell is floor((value − low)/width),
    clamped to 0..cells−1, after those of earlier pieces; that is one more key of their own table. Each row counts `one`
    steps; those of a unit over its bound count floor(one · weight), so `one` is the finer the better.
    """

    name: str
    value: Expression
    pieces: tuple[Piece, ...]
    one: int = 1

    @property
    def cells(self) -> int:
        return sum(piece.cells for piece in self.pieces)


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Some measures that share one weight: all that one unit gives them, over all groups, is one vector.

    Each coordinate counts `scales[i]` times its size; the vector is scaled by min(1, bound/norm) and rounded toward
    zero, so that its norm is at most `bound`. `None` is a bound that is chosen privately before the run; `exempt` says
    that no unit can pass the bound, so that nothing needs clipping (each row is a unit, or a maximum is vouched for).
    `names` are of measures, or of one Ranks (coordinates: groups, each `one` times the unit's rows in it).
    """

    names: tuple[str, ...]
    scales: tuple[Fraction, ...]
    norm: Norm
    bound: Fraction | None
    exempt: bool = False
    row: Fraction = Fraction(1)  # the most that one row can count
    by_rows: bool = False  # every row counts about as much, so that a bound for another such clip serves this one too
    by_groups: bool = field(default=False, metadata=IF_GIVEN)  # a unit counts so much in each group that it is in

    @property
    def places(self) -> dict[int, int]:
        """The bounds to choose from when none is given, `OCTAVE` between one and twice it, each with its place among
        them: from one row, or less where rows differ, to 65,536. Whole rows, or groups, where every norm is so many."""
        whole = self.norm == "l1" and len(self.names) == 1 and (self.by_rows or self.by_groups)
        found: dict[int, int] = {}
        for place in range(0 if self.by_rows else -6 * OCTAVE, 16 * OCTAVE + 1):
            rows = 2 ** (place / OCTAVE)
            edge = round(float(self.row) * (round(rows) if whole else rows))
            if 1 <= edge <= LARGEST:
                found.setdefault(edge, place)
        return found

    @property
    def edges(self) -> tuple[int, ...]:
        return tuple(self.places)


@dataclass(frozen=True, kw_only=True)
class Centre:
    """A number that an average is measured from, chosen privately before the run as a quantile of `ranks`.

    The clip in place `clip` has two measures: rows, and the sum of values less the centre, in steps of `step`. With the
    centre it is chosen how many of them a `row` counts, `times` as far as values lie from it. Only errors depend on it.
    """

    clip: int
    ranks: Ranks
    step: Fraction
    times: int = 1
    middle: Fraction | None = None  # until it is chosen
    row: int | None = None


@dataclass(frozen=True, kw_only=True)
class Presence:
    """Keys that nobody listed: each unit spreads a vector of ones over its groups, clipped to norm `one` and put on a
    lattice of `one` steps, so that a unit in very many groups adds nothing to any."""

    norm: Norm
    one: int


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """A source of rows, the groups, and the measures with their clips. What `Engine.run` takes."""

    source: Node
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    clips: tuple[Clip, ...]
    ranks: tuple[Ranks, ...] = ()
    presence: Presence | None = None  # when some key has no domain,
    counted: str | None = field(default=None, metadata=IF_GIVEN)  # unless the noise of this measure decides on keys
    centres: tuple[Centre, ...] = field(default=(), metadata=IF_GIVEN)  # of averages


def per_row_target(part: Bounded, clip: Clip) -> bool:
    """Whether a private bound of this clip may leave out the more units the larger it is: that of quantiles over all
    rows, if it serves nothing else."""
    served = [other for other in part.clips if other.by_rows and other.bound is None] if clip.by_rows else [clip]
    ranks = {rank.name for rank in part.ranks}
    return not part.keys and all(name in ranks for other in served for name in other.names)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The aggregate `name` is `function` of noisy measures, in the part of the plan numbered `part`.

    A moment measure of x is in steps of `step`, so many that `half` of them are half of x's range: rows count `half`
    each, and values are taken from `middle`. So avg = middle + step·half·(first/count), and so on.
    """

    name: str
    function: str
    part: int = 0
    inputs: tuple[str, ...] = ()
    step: Fraction = Fraction(1)
    half: int = 1
    middle: Fraction = Fraction(0)
    other_step: Fraction = Fraction(1)  # of the second argument of a covariance
    other_middle: Fraction = Fraction(0)
    low: Fraction | None = None  # the answer is within these, whatever the noise says
    high: Fraction | None = None
    fraction: Fraction | None = None  # of a quantile
    top: int | None = None  # of a mode
    discrete: bool = False
    whole: bool = False  # the truth is a whole number
    text: str = ""  # in the one form that aggregates of the same meaning have
    asked: str = field(default="", metadata=UNSAID)  # as the analyst wrote it


@dataclass(frozen=True, kw_only=True)
class BoundedQuestion:
    """What will be run, part by part (histograms are parts of their own), and how aggregates are made of it. Noise is
    scaled to `norm` throughout."""

    norm: Norm
    parts: tuple[Bounded, ...]
    recipes: tuple[Recipe, ...]

    def clip_of(self, task: Task) -> Clip:
        """The clip that a task is for."""
        assert task.clip is not None  # as of every task but to select
        return self.parts[task.part].clips[task.clip]
