"""Sketches: texts are hashed into rows of buckets, so that the share of any text can be asked for afterwards.

What Apple's count-mean sketch and its Hadamard form share (Differential Privacy Team 2017). A report is about one row,
drawn whatever the text is. It speaks for the text's own bucket of that row with probability p, for any other with
probability r.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, between, positive, whole
from tacit.mechanism.local import Estimate, shares
from tacit.survey.coin import NOTHING
from tacit.survey.hash_family import bucket_weights
from tacit.survey.protocol import Array, Protocol, Tally
from tacit.survey.text_hash import absorbed, buckets_at, encoded, started

__all__ = ["Sketch", "buckets_of_texts"]

MOST_ROWS, WIDEST = 1 << 16, 1 << 16


@dataclass(frozen=True, kw_only=True)
class Sketch(Protocol):
    """A text, in `rows` rows of `width` buckets."""

    theory: ClassVar[str] = "sketches"

    epsilon: Fraction
    rows: int = 1024
    width: int = 256

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon", toward="decimal"))
        object.__setattr__(self, "rows", whole(self.rows, "rows", least=1))
        object.__setattr__(self, "width", whole(self.width, "width", least=2))
        if self.rows > MOST_ROWS or self.width > WIDEST:
            raise InputError(f"rows must be at most {MOST_ROWS} and width at most {WIDEST}")
        if self.p <= self.r:
            raise InputError(NOTHING)

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that a report speaks for the bucket of its text."""

    @property
    @abstractmethod
    def r(self) -> Fraction:
        """Probability that a report speaks for one given other bucket of its row."""

    @property
    def q(self) -> Fraction:
        """Probability that a report speaks for the bucket of one given other text, over random hash functions."""
        meet = _meeting(self.width)
        return meet * self.p + (1 - meet) * self.r

    def _checked(self, values: Array) -> Array:
        return encoded(values)

    @abstractmethod
    def support(self, tally: Tally) -> tuple[Array, Array]:
        """By row and bucket how many reports speak for it; by row how many reports there are."""

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """For each row and bucket the share of texts that fall into it, without bias; `shares_of` is for texts."""
        cells, each = self.support(tally)
        if not np.all(each > 0):
            raise InputError("some row has no report yet: wait for more")
        rates = {"true_rate": float(self.p), "false_rate": float(self.r), "contrast": float(self.p - self.r)}
        column: Any = each[:, None]
        return shares(cells, column, **rates, confidence=confidence)

    def shares_of(self, tally: Tally, texts: Sequence[str], confidence: Number = 0.95) -> Estimate:
        """Shares of these texts, unbiased over the hash functions, with normal intervals.

        The error is that of the sample of respondents, of the coins, and of the functions, under which other texts
        share a bucket with this one more or less often: the last two are the spread of counts over buckets, without
        what the text itself puts into its own.
        """
        if tally.reports < 1:
            raise InputError("there are no reports yet, so there is nothing to estimate")
        level, n = float(between(confidence, "confidence", 0, 1)), tally.reports
        cells, each = self.support(tally)
        p, q, jump = float(self.p), float(self.q), float(self.p - self.r)
        every, found, errors = np.arange(self.rows), [], []
        for own in buckets_of_texts(self._checked(np.asarray(list(texts))), self.rows, self.width):
            spoken = int(cells[every, own].sum())
            share = (spoken / n - q) / (p - q)
            rest = cells.astype(np.float64)
            held = min(1.0, max(0.0, share))
            rest[every, own] -= held * each * jump
            coins = n * (held * p * (1 - p) + (1 - held) * q * (1 - q))
            spread = max(coins, float(rest.var(axis=1).sum())) / (n * (p - q)) ** 2
            found.append(share)
            errors.append(sqrt(spread + held * (1 - held) / n))
        value, error = np.array(found), np.array(errors)
        reach = float(ndtri((1 + level) / 2)) * error
        return Estimate(value, np.clip(value - reach, 0, 1), np.clip(value + reach, 0, 1), error, level)


def buckets_of_texts(texts: Array, rows: int, width: int) -> Array:
    """The bucket of each text in each row: row i has hash function i."""
    found = np.empty((texts.size, rows), dtype=np.int64)
    for place, text in enumerate(texts.ravel().tolist()):
        states = started(np.arange(rows))
        for byte in text:
            states = absorbed(states, np.full(rows, byte, dtype=np.uint8))
        found[place] = buckets_at(states, width)
    return found


@lru_cache(maxsize=64)
def _meeting(width: int) -> Fraction:
    """The probability that two texts fall into the same bucket."""
    return sum((weight * weight for weight in bucket_weights(width)), Fraction(0))
