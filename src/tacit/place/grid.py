"""The public grid that reports are rounded to: rows of latitude, each cut into cells about as wide as they are high.

A report names a cell and nothing finer, so the last digits of a computation, which depend on the true place, never
leave. Rows near a pole have fewer cells, three at the pole itself, so that no cell is thin.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import radians

import numpy as np

from tacit.base import InputError, positive
from tacit.place.earth import RADIUS, Floats

__all__ = ["Grid"]

DECIMALS = 7  # a centimetre


@dataclass(frozen=True)
class Grid:
    """Cells of `degrees` of latitude; 180 must be a multiple of it."""

    degrees: Fraction = Fraction(1, 100_000)

    def __post_init__(self) -> None:
        size = positive(self.degrees, "degrees", toward="decimal")
        if size > 1 or (180 / size).denominator != 1 or size < Fraction(1, 10**6):
            raise InputError("a grid's degrees must lie in [0.000001, 1] and divide 180: 0.00001 is about a metre")
        object.__setattr__(self, "degrees", size)

    @property
    def metres(self) -> float:
        """The height of a cell."""
        return radians(float(self.degrees)) * RADIUS

    def rounded(self, places: Floats) -> Floats:
        """The middle of the cell that each place lies in: a function of the cell alone."""
        size, rows = float(self.degrees), int(180 / self.degrees)
        row = np.clip(np.floor((places[:, 0] + 90) / size), 0, rows - 1)
        middle = -90 + (row + 0.5) * size
        cells = np.maximum(np.floor(360 / size * np.cos(np.radians(middle))), 1)
        turn = np.mod(places[:, 1] + 180, 360) / 360
        cell = np.minimum(np.floor(turn * cells), cells - 1)
        return np.round(np.stack([middle, -180 + (cell + 0.5) * 360 / cells], axis=1), DECIMALS)
