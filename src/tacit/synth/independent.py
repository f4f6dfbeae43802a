"""The plain baseline: each column is measured alone, and a row's columns are drawn independently of each other."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import ClassVar

from tacit.program import Adaptive, Step
from tacit.synth.counts import Reach
from tacit.synth.fit import CellZeros, fit
from tacit.synth.method import Counts, Method, Round, Selected, Told, measured, measuring_step
from tacit.synth.tree import Clique

__all__ = ["Independent"]


class Independent(Method):
    """All of ρ goes to the columns, in equal shares."""

    name: ClassVar[str] = "independent"

    def steps(self, columns: int, rho: Fraction, reach: Reach) -> tuple[Step | Adaptive, ...]:
        return (measuring_step("each column", rho / columns, reach, times=columns),)

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
        assert isinstance(step, Step)
        tables = [measured(counts[(place,)], (place,), step, reach) for place in range(len(sizes))]
        rho = step.loss(relation=reach.relation, unit="unit").cost().rho or Fraction(0)
        rounds = [Round(clique=each.clique, sigma=float(each.sigma), rho=rho / len(sizes), chosen=False)
                  for each in tables]  # fmt: skip
        return Selected(tables=tuple(tables), model=fit(sizes, tables, zeros=zeros), rounds=tuple(rounds))

    def expected_sigma(self, columns: int, rho: Fraction, relation_factor: float) -> float:
        return relation_factor * sqrt(columns / (2 * float(rho)))
