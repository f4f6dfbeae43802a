"""Finding the texts behind hashed reports on their beginnings: grow what stands out, forget the rest."""

from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, between, whole
from tacit.mechanism.local import Estimate
from tacit.survey.protocol import Array
from tacit.survey.text_hash import absorbed, buckets_at, started

__all__ = ["Found", "Search", "search"]

BYTES = bytes([0, *range(0x20, 0x7F), *range(0x80, 0xC0), *range(0xC2, 0xF5)])  # what UTF-8 is made of, and the padding
CHUNK = 1 << 21  # cells looked up at once


@dataclass(frozen=True)
class Found:
    """A text that stands out, its share of all respondents, and the standard error of that share."""

    text: str
    share: float
    standard_error: float

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        found = Search.intervals(np.array([self.share]), np.array([self.standard_error]), confidence)
        return float(found.lower[0]), float(found.upper[0])


@dataclass(frozen=True)
class Search:
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
        return buckets_at(states, buckets)

    def support(self, level: int, texts: Sequence[bytes]) -> Array:
        """How many reports of the level speak for each of these beginnings."""
        functions, buckets = self.counts.shape[1:]
        cells, first = self.counts[level].ravel(), np.arange(functions) * buckets
        found = np.zeros(len(texts), dtype=np.int64)
        many = max(1, CHUNK // functions)
        for start in range(0, len(texts), many):
            own = self.buckets(texts[start : start + many])
            found[start : start + many] = cells[first + own].sum(axis=1)
        return found

    def share(self, level: int, text: bytes) -> tuple[float, float]:
        """The unbiased share of all respondents who have this beginning, and its standard error.

        The error is that of the sample of respondents, of the coins, and of the functions, under which other texts
        share a bucket with this one more or less often: the last two are the spread of counts over buckets, without
        what this text itself puts into its own.
        """
        cells, n, (p, q) = self.counts[level].astype(np.float64), int(self.counts[level].sum()), self.rates
        functions, buckets = cells.shape
        every, own = np.arange(functions), self.buckets([text])[0]
        share = (cells[every, own].sum() / n - q) / (p - q)
        held = min(1.0, max(0.0, share))
        coins = n * (held * p * (1 - p) + (1 - held) * q * (1 - q))
        cells[every, own] -= held * cells.sum(axis=1) * (p - (1 - p) / (buckets - 1))
        spread = max(coins, float(cells.var(axis=1).sum())) / (n * (p - q)) ** 2
        return share, sqrt(spread + held * (1 - held) / n)

    @staticmethod
    def intervals(share: Array, error: Array, confidence: Number) -> Estimate:
        """Normal intervals, cut to [0, 1]."""
        level = float(between(confidence, "confidence", 0, 1))
        reach = float(ndtri((1 + level) / 2)) * error
        return Estimate(share, np.clip(share - reach, 0, 1), np.clip(share + reach, 0, 1), error, level)


def search(data: Search, *, risk: Number, most: int, alphabet: str | None) -> Sequence[Found]:
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
    return [Found(text.decode(), share, error) for text, share, error in texts if _whole(text)]


def _longer(text: bytes, letters: bytes, step: int) -> Iterator[bytes]:
    """All continuations by `step` bytes that are the beginning of some padded text; padding is followed by padding."""
    if text.endswith(b"\0"):
        yield text + bytes(step)
        return
    for more in product(letters, repeat=step):
        longer = text + bytes(more)
        body = longer.rstrip(b"\0")
        if body and b"\0" not in body and _begins(body, ended=len(body) < len(longer)):
            yield longer


def _begins(body: bytes, *, ended: bool) -> bool:
    decoder: Any = getincrementaldecoder("utf-8")()
    try:
        decoder.decode(body, final=ended)
    except UnicodeDecodeError:
        return False
    return True


def _whole(body: bytes) -> bool:
    return bool(body) and _begins(body, ended=True)
