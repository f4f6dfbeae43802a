"""Reports near the truth: a window of numbers that slides with the answer is likelier than the rest, by e^ε.

Answers are 0, …, `steps` and reports 0, …, `steps` + `width` − 1. The window of answer v is v, …, v + width − 1. A
report is in it with probability P, uniform there, and else uniform over the other `steps` numbers. Its mean is affine
in v, which makes means unbiased without any approximation; the continuous forms of the literature are its limits.
"""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit.base import InputError
from tacit.noise import Rng, uniform
from tacit.survey.coin import NOTHING, Coin, below, keeping
from tacit.survey.frequency import word
from tacit.survey.protocol import Array, Law, Protocol

__all__ = ["Window"]

CHUNK = 1 << 15


class Window(Protocol):
    """Guarantee: pure ε. P = width·e^ε/(width·e^ε + steps) rounded down to a multiple of 2^-64, so that a number in the
    window is at most e^ε times as likely as one outside.

    Coins: near (one toss of P); if heads a number below `width`, added to the answer; if tails a number below `steps`,
    to which `width` is added if it is not below the answer.
    """

    steps: int

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers are likelier: a function of the declared parameters alone."""

    @property
    def outputs(self) -> int:
        return self.steps + self.width

    @cached_property
    def _near(self) -> Coin:
        return keeping(self.epsilon, Fraction(self.steps, self.width))

    @property
    def near(self) -> Fraction:
        """P."""
        return self._near.probability

    @property
    def dtype(self) -> np.dtype[Any]:
        return word(self.outputs)

    def _number(self, value: int, rng: Rng) -> int:
        if self._near.toss(rng):
            return value + below(self.width, rng)
        other = below(self.steps, rng)
        return other + (self.width if other >= value else 0)

    def _one(self, value: int, rng: Rng) -> bytes:
        return self._number(value, rng).to_bytes(self.dtype.itemsize, "little")

    def _many(self, values: Array, rng: Rng) -> Array:
        flat = values.ravel()
        reports = np.empty(flat.size, dtype=self.dtype)
        for start in range(0, flat.size, CHUNK):
            own = flat[start : start + CHUNK]
            near = self._near.tosses(own.size, rng)
            part = np.empty(own.size, dtype=np.int64)
            part[near] = own[near] + uniform(self.width, int(near.sum()), rng)
            other = uniform(self.steps, int((~near).sum()), rng)
            part[~near] = other + self.width * (other >= own[~near])
            reports[start : start + CHUNK] = part
        return reports.reshape(values.shape)

    def law(self, value: Any) -> Law:
        truth = int(self._checked(np.asarray(value)).item())
        size, inside, outside = self.dtype.itemsize, self.near / self.width, (1 - self.near) / self.steps
        return {
            y.to_bytes(size, "little"): inside if truth <= y < truth + self.width else outside
            for y in range(self.outputs)
        }

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports.max()) >= self.outputs:
            raise InputError(f"a report must be a number from 0 to {self.outputs - 1}")

    @property
    @abstractmethod
    def device(self) -> Mapping[str, int | float]:
        """What a device must know to make reports."""

    def _telling(self) -> None:
        """Refuse an ε whose reports would say nothing; for the end of a dataclass's construction."""
        if self.line[1] <= 0:
            raise InputError(NOTHING)

    @cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        """(a, b) with E[report] = a + b·v for the answer v."""
        w, s, total = self.width, self.steps, self.outputs
        apart = Fraction(total * (total - 1) - w * (w - 1), 2 * s)  # mean of the far numbers at v = 0
        return self.near * Fraction(w - 1, 2) + (1 - self.near) * apart, self.near - (1 - self.near) * Fraction(w, s)

    def variance(self, position: int) -> Fraction:
        """Variance of a report's unbiased guess (report − a)/b of the answer at `position`."""
        w, (start, slope) = self.width, self.line
        inside = _squares(position + w) - _squares(position)
        outside = _squares(self.outputs) - inside
        square = self.near * Fraction(inside, w) + (1 - self.near) * Fraction(outside, self.steps)
        return (square - (start + slope * position) ** 2) / slope**2


def _squares(count: int) -> int:
    """0² + 1² + … + (count − 1)²."""
    return (count - 1) * count * (2 * count - 1) // 6
