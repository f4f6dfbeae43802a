"""Auditing with one run: many canaries, each in or out by its own fair coin, and guesses from a single output.

Steinke, Nasr and Jagielski ("Privacy Auditing with One (1) Training Run", 2023): if the run is (ε, δ)-DP, the number of
correct guesses is hardly larger than that of randomised response. For a fixed number r of guesses among m canaries,
with W ~ Binomial(r, e^ε/(1 + e^ε)) and β = Pr[W ≥ v],

    Pr[at least v correct] ≤ β + mδ·β(1 − β)/(v·Pr[W = v]),

and some (ε, δ)-DP mechanism attains it: docs/theory/one-run.md has the proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, log1p
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, gammaln

from tacit.base import InputError, Number, between, non_negative, whole
from tacit.noise import Rng, rng_or_default

__all__ = ["OneRun", "canaries", "epsilon_of", "one_run", "p_value"]

Guesses = int | tuple[int, int]

LARGEST = 60.0  # ε beyond which one wrong guess in 10^26 would be expected
FEWEST = 8  # guesses in the smallest choice tried
OFF = 1 + 1e-9  # more than the relative error of the special functions


@dataclass(frozen=True, kw_only=True)
class OneRun:
    """ε is at least `epsilon` at `delta`, but for a chance of 1 − `confidence` over the coins of the canaries.

    `correct` of the `guesses` (so many highest scores guessed in, so many lowest guessed out) were right. `choices` is
    how many numbers of guesses were tried, each with its share of the allowed error.
    """

    epsilon: float
    delta: float
    confidence: float
    canaries: int
    guesses: tuple[int, int]
    correct: int
    choices: int

    def __str__(self) -> str:
        made = sum(self.guesses)
        return (
            f"ε ≥ {self.epsilon:.4g} at δ = {self.delta:g} with confidence {self.confidence:g}: "
            f"{self.correct} of {made} guesses about {self.canaries} canaries were right"
        )


def canaries(count: int, rng: Rng | None = None) -> Any:
    """For each of `count` canaries whether it goes into the run: independent fair coins, as a boolean array."""
    size = whole(count, "count", least=1)
    octets = rng_or_default(rng).words(-(-size // 8), np.uint8)
    return np.unpackbits(octets)[:size].astype(np.bool_)


def p_value(*, canaries: int, guesses: int, correct: int, epsilon: Number, delta: Number = 0) -> float:
    """The largest chance of so many correct guesses or more that any (ε, δ)-DP run could give."""
    m, r, v = _counts(canaries, guesses, correct)
    return _p_value(m, r, v, float(non_negative(epsilon, "epsilon")), float(_delta(delta)))


def epsilon_of(*, canaries: int, guesses: int, correct: int, delta: Number = 0, confidence: Number = "0.95") -> float:
    """The largest ε that so many correct guesses refute, for a number of guesses that was fixed in advance."""
    m, r, v = _counts(canaries, guesses, correct)
    return _epsilon(m, r, v, float(_delta(delta)), float(1 - between(confidence, "confidence", 0, 1)))


def one_run(
    scores: Sequence[float] | Any,
    included: Sequence[bool] | Any,
    *,
    guesses: Guesses | None = None,
    delta: Number = 0,
    confidence: Number = "0.95",
) -> OneRun:
    """A lower bound on ε from one run: a score for each canary, higher when it looks as if it had been in.

    `guesses` has to be fixed before the scores are seen: so many in all, half of them the highest scores (guessed in)
    and half the lowest (guessed out), or (highest, lowest). Left out, a fixed list of choices is tried and the allowed
    error is divided among them. `included` must be the coins from `canaries`, or others as fair and independent, and
    `scores` must come from the output of the run and what was public before it.
    """
    marks, coins = _scores(scores), np.asarray(included)
    if coins.dtype != np.bool_ or coins.shape != marks.shape:
        raise InputError(f"included must be {len(marks)} truth values, one for each score")
    slack, level = _delta(delta), between(confidence, "confidence", 0, 1)
    size = len(marks)
    tried = _choices(size) if guesses is None else [_choice(guesses, size)]
    order = np.argsort(marks, kind="stable")  # ties by place, which knows nothing of the coins
    ranked = coins[order]
    tail = float((1 - level) / len(tried))
    best, won, right = -inf, tried[0], 0
    for high, low in tried:
        correct = int(ranked[size - high :].sum()) + low - int(ranked[:low].sum())
        found = _epsilon(size, high + low, correct, float(slack), tail)
        if found > best:
            best, won, right = found, (high, low), correct
    return OneRun(
        epsilon=best,
        delta=float(slack),
        confidence=float(level),
        canaries=size,
        guesses=won,
        correct=right,
        choices=len(tried),
    )


def _p_value(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    if v == 0:
        return 1.0
    wrong = 1 / (1 + exp(epsilon))
    tail, rest = float(betaincc(r - v + 1, v, wrong)), float(betainc(r - v + 1, v, wrong))
    if delta == 0 or tail == 0:
        return min(1.0, tail * OFF)
    ways = gammaln(r + 1) - gammaln(v + 1) - gammaln(r - v + 1)
    here = exp(ways + v * log1p(-wrong) + (r - v) * log(wrong))
    return min(1.0, (tail + m * delta * tail * rest / (v * here)) * OFF) if here > 0 else 1.0


def _epsilon(m: int, r: int, v: int, delta: float, tail: float) -> float:
    """Bisection: the p-value grows with ε, for what is (ε, δ)-DP is so for every larger ε too."""
    if _p_value(m, r, v, 0.0, delta) > tail:
        return 0.0
    low, high = 0.0, LARGEST
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _p_value(m, r, v, middle, delta) <= tail else (low, middle)
    return low


def _choices(size: int) -> list[tuple[int, int]]:
    """All canaries, half of them, a quarter …: of both ends, of the highest alone, of the lowest alone."""
    made, count = [], size
    while count >= min(FEWEST, size):
        made += [(count - count // 2, count // 2), (count, 0), (0, count)]
        count //= 2
    return list(dict.fromkeys(made))


def _choice(guesses: Guesses, size: int) -> tuple[int, int]:
    if isinstance(guesses, tuple):
        high, low = (whole(each, "guesses") for each in guesses)
    else:
        made = whole(guesses, "guesses")
        high, low = made - made // 2, made // 2
    if not 1 <= high + low <= size:
        raise InputError(f"guesses must be between 1 and the number of canaries, {size}, not {high + low}")
    return high, low


def _scores(scores: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        found = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("scores must be numbers, one for each canary") from None
    if found.ndim != 1 or not len(found) or np.isnan(found).any():
        raise InputError("scores must be a list of numbers, one for each canary, none of them NaN")
    return found


def _counts(canaries: int, guesses: int, correct: int) -> tuple[int, int, int]:
    m, r, v = whole(canaries, "canaries", least=1), whole(guesses, "guesses"), whole(correct, "correct")
    if not v <= r <= m:
        raise InputError(f"correct ≤ guesses ≤ canaries must hold, not {v}, {r}, {m}")
    return m, r, v


def _delta(delta: Number) -> Any:
    found = non_negative(delta, "delta")
    if found >= 1:
        raise InputError("delta must be below 1: at 1 nothing is promised")
    return found
