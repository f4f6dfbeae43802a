"""What rounding may add to one unit's part of a sum, and how sums are formed so that it is no more.

The units of a step are put into cells, each by a draw of its own. A cell is walked and added up by itself, so one unit
changes the sum of its own cell alone. Within a cell, rows are added in blocks that are short enough; the sums of cells
are added in groups that are fixed beforehand, and groups in double precision. Proof: docs/theory/clipped-gradients.md.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from tacit.base import InputError

__all__ = ["CELL", "DOUBLE", "GROUP", "SINGLE", "SLACK", "block_rows", "blocks", "cell_count", "gamma", "in_single"]

SLACK = Fraction(1, 250)  # of the clip
SHARE = 0.38  # of SLACK, for one neighbour's cell
MINOR = 0.045  # the same where parts of an example may cancel: √(SHARE² + MINOR²) < 0.383
ACROSS = 0.11  # the same for adding up cells, and for bringing the sum to the lattice of the noise
CELL = 256  # units of a cell on average: in single precision three blocks of rows, and one of cells of up to 155
GROUP = 2  # cells whose sums are added in single precision
SINGLE = 2.0**-24  # unit roundoff
DOUBLE = 2.0**-53


def gamma(count: int, unit: float) -> float:
    """nu/(1 − nu): the relative error of n operations (Higham 2002, Lemma 3.1), a little enlarged; ∞ where it says
    nothing."""
    product = count * unit * (1 + 1e-9)
    return product / (1 - product) if product < 0.5 else float("inf")


def cell_count(batch: Fraction) -> int:
    """Cells of a step: from the declared size of a batch, since that of the real one is secret."""
    return max(1, round(batch / CELL))


def in_single(cells: Sequence[int], pieces: int) -> bool:
    """Whether the sums of a group of cells of these sizes, which come in so many pieces, may be added in single
    precision. It follows from the group alone, so it is the same for all groups in which a unit is not."""
    return gamma(pieces + 2, SINGLE) * sum(cells) <= ACROSS * float(SLACK)


@lru_cache(maxsize=1024)
def block_rows(cell: int, terms: int, ratio: float, unit: float) -> int:
    """How many rows may be added in one go in arithmetic of this unit roundoff, if a cell has so many, each row brings
    `terms` products, and the products' lengths add up to at most `ratio` clips a row. 0: not even one.

    A block of L rows is off by at most γ(L·terms + 2) times what its lengths add up to, and adding up b blocks by γ(b)
    times that of all of them: γ(L·terms + 2 + b) · cell · ratio clips, which is to be at most SHARE · SLACK, or
    MINOR · SLACK where `ratio` is not 1.
    """
    allowed = (SHARE if ratio == 1 else MINOR) * float(SLACK) / (max(cell, 1) * ratio)
    most = allowed / (1 + allowed) / (unit * (1 + 1e-6)) - 2
    whole = int((most - 1) / terms)
    if whole >= cell:
        return max(cell, 1)
    half = most // (2 * terms)  # if blocks are at least so long, there are at most cell / half + 1
    rest = most - cell / half - 1 if half > 0 else 0.0
    return int(rest // terms) if rest >= half * terms else 0


def blocks(rows: int, cell: int, terms: int, ratio: float, unit: float) -> Iterator[slice]:
    """So many rows of a cell of that size, cut into what may be added in one go; an error where not even one may."""
    step = block_rows(cell, terms, ratio, unit)
    if step < 1:
        raise InputError(
            f"the rounding errors of {terms:,} positions of one example are more than the clip allows for: "
            "take shorter examples"
        )
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
