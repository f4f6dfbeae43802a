"""What rounding may add to one unit's part of a sum, and how sums are formed so that it is no more.

The units of a step are put into cells, each by a draw of its own, so that one unit changes its own cell alone. Within a
cell, rows are added in blocks that are short enough; blocks and cells are added in double precision. Proof:
docs/theory/clipped-gradients.md.
"""

from fractions import Fraction

__all__ = ["CELL", "DOUBLE", "SLACK", "block_rows", "cell_count", "gamma"]

SLACK = Fraction(1, 250)  # of the clip
SHARE = 0.45  # of SLACK, for one neighbour's cell
MINOR = 0.045  # the same where parts of an example may cancel: √(SHARE² + MINOR²) < 0.453
CELL = 144  # units of a cell on average: cells of up to 172 are one block in single precision
DOUBLE = 2.0**-53  # unit roundoff


def gamma(count: int, unit: float) -> float:
    """nu/(1 − nu): the relative error of n operations (Higham 2002, Lemma 3.1), a little enlarged; ∞ where it says
    nothing."""
    product = count * unit * (1 + 1e-9)
    return product / (1 - product) if product < 0.5 else float("inf")


def cell_count(batch: Fraction) -> int:
    """Cells of a step: from the declared size of a batch, since that of the real one is secret."""
    return max(1, round(batch / CELL))


def block_rows(cell: int, terms: int, ratio: float, unit: float) -> int:
    """How many rows may be added in one go in arithmetic of this unit roundoff, if a cell has so many, each row brings
    `terms` products, and the products' lengths add up to at most `ratio` clips a row. 0: not even one.

    A block of L rows is off by at most γ(L·terms + 2) times what its lengths add up to, so all blocks of the cell by
    γ · cell · ratio clips, which is to be at most SHARE · SLACK, or MINOR · SLACK where `ratio` is not 1.
    """
    allowed = (SHARE if ratio == 1 else MINOR) * float(SLACK) / (max(cell, 1) * ratio)
    most = allowed / (1 + allowed) / (unit * (1 + 1e-6)) - 2
    return min(max(cell, 1), max(0, int(most / terms)))
