"""Reports that are one number: direct response (k-ary randomised response), coin-flip survey, Hadamard response."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, between, cached_property
from tacit.loss import shuffled
from tacit.loss.shuffle import ShuffledLoss
from tacit.mechanism.randomized_response import CoinFlipSurvey
from tacit.noise import Rng, uniform
from tacit.survey.coin import ONE, Coin, KaryCoin, below
from tacit.survey.frequency import Frequency
from tacit.survey.kary import KaryProtocol
from tacit.survey.protocol import Array, Law, Tally

__all__ = ["CoinFlip", "DirectResponse", "HadamardResponse", "sign", "walsh_hadamard"]


@dataclass(frozen=True, kw_only=True)
class DirectResponse(KaryProtocol, Frequency):
    """A report is one answer: the true one with probability p, each other with (1 − p)/(k − 1).

    Guarantee and coins: those of a `KaryProtocol`. With two answers it is Warner's randomised response (1965).
    """

    kind: ClassVar[str] = "direct"
    in_browser: ClassVar[bool] = True
    title = "direct response"
    named = "answer"
    cases = (("1/5", 2), (1, 3), ("5/2", 10), (4, 100))

    @cached_property
    def _coin(self) -> KaryCoin:
        return KaryCoin.at(self.epsilon, self.categories)

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "keep": self._coin.keep.heads}

    @property
    def q(self) -> Fraction:
        return self._coin.q

    def shuffled(self, *, reports: int) -> ShuffledLoss:
        """The analysis of its own: the answers that nobody is suspected of hide a report too."""
        if self.categories == 2:
            return super().shuffled(reports=reports)
        return shuffled(self.loss(), reports=reports, categories=self.categories)

    def _joint(self, rate: Array) -> Array:
        """A report speaks for one answer: the multinomial law."""
        return np.asarray(np.diag(rate) - np.outer(rate, rate))

    def _truth(self, value: Any, *drawn: Any) -> Any:
        return value


@dataclass(frozen=True, kw_only=True)
class CoinFlip(Frequency):
    """No or yes (0 or 1), told truly with probability `truth`, else by a fair coin. People can do it with real coins.

    Guarantee: pure ε = log((1 + truth)/(1 − truth)) between the two answers of one respondent (relation replace): log 3
    with a fair first coin. `truth` is rounded down to a multiple of 2^-64, and ε is rounded up.

    Coins: truth (one toss); if tails, a number below 2, which is the report.
    """

    kind: ClassVar[str] = "coin_flip"
    in_browser: ClassVar[bool] = True
    cases = (("1/2",), ("1/10",), ("3/4",), ("99/100",))

    truth: Fraction = Fraction(1, 2)
    epsilon: Fraction = field(init=False)
    categories: int = field(init=False, default=2)

    def __post_init__(self) -> None:
        asked = between(self.truth, "truth", 0, 1, toward="down")
        heads = asked.numerator * ONE // asked.denominator
        if not heads:
            raise InputError(
                "truth is too small for a coin of 64 bits: the report would say nothing, choose a larger one"
            )
        object.__setattr__(self, "truth", Fraction(heads, ONE))
        object.__setattr__(self, "epsilon", CoinFlipSurvey(truth=self.truth).bound)

    @cached_property
    def _truly(self) -> Coin:
        return Coin(int(self.truth * ONE))

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "truth": self._truly.heads}

    @classmethod
    def from_device(cls, epsilon: Fraction, device: Mapping[str, Any]) -> Self:
        return cls(truth=Fraction(device["truth"], ONE))  # of 2^64 sides so many are heads

    @property
    def p(self) -> Fraction:
        return (1 + self.truth) / 2

    @property
    def q(self) -> Fraction:
        return (1 - self.truth) / 2

    @property
    def numbers(self) -> Mapping[str, int]:
        return {"answer": 2}

    def _one(self, value: int, rng: Rng) -> bytes:
        return bytes([value if self._truly.toss(rng) else below(2, rng)])

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        second = uniform(2, values.size, rng)
        reports[:] = np.where(self._truly.tosses(values.size, rng), values, second)

    def law(self, value: Any) -> Law:
        truth = self._answer(value)
        return {bytes([answer]): self.p if answer == truth else self.q for answer in (0, 1)}


@dataclass(frozen=True, kw_only=True)
class HadamardResponse(KaryProtocol, Frequency):
    """A report is a place j, uniform below K, and one bit: the sign of H[j, answer + 1], kept with probability p.

    K is the least power of two above the number of answers, H[j, i] = (−1)^(number of ones that j and i share), and the
    report is 2j + bit with bit 1 for −1 (Bassily and others 2017). It speaks for every answer that has this sign at j:
    for a false one with probability exactly 1/2, since two rows of signs agree in half of their places.

    Guarantee and coins: those of a `KaryProtocol`, the bit being Warner's randomised response.
    """

    kind: ClassVar[str] = "hadamard"
    in_browser: ClassVar[bool] = True
    signed: ClassVar[bool] = True
    title = "Hadamard response"
    named, folded = "sign", True
    cases = DirectResponse.cases
    q = Fraction(1, 2)

    @property
    def places(self) -> int:
        """K, the number of signs an answer has."""
        return 1 << self.categories.bit_length()

    @property
    def device(self) -> Mapping[str, int]:
        return {"categories": self.categories, "places": self.places, "keep": self._coin.keep.heads}

    @property
    def drawn(self) -> Mapping[str, int]:
        return {"place": self.places}

    def _truth(self, value: Any, *drawn: Any) -> Any:
        return sign(value + 1, drawn[0])

    def tally(self, reports: Array) -> Tally:
        """For every place, how many more reports had the sign + than −."""
        counts = np.bincount(reports.ravel(), minlength=2 * self.places)
        return Tally(counts[0::2] - counts[1::2], reports.size)

    def support(self, tally: Tally) -> Array:
        agreeing = walsh_hadamard(tally.counts)[1 : self.categories + 1]
        return (tally.reports + agreeing) // 2


def sign(row: Any, place: Any) -> Any:
    """0 for the sign + of the Hadamard matrix there, 1 for −; also for arrays."""
    return np.bitwise_count(row & place) & 1


def walsh_hadamard(numbers: Array) -> Array:
    """The sums of `numbers` with the signs of each row of the Hadamard matrix, exactly, in K·log K additions."""
    found = numbers.astype(np.int64)
    half = 1
    while half < found.size:
        pairs = found.reshape(-1, 2, half)
        found = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).ravel()
        half *= 2
    return found
