"""AIM: round after round the marginal is measured in which the model is most wrong, as far as noise lets it be seen.

After McKenna, Mullins, Sheldon and Miklau (2022), with other shares of ρ and a score that knows that no count is below
zero. All columns are measured first. A round scores each candidate r by w_r(‖x_r − x̂_r‖₁ − 0.8·N_r): what is wrong now,
less what noise would leave, weighted by how much of the workload has columns of r. It chooses by the exponential
mechanism, measures, and fits again. If the new measurement changed the model by less than noise would, the next rounds
cost twice as much each. A candidate must leave the model within the part of its size that the part of ρ allows which is
used by then.

σ, ε and the number of rounds follow from earlier noisy answers, so the program has one adaptive step that costs all of
ρ, and a purse inside pays for each measurement before it is made: for what is measured, and in the relation of the
dataset (docs/theory/synth-aim.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import ClassVar

import numpy as np

from tacit.program import Adaptive, Step, Task
from tacit.synth.counts import Reach
from tacit.synth.fit import CellZeros, FittedModel, NoisyTable, fit
from tacit.synth.method import (
    Counts,
    Method,
    Purse,
    Round,
    Selected,
    Told,
    measured,
    measuring_step,
    noise_left,
    selecting_step,
    worth,
)
from tacit.synth.tree import Clique, tree_cells

__all__ = ["AIM"]

ROUNDS = 8  # for each column, if none is annealed
MEASURE = Fraction(9, 10)  # of a round, the rest chooses
FIRST = Fraction(3, 2)  # rounds that each column alone costs
DEARER = 2  # times as much a round costs after one that taught nothing
LEFT = 0.8  # of the noise of a marginal, after the fit
ROUGH = 0.02  # gap of fits between rounds: a fifth of a standard error a cell


@dataclass(frozen=True)
class AIM(Method):
    """`most_cells` is the size of the model when all of ρ is used."""

    name: ClassVar[str] = "aim"

    most_cells: int = 400_000

    def steps(self, columns: int, rho: Fraction, reach: Reach) -> tuple[Step | Adaptive, ...]:
        if columns == 1:
            return (measuring_step("each column", rho, reach),)
        return (Adaptive(name="choose and measure", limit=rho, task=Task(kind="aim")),)

    def run(
        self,
        counts: Counts,
        sizes: Sequence[int],
        steps: Sequence[Step | Adaptive],
        *,
        reach: Reach,
        workload: Mapping[Clique, int],
        zeros: Sequence[CellZeros],
        told: Told,
    ) -> Selected:
        (step,) = steps
        if isinstance(step, Step):
            table = measured(counts[(0,)], (0,), step, reach)
            rho = step.loss(relation=reach.relation, unit="unit").cost().rho or Fraction(0)
            rounds = (Round(clique=(0,), sigma=float(table.sigma), rho=rho, chosen=False),)
            return Selected(tables=(table,), model=fit(sizes, [table], zeros=zeros), rounds=rounds)
        run = _Rounds(self, counts, sizes, Purse(step.limit, reach), reach, workload, zeros)
        run.columns()
        while run.purse.left > 0 and run.next_round():
            told(float(run.purse.spent / step.limit))
        assert run.purse.spent <= step.limit
        model = fit(sizes, run.tables, zeros=zeros, start=run.model)
        return Selected(tables=tuple(run.tables), model=model, rounds=tuple(run.rounds))

    def expected_sigma(self, columns: int, rho: Fraction, relation_factor: float) -> float:
        """Where about as many pairs as columns are worth measuring, each has such a part of what is left."""
        share = float(rho) * 13 / 16 * float(MEASURE) / (1.5 * columns)
        return relation_factor / sqrt(2 * share)


class _Rounds:
    """The state of one run: what was measured, what is left, and the model."""

    def __init__(
        self,
        method: AIM,
        counts: Counts,
        sizes: Sequence[int],
        purse: Purse,
        reach: Reach,
        workload: Mapping[Clique, int],
        zeros: Sequence[CellZeros],
    ) -> None:
        self.method, self.counts, self.sizes, self.purse, self.reach = method, counts, sizes, purse, reach
        self.zeros, self.weights = zeros, workload
        self.round_rho = purse.limit / (ROUNDS * len(sizes))
        self.tables: list[NoisyTable] = []
        self.rounds: list[Round] = []
        self.model: FittedModel
        fits = [each for each in workload if tree_cells(sizes, [each]) <= method.most_cells]
        counts.prepare([*((place,) for place in range(len(sizes))), *fits])

    def columns(self) -> None:
        """Each column alone."""
        step = measuring_step("each column", self.round_rho * FIRST * MEASURE, self.reach)
        for place in range(len(self.sizes)):
            cost = self.purse.pay(step)
            self._measure((place,), step, cost, chosen=False)
        self.model = fit(self.sizes, self.tables, zeros=self.zeros, gap=ROUGH)

    def next_round(self) -> bool:
        """One more measurement; False if there is no more to pay it from, or nothing to choose."""
        last = self.purse.left < 2 * self.round_rho
        share = self.purse.left if last else self.round_rho
        candidates = self._candidates((self.purse.spent + share) / self.purse.limit)
        if not candidates:
            return False
        measuring = measuring_step("a chosen marginal", share * MEASURE, self.reach)
        most = max(self.weights[each] for each in candidates)
        selecting = selecting_step("which marginal", share * (1 - MEASURE), self.reach, weight=most)
        cost = self.purse.pay(selecting, measuring)
        sigma = float(getattr(measuring.mechanism, "sigma", 0)) / self.reach.one
        scores = [self._score(each, sigma) for each in candidates]
        clique = candidates[selecting.mechanism.sample(scores)]
        before = self.model.counts(clique)
        self._measure(clique, measuring, cost, chosen=True)
        self.model = fit(self.sizes, self.tables, zeros=self.zeros, start=self.model, gap=ROUGH)
        changed = float(np.abs(self.model.counts(clique) - before).sum())
        if changed <= noise_left(before, sigma):
            self.round_rho *= DEARER
        return not last

    def _candidates(self, used: Fraction) -> list[Clique]:
        """What the model may be joined by now: what it holds already, or what leaves it small enough."""
        measured_ones = [*(each.clique for each in self.tables), *(each.clique for each in self.zeros)]
        allowed = self.method.most_cells * float(used)
        found = []
        for clique in self.weights:
            free = self.model.tree.home(clique) is not None
            if free or tree_cells(self.sizes, [*measured_ones, clique]) <= allowed:
                found.append(clique)
        return found

    def _score(self, clique: Clique, sigma: float) -> int:
        model = self.model.counts(clique)
        noise = LEFT * noise_left(model, sigma)
        return self.weights[clique] * worth(self.counts[clique], model, self.reach, noise=noise)

    def _measure(self, clique: Clique, step: Step, cost: Fraction, *, chosen: bool) -> None:
        table = measured(self.counts[clique], clique, step, self.reach)
        self.tables.append(table)
        self.rounds.append(Round(clique=clique, sigma=float(table.sigma), rho=cost, chosen=chosen))
