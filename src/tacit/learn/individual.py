"""A budget for each person: a unit takes part in full-batch steps while its own spend lasts (Feldman and Zrnic 2021).

A unit's spend is of its own contributions, and nobody else's weight depends on it. Steps in which it has little to say
cost it little, so there may be many more of them than the worst case pays for. What is charged is the worst case: μ in
Gaussian DP, however many steps there are. Individual spends are secret: they are the curator's and the person's own.
docs/theory/individual-budgets.md has the statement and its proof.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from tacit.base import InputError, Number, Relation, Sensitivity, whole
from tacit.base.number import Ratio, frozen, positive
from tacit.base.stored import fraction_to_text
from tacit.desk import ContentRelease, Job, Quote, Release, Run, Spender
from tacit.desk.release import release_from_bytes, release_of
from tacit.learn.made_of import own_delta, table_of_data
from tacit.loss import GDP, Loss
from tacit.mechanism import Gaussian
from tacit.noise import Rng, discrete_gaussians, rng_or_default
from tacit.program import Program, Step, Task

__all__ = ["IndividualDescent", "IndividualFilter", "IndividualJob", "SoftmaxModel", "descended", "scores_of"]

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
ROUNDING = 1e-9  # relative: what a length in doubles may be off by, taken generously
SIGMA = 2**20  # steps of the lattice that the noise is wide
PART = 256  # units at a time
ALL = slice(None)


class IndividualFilter:
    """What each unit has spent, in whole numbers: Σ‖v‖² of its contributions, vectors of lattice steps, up to `cap`.

    Contributions are cut to whole steps toward zero and added up as integers, so nothing else is rounded: a unit
    without a contribution changes no sum at all.
    """

    def __init__(self, units: int, cap: int) -> None:
        self.spent: Ints = np.zeros(units, dtype=np.int64)
        self.cap = cap

    @classmethod
    def gaussian(cls, units: int, *, mu: Fraction, sigma_steps: int) -> "IndividualFilter":
        """Σ‖v‖²/σ² ≤ μ², where noise of σ steps is a post-processing of a normal of σ² − (2 steps)²
        (docs/theory/gaussian.md)."""
        return cls(units, int(mu**2 * (sigma_steps**2 - 4)))

    def take(self, vectors: Floats, clip: float, at: slice = ALL) -> Ints:
        """The contributions of units `at`, a row each, cut to the clip and to each unit's own room; they are spent."""
        if not np.isfinite(vectors).all():
            raise InputError("a contribution is not finite: nothing is released")
        norms = np.linalg.norm(vectors, axis=1)
        room = np.minimum(np.sqrt((self.cap - self.spent[at]).astype(np.float64)), clip) * (1 - ROUNDING)
        factor = np.minimum(1.0, room / np.maximum(norms, 1e-300))
        cut = np.trunc(vectors * factor[:, None]).astype(np.int64)
        square = (cut * cut).sum(axis=1)
        over = self.spent[at] + square > self.cap  # no rounding of doubles decides what is let in
        cut[over], square[over] = 0, 0
        self.spent[at] += square
        return np.asarray(cut, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftmaxModel:
    """Released weights, a column for each class, the last row the intercepts. `spent` are the units' own shares of μ²:
    secret, in no release, and there only in the process that trained."""

    weights: Floats
    classes: tuple[Any, ...]
    release: ContentRelease
    spent: Floats | None = field(default=None, repr=False)

    def predict(self, inputs: Any) -> Any:
        """The class of each row."""
        return np.array(self.classes)[np.argmax(_with_one(inputs) @ self.weights, axis=1)]


@frozen
class IndividualDescent:
    """A plan for a softmax regression by full-batch steps under individual budgets: `mu` in Gaussian DP for the worst
    case, `sigma` the noise of a step in clips. Each row is a unit; rows are cut to length 1, with a 1 put beside them.

    Up to `steps_for(mu, sigma)` steps nobody can run out, and this is ordinary full-batch descent at that price.
    """

    mu: Ratio
    steps: int
    sigma: Ratio
    rate: float = 1.0
    size: int = 1000
    name: str = "individual"

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", positive(self.mu, "mu", toward="down"))
        object.__setattr__(self, "sigma", positive(self.sigma, "sigma"))
        object.__setattr__(self, "steps", whole(self.steps, "steps", least=1))
        object.__setattr__(self, "size", whole(self.size, "size", least=1))
        if not 0 < float(self.rate) < 1e6:
            raise InputError("rate is the length of a step: a number above 0")

    def loss(self, *, relation: Relation = Relation.ADD_REMOVE, unit: str = "row") -> Loss:
        """μ-GDP, and 2μ under replace."""
        return GDP(self.mu * self._moved(relation), relation=relation, unit=unit)

    @staticmethod
    def _moved(relation: Relation) -> int:
        return 2 if relation is Relation.REPLACE else 1

    @staticmethod
    def steps_for(mu: Number, sigma: Number) -> int:
        """How many steps at the full clip μ pays for: after so many, somebody may be out of budget."""
        return int((positive(mu, "mu", toward="down") * positive(sigma, "sigma")) ** 2)

    def quote(self, session: Spender, *, table: str | None = None, delta: Number | None = None) -> Quote:
        """What it would cost. Free."""
        return session.quote(IndividualJob(self, None, None, (), self._program(session, table, delta)))

    def run(
        self,
        session: Spender,
        inputs: Any,
        labels: Any,
        *,
        classes: Any,
        table: str | None = None,
        delta: Number | None = None,
    ) -> SoftmaxModel:
        """Charge, then learn. `classes` are the labels there are: they are not read from the rows. `delta` is for
        accounts that are paid in ε."""
        x, y, known = np.asarray(inputs, dtype=np.float64), np.asarray(labels), tuple(classes)
        if x.ndim != 2 or y.shape != (len(x),) or len(known) < 2:
            raise InputError("inputs must be rows of numbers, labels one for each, and classes two or more")
        job = IndividualJob(self, x, y, known, self._program(session, table, delta))
        release = session.spend(job)
        assert isinstance(release, ContentRelease)  # as its job keeps it
        weights = np.array(release.value()["weights"])
        return SoftmaxModel(weights=weights, classes=known, release=release, spent=job.spent)

    def _program(self, session: Spender, table: str | None, delta: Number | None) -> Program:
        policy = session.policy
        relation, name = policy.privacy.relation, table_of_data(policy, table)
        if relation not in (Relation.ADD_REMOVE, Relation.REPLACE):
            raise InputError(f"individual budgets are for add_remove or replace, not for {relation.value}")
        if not policy.tables[name].each_row_is_a_unit:
            raise InputError(
                f"table {name!r} may have several rows of one {policy.privacy.unit}, and here each row is a unit: make "
                "one row of each"
            )
        # all steps together are one Gaussian release, of what the filter lets a unit spend
        step = Step(
            name=self.name,
            mechanism=Gaussian(sigma=self.sigma),
            sensitivity=Sensitivity(l2=self.mu * self._moved(relation) * self.sigma),
            task=Task(kind="train"),
        )
        query = {
            "individual": {
                "name": self.name, "steps": self.steps, "sigma": fraction_to_text(self.sigma, "sigma"),
                "mu": fraction_to_text(self.mu, "mu"), "rate": repr(float(self.rate)), "size": self.size,
            },
            "rows in memory": rng_or_default(None).read(16).hex(),
        }  # fmt: skip
        return Program(
            steps=(step,),
            tables=(name,),
            relation=relation,
            unit=policy.privacy.unit,
            query=query,
            delta=own_delta(policy, delta),
        )


@dataclass(eq=False)
class IndividualJob(Job):
    """A descent under its charge."""

    plan: IndividualDescent
    inputs: Any
    labels: Any
    classes: tuple[Any, ...]
    priced: Program
    spent: Any = field(default=None, repr=False)

    scrubbed = False
    stops = None

    @property
    def program(self) -> Program:
        return self.priced

    def run(self, run: Run) -> bytes:
        weights, self.spent = descended(self.plan, self.inputs, self.labels, self.classes, rng_or_default(None))
        told = {"weights": weights.tolist(), "classes": [str(each) for each in self.classes]}
        return release_of(told, kind="model", facts=run.facts).to_bytes()

    def show(self, kept: bytes, *, cached: bool) -> Release:
        return release_from_bytes(kept, cached=cached)


def descended(
    plan: IndividualDescent, inputs: Floats, labels: Any, classes: tuple[Any, ...], rng: Rng
) -> tuple[Floats, Floats]:
    """The weights, which are released, and the shares of μ² that were spent, which are not."""
    rows = _with_one(np.nan_to_num(inputs, nan=0.0, posinf=0.0, neginf=0.0))
    place = {each: at for at, each in enumerate(classes)}
    codes = np.array([place.get(each, -1) for each in labels.tolist()])
    known = (codes >= 0).astype(np.float64)[:, None]  # a label that is no class counts as nothing
    target = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
    clip = float(SIGMA / plan.sigma)  # in steps
    budget = IndividualFilter.gaussian(len(rows), mu=plan.mu, sigma_steps=SIGMA)
    weights = average = velocity = np.zeros((rows.shape[1], len(classes)))
    for step in range(plan.steps):
        scores = scores_of(rows, weights)
        chance = np.exp(scores - scores.max(axis=1, keepdims=True))
        slope = (chance / chance.sum(axis=1, keepdims=True) - target) * known
        total = np.zeros(weights.size, dtype=np.int64)
        for start in range(0, len(rows), PART):
            part = slice(start, min(start + PART, len(rows)))
            each = np.einsum("ni,nj->nij", rows[part], slope[part]).reshape(part.stop - start, -1)
            total += budget.take(each * clip, clip, part).sum(axis=0)
        noisy = (total + discrete_gaussians(Fraction(SIGMA**2), weights.size, rng)) / clip
        velocity = 0.9 * velocity + noisy.reshape(weights.shape) / plan.size
        weights = weights - plan.rate * velocity
        average = average + (weights - average) / min(step + 1, max(1, plan.steps // 2))
    return average, budget.spent / budget.cap


def scores_of(rows: Floats, weights: Floats) -> Floats:
    """rows · weights, each row by itself to the last bit: a product by blocks could round one row by what is beside it,
    and then a unit more or less would move others' contributions."""
    return np.asarray(np.einsum("nd,dk->nk", rows, weights, optimize=False))


def _with_one(inputs: Any) -> Floats:
    """Rows cut to length 1, with a 1 beside them, all of it scaled to length at most 1."""
    x = np.asarray(inputs, dtype=np.float64)
    short = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    return np.column_stack([short, np.ones(len(x))]) / sqrt(2)
