"""What votes cost in hindsight, as a whole number whose moves near these votes are bounded: it may be published so.

The figure is the data-dependent divergence of one fixed order α, summed over queries. Each query's part is read off a
public grid c_0 < c_1 < … of chances q that the plurality does not win: F = H(least c_i ≥ q), with H the running maximum
of the bound at the c_i, which holds for every q up to c_i. So F is a bound too, and never falls as q grows.

How far one unit can move F on votes within k changes of these: sorted by gap, a change moves each gap by at most
2·moved, so q stays within [Σ t(gap + 2·moved·k), Σ t(gap − 2·moved·k)]; and from q, one change leads to at most
b(q) = (m − 1)·t(t⁻¹(q/(m − 1)) − 2·moved), since u ↦ t(t⁻¹(u) − 2·moved) is concave (equal gaps are the worst:
Papernot et al. 2018, Appendix B). The largest H(b(c_i)) − H(c_i) over that range is taken, on the grid, for each query,
and summed. Neighbours' ranges lie within each other's next ones, which is what `SmoothNoise` asks.
docs/theory/pate.md has the proof.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from tacit.base import cached_property
from tacit.learn.votes import Ints, VoteRule
from tacit.loss.pate import FLOOR, Floats, gaps, log_failure

__all__ = ["Agreement"]

CELLS = 4096  # points of the grid
STEPS = 2**24  # in which the largest possible figure is counted


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The figure of so many queries, `answered` and `checked`, to so many teachers on so many classes, at `order`."""

    rule: VoteRule
    order: int
    teachers: int
    classes: int
    answered: int
    checked: int
    moved: int = 1

    # --- public

    @cached_property
    def most(self) -> float:
        """What the figure is at most, whatever the votes are."""
        order = np.array([float(self.order)])
        one = float(self.rule.curve(np.zeros(1), order)[0, 0])
        check = self.rule.check_curve(np.array([0.0]), order)
        return self.answered * one + (0.0 if check is None else self.checked * self._check_cap)

    @cached_property
    def _check_cap(self) -> float:
        return float(self.order * self.rule.check_rho(1))

    @cached_property
    def step(self) -> Fraction:
        """What one of the whole numbers stands for."""
        return Fraction(self.most) / STEPS

    @property
    def top(self) -> int:
        """The figure, in steps, whatever the votes are; each part is rounded up."""
        return STEPS + self.answered + self.checked + 1

    def _whole(self, divergence: Floats) -> Ints:
        return np.ceil(np.asarray(divergence) / float(self.step)).astype(np.int64)

    @cached_property
    def _grid(self) -> tuple[Floats, Ints, Ints]:
        """log c_i, rising; H(c_i); and the most that one change adds from c_i."""
        rivals = self.classes - 1
        gap = np.linspace(float(self.teachers), 0.0, CELLS)  # no class is further behind than there are teachers
        floor = self._log_q(np.repeat(gap[:, None], rivals, axis=1)) <= FLOOR
        gap = gap[max(int(floor.sum()) - 1, 0) :]
        logs = self._log_q(np.repeat(gap[:, None], rivals, axis=1))
        divergence = self.rule.curve(logs, np.array([float(self.order)]))[:, 0]
        height = np.maximum.accumulate(self._whole(divergence))
        nearer = np.maximum(gap - 2 * self.moved - 1e-9, 0.0)
        reached = self._place(logs, self._log_q(np.repeat(nearer[:, None], rivals, axis=1)))
        return logs, height, height[reached] - height

    def _log_q(self, behind: Floats) -> Floats:
        return log_failure(self.rule.tail(behind))

    def _place(self, grid: Floats, log_q: Floats) -> Ints:
        """The first grid point that is not below."""
        return np.minimum(np.searchsorted(grid, log_q, side="left"), len(grid) - 1)

    @cached_property
    def _checks(self) -> tuple[Ints, Ints] | None:
        """The same for a check: the figure by the most votes, from 0 to the number of teachers, and what a change adds
        or takes."""
        most = np.arange(self.teachers + 1, dtype=np.float64)
        curve = self.rule.check_curve(most, np.array([float(self.order)]))
        if curve is None:
            return None
        height = self._whole(curve[:, 0])
        move = np.zeros_like(height)
        for shift in range(1, min(self.moved, self.teachers) + 1):
            difference = np.abs(height[shift:] - height[:-shift])
            move[:-shift] = np.maximum(move[:-shift], difference)
            move[shift:] = np.maximum(move[shift:], difference)
        return height, move

    # --- of the votes

    def figure(self, votes: Ints, answered: Any) -> int:
        """The figure in steps: secret."""
        logs, height, _ = self._grid
        total = int(height[self._place(logs, self._log_q(gaps(votes[answered])))].sum()) if self.answered else 0
        if self._checks is not None:
            total += int(self._checks[0][votes.max(axis=1)].sum())
        return total

    def moves(self, votes: Ints, answered: Any) -> tuple[int, ...]:
        """How far one unit moves the figure on votes within 0, 1, 2, … changes of these: bounds, secret."""
        logs, _, added = self._grid
        behind, table = gaps(votes[answered]), _RangeMaximum(added)
        most = votes.max(axis=1)
        checks = None if self._checks is None else _RangeMaximum(self._checks[1])
        found = []
        last = ceil(self.teachers / (2 * self.moved)) + 1  # from here on all votes are within reach
        for k in range(last):
            near = self._place(logs, self._log_q(np.maximum(behind - 2 * self.moved * k, 0.0)))
            far = self._place(logs, self._log_q(behind + 2 * self.moved * (k + 1)))
            total = int(table.over(far, near).sum())
            if checks is not None:
                reach = self.moved * (k + 1)
                low, high = np.maximum(most - reach, 0), np.minimum(most + reach, self.teachers)
                total += int(checks.over(low, high).sum())
            found.append(total)
        rest = self.answered * int(added.max()) + (
            0 if self._checks is None else self.checked * int(self._checks[1].max())
        )
        return tuple(min(each, self.top) for each in (*found, rest))


class _RangeMaximum:
    """The largest of values[low..high], for many ranges at once."""

    def __init__(self, values: Ints) -> None:
        self._tables = [values]
        while 2 ** len(self._tables) <= len(values):
            last, half = self._tables[-1], 2 ** (len(self._tables) - 1)
            self._tables.append(np.maximum(last[:-half], last[half:]))

    def over(self, low: Ints, high: Ints) -> Ints:
        if not len(low):
            return np.zeros(0, dtype=np.int64)
        width = high - low + 1
        level = np.floor(np.log2(width)).astype(np.int64)
        found = np.empty(len(low), dtype=np.int64)
        for each in np.unique(level):
            at = np.flatnonzero(level == each)
            table = self._tables[each]
            found[at] = np.maximum(table[low[at]], table[high[at] - 2**each + 1])
        return found
