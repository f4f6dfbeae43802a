"""Choosing one of several public options for everybody, by costs that people report: a place, a few places, a plan.

The exponential mechanism over declared options with scores −Σ costs, each cost between 0 and a declared largest one.
Statement and proofs: docs/theory/market.md.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, tanh
from typing import Any

import numpy as np

from tacit.base import InputError, Relation, Sensitivity, cached_property, positive
from tacit.base.number import Number, Ratio, frozen
from tacit.loss import Pure
from tacit.market.sale import Sale, Tell, numbers, sold
from tacit.mechanism import Exponential
from tacit.program import Program, Step, Task

__all__ = ["Choosing", "choose", "line_costs"]

MOST_OPTIONS = 100_000
FINE = 1 << 20  # steps of the largest cost


@frozen
class Choosing:
    """A plan: `count` of the `options`, of which each person reports a cost from 0 to `largest` and uses the best."""

    options: int
    largest: Ratio
    epsilon: Ratio
    count: int = 1
    unit: str = "agent"

    def __post_init__(self) -> None:
        if not 2 <= self.options <= MOST_OPTIONS:
            raise InputError(f"there must be 2 to {MOST_OPTIONS:,} options to choose from, not {self.options:,}")
        if not 1 <= self.count < self.options or comb(self.options, self.count) > MOST_OPTIONS:
            raise InputError(f"choose from at most {MOST_OPTIONS:,} sets of options: fewer options, or a smaller count")
        object.__setattr__(self, "largest", positive(self.largest, "largest"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))

    @cached_property
    def sets(self) -> list[tuple[int, ...]]:
        """Every choice there is: sets of options, each person using the best of the set."""
        return list(combinations(range(self.options), self.count))

    @cached_property
    def mechanism(self) -> Exponential:
        """Costs are counted in steps, `FINE` of the largest: one person in another's place moves a sum by so many."""
        return Exponential.from_loss(Pure(self.epsilon), sensitivity=FINE)

    @cached_property
    def loss(self) -> Pure:
        return Pure(self.mechanism.loss(FINE).bound, relation=Relation.REPLACE, unit=self.unit)

    def program(self, table: str | None = None) -> Program:
        step = Step(
            name="choice", mechanism=self.mechanism, sensitivity=Sensitivity(linf=FINE), task=Task(kind="decide")
        )
        about = {"options": self.options, "count": self.count, "largest": str(Fraction(self.largest))}
        return Program(
            steps=(step,),
            tables=() if table is None else (table,),
            relation=Relation.REPLACE,
            unit=self.unit,
            query={"market": "choose", **about},
        )

    def read(self, reports: Any) -> Any:
        """Costs of each option, a row for each person. A cost above the largest counts as that."""
        words = f"costs must be a row for each person with {self.options} numbers of at least 0"
        given = numbers(reports, words)
        if given.ndim != 2 or given.shape[1] != self.options or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(words)
        return np.minimum(given, float(self.largest))

    @property
    def absent(self) -> Any:
        return [0] * self.options

    def scores(self, costs: Any) -> Any:
        """Of each choice, minus the sum of everybody's costs, in steps."""
        steps = np.floor(self.read(costs) / float(self.largest) * FINE).astype(np.int64)
        return np.array([-steps[:, list(some)].min(axis=1).sum() for some in self.sets])

    def draw(self, costs: Any) -> int:
        """The place of a choice among `sets`."""
        return int(self.mechanism.sample(self.scores(costs)))

    def play(self, reports: Any, tell: Tell) -> dict[str, Any]:
        chosen = self.sets[self.draw(reports)]
        return {"options": list(chosen)} | ({"option": chosen[0]} if self.count == 1 else {})

    def advice(self, outcome: Mapping[str, Any], report: Any, agent: int) -> dict[str, Any]:
        """The best of what was chosen, for this person."""
        return {"option": min(outcome["options"], key=lambda option: float(report[option]))}

    def law(self, costs: Any) -> Any:
        """The chance of each choice. For the eyes of whoever holds the reports."""
        scores = self.scores(costs) / float(self.mechanism.scale)
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()

    def shortfall(self, confidence: Number = 0.95) -> float:
        """With this confidence everybody's costs together are at most so much above the best choice's."""
        return self.mechanism.error(confidence, candidates=len(self.sets)) * float(self.largest) / FINE

    @property
    def truth(self) -> str:
        return f"a false report saves at most {self.gain:.3g} of the largest cost on average"

    @property
    def gain(self) -> float:
        """A lie saves a person at most this share of the largest cost: tanh(ε/4), how far apart two laws can be
        whose odds all move between e^(−t) and e^(ε−t)."""
        return tanh(float(self.epsilon) / 4)

    def largest_gain(self, costs: Any, person: int) -> float:
        """The most that a person to whom its reported costs are true expects to save by any lie, the others' reports
        being these. Exact, where one option is chosen.

        The expected cost is a ratio of sums that are linear in exp(−ε·report/2·largest), so some best lie says 0 of the
        options below a line and the largest cost of all others.
        """
        if self.count != 1:
            raise InputError("the best lie is worked out where one option is chosen: count=1")
        told = self.read(costs).copy()
        true = told[person].copy()
        least = honest = float(self.law(told) @ true)
        for line in np.unique(true):
            told[person] = np.where(true <= line, 0.0, float(self.largest))
            least = min(least, float(self.law(told) @ true))
        return honest - least


def choose(
    costs: Any,
    *,
    largest: Number,
    epsilon: Number,
    count: int = 1,
    session: Any = None,
    table: str | None = None,
    unit: str = "agent",
) -> Sale:
    """One option for all, or `count` of them, of which each person uses the best (k-median): `costs` has a row for each
    person, a column for each option."""
    given = numbers(costs, "costs must be a row of numbers for each person, all as long")
    many = given.shape[1] if given.ndim == 2 else 0
    plan = Choosing(options=many, largest=largest, epsilon=epsilon, count=count, unit=unit)
    return sold(plan, given, session=session, table=table)


def line_costs(positions: Sequence[Number], places: Sequence[Number]) -> Any:
    """How far each person is from each place, on a line."""
    return np.abs(np.array(list(map(float, positions)))[:, None] - np.array(list(map(float, places)))[None, :])
