"""Which of some candidate texts are behind RAPPOR's bits: regression on the bits that each would set."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from scipy.special import ndtri

from tacit.base import InputError, Number, between
from tacit.survey.protocol import Array, Tally
from tacit.survey.rappor import Rappor

__all__ = ["Decoded", "decode"]

ROUNDS = 2_000
STILL = 1e-9


@dataclass(frozen=True)
class Decoded:
    """A candidate that stands out, its share of all respondents, with its standard error and interval."""

    text: str
    share: float
    standard_error: float
    lower: float
    upper: float


def decode(
    protocol: Rappor, tally: Tally, candidates: Sequence[str], *, risk: Number = 0.05, confidence: Number = 0.95
) -> Sequence[Decoded]:
    """The candidates that are there, most frequent first: those with a share that chance explains with at most `risk`.

    A non-negative lasso picks candidates, and least squares without the penalty estimates their shares, so they are
    not shrunk. Texts that are not candidates set bits too: one more column, of bits set evenly, takes them up. `risk`
    is shared by all candidates. Intervals are normal and hold for candidates that were chosen beforehand.
    """
    level, chance = float(between(confidence, "confidence", 0, 1)), float(between(risk, "risk", 0, 1))
    if not candidates or len(set(candidates)) < len(candidates):
        raise InputError("candidates must be texts, each once: list those to look for")
    estimate = protocol.estimate(tally)
    each = tally.counts[:, -1:]
    weight = np.sqrt(each / tally.reports)  # fixed by the sizes of cohorts alone, so estimates stay linear: no bias
    marks = _marks(protocol, candidates)
    design = (marks * weight[:, :, None]).reshape(-1, marks.shape[2])
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
    reach = float(ndtri((1 + level) / 2))
    found = [
        Decoded(candidates[i], float(s), float(e), max(0.0, float(s - reach * e)), min(1.0, float(s + reach * e)))
        for i, s, e in zip(chosen.tolist(), shares, errors, strict=True)
        if s > least * e
    ]
    return sorted(found, key=lambda one: -one.share)


def _marks(protocol: Rappor, candidates: Sequence[str]) -> Array:
    """By cohort, bit and candidate, 1 where it sets the bit; the last column is what an unknown text sets."""
    texts = protocol._checked(np.asarray(list(candidates))).tolist()
    known = np.array([[protocol.bloom(text, cohort) for text in texts] for cohort in range(protocol.cohorts)])
    even = 1 - (1 - 1 / protocol.bits) ** protocol.hashes
    others = np.full((protocol.cohorts, 1, protocol.bits), even)
    return np.concatenate([known.astype(np.float64), others], axis=1).transpose(0, 2, 1)


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
