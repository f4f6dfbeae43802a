"""k-ary randomised response: the true category with probability e^ε/(e^ε + k − 1), else another, uniformly."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, expm1
from typing import Any, Self

from tacit.base import InputError, Ratio, frozen, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Response
from tacit.noise import Rng
from tacit.noise.logistic import logistic, logistics

__all__ = ["KaryResponse"]


@frozen
class KaryResponse(Response):
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
    def true_rate(self) -> float:
        return 1 / (1 + (self.categories - 1) * exp(-self.epsilon))

    @property
    def false_rate(self) -> float:
        return exp(-self.epsilon) * self.true_rate

    @property
    def contrast(self) -> float:
        return -expm1(-self.epsilon) * self.true_rate

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    @property
    def _binary(self) -> bool:
        return False

    def _kept(self, size: int, rng: Rng) -> Any:
        return logistics(self.epsilon, Fraction(self.categories - 1), size, rng)

    def _kept_one(self, rng: Rng) -> bool:
        return logistic(self.epsilon, Fraction(self.categories - 1), rng)

    @classmethod
    def _at(cls, epsilon: Fraction, **domain: Any) -> Self:
        return cls(epsilon=epsilon, **domain)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return cls._pairs(
            [cls(epsilon=Fraction(e), categories=k) for e, k in (("1/5", 2), (1, 3), ("5/2", 10), (4, 100))]
        )
