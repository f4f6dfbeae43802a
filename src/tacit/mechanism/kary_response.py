"""k-ary randomised response: the true category with probability e^ε/(e^ε + k − 1), else another, uniformly."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.base import InputError, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import EpsilonResponse

__all__ = ["KaryResponse"]


@dataclass(frozen=True, kw_only=True)
class KaryResponse(EpsilonResponse):
    """One of `categories` = k answers 0, …, k−1, kept with probability e^ε/(e^ε + k − 1), else uniform over the others.

    Guarantee: pure ε between any two answers of one respondent (relation replace). With k = 2 it is randomised
    response, but `estimate` gives the shares of both answers.
    """

    epsilon: Fraction
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
