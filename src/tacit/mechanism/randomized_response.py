"""Randomised response: a bit is reported truthfully with probability e^ε/(1 + e^ε) (Warner 1965)."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, tanh
from typing import Any, Self

from tacit.base import Ratio, frozen, positive
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Response
from tacit.noise import Rng
from tacit.noise.logistic import logistic, logistics

__all__ = ["RandomizedResponse"]


@frozen
class RandomizedResponse(Response):
    """A bit is kept with probability e^ε/(1 + e^ε), else flipped.

    Guarantee: pure ε between the two answers of one respondent (relation replace). No ε-local report of a
    bit tells more.
    """

    epsilon: Ratio

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))

    @property
    def true_rate(self) -> float:
        return 1 / (1 + exp(-self.epsilon))

    @property
    def false_rate(self) -> float:
        return exp(-self.epsilon) / (1 + exp(-self.epsilon))

    @property
    def contrast(self) -> float:
        return tanh(self.epsilon / 2)

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    def _kept(self, size: int, rng: Rng) -> Any:
        return logistics(self.epsilon, Fraction(1), size, rng)

    def _kept_one(self, rng: Rng) -> bool:
        return logistic(self.epsilon, Fraction(1), rng)

    @classmethod
    def _at(cls, epsilon: Fraction, **domain: Any) -> Self:
        return cls(epsilon=epsilon, **domain)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return cls._pairs([cls(epsilon=Fraction(e)) for e in ("1/10", 1, "7/3", 8)])
