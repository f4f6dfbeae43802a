"""What methods share: noise on a marginal, choosing one by its score, and a purse from which both are paid.

All of it is in whole steps: a model's expectation is public and is rounded to whole numbers before a true count is
taken from it, so that a score is a whole number with a proven sensitivity.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import pi, sqrt
from typing import Any, ClassVar, Protocol

import numpy as np

from tacit.base import ExhaustedError, Sensitivity, special
from tacit.loss import ZCDP
from tacit.mechanism import DiscreteGaussian, Exponential
from tacit.plan.price import noise_step
from tacit.program import Adaptive, Step, Task
from tacit.synth.counts import Reach
from tacit.synth.fit import CellZeros, FittedModel, NoisyTable
from tacit.synth.sample import Codes
from tacit.synth.tree import Clique, Floats

__all__ = [
    "NOISE", "Counts", "Method", "Purse", "Round", "Selected", "distance", "measured", "measuring_step",
    "noise_left", "selecting_step", "worth",
]  # fmt: skip

NOISE = sqrt(2 / pi)  # the mean of |z| where z has standard deviation one
Merges = Mapping[int, Codes]
"""By place of a column, for each of its cells the cell that it is measured in, where several are measured as one."""


class Counts(Protocol):
    """True marginals, in steps."""

    def prepare(self, cliques: Any) -> None: ...

    def __getitem__(self, clique: Clique) -> Codes: ...


@dataclass(frozen=True, kw_only=True)
class Round:
    """One measurement as it is told: what was measured, with what noise (in units), what it cost, and whether it was
    chosen."""

    clique: Clique
    sigma: float
    rho: Fraction
    chosen: bool

    def json(self) -> dict[str, Any]:
        return {"clique": list(self.clique), "sigma": self.sigma, "rho": str(self.rho), "chosen": self.chosen}


@dataclass(frozen=True, kw_only=True)
class Selected:
    """What a method found: noisy tables, the model that fits them, and how it got there."""

    tables: tuple[NoisyTable, ...]
    model: FittedModel
    rounds: tuple[Round, ...]
    merges: Merges = field(default_factory=dict)


Told = Callable[[float], None]


class Method(ABC):
    """A way to choose what to measure. What it costs is fixed before it reads anything."""

    name: ClassVar[str]

    @abstractmethod
    def steps(self, columns: int, rho: Fraction, reach: Reach) -> tuple[Step | Adaptive, ...]:
        """The program's steps, which cost at most ρ together."""

    @abstractmethod
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
        """Measure by these steps, and fit."""

    @abstractmethod
    def expected_sigma(self, columns: int, rho: Fraction, relation_factor: float) -> float:
        """About how large the noise of a chosen pair is, in units."""


def measuring_step(name: str, share: Fraction, reach: Reach, times: int = 1) -> Step:
    """Discrete Gaussian noise on a marginal for at most ρ = `share`; `times` marginals for as many shares."""
    task = Task(kind="measure", measures=(name,))
    step = noise_step(name, reach.l2, share, Sensitivity(l2=reach.l2), "l2", reach.relation, task)
    return Step(name=name, mechanism=step.mechanism, sensitivity=step.sensitivity, times=times, task=task)


def selecting_step(name: str, share: Fraction, reach: Reach, weight: int = 1, times: int = 1) -> Step:
    """The exponential mechanism for at most ρ = `share`, on scores of which a unit moves each by `weight` times its
    length in l1."""
    moved = Sensitivity(linf=reach.l1 * weight)
    mechanism = Exponential.from_loss(ZCDP(share, relation=reach.relation), sensitivity=moved)
    task = Task(kind="select", measures=(name,))
    return Step(name=name, mechanism=mechanism, sensitivity=moved, concentrated=True, times=times, task=task)


def measured(counts: Codes, clique: Clique, step: Step, reach: Reach) -> NoisyTable:
    """The marginal with the noise of a step, in units."""
    mechanism = step.mechanism
    assert isinstance(mechanism, DiscreteGaussian)
    drawn = np.asarray(mechanism.sample(counts), dtype=np.float64)
    return NoisyTable(clique=clique, counts=drawn / reach.one, sigma=float(mechanism.sigma) / reach.one)


def distance(counts: Codes, expected: Floats, reach: Reach) -> int:
    """How far true counts are from a public expectation, in l1 and in steps: a unit moves it by its length at most."""
    public = np.rint(expected * reach.one).astype(np.int64)
    return int(np.abs(counts - public).sum())


def noise_left(expected: Floats, sigma: float) -> float:
    """What noise of `sigma` leaves wrong in l1, if these are the counts and none is taken for less than zero:
    Σ E|max(x + σZ, 0) − x|. A cell of nobody keeps half of its noise, a large one all of it."""
    far = np.maximum(expected, 0) / sigma
    return float(sigma * (NOISE - np.exp(-(far**2) / 2) / sqrt(2 * pi) + far * special.ndtr(-far)).sum())


def worth(counts: Codes, expected: Floats, reach: Reach, *, noise: float) -> int:
    """What is wrong with a public expectation, less what noise would leave of it, in units and public; in steps. It
    moves as far as the distance does."""
    return distance(counts, expected, reach) - round(noise * reach.one)


class Purse:
    """A limit of ρ from which adaptive steps are paid before they run (Feldman and Zrnic 2021): what would pass it is
    refused, and nothing changes."""

    def __init__(self, limit: Fraction, reach: Reach) -> None:
        self.limit, self.reach = limit, reach
        self.spent = Fraction(0)

    @property
    def left(self) -> Fraction:
        return self.limit - self.spent

    def pay(self, *steps: Step) -> Fraction:
        """The ρ of these steps, which may run now."""
        costs = [step.loss(relation=self.reach.relation, unit="unit").cost().rho for step in steps]
        total = Fraction(0)
        for cost in costs:
            assert cost is not None  # of Gaussian noise, and of a selection priced by its zCDP
            total += cost
        if self.spent + total > self.limit:
            raise ExhaustedError("the steps of this method would cost more than its share: nothing was measured")
        self.spent += total
        return total
