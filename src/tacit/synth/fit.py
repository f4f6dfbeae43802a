"""The table that fits noisy marginals best: of all tables the one of most entropy, to a stated distance.

Let y be the measured counts with noise of standard deviation s in each cell, n the number of units, and μ the same
marginals of a model. Minimised is ½‖(y − nμ)/s‖² − κ·n·H(μ)/s̄, where s̄ is the middle of all s: least squares, with
as little entropy as tells equal fits apart. Its dual over one potential θ for each measured cell is smooth, convex and
free of constraints, so L-BFGS solves it, scaled by about the curvature of each cell. At every θ the primal at its model
is above the optimum by at most ½‖(y − nμ)/s − κ·sθ/s̄‖² (proof in docs/theory/synth-model.md). The fit stops when that
is below `GAP` a cell: what is left is that part of the noise that the cell has anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from tacit.synth.tree import Beliefs, Clique, Floats, JunctionTree, expanded

__all__ = ["GAP", "CellZeros", "FittedModel", "NoisyTable", "fit", "total_of"]

GAP = 0.004  # of squared standard errors, half of them a cell
KAPPA = 0.2
MEMORY = 30  # steps that L-BFGS remembers
ROUNDS = 40  # restarts with an empty memory, before what was reached has to do


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """A measured marginal: `counts` of the columns `clique` in units, `sigma` for each cell, or one for all."""

    clique: Clique
    counts: Floats
    sigma: Floats | float

    @property
    def variance(self) -> Floats:
        return np.broadcast_to(np.asarray(self.sigma, np.float64) ** 2, self.counts.shape)

    @property
    def total(self) -> tuple[float, float]:
        """The sum of all cells, and its variance."""
        return float(self.counts.sum()), float(self.variance.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class CellZeros:
    """Combinations of the columns `clique` that cannot be, by declaration and not by what was seen."""

    clique: Clique
    impossible: np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel:
    """A model on its tree. `gap` is at most how far it is from the best, in half squared standard errors a cell, and
    `loss` what it has of them."""

    tree: JunctionTree
    potentials: list[Floats]
    beliefs: Beliefs = field(repr=False)
    total: float
    loss: float
    gap: float
    thetas: tuple[tuple[Clique, Floats], ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls, tree: JunctionTree, potentials: list[Floats], *, total: float, loss: float, gap: float
    ) -> "FittedModel":
        beliefs, _ = tree.beliefs(potentials)
        return cls(tree=tree, potentials=potentials, beliefs=beliefs, total=total, loss=loss, gap=gap)

    @classmethod
    def nothing(cls, sizes: Sequence[int], zeros: Sequence[CellZeros]) -> "FittedModel":
        """The model of which only is known what cannot be; refused where that is everything."""
        tree = JunctionTree.over(sizes, [each.clique for each in zeros])
        return cls.of(tree, _without(tree, zeros), total=1.0, loss=0.0, gap=0.0)

    def counts(self, clique: Clique) -> Floats:
        """How many units the model has in each cell of some columns."""
        return self.total * self.tree.any_marginal(self.beliefs, clique)


def total_of(tables: Sequence[NoisyTable]) -> float:
    """The number of units that fits best: sums of the marginals, weighted by what their noise allows; at least 1."""
    sums = [each.total for each in tables]
    weights = [1 / variance for _, variance in sums]
    return max(1.0, sum(s * w for (s, _), w in zip(sums, weights, strict=True)) / sum(weights))


def _without(tree: JunctionTree, zeros: Sequence[CellZeros]) -> list[Floats]:
    """Potentials that say nothing but what cannot be."""
    found = tree.zeros()
    for each in zeros:
        home = tree.home(each.clique)
        assert home is not None  # the tree was made of them
        found[home] += expanded(np.where(each.impossible, -np.inf, 0.0), each.clique, tree.cliques[home])
    return found


class _Dual:
    """The dual of one fit, as a function of all potentials in one long row."""

    def __init__(
        self, sizes: Sequence[int], tables: Sequence[NoisyTable], zeros: Sequence[CellZeros], total: float
    ) -> None:
        self.tree = JunctionTree.over(sizes, [*(each.clique for each in tables), *(each.clique for each in zeros)])
        self.cliques = [each.clique for each in tables]
        homes = [self.tree.home(each) for each in self.cliques]
        self.homes = [home for home in homes if home is not None]
        assert len(self.homes) == len(homes)  # the tree was made of them
        self.ends = np.cumsum([0, *(each.counts.size for each in tables)])
        self.seen = np.concatenate([each.counts.ravel() for each in tables]) / total
        self.error = np.sqrt(np.concatenate([each.variance.ravel() for each in tables])) / total
        self.entropy = KAPPA / float(np.median(self.error))
        self.base = _without(self.tree, zeros)
        self.scale = 1 / np.sqrt(np.maximum(self.seen, 0) + self.error / 2)
        self.gap = self.loss = np.inf

    def parts(self, theta: Floats) -> list[Floats]:
        return [
            theta[start:stop].reshape(self.tree.shape(clique))
            for clique, start, stop in zip(self.cliques, self.ends[:-1], self.ends[1:], strict=True)
        ]

    def potentials(self, theta: Floats) -> list[Floats]:
        found = [each.copy() for each in self.base]
        for clique, home, part in zip(self.cliques, self.homes, self.parts(theta), strict=True):
            found[home] += expanded(part, clique, self.tree.cliques[home])
        return found

    def __call__(self, scaled: Floats) -> tuple[float, Floats]:
        theta = scaled * self.scale
        beliefs, log_total = self.tree.beliefs(self.potentials(theta))
        tables = [self.tree.marginal(beliefs, clique) for clique in self.cliques]
        model = np.concatenate([each.ravel() for each in tables if each is not None])
        pull = self.entropy * self.error**2 * theta
        residual = self.seen - model
        slope = pull - residual
        self.gap = float(((slope / self.error) ** 2).sum() / 2)
        self.loss = float(((residual / self.error) ** 2).sum() / 2)
        value = log_total - float(theta @ self.seen) + float(theta @ pull) / 2
        return value, slope * self.scale


def fit(
    sizes: Sequence[int],
    tables: Sequence[NoisyTable],
    *,
    zeros: Sequence[CellZeros] = (),
    total: float | None = None,
    start: FittedModel | None = None,
    gap: float = GAP,
) -> FittedModel:
    """The model that fits the tables, on from that of `start`, which fitted the first of them."""
    units = total_of(tables) if total is None else total
    dual = _Dual(sizes, tables, zeros, units)
    theta = np.zeros(len(dual.seen))
    if start is not None:
        known = np.concatenate([each.ravel() for _, each in start.thetas])
        theta[: len(known)] = known
    enough, scaled = gap * len(theta), theta / dual.scale

    def close(_: Any) -> None:
        if dual.gap <= enough:
            raise StopIteration

    best = (np.inf, scaled)
    solve: Any = minimize
    for _ in range(ROUNDS):
        options: Any = {"maxiter": 10_000, "maxfun": 20_000, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
        found = solve(dual, scaled, jac=True, method="L-BFGS-B", callback=close, options=options)
        value, _ = dual(found.x)
        scaled = found.x
        if dual.gap <= enough or value >= best[0] - 1e-13 * abs(value):
            break
        best = (value, scaled)
    theta = scaled * dual.scale
    potentials = dual.potentials(theta)
    beliefs, _ = dual.tree.beliefs(potentials)
    thetas = tuple(zip(dual.cliques, dual.parts(theta), strict=True))
    cells = len(theta)
    return FittedModel(
        tree=dual.tree, potentials=potentials, beliefs=beliefs, total=units, loss=dual.loss / cells,
        gap=dual.gap / cells, thetas=thetas,
    )  # fmt: skip
