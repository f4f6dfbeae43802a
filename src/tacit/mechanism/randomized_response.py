"""Randomised response: a bit is reported truthfully with probability e^ε/(1 + e^ε) (Warner 1965)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.base import positive
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import EpsilonResponse

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(EpsilonResponse):
    """A bit is kept with probability e^ε/(1 + e^ε), else flipped.

    Guarantee: pure ε between the two answers of one respondent (relation replace). No ε-local report of a
    bit tells more.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))

    @property
    def choices(self) -> int:
        return 2

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return cls._pairs([cls(epsilon=Fraction(e)) for e in ("1/10", 1, "7/3", 8)])
