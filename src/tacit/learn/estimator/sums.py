"""What a fit releases: noisy sums over rows, priced as one program before any row is read.

A model states its steps; `priced` finds the least noise that keeps all of them together within (ε, δ), exactly, since
Gaussian noise composes exactly; and `NoisySums` is the only thing through which a model then sees rows. It gives no
more sums than the program has, and none without noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from tacit.base import InputError, Number, Relation, Sensitivity
from tacit.base.number import between, positive, round_up
from tacit.learn.estimator.bounds import Array
from tacit.learn.estimator.outer import STEPS, Factors, SumVector
from tacit.loss import calibrate
from tacit.mechanism import Gaussian, PerturbedObjective
from tacit.noise import rng_or_default
from tacit.program import Program, Step, Task

__all__ = ["NON_NEGATIVE", "FitStep", "MinimiserStep", "NoisySums", "SumStep", "priced"]

NON_NEGATIVE = Fraction(99, 70)  # above √2: ‖a − b‖² ≤ ‖a‖² + ‖b‖² where a·b ≥ 0
COVER = Fraction(1, 1000)
POOL = 2**18  # noises that are drawn at once


@dataclass(frozen=True, kw_only=True)
class SumStep:
    """A vector that is released `times` times, for a `share` of what is paid (of μ²; the shares of a fit add up to 1).

    One row more or less moves it by one at most. Another row in its place moves it by `replace` at most: by two, or by
    √2 where no two rows' parts have a negative product.
    """

    name: str
    vector: SumVector
    share: Fraction
    times: int = 1
    replace: Fraction = Fraction(2)

    def sensitivity(self, relation: Relation) -> Fraction:
        return Fraction(1) if relation == Relation.ADD_REMOVE else self.replace

    def program_step(self, scale: float, relation: Relation) -> Step:
        """The step at this noise: `scale` is that of a single release for the whole price."""
        moved = self.sensitivity(relation)
        sigma = round_up(Fraction(scale * sqrt(self.times / self.share)) * moved)
        size = self.vector.size
        return Step(
            name=self.name,
            mechanism=Gaussian(sigma=sigma, granularity=self.vector.granularity),
            sensitivity=Sensitivity(l2=moved, dimension=size) if size > 1 else Sensitivity.scalar(moved),
            times=self.times,
            task=Task(kind="sum", measures=(self.name,)),
        )


@dataclass(frozen=True, kw_only=True)
class MinimiserStep:
    """The minimiser of a perturbed objective on rows of so many `columns`, of this `strength`, for a `share` of the
    price; its solver's tolerance is covered for `COVER` of that."""

    name: str
    columns: int
    strength: Fraction
    share: Fraction
    times: int = 1

    def program_step(self, scale: float, relation: Relation) -> Step:
        """The step at this noise."""
        once = Fraction(scale / sqrt(self.share))
        moved = 2 * PerturbedObjective.tolerance / self.strength
        mechanism = PerturbedObjective(
            sigma=round_up(once / Fraction(sqrt(1 - COVER))),
            strength=self.strength,
            finish=round_up(once * moved / Fraction(sqrt(COVER))),
        )
        size = Sensitivity(l2=1, dimension=self.columns)
        return Step(name=self.name, mechanism=mechanism, sensitivity=size, task=Task(kind="minimise"))


FitStep = SumStep | MinimiserStep


def priced(
    steps: Sequence[FitStep],
    *,
    epsilon: Number,
    delta: Number,
    relation: Relation = Relation.ADD_REMOVE,
    unit: str = "row",
    tables: Sequence[str] = (),
    query: Any = None,
    whole: Fraction | None = None,
) -> Program:
    """The program of these steps with the least noise that is (ε, δ)-DP as a whole. `whole` is the δ of a program that
    is paid for as one finished mechanism."""
    if Relation.from_json(relation) not in tuple(Relation):
        raise InputError("models are priced for add_remove and replace: state one of them as relation")
    positive(epsilon, "epsilon", toward="decimal")
    if delta == 0:
        raise InputError("delta must be greater than 0: the noise is Gaussian, which has no guarantee with delta 0")
    between(delta, "delta", 0, 1)

    def built(scale: float) -> Program:
        return Program(
            steps=tuple(step.program_step(scale, relation) for step in steps),
            relation=relation,
            unit=unit,
            tables=tuple(tables),
            query=query,
            delta=whole,
        )

    return built(calibrate(lambda scale: built(scale).loss, epsilon=epsilon, delta=delta).value)


class NoisySums:
    """The rows of one fit, seen only as the noisy sums that its program pays for."""

    def __init__(self, steps: Sequence[FitStep], program: Program, weight: Array, offsets: Array | None) -> None:
        self._vectors = {step.name: step.vector for step in steps if isinstance(step, SumStep)}
        self._steps = {step.name: step for step in program.steps if isinstance(step, Step)}
        self._left = {step.name: step.times for step in self._steps.values()}
        self._pools: dict[str, Array] = {}
        self._weight, self._offsets = weight[:, None], offsets

    def sigma(self, name: str) -> float:
        """The standard deviation of the noise on the whole vector, before blocks are divided by their weights; of a
        minimiser that of its slope."""
        mechanism = self._steps[name].mechanism
        assert isinstance(mechanism, Gaussian | PerturbedObjective)
        return float(mechanism.sigma)

    def noise(self, name: str, block: int = 0) -> float:
        """The standard deviation of the noise on a number of a block (above the diagonal of a symmetric one it is less
        by √2)."""
        vector = self._vectors[name]
        return self.sigma(name) * vector.norm / vector.blocks[block].weight

    def release(self, name: str, *factors: Factors) -> list[Array]:
        """The blocks of the sum, with noise. The left factors count by the weights of their rows."""
        self._take(name)
        vector = self._vectors[name]
        # towards zero, so that no norm grows
        weighted = [(np.trunc(left * self._weight), right) for left, right in factors]
        return vector.values(vector.total(weighted, self._offsets) + self._noise(name, vector.size))

    def minimise(self, name: str, rows: Array, labels: Array) -> Array:
        """Weights from a perturbed objective, with rows as whole numbers of STEPS and labels 0 or 1."""
        self._take(name)
        if self._offsets is not None:
            raise InputError("a perturbed objective is of single rows: it has no form for several of one unit")
        found: Array = self._steps[name].mechanism.sample((rows / STEPS, labels, self._weight[:, 0]))
        return found

    def _take(self, name: str) -> None:
        if not self._left[name]:
            raise InputError(f"step {name!r} has given all the sums that it was priced for")
        self._left[name] -= 1

    def _noise(self, name: str, size: int) -> Array:
        """Noise in steps of the vector; drawn for many steps at once, which is faster. Each number is used once."""
        pool = self._pools.get(name)
        if pool is None or len(pool) < size:
            mechanism = self._steps[name].mechanism
            assert isinstance(mechanism, Gaussian)
            count = size * max(1, min(self._left[name] + 1, POOL // size))
            pool = mechanism.draw(count, rng_or_default(None))
        self._pools[name] = pool[size:]
        return pool[:size]
