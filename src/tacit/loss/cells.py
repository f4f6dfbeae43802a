"""From a dominating pair to finitely many masses, bounding the privacy curve from above and from below.

As a function of Y = e^(−L) under P, (1 − e^ε·Y)+ is convex and decreasing. So its expectation, for every ε and after
any composition, only grows when Y is spread with its mean kept (upper bound: a cell's mass goes to its two ends), and
only falls when masses are merged at their mean or L is lowered (lower bound: a cell becomes one point).
"""

import numpy as np

from tacit.loss.pair import UNIT, Floats, Pair

__all__ = ["SLOP", "merged", "spread_out"]

SLOP = 2e-14  # how far rounding may displace an edge of a cell near zero


def spread_out(pair: Pair, edges: Floats) -> tuple[Floats, Floats]:
    """Losses and masses whose curve lies above the pair's but for what is above the last edge: connect-the-dots
    (Doroshenko et al. 2022), rounded against us."""
    c = pair.cells(edges)
    p = c.p + c.p_error
    inner = p[1:-1]
    # mass b goes to the right end and p − b to the left one, so that both P and Q keep their mass in the cell
    right = np.clip((c.excess + c.excess_error)[1:-1] / -np.expm1(-np.diff(edges)), 0.0, inner)
    masses = np.append(inner - right, 0.0) + np.insert(right, 0, 0.0)
    masses[0] += p[0]  # what lies below the first edge is raised to it
    return edges + _slop(edges), masses


def merged(pair: Pair, edges: Floats) -> tuple[Floats, Floats]:
    """Losses and masses whose curve lies below the pair's: each cell is one point, and what is outside is nothing."""
    c = pair.cells(edges)
    p, q = np.maximum(0.0, (c.p - c.p_error)[1:-1]), (c.q + c.q_error)[1:-1]
    live = (p > 0) & (q > 0)
    losses = edges[:-1].copy()  # where q underflows: no more than the cell's left end
    losses[live] = np.log(p[live]) - np.log(q[live])
    # rounding cannot make L larger than its cell
    return np.clip(losses, edges[:-1] - 1, edges[1:]) - _slop(edges), p * (1 - 1e-15)


def _slop(edges: Floats) -> float:
    return SLOP + 16 * UNIT * float(np.abs(edges).max())
