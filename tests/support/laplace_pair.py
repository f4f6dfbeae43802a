"""A pair that nothing in the product has, with a curve in closed form: atoms at both ends and a density in between."""

from dataclasses import dataclass

import numpy as np

from tacit.loss.pair import UNIT, Cells, Floats, Pair, cells_of


@dataclass(frozen=True)
class LaplacePair(Pair):
    """Laplace distributions whose centres differ by `epsilon` scales: L is ±ε with atoms, and spread in between."""

    epsilon: float

    def cells(self, edges: Floats) -> Cells:
        e = self.epsilon
        inside, over = np.clip(edges, -e, e), edges >= e
        under = edges < -e
        p_below = np.where(over, 1.0, np.where(under, 0.0, np.exp((inside - e) / 2) / 2))
        q_above = np.where(over, 0.0, np.where(under, 1.0, np.exp(-(inside + e) / 2) / 2))
        p = np.diff(np.concatenate([[0.0], p_below, [1.0]]))
        q = -np.diff(np.concatenate([[1.0], q_above, [0.0]]))
        error = np.full_like(p, (8 + e) * UNIT)
        return cells_of(edges, p, q, error * np.append(p_below, 1.0), error * np.insert(q_above, 0, 1.0))

    def reach(self, tail: float) -> tuple[float, float]:
        return -self.epsilon, self.epsilon

    @property
    def anchor(self) -> float:
        return self.epsilon

    @property
    def symmetric(self) -> bool:
        return True
