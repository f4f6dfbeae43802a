"""The four worked examples of the tour, each from made-up data to a private answer with its error and its cost."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.base import Relation, Sensitivity
from tacit.cli.demo_data import AGE_LIMIT, SMALL_MARKET, bidders, people, smokers
from tacit.loss import Pure
from tacit.mechanism.laplace import DiscreteLaplace, Laplace
from tacit.mechanism.postprocess import clamp
from tacit.mechanism.randomized_response import CoinFlipSurvey
from tacit.mechanism.selection import Exponential

__all__ = ["Age", "Histogram", "Pricing", "Survey", "Tour"]

CONFIDENCE = 0.95
PERSON = "person"
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Age:
    """The average of whole ages 0–100 over a public number of people: they move by at most 100/n together."""

    mechanism: Laplace
    truth: Fraction
    private: float
    loss: Pure

    @classmethod
    def ask(cls, epsilon: str) -> "Age":
        age = people().age
        # the sum of whole ages is whole, so the mean lies on the lattice of 1/n: noise there rounds nothing
        truth, step = Fraction(int(age.sum()), age.size), Fraction(1, age.size)
        neighbours: dict[str, Any] = {"relation": Relation.REPLACE, "unit": PERSON}
        sensitivity = Sensitivity.scalar(AGE_LIMIT * step)
        mechanism = Laplace.from_loss(Pure(epsilon, **neighbours), sensitivity=sensitivity, granularity=step)
        private = mechanism.sample(truth)
        return cls(mechanism, truth, private, mechanism.loss(sensitivity, **neighbours))

    @property
    def error(self) -> float:
        return self.mechanism.error(CONFIDENCE)


@dataclass(frozen=True)
class Histogram:
    """Counts by age band × gender × region. A person is in one cell, so all cells together cost what one costs."""

    mechanism: DiscreteLaplace
    truth: Array
    noisy: Array
    private: Array
    loss: Pure
    replace_loss: Pure

    @classmethod
    def ask(cls, epsilon: str) -> "Histogram":
        truth = people().cells()
        joins = Sensitivity(l1=Fraction(1), linf=Fraction(1))
        moves = Sensitivity(l1=Fraction(2), linf=Fraction(1))
        mechanism = DiscreteLaplace.from_loss(Pure(epsilon, unit=PERSON), sensitivity=joins)
        noisy = mechanism.sample(truth)
        replaced = mechanism.loss(moves, relation=Relation.REPLACE, unit=PERSON)
        return cls(mechanism, truth, noisy, clamp(noisy), mechanism.loss(joins, unit=PERSON), replaced)

    @property
    def error(self) -> float:
        """For one cell. Clamping at zero moves an answer towards any true count, so the bound survives it."""
        return self.mechanism.error(CONFIDENCE)

    @property
    def error_everywhere(self) -> float:
        """For all cells at once."""
        return self.mechanism.error(CONFIDENCE, dimension=self.truth.size)


@dataclass(frozen=True)
class Pricing:
    """One price for everybody: who values the good at the price or more buys. Money is in cents.

    Another bidder adds at most the price to the revenue at each price and lowers none: the score is monotone.
    """

    mechanism: Exponential
    prices: tuple[int, ...]
    revenues: tuple[int, ...]
    chosen: int
    loss: Pure

    @classmethod
    def ask(cls, epsilon: str, valuations: Array, prices: tuple[int, ...]) -> "Pricing":
        revenues = tuple(price * int((valuations >= price).sum()) for price in prices)
        mechanism = Exponential.from_loss(Pure(epsilon, unit="bidder"), sensitivity=max(prices), monotone=True)
        loss = mechanism.loss(max(prices), unit="bidder")
        return cls(mechanism, prices, revenues, int(mechanism.sample(revenues)), loss)

    @property
    def best(self) -> int:
        return max(range(len(self.prices)), key=self.revenues.__getitem__)

    @property
    def error(self) -> float:
        """How far below the best revenue the choice may fall."""
        return float(self.mechanism.error(CONFIDENCE, candidates=len(self.prices)))

    def chances(self) -> list[float]:
        pmf = self.mechanism.pmf(self.revenues)
        return [pmf.get(index, 0.0) for index in range(len(self.prices))]


@dataclass(frozen=True)
class Survey:
    """An awkward question. Each respondent flips a coin at home: heads, the truth; tails, what a second coin says."""

    mechanism: CoinFlipSurvey
    respondents: int
    truth: float
    reported: float
    private: float
    low: float
    high: float
    loss: Pure

    @classmethod
    def ask(cls) -> "Survey":
        answers = smokers()
        mechanism = CoinFlipSurvey(truth=Fraction(1, 2))
        reports = np.asarray(mechanism.sample(answers))
        found = mechanism.estimate(reports, CONFIDENCE)
        loss = mechanism.loss(relation=Relation.REPLACE, unit="respondent")
        truth, reported = float(answers.mean()), float(reports.mean())
        return cls(mechanism, answers.size, truth, reported, found.value, found.lower, found.upper, loss)


@dataclass(frozen=True)
class Tour:
    """All four questions, asked."""

    ages: tuple[Age, Age]
    histogram: Histogram
    small_market: Pricing
    market: Pricing
    survey: Survey

    @classmethod
    def ask(cls) -> "Tour":
        """Answer everything once. The noise differs every time."""
        small = (*SMALL_MARKET, SMALL_MARKET[-1] + 1)  # one cent above the highest valuation: nobody buys
        return cls(
            ages=(Age.ask("0.5"), Age.ask("1")),
            histogram=Histogram.ask("0.5"),
            small_market=Pricing.ask("0.5", np.array(SMALL_MARKET), small),
            market=Pricing.ask("0.5", bidders(), tuple(range(10, 1001, 10))),
            survey=Survey.ask(),
        )

    def people_loss(self) -> Pure:
        """What the same people paid for both averages and the histogram, in the one relation all three have."""
        first, second = self.ages
        total = first.loss + second.loss + self.histogram.replace_loss
        assert isinstance(total, Pure)  # as every part of it
        return total
