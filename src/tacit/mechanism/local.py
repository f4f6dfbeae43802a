"""What every answer has in common that is randomised by the person who gives it, and what many of them tell."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import betaincinv

from tacit.base import InputError, Number, Relation, Sensitivity, between
from tacit.loss import Pure
from tacit.mechanism.mechanism import Mechanism

__all__ = ["Estimate", "Local", "shares"]


class Local(Mechanism):
    """A report about one person, made on that person's side. The guarantee is pure, between any two true answers."""

    @property
    @abstractmethod
    def bound(self) -> Fraction:
        """ε, never below the largest log-ratio of two answers' probabilities of one report."""

    def loss(
        self,
        sensitivity: Sensitivity | Number | None = None,
        *,
        relation: Relation = Relation.REPLACE,
        unit: str = "respondent",
    ) -> Pure:
        """ε between any two answers of one respondent; it rests on no sensitivity, so none is taken."""
        if sensitivity is not None:
            raise InputError("sensitivity does not apply to a randomised response: leave it out, any answer may change")
        if Relation(relation) is not Relation.REPLACE:
            raise InputError(
                "relation must be 'replace': a report exists only if the person answers, so it hides what they "
                "answered but not that they did"
            )
        return Pure(self.bound, relation=relation, unit=unit)


@dataclass(frozen=True, eq=False)
class Estimate:
    """An unbiased share (an array of shares for k categories), so it may fall a little outside [0, 1].

    [lower, upper] is a Clopper–Pearson interval for the rate of reports, mapped back to shares and cut to [0, 1]: each
    share lies in its own with probability at least `confidence`. The reports of fixed respondents are not identically
    distributed, but their sum is less spread than the binomial of the same mean (Hoeffding 1956), so the
    interval holds for the respondents and, if they are a random sample, for the population they come from.
    `standard_error` is that of the randomising alone.
    """

    value: Any
    lower: Any
    upper: Any
    standard_error: Any
    confidence: float

    @property
    def interval(self) -> tuple[Any, Any]:
        return self.lower, self.upper


def shares(
    counted: Any, n: int, *, true_rate: float, false_rate: float, contrast: float, confidence: Number = 0.95
) -> Estimate:
    """The shares behind how many of n reports speak for each answer: (c/n − q)/(p − q), with their intervals.

    A report speaks for the true answer with probability p = `true_rate` and for any other with q = `false_rate`;
    `contrast` is p − q without the rounding of the difference. An array of counts has arrays of shares.
    """
    level = float(between(confidence, "confidence", 0, 1))
    if level < 0.5:
        raise InputError("confidence must be at least 0.5: the interval is only proved from there on")
    low = np.where(counted > 0, betaincinv(np.maximum(counted, 1), n - counted + 1, (1 - level) / 2), 0.0)
    high = np.where(counted < n, betaincinv(counted + 1, np.maximum(n - counted, 1), (1 + level) / 2), 1.0)

    def share(rate: Any) -> Any:
        return (rate - false_rate) / contrast

    value = share(counted / n)
    held = np.clip(value, 0.0, 1.0)
    spread = held * true_rate * (1 - true_rate) + (1 - held) * false_rate * (1 - false_rate)
    parts = (value, np.clip(share(low), 0, 1), np.clip(share(high), 0, 1), np.sqrt(spread / n) / contrast)
    value, lower, upper, error = parts if np.ndim(counted) else map(float, parts)
    return Estimate(value, lower, upper, error, level)
