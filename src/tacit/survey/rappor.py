"""RAPPOR: a text in a Bloom filter whose bits are randomised once for ever and then again in every report.

Erlingsson, Pihur and Korolova (2014). The permanent answer bounds what all reports of a device ever tell (ε∞); the
instantaneous one keeps reports from being recognised as the same device's, and bounds what a single report tells (ε₁).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import log, sqrt
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, Relation, between, cached_property, round_up, whole
from tacit.loss import Pure
from tacit.mechanism.mechanism import Example
from tacit.mechanism.response import Estimate
from tacit.noise import Rng, rng_or_default, uniform
from tacit.survey.bits import bit_law, bits_by_row, packed
from tacit.survey.coin import ONE, Coin, below
from tacit.survey.device import KeyedRng
from tacit.survey.hash_family import bucket_of_text, encoded
from tacit.survey.protocol import Array, Law, Protocol, Tally, listable, reach, shares_at, word

__all__ = ["CandidateShare", "Rappor", "RapporDevice", "decode"]

DIGITS = 40
MOST_BITS = 1024


@dataclass(frozen=True, kw_only=True)
class Rappor(Protocol):
    """A text sets `hashes` of `bits` bits, by hash functions that depend on the device's cohort.

    Permanent: a bit becomes 1 with probability f/2, 0 with probability f/2, and else stays. Instantaneous: the report's
    bit is 1 with probability q where the permanent one is 1, and p where it is 0.

    Guarantee (relation replace, between any two texts): all reports of a device together, which repeats its permanent
    answer, have ε∞ = 2·hashes·log((1 − f/2)/(f/2)), which is `epsilon` and `loss()`: two texts differ in up to
    2·hashes bits. One report has ε₁ = hashes·log(q'(1 − p')/(p'(1 − q'))), which is `once()`, with the rates q' and p'
    of a report's bit where the text sets it and where it does not. f/2 is rounded up to a multiple of 2^-64, p and q to
    the nearest, and both ε are computed from the rounded ones, upward. A text whose hashes meet sets fewer bits.

    A report is the cohort and the bits, eight a byte, the first the lowest. Coins: a number below `cohorts`; for each
    bit one number of 8 bytes, below h = 2^64·f/2 for a 1, else below 2h for a 0; then for each bit one toss of q or p.
    `RapporDevice` derives cohort and permanent bits from its secret.
    """

    theory: ClassVar[str] = "rappor"
    kind: ClassVar[str] = "rappor"
    chunk: ClassVar[int] = 1 << 10
    cases = ((8, 1, 2, "1/2"), (8, 2, 2, "1/2"), (8, 2, 2, "1/4"))
    neighbours = (("a", "b"), ("a", "d"))

    epsilon: Fraction = field(init=False)
    bits: int = 128
    hashes: int = 2
    cohorts: int = 64
    f: Fraction = Fraction(1, 2)
    p: Fraction = Fraction(1, 2)
    q: Fraction = Fraction(3, 4)

    def __post_init__(self) -> None:
        for name in ("bits", "hashes", "cohorts"):
            object.__setattr__(self, name, whole(getattr(self, name), name, least=1))
        if self.bits % 8 or self.bits > MOST_BITS:
            raise InputError(f"bits must be a multiple of 8 up to {MOST_BITS}")
        if self.hashes * self.cohorts > 1 << 16 or self.hashes > self.bits // 2:
            raise InputError("hashes must be at most half of the bits, and hashes times cohorts at most 65536")
        for name in ("f", "p", "q"):
            object.__setattr__(self, name, between(getattr(self, name), name, 0, 1))
        if self.p >= self.q:
            raise InputError("q must be above p, so that a report speaks for its text")
        if not 0 < 2 * self._half < ONE or self._set.heads <= self._unset.heads:
            raise InputError("f, p and q are too close to 0, to 1 or to each other for coins of 64 bits")
        object.__setattr__(self, "epsilon", 2 * self.hashes * _log(Fraction(ONE - self._half, self._half)))

    @cached_property
    def _half(self) -> int:
        return -(-self.f.numerator * ONE // (2 * self.f.denominator))

    @cached_property
    def _set(self) -> Coin:
        return Coin(round(self.q * ONE))

    @cached_property
    def _unset(self) -> Coin:
        return Coin(round(self.p * ONE))

    @cached_property
    def rates(self) -> tuple[Fraction, Fraction]:
        """Probabilities that a report's bit is 1 where the text sets it (q'), and where it does not (p')."""
        half, high, low = Fraction(self._half, ONE), self._set.probability, self._unset.probability
        both = half * (high + low)
        return both + (1 - 2 * half) * high, both + (1 - 2 * half) * low

    def once(self) -> Pure:
        """What one report tells, to somebody who has no other of this device."""
        high, low = self.rates
        epsilon = self.hashes * _log(high * (1 - low) / (low * (1 - high)))
        return Pure(epsilon, relation=Relation.REPLACE, unit="respondent")

    @property
    def numbers(self) -> Mapping[str, int]:
        return {"cohort": self.cohorts}

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype([("cohort", word(self.cohorts)), ("bits", "u1", (self.bits // 8,))])

    # --- on the device

    def _checked(self, values: Array) -> Array:
        return encoded(values)

    def bloom(self, text: bytes, cohort: int) -> Array:
        """Which bits the text sets in a cohort."""
        marks = np.zeros(self.bits, dtype=bool)
        for i in range(self.hashes):
            marks[bucket_of_text(cohort * self.hashes + i, text, self.bits)] = True
        return marks

    def _permanent(self, text: bytes, cohort: int, rng: Rng) -> Array:
        drawn = np.array([int.from_bytes(rng.read(8), "big") for _ in range(self.bits)], dtype=np.uint64)
        return (drawn < self._half) | (self.bloom(text, cohort) & (drawn >= 2 * self._half))

    def _report(self, cohort: int, permanent: Array, rng: Rng) -> bytes:
        return self._bytes(cohort) + packed([(self._set if bit else self._unset).toss(rng) for bit in permanent])

    def _one(self, value: bytes, rng: Rng) -> bytes:
        cohort = below(self.cohorts, rng)
        return self._report(cohort, self._permanent(value, cohort, rng), rng)

    def _many(self, values: Array, rng: Rng) -> Array:
        texts, which = np.unique(values, return_inverse=True)
        blooms = np.array([[self.bloom(text, c) for c in range(self.cohorts)] for text in texts.tolist()])
        coins = Coin(2 * self._half), Coin(ONE // 2), self._set, self._unset

        def fill(reports: Array, part: Array, rng: Rng) -> None:
            cohort = reports["cohort"] = uniform(self.cohorts, part.size, rng)
            truth = blooms[part, cohort]
            noise, fair, high, low = (coin.tosses(truth.size, rng).reshape(truth.shape) for coin in coins)
            told = np.where(np.where(noise, fair, truth), high, low)
            reports["bits"] = np.packbits(told, axis=1, bitorder="little")

        return self._filled(which.reshape(values.shape), fill, rng)

    def _law(self, value: Any, high: Fraction, low: Fraction) -> Law:
        listable(self.cohorts << self.bits)
        text, law = self._answer(value), {}
        for cohort in range(self.cohorts):
            ones = [high if bit else low for bit in self.bloom(text, cohort)]
            for told, chance in enumerate(bit_law(ones)):
                law[self._bytes(cohort) + told.to_bytes(self.bits // 8, "little")] = chance / self.cohorts
        return law

    def law(self, value: Any) -> Law:
        """Of one report by itself."""
        return self._law(value, *self.rates)

    def permanent_law(self, value: Any) -> Law:
        """Of cohort and permanent bits: all that any number of reports of a device can tell."""
        half = Fraction(self._half, ONE)
        return self._law(value, 1 - half, half)

    # --- at the collector

    def tally(self, reports: Array) -> Tally:
        """For each cohort how many reports have each bit, and in the last column how many there are."""
        flat = reports.reshape(-1)
        return Tally(bits_by_row(flat["cohort"], flat["bits"], count=self.cohorts, width=self.bits), flat.size)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """For each cohort and bit the share of texts that set it, without bias; `decode` tells which texts do."""
        each = tally.counts[:, -1:]
        if not np.all(each > 0):
            raise InputError("some cohort has no report yet: wait for more")
        return shares_at(tally.counts[:, :-1], each, *self.rates, confidence)

    @classmethod
    def examples(cls) -> Sequence[Example]:
        """Of one report by itself."""
        return [replace(each, claim=cast(Rappor, each.mechanism).once()) for each in super().examples()]


@dataclass(frozen=True)
class RapporDevice:
    """One device: its cohort and its permanent answer to each text come from its secret and the protocol with its
    parameters, by HMAC-SHA-256."""

    protocol: Rappor
    secret: bytes = field(repr=False)

    @cached_property
    def cohort(self) -> int:
        return below(self.protocol.cohorts, KeyedRng.of(self.secret, self.protocol, "cohort"))

    def permanent(self, text: str) -> Array:
        """The permanent answer: never to leave the device."""
        value = self.protocol._answer(text)
        coins = KeyedRng.of(self.secret, self.protocol, "text", value.hex())
        return self.protocol._permanent(value, self.cohort, coins)

    def report(self, text: str) -> bytes:
        return self.protocol._report(self.cohort, self.permanent(text), rng_or_default(None))


def _log(ratio: Fraction) -> Fraction:
    """The natural logarithm of a ratio above 1, rounded up."""
    with localcontext(prec=DIGITS + 10):
        # decimal rounds ln correctly; the quotient and the logarithm are each off by less than 10^-49, relatively
        log = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
    return round_up(Fraction(log) + Fraction(1, 10**DIGITS), bits=120)


ROUNDS = 2_000
STILL = 1e-9


@dataclass(frozen=True)
class CandidateShare:
    """A candidate that stands out, its share of all respondents, with its standard error and interval."""

    text: str
    share: float
    standard_error: float
    lower: float
    upper: float


def decode(
    protocol: Rappor, tally: Tally, candidates: Sequence[str], *, risk: Number = 0.05, confidence: Number = 0.95
) -> Sequence[CandidateShare]:
    """The candidates that are there, most frequent first: those with a share that chance explains with at most `risk`.

    A non-negative lasso picks candidates, and least squares without the penalty estimates their shares, so they are
    not shrunk. Texts that are not candidates set bits too: one more column, of bits set evenly, takes them up. `risk`
    is shared by all candidates. Intervals are normal and hold for candidates that were chosen beforehand.
    """
    level, chance = between(confidence, "confidence", 0, 1), float(between(risk, "risk", 0, 1))
    if not candidates or len(set(candidates)) < len(candidates):
        raise InputError("candidates must be texts, each once: list those to look for")
    estimate, each = protocol.estimate(tally), tally.counts[:, -1:]
    weight = np.sqrt(each / tally.reports)  # fixed by the sizes of cohorts alone, so estimates stay linear: no bias
    texts = protocol._checked(np.asarray(list(candidates))).tolist()
    marks = np.full((len(texts) + 1, *estimate.value.shape), 1 - (1 - 1 / protocol.bits) ** protocol.hashes)
    marks[:-1] = [[protocol.bloom(text, cohort) for cohort in range(protocol.cohorts)] for text in texts]
    design = (marks * weight).reshape(len(marks), -1).T
    seen = (estimate.value * weight).ravel()
    rates = tally.counts[:, :-1] / each
    high, low = (float(rate) for rate in protocol.rates)
    spread = (rates * (1 - rates) / each / (high - low) ** 2 * weight**2).ravel()

    chosen = np.flatnonzero(_lasso(design, seen, float(np.sqrt(spread.mean())), len(candidates))[:-1] > 0)
    if not chosen.size:
        return []
    columns = np.append(chosen, len(candidates))
    solve = np.linalg.pinv(design[:, columns])
    shares = (solve @ seen)[:-1]
    errors = np.sqrt((solve**2 @ spread)[:-1] + np.clip(shares * (1 - shares), 0, None) / tally.reports)
    least = float(ndtri(1 - chance / len(candidates)))
    wide = reach(level)
    found = [
        CandidateShare(candidates[i], float(s), float(e), max(0.0, float(s - wide * e)), min(1.0, float(s + wide * e)))
        for i, s, e in zip(chosen.tolist(), shares, errors, strict=True)
        if s > least * e
    ]
    return sorted(found, key=lambda one: -one.share)


def _lasso(design: Array, seen: Array, noise: float, candidates: int) -> Array:
    """min ½|design·β − seen|² + λ·Σβ over β ≥ 0, by coordinates; the last one is not penalised.

    λ is what the largest of so many correlations with noise of this deviation reaches, about.
    """
    gram, slope = design.T @ design, design.T @ seen
    penalty = noise * sqrt(2 * log(max(2, candidates))) * np.sqrt(np.diag(gram))
    penalty[-1] = 0
    shares = np.zeros(len(slope))
    for _ in range(ROUNDS):
        before = shares.copy()
        for i in range(len(shares)):
            rest = slope[i] - penalty[i] - gram[i] @ shares + gram[i, i] * shares[i]
            shares[i] = max(0.0, rest / gram[i, i])
        if np.abs(shares - before).max() < STILL:
            break
    return shares
