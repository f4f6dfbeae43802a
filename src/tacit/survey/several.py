"""Several answers at once: chance picks one of the options, and only whether that one applies is told, by a coin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, positive, whole
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate, shares
from tacit.noise import Rng, uniform
from tacit.survey.coin import NOTHING, Coin, below, keeping
from tacit.survey.estimate import reach
from tacit.survey.frequency import word
from tacit.survey.protocol import Array, Law, Protocol, Tally

__all__ = ["SeveralResponse"]

MOST = 60  # options, so that a set of them is a number


@dataclass(frozen=True, kw_only=True)
class SeveralResponse(Protocol):
    """A report is one option, drawn evenly whatever the answer, and whether it applies: truly with probability p.

    A value is the set of options that apply, as the number with those bits. The report is 2·option + told.

    Guarantee: pure ε between any two sets of one respondent (relation replace), since the option tells nothing and
    p = e^ε/(e^ε + 1) is rounded down to a multiple of 2^-64. All of ε goes to one option: with k of them the errors are
    √k times those of a single question, where splitting ε between all would make them about k times.

    Coins: the option (a number below k), then keep (one toss of p).
    """

    theory: ClassVar[str] = "local-frequency"
    kind: ClassVar[str] = "several"
    in_browser: ClassVar[bool] = True
    title = "one option of each respondent"

    epsilon: Fraction
    options: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "options", whole(self.options, "options", least=1))
        if self.options > MOST:
            raise InputError(f"options must be at most {MOST}, not {self.options}: ask about fewer at once")
        if 2 * self.p <= 1:
            raise InputError(NOTHING)

    @cached_property
    def _keep(self) -> Coin:
        return keeping(self.epsilon)

    @property
    def device(self) -> Mapping[str, int]:
        return {"options": self.options, "keep": self._keep.heads}

    @property
    def p(self) -> Fraction:
        """Probability that what is told of the option is true."""
        return self._keep.probability

    @property
    def probes(self) -> tuple[int, int, int]:
        every = (1 << self.options) - 1
        return 0, every, every // 2

    @property
    def dtype(self) -> np.dtype[Any]:
        return word(2 * self.options)

    def _checked(self, values: Array) -> Array:
        if not values.size:
            return np.zeros(values.shape, dtype=np.int64)
        if values.dtype.kind not in "iu" or int(values.min()) < 0 or int(values.max()) >= 1 << self.options:
            raise InputError(f"an answer is a set of the {self.options} options, as the number with those bits")
        return values.astype(np.int64, copy=False)

    def _one(self, value: int, rng: Rng) -> bytes:
        option = below(self.options, rng)
        told = (value >> option & 1) ^ (not self._keep.toss(rng))
        return (2 * option + told).to_bytes(self.dtype.itemsize, "little")

    def _fill(self, reports: Array, values: Array, rng: Rng) -> None:
        option = uniform(self.options, values.size, rng).astype(np.int64)
        reports[:] = 2 * option + ((values >> option & 1) ^ ~self._keep.tosses(values.size, rng))

    def law(self, value: Any) -> Law:
        own = int(self._checked(np.asarray(value)).item())
        size, p = self.dtype.itemsize, self.p
        return {
            (2 * option + told).to_bytes(size, "little"): (p if told == own >> option & 1 else 1 - p) / self.options
            for option in range(self.options)
            for told in (0, 1)
        }

    def _possible(self, reports: Array) -> None:
        if reports.size and int(reports.max()) >= 2 * self.options:
            raise InputError(f"a report must be a number from 0 to {2 * self.options - 1}")

    def tally(self, reports: Array) -> Tally:
        return Tally(np.bincount(reports.ravel(), minlength=2 * self.options), reports.size)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """The share to whom each option applies. An option is told of by a part of the reports, drawn evenly."""
        asked = tally.counts.reshape(self.options, 2).sum(axis=1)
        if not asked.all():
            raise InputError("there are options that no report is about yet: wait for more reports")
        p = float(self.p)
        return shares(
            tally.counts[1::2],
            asked,
            true_rate=p,
            false_rate=float(1 - self.p),
            contrast=float(2 * self.p - 1),
            confidence=confidence,
        )

    def nearest(self, tally: Tally, estimate: Estimate) -> Array:
        """Shares that need not add up."""
        return np.asarray(np.clip(estimate.value, 0.0, 1.0))

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        """Each option is told of by one report in so many."""
        return reach(confidence) * sqrt(self.options / (4 * answers)) / float(2 * self.p - 1)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        made = [cls(epsilon=Fraction(e), options=k) for e, k in (("1/5", 1), (1, 3), ("5/2", 8))]
        return [Example(m, 0, other, m.loss()) for m in made for other in sorted({1, 2**m.options - 1})]
