"""One question asked in three ways: what a share's error is if a curator, a shuffler or nobody is trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, sqrt

from tacit.base import Number, positive, whole
from tacit.survey.direct import DirectResponse
from tacit.survey.shuffle import local_epsilon

__all__ = ["Beside", "beside"]


@dataclass(frozen=True)
class Beside:
    """Standard deviations of one estimated share (of an answer that is rare) with `reports` respondents.

    `local_epsilon` is what each respondent's own report has in the shuffled survey.
    """

    reports: int
    central: float
    shuffle: float
    local: float
    local_epsilon: Fraction


def beside(*, categories: int, epsilon: Number, delta: Number, reports: Sequence[int]) -> list[Beside]:
    """The three errors for each number of respondents, all (ε, δ)-private for a respondent's answer (relation replace).

    Central: discrete Laplace noise on each count, whose guarantee is pure; an answer that changes moves two counts, or
    the only one of a yes-or-no question. Shuffle: direct response with the largest local epsilon that shuffling brings
    to (ε, δ). Local: direct response with ε itself.
    """
    budget = positive(epsilon, "epsilon", toward="decimal")
    central, rows = _laplace(budget / min(2, categories - 1)), []
    for asked in reports:
        n = whole(asked, "reports", least=2)
        own = local_epsilon(budget, delta, reports=n, categories=categories)
        local, hidden = (DirectResponse(epsilon=e, categories=categories) for e in (budget, own))
        rows.append(Beside(n, central / n, hidden.deviation(reports=n), local.deviation(reports=n), own))
    return rows


def _laplace(rate: Fraction) -> float:
    """Standard deviation of discrete Laplace noise of scale 1/rate."""
    step = float(rate)
    return sqrt(2 * exp(-step)) / -expm1(-step)
