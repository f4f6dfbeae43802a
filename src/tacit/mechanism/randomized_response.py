"""Randomised response in three forms: of a bit (Warner 1965), of one of k categories, and as a survey with coins."""

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Self

from tacit.base import InputError, Ratio, between, frozen, positive, round_up, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import EpsilonResponse, Response
from tacit.noise import Rng, bernoulli, coins
from tacit.noise.bounds import exp_minus

__all__ = ["CoinFlipSurvey", "KaryResponse", "RandomizedResponse"]


@frozen
class RandomizedResponse(EpsilonResponse):
    """A bit is kept with probability e^ε/(1 + e^ε), else flipped.

    Guarantee: pure ε between the two answers of one respondent (relation replace). No ε-local report of a
    bit tells more.
    """

    epsilon: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))

    @property
    def choices(self) -> int:
        return 2

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return cls._pairs([cls(epsilon=Fraction(e)) for e in ("1/10", 1, "7/3", 8)])


@frozen
class KaryResponse(EpsilonResponse):
    """One of `categories` = k answers 0, …, k−1, kept with probability e^ε/(e^ε + k − 1), else uniform over the others.

    Guarantee: pure ε between any two answers of one respondent (relation replace). With k = 2 it is randomised
    response, but `estimate` gives the shares of both answers.
    """

    epsilon: Ratio
    categories: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "categories", whole(self.categories, "categories", least=2))
        if self.categories > 2**62:
            raise InputError("categories must be at most 2^62: group or hash the answers first")

    @property
    def choices(self) -> int:
        return self.categories

    @property
    def _binary(self) -> bool:
        return False

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return cls._pairs(
            [cls(epsilon=Fraction(e), categories=k) for e, k in (("1/5", 2), (1, 3), ("5/2", 10), (4, 100))]
        )


DIGITS = 60
BITS = 60  # of a probability that was derived from a guarantee


@frozen
class CoinFlipSurvey(Response):
    """A bit is told truthfully with probability `truth`, else a fair coin answers.

    Guarantee: pure log((1 + truth)/(1 − truth)) between the two answers of one respondent (relation replace): log 3
    with a fair first coin. A share θ of ones shows as a rate of (1 − truth)/2 + truth·θ.
    """

    truth: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", between(self.truth, "truth", 0, 1, toward="down"))

    @property
    def true_rate(self) -> float:
        return float((1 + self.truth) / 2)

    @property
    def false_rate(self) -> float:
        return float((1 - self.truth) / 2)

    @property
    def contrast(self) -> float:
        return float(self.truth)

    @property
    def bound(self) -> Fraction:
        """The logarithm of the odds, rounded up in its sixtieth digit."""
        odds = (1 + self.truth) / (1 - self.truth)
        with localcontext(prec=DIGITS + 10):
            # decimal rounds ln correctly; the quotient and the logarithm are each off by less than 10^−69, relatively
            log = (Decimal(odds.numerator) / Decimal(odds.denominator)).ln()
        return round_up(Fraction(log) + Fraction(1, 10**DIGITS), bits=200)

    def _kept(self, size: int, rng: Rng) -> Any:
        return coins((1 + self.truth) / 2, size, rng)

    def _kept_one(self, rng: Rng) -> bool:
        return bernoulli((1 + self.truth) / 2, rng)

    @classmethod
    def _at(cls, epsilon: Fraction, **domain: Any) -> Self:
        """truth = tanh(ε/2) = (1 − e^−ε)/(1 + e^−ε), rounded down."""
        work = 2 * BITS + max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())
        high = exp_minus(epsilon, work)[1]
        exact = Fraction((1 << work) - high, (1 << work) + high)
        extra = work - BITS  # a small ε needs more digits for the same relative loss
        steps = (exact.numerator << extra) // exact.denominator - 1
        return cls(truth=Fraction(steps, 1 << extra), **domain)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return cls._pairs([cls(truth=Fraction(p)) for p in ("1/2", "1/10", "3/4", "99/100")])
