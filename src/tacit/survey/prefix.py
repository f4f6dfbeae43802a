"""Text that could be anything: each respondent reports on the beginning of their text, hashed and randomised.

Beginnings are grown byte by byte: those that many share are found first, then only these are continued (prefix
extending, as in Bassily, Nissim, Stemmer and Thakurta 2017 and Wang, Li and Jha 2021). `search` finds
the texts again.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.base import InputError, Number, between, cached_property, whole
from tacit.mechanism.response import Estimate
from tacit.survey.coin import KaryCoin
from tacit.survey.hash_family import absorbed, bucket_at, bucket_of_text, encoded, started
from tacit.survey.kary import KaryProtocol
from tacit.survey.local_hashing import best_buckets, rates
from tacit.survey.protocol import AnswerEstimate, Array, Tally, hashed_share, normal, telling

__all__ = ["FrequentText", "PrefixCounts", "PrefixText", "search"]

BYTES = bytes([0, *range(0x20, 0x7F), *range(0x80, 0xC0), *range(0xC2, 0xF5)])  # what UTF-8 is made of, and the padding
CELLS = 1 << 21  # cells looked up at once


@dataclass(frozen=True)
class FrequentText:
    """A text that stands out, its share of all respondents, and the standard error of that share."""

    text: str
    share: float
    standard_error: float

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        found = normal(np.array([self.share]), np.array([self.standard_error]), confidence)
        return float(found.lower[0]), float(found.upper[0])


@dataclass(frozen=True)
class PrefixCounts:
    """Counts by level, function and bucket; bytes by which levels grow; the rates (p, q) of reports."""

    counts: Array
    step: int
    rates: tuple[float, float]

    def noise(self, level: int) -> tuple[float, float, float]:
        """Mean, variance and largest term of the support of a text that nobody has.

        Under each function its bucket is any of them, whatever the reports are, so its support is a sum of
        independent terms, one a function, whose law is known from the counts alone.
        """
        cells = self.counts[level].astype(np.float64)
        means = cells.mean(axis=1)
        apart = cells - means[:, None]
        return float(means.sum()), float((apart**2).mean(axis=1).sum()), float(apart.max())

    def threshold(self, level: int, candidates: int, risk: float) -> float:
        """A support that with probability 1 − risk none of so many texts reaches that nobody has (Bernstein)."""
        mean, variance, largest = self.noise(level)
        tail = log(max(1, candidates) / risk)
        reach = largest * tail / 3
        return mean + reach + sqrt(reach * reach + 2 * variance * tail)

    def buckets(self, texts: Sequence[bytes]) -> Array:
        """The bucket of each of these beginnings under each function."""
        functions, buckets = self.counts.shape[1:]
        letters = np.array([list(text) for text in texts], dtype=np.uint8)
        states = np.broadcast_to(started(np.arange(functions)), (len(letters), functions))
        for place in range(letters.shape[1]):
            states = absorbed(states, letters[:, place, None])
        return np.asarray(bucket_at(states, buckets))

    def support(self, level: int, texts: Sequence[bytes]) -> Array:
        """How many reports of the level speak for each of these beginnings."""
        functions, buckets = self.counts.shape[1:]
        cells, first = self.counts[level].ravel(), np.arange(functions) * buckets
        found = np.zeros(len(texts), dtype=np.int64)
        many = max(1, CELLS // functions)
        for start in range(0, len(texts), many):
            own = self.buckets(texts[start : start + many])
            found[start : start + many] = cells[first + own].sum(axis=1)
        return found

    def share(self, level: int, text: bytes) -> tuple[float, float]:
        """The unbiased share of all respondents who have this beginning, and its standard error; see `hashed_share`."""
        cells, p = self.counts[level], self.rates[0]
        jump = p - (1 - p) / (cells.shape[1] - 1)
        return hashed_share(cells, self.buckets([text])[0], cells.sum(axis=1), rates=self.rates, jump=jump)


def search(data: PrefixCounts, *, risk: Number, most: int, alphabet: str | None) -> Sequence[FrequentText]:
    """Texts whose every beginning stands out, at most `most` of them, the most frequent first.

    With probability 1 − `risk`, over the functions, no beginning is kept that nobody has, at any level: the risk is
    shared by all levels and all candidates. `alphabet` says of which characters texts are, which makes the search
    faster and, with fewer candidates, a little sharper.
    """
    chance, limit = float(between(risk, "risk", 0, 1)), whole(most, "most", least=1)
    letters = BYTES if alphabet is None else bytes(sorted({0, *alphabet.encode()}))
    if len(letters) < 2:
        raise InputError("alphabet must hold the characters that texts are made of")
    kept, levels = [b""], len(data.counts)
    for level in range(levels):
        if not data.counts[level].sum():
            return []
        grown = [longer for text in kept for longer in _longer(text, letters, data.step)]
        support = data.support(level, grown)
        order = np.argsort(-support, kind="stable")[:limit]
        order = order[support[order] > data.threshold(level, len(grown), chance / levels)]
        kept = [grown[i] for i in order]
    texts = [(text.rstrip(b"\0"), *data.share(levels - 1, text)) for text in kept]
    return [FrequentText(text.decode(), share, error) for text, share, error in texts if _begins(text, ended=True)]


def _longer(text: bytes, letters: bytes, step: int) -> Iterator[bytes]:
    """All continuations by `step` bytes that are the beginning of some padded text; padding is followed by padding."""
    if text.endswith(b"\0"):
        yield text + bytes(step)
        return
    for more in product(letters, repeat=step):
        longer = text + bytes(more)
        body = longer.rstrip(b"\0")
        if b"\0" not in body and _begins(body, ended=len(body) < len(longer)):
            yield longer


def _begins(body: bytes, *, ended: bool) -> bool:
    """Whether some text begins so; if it has `ended`, whether it is one."""
    decoder: Any = getincrementaldecoder("utf-8")()
    try:
        decoder.decode(body, final=ended)
    except UnicodeDecodeError:
        return False
    return bool(body)


LONGEST = 32
RISK, CANDIDATES = 0.05, 64 * 190  # of a forecast: finding a text that nobody has; beginnings tried at a level
MOST_FUNCTIONS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class PrefixText(KaryProtocol):
    """A text of at most `longest` bytes of UTF-8. A report is a level, a hash function and a bucket.

    Level i stands for the first (i + 1)·`step` bytes of the text, padded with zero bytes. Level and function are drawn
    whatever the text is. The bucket is that of the beginning with probability p, else another one.

    Guarantee and coins: those of a `KaryProtocol`, which do not rest on the hash functions.
    """

    theory: ClassVar[str] = "heavy-hitters"
    kind: ClassVar[str] = "prefix"
    in_browser: ClassVar[bool] = True
    title = "beginnings of texts"
    margin_unit: ClassVar[str] = "text"
    named = "bucket"
    cases = (("1/5", 1, 1, 16), (1, 4, 2, 8), ("5/2", 2, 1, 16))
    neighbours = (("a", "b"), ("a", "c"))
    probes = ("a", "Zürich 日", "tea")

    longest: int = 16
    step: int = 1
    functions: int = 1024
    buckets: int = 0

    def __post_init__(self) -> None:
        self._settle(longest=1, step=1, functions=1)
        if self.longest > LONGEST or self.longest % self.step:
            raise InputError(f"longest must be at most {LONGEST} bytes and a multiple of step = {self.step}")
        if self.functions > MOST_FUNCTIONS:
            raise InputError(f"functions must be at most {MOST_FUNCTIONS}")
        chosen = whole(self.buckets, "buckets") or min(256, best_buckets(self.epsilon, 1 << 16))
        if not 2 <= chosen <= 256:
            raise InputError("buckets must be from 2 to 256, so that a report names one in a byte")
        object.__setattr__(self, "buckets", chosen)
        telling(self.p, self.q)

    @property
    def levels(self) -> int:
        return self.longest // self.step

    @cached_property
    def _coin(self) -> KaryCoin:
        return KaryCoin.at(self.epsilon, self.buckets)

    @property
    def q(self) -> Fraction:
        """Probability that a report speaks for another given beginning, over random functions."""
        return rates(self.epsilon, self.buckets)[1]

    @property
    def device(self) -> Mapping[str, int]:
        sizes = {"longest": self.longest, "step": self.step, "functions": self.functions, "buckets": self.buckets}
        return {**sizes, "keep": self._coin.keep.heads}

    @property
    def drawn(self) -> Mapping[str, int]:
        return {"level": self.levels, "function": self.functions}

    # --- on the device

    def _checked(self, values: Array) -> Array:
        if not values.size:
            return np.zeros(values.shape, dtype=f"S{self.longest}")
        padded = encoded(values, self.longest).astype(f"S{self.longest}")
        zero = np.ascontiguousarray(padded.reshape(-1)).view(np.uint8).reshape(-1, self.longest) == 0
        if np.any(zero[:, :-1] & ~zero[:, 1:]):
            raise InputError("answers must be texts without zero bytes, which stand for their end")
        return padded

    def _truth(self, value: Any, *drawn: Any) -> Any:
        level, function = drawn
        beginning = value.ljust(self.longest, b"\0")[: (level + 1) * self.step]
        return bucket_of_text(function, beginning, self.buckets)

    def _truths(self, values: Array, *drawn: Array) -> Any:
        letters = np.ascontiguousarray(values).view(np.uint8).reshape(values.size, self.longest)
        level, function = drawn
        states = started(function)
        for place in range(self.longest):
            reads = np.flatnonzero((level + 1) * self.step > place)
            states[reads] = absorbed(states[reads], letters[reads, place])
        return bucket_at(states, self.buckets)

    # --- at the collector

    def find(
        self, tally: Tally, *, risk: Number = 0.05, most: int = 64, alphabet: str | None = None
    ) -> Sequence[FrequentText]:
        """The texts that many gave, with their shares, the most frequent first; see `search`."""
        counts = tally.counts.reshape(self.levels, self.functions, self.buckets)
        rates = (float(self.p), float(self.q))
        return search(PrefixCounts(counts, self.step, rates), risk=risk, most=most, alphabet=alphabet)

    def estimate(self, tally: Tally, confidence: Number = 0.95) -> Estimate:
        """Shares of the texts that `find` finds, in its order, with their intervals."""
        found = self.find(tally)
        shares, errors = (np.array([getattr(one, name) for one in found]) for name in ("share", "standard_error"))
        return normal(shares, errors, confidence)

    def lines(self, tally: Tally, answers: Sequence[str], confidence: Number = 0.95) -> Iterator[AnswerEstimate]:
        """The texts that were found, which nobody listed."""
        for found in self.find(tally, risk=1 - float(confidence)):
            low, high = found.interval(confidence)
            held = min(1.0, max(0.0, found.share))
            yield AnswerEstimate(found.text, found.share, low, high, found.standard_error, held)

    def margin(self, *, answers: int, confidence: Number = 0.95) -> float:
        """The share of a text that is found as often as not: its support is at the bound for texts nobody has."""
        q = float(self.q)
        tail = log(self.levels * CANDIDATES / RISK)
        return sqrt(2 * tail * q * (1 - q) * self.levels) / float(self.p - self.q) / sqrt(answers)
