"""How well members are told from others: false alarms against members found, and the most that a guarantee allows."""

from dataclasses import dataclass
from math import exp, floor

import numpy as np
from scipy.stats import rankdata

from tacit.attack.network import Array
from tacit.base import InputError, Number, between, non_negative
from tacit.loss import Loss

__all__ = ["Roc", "advantage_at_most", "found_at_most"]


@dataclass(frozen=True, eq=False)
class Roc:
    """The scores that an attack gave to members and to others; it calls a member whoever scores above a threshold."""

    members: Array
    others: Array

    def __post_init__(self) -> None:
        for name in ("members", "others"):
            scores = np.sort(np.asarray(getattr(self, name), dtype=float).ravel())
            if not scores.size or np.isnan(scores).any():
                raise InputError(f"the scores of {name} must be at least one number and none may be NaN")
            object.__setattr__(self, name, scores)

    def threshold(self, false_alarms: float) -> float:
        """The least threshold that at most this share of the others scores above."""
        if not 0 <= false_alarms <= 1:
            raise InputError(f"false_alarms is a share, between 0 and 1, not {false_alarms}")
        allowed = floor(false_alarms * self.others.size * (1 + 1e-12))
        return -np.inf if allowed >= self.others.size else float(self.others[-1 - allowed])

    def count(self, false_alarms: float) -> int:
        """How many members are found with at most this share of false alarms."""
        at = self.threshold(false_alarms)
        return self.members.size - (0 if at == -np.inf else int(np.searchsorted(self.members, at, side="right")))

    def found(self, false_alarms: float) -> float:
        """The share of members found (true positives) with at most this share of false alarms."""
        return self.count(false_alarms) / self.members.size

    @property
    def auc(self) -> float:
        """The chance that a member scores above somebody else, a tie being half a chance."""
        ranks = rankdata(np.concatenate([self.members, self.others]))[: self.members.size]
        own = self.members.size * (self.members.size + 1) / 2
        return float((ranks.sum() - own) / (self.members.size * self.others.size))

    @property
    def advantage(self) -> float:
        """The most by which the share of members found exceeds that of false alarms (Yeom et al. 2018)."""
        at = np.unique(np.concatenate([self.members, self.others]))
        above = [1 - np.searchsorted(scores, at, side="right") / scores.size for scores in (self.members, self.others)]
        return float(max(0.0, (above[0] - above[1]).max()))


def found_at_most(false_alarms: float, *, epsilon: Number, delta: Number) -> float:
    """The most members any attack finds at these false alarms under (ε, δ)-DP (Kairouz, Oh and Viswanath 2015)."""
    odds, slack = exp(float(non_negative(epsilon, "epsilon"))), float(non_negative(delta, "delta"))
    return max(0.0, min(1.0, odds * false_alarms + slack, 1 - (1 - slack - false_alarms) / odds))


def advantage_at_most(loss: Loss, *, delta: Number) -> tuple[float, float]:
    """The most advantage that the guarantee allows, and the most that its (ε, δ) alone would.

    The first is the δ at ε = 0; the second (e^ε − 1 + 2δ)/(e^ε + 1), which is more.
    """
    slack = float(between(delta, "delta", 0, 1))
    odds = exp(loss.epsilon(delta).upper)
    return loss.delta(0).upper, min(1.0, (odds - 1 + 2 * slack) / (odds + 1))
