"""What every answer has in common that is randomised by the person who gives it, and what many of them tell."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from tacit.base import InputError, Number, Relation, Size, between, positive, special, whole
from tacit.loss import Loss, Pure
from tacit.mechanism.additive import least
from tacit.mechanism.mechanism import Example, Mechanism, Pmf
from tacit.noise import Rng, rng_or_default, uniform
from tacit.noise.coin import logistic, logistics
from tacit.noise.table import CHUNK

__all__ = ["EpsilonResponse", "Estimate", "Local", "Response", "others", "shares"]


class Local(Mechanism):
    """A report about one person, made on that person's side. The guarantee is pure, between any two true answers."""

    @property
    @abstractmethod
    def bound(self) -> Fraction:
        """ε, never below the largest log-ratio of two answers' probabilities of one report."""

    def loss(
        self, sensitivity: Size = None, *, relation: Relation = Relation.REPLACE, unit: str = "respondent"
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
    low = np.where(counted > 0, special.betaincinv(np.maximum(counted, 1), n - counted + 1, (1 - level) / 2), 0.0)
    high = np.where(counted < n, special.betaincinv(counted + 1, np.maximum(n - counted, 1), (1 + level) / 2), 1.0)

    def share(rate: Any) -> Any:
        return (rate - false_rate) / contrast

    value = share(counted / n)
    held = np.clip(value, 0.0, 1.0)
    spread = held * true_rate * (1 - true_rate) + (1 - held) * false_rate * (1 - false_rate)
    parts = (value, np.clip(share(low), 0, 1), np.clip(share(high), 0, 1), np.sqrt(spread / n) / contrast)
    value, lower, upper, error = parts if np.ndim(counted) else map(float, parts)
    return Estimate(value, lower, upper, error, level)


Array = np.ndarray[Any, np.dtype[Any]]

LISTED = 1 << 24  # categories a histogram may list


def others(own: Array, choices: int, rng: Rng) -> Array:
    """For each of these answers another one of 0, …, `choices` − 1, uniform: what is told in place of the truth."""
    if choices == 2:
        return 1 - own
    other = uniform(choices - 1, own.size, rng)
    return np.asarray(other + (other >= own))


class Response(Local):
    """A category 0, …, k−1, kept or replaced on the respondent's side. The guarantee is local: it holds for any two."""

    theory: ClassVar[str] = "randomized-response"

    @property
    def choices(self) -> int:
        """k, the number of possible answers."""
        return 2

    @property
    @abstractmethod
    def true_rate(self) -> float:
        """Probability p that a report is the truth."""

    @property
    @abstractmethod
    def false_rate(self) -> float:
        """Probability q that a report is one given other category."""

    @property
    @abstractmethod
    def contrast(self) -> float:
        """p − q, what an estimate is divided by."""

    @abstractmethod
    def _kept(self, size: int, rng: Rng) -> Array:
        """Independent coins of bias p."""

    @abstractmethod
    def _kept_one(self, rng: Rng) -> bool:
        """One coin of bias p."""

    @classmethod
    @abstractmethod
    def _at(cls, epsilon: Fraction, **domain: Any) -> Self:
        """The mechanism whose loss is ε or a hair less."""

    @classmethod
    def from_loss(cls, loss: Loss, **domain: Any) -> Self:
        """The most truthful reports with the pure guarantee `loss`."""
        if not isinstance(loss, Pure) or not loss.bound:
            raise InputError("randomised response has a pure guarantee: pass loss=Pure(epsilon) with epsilon > 0")
        return cls._at(loss.bound, **domain)

    @classmethod
    def from_error(cls, error: Number, *, respondents: int, confidence: Number = 0.95, **domain: Any) -> Self:
        """The most noise whose `error(confidence, respondents=respondents)` is at most `error`."""
        target = float(positive(error, "error", toward="down"))
        if cls._at(Fraction(100), **domain).error(confidence, respondents=respondents) > target:
            raise InputError(f"error {target:g} is out of reach of {respondents} respondents: ask more, or allow more")

        def fits(epsilon: float) -> bool:
            return cls._at(Fraction(epsilon), **domain).error(confidence, respondents=respondents) <= target

        return cls._at(Fraction(least(fits, 1.0)), **domain)

    def sample(self, value: Any, rng: Rng | None = None) -> Any:
        """The report on one true category, or on an array of them. Anything else is refused before a coin is tossed."""
        values = self._checked(value, "value")
        source = rng_or_default(rng)
        if not isinstance(values, int):
            return self._reports(values.ravel(), source).reshape(values.shape)
        report = values
        if not self._kept_one(source):
            other = source.below(self.choices - 1) if self.choices > 2 else 0
            report = other + (other >= values)
        return bool(report) if isinstance(value, bool | np.bool_) else report

    def _reports(self, values: Array, rng: Rng) -> Array:
        """Chunk by chunk: what stays in the cache is twice as fast."""
        reports = np.empty_like(values)
        for start in range(0, values.size, CHUNK):
            part = slice(start, start + CHUNK)
            reports[part] = self._chunk(values[part], rng)
        return reports

    def _chunk(self, values: Array, rng: Rng) -> Array:
        lost = np.flatnonzero(~self._kept(values.size, rng))
        reports = values.copy()
        reports[lost] = others(values[lost], self.choices, rng)
        return reports

    def pmf(self, value: Any) -> Pmf:
        truth = self._checked(value, "value")
        if not isinstance(truth, int):
            raise InputError("pmf is for one answer; the answers of different people are independent")
        return {c: self.true_rate if c == truth else self.false_rate for c in range(self._listable())}

    def estimate(self, reports: Any, confidence: Number = 0.95) -> Estimate:
        """Unbiased share of ones (for bits) or of every category: (c/n − q)/(p − q), with intervals. See `Estimate`."""
        answers = self._checked(reports, "reports")
        if isinstance(answers, int) or not answers.size:
            raise InputError("reports must be an array of at least one report")
        counts = np.bincount(answers.ravel(), minlength=self._listable())
        return shares(
            counts[1] if self._binary else counts,
            answers.size,
            true_rate=self.true_rate,
            false_rate=self.false_rate,
            contrast=self.contrast,
            confidence=confidence,
        )

    def error(self, confidence: Number = 0.95, *, respondents: int) -> float:
        """Half-width e with Pr[every estimated share is within e of the respondents' true one] ≥ confidence.

        The better of the inequalities of Hoeffding and of Bernstein for a sum of independent bits, whatever the truth;
        over k categories each may fail with a k-th of the probability.
        """
        n, p, q = whole(respondents, "respondents", least=1), self.true_rate, self.false_rate
        events = 2 if self._binary else 2 * self.choices
        tail = log(events / float(1 - between(confidence, "confidence", 0, 1)))
        variance = n * max(p * (1 - p), q * (1 - q))
        hoeffding, bernstein = sqrt(n * tail / 2), tail / 3 + sqrt(tail * tail / 9 + 2 * tail * variance)
        return min(hoeffding, bernstein) / (n * self.contrast) * (1 + 1e-12)

    @property
    def _binary(self) -> bool:
        """Whether the answer is a bit, for which one share says all."""
        return True

    def _listable(self) -> int:
        if self.choices > LISTED:
            raise InputError(f"categories: {self.choices} are too many to list; hash or group them first")
        return self.choices

    def _checked(self, value: Any, name: str) -> int | Array:
        if not isinstance(value, np.ndarray | list | tuple):
            if isinstance(value, bool | np.bool_ | int | np.integer) and 0 <= int(value) < self.choices:
                return int(value)
            raise InputError(f"{name} must be a whole number from 0 to {self.choices - 1}: encode answers as such")
        values = np.asarray(value)
        if not values.size:
            return np.zeros(values.shape, dtype=np.int64)
        if values.dtype.kind not in "biu" or int(values.min()) < 0 or int(values.max()) >= self.choices:
            raise InputError(f"{name} must be whole numbers from 0 to {self.choices - 1}: encode answers as such")
        return values.astype(np.int64)

    @classmethod
    def _pairs(cls, mechanisms: Sequence[Self]) -> Sequence[Example]:
        return [Example(m, 0, other, m.loss()) for m in mechanisms for other in {1, m.choices - 1}]


class EpsilonResponse(Response):
    """The rule of k-ary randomised response: the truth with probability p = e^ε/(e^ε + k − 1), else another category.

    Each other one has probability e^−ε·p, so p − q = (1 − e^−ε)·p; both are written so that no digits are lost.
    """

    epsilon: Fraction

    @property
    @abstractmethod
    def choices(self) -> int: ...

    @property
    def true_rate(self) -> float:
        return 1 / (1 + (self.choices - 1) * exp(-self.epsilon))

    @property
    def false_rate(self) -> float:
        return exp(-self.epsilon) * self.true_rate

    @property
    def contrast(self) -> float:
        return -expm1(-self.epsilon) * self.true_rate

    @property
    def bound(self) -> Fraction:
        return self.epsilon

    def _kept(self, size: int, rng: Rng) -> Array:
        return logistics(self.epsilon, Fraction(self.choices - 1), size, rng)

    def _kept_one(self, rng: Rng) -> bool:
        return logistic(self.epsilon, Fraction(self.choices - 1), rng)

    @classmethod
    def _at(cls, epsilon: Fraction, **domain: Any) -> Self:
        concrete: Any = cls  # a dataclass with this field
        made: Self = concrete(epsilon=epsilon, **domain)
        return made
