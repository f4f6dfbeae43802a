"""Lower bounds on ε from counts, exact at every sample size: Clopper–Pearson, in two forms.

An event S has probability p under the likelier neighbour and q under the other, so ε ≥ log((p − δ)/q).

- *Two counts*: n outputs on each side; p is bounded from below and q from above, each with half of the allowed error.
- *Coins* (δ = 0): for each of N outputs a fair coin says on which side it is drawn. Given that an output lies in S it
  came from the likelier side with probability exactly p/(p + q), so one Clopper–Pearson bound on that share, with all
  of the allowed error, bounds p/q.

docs/theory/audit.md has the proofs, and which form wins where.
"""

from math import ceil, exp, inf, log, sqrt
from typing import Any, Literal

import numpy as np
from scipy.special import betaincinv

from tacit.auditor.outputs import Floats
from tacit.noise import Rng

__all__ = [
    "Form",
    "allocated",
    "better_form",
    "bound",
    "coins",
    "detectable",
    "expected",
    "lower",
    "rarest",
    "shown",
    "two_counts",
    "upper",
]

Form = Literal["two counts", "coins"]
Counts = Any  # whole numbers, or arrays of them

OFF = 1e-9  # relative: more than the error of betaincinv in double precision
SPILL = 0.01  # chance that coins ask for more outputs of a side than there are, and are thrown again
POWER = 0.95


def lower(inside: Counts, trials: Counts, tail: float) -> Floats:
    """The Clopper–Pearson lower bound: too high with probability at most `tail`."""
    k, n = np.asarray(inside, dtype=float), np.asarray(trials, dtype=float)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail) * (1 - OFF), 0.0)


def upper(inside: Counts, trials: Counts, tail: float) -> Floats:
    """The Clopper–Pearson upper bound: too low with probability at most `tail`."""
    k, n = np.asarray(inside, dtype=float), np.asarray(trials, dtype=float)
    found: Floats = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail) * (1 + OFF), 1.0)
    return np.minimum(found, 1.0)


def two_counts(
    likelier: Counts, trials: Counts, other: Counts, other_trials: Counts, *, delta: float, tail: float
) -> Floats:
    """ε ≥ this, but for a chance of `tail`: log((p_low − δ)/q_high), −inf where the event shows nothing."""
    margin = lower(likelier, trials, tail / 2) - delta
    return _log_ratio(margin, upper(other, other_trials, tail / 2))


def coins(likelier: Counts, other: Counts, *, tail: float) -> Floats:
    """ε ≥ this, but for a chance of `tail`, when fair coins chose the sides: log(share_low/(1 − share_low))."""
    k, m = np.asarray(likelier, dtype=float), np.asarray(other, dtype=float)
    some = np.maximum(k + m, 1)
    # 1 − share_low is an upper bound on the other share: computed as such there is no cancellation where it is small
    return _log_ratio(lower(k, some, tail), upper(m, some, tail))


def _log_ratio(above: Floats, below: Floats) -> Floats:
    good = above > 0
    return np.where(good, np.log(np.where(good, above, 1.0)) - np.log(below), -inf)


def allocated(size: int, rng: Rng) -> tuple[int, int]:
    """How many of the outputs to draw on each side, by fair coins; neither number exceeds `size`.

    N coins that fall beyond `size` on one side (a chance below SPILL, by Hoeffding) are thrown again, which can raise
    the chance of an error by a factor 1/(1 − SPILL) and no more; `bound` takes that off beforehand.
    """
    total = 2 * (size - ceil(sqrt(size * log(2 / SPILL))))
    while total > 0:
        words = rng.words(-(-total // 64)).copy()
        words[-1] >>= np.uint64(-total % 64)
        heads = int(np.bitwise_count(words).sum())
        if max(heads, total - heads) <= size:
            return heads, total - heads
    return 0, 0


def bound(form: Form, likelier: int, trials: int, other: int, other_trials: int, *, delta: float, tail: float) -> float:
    """The certified ε of one event, never below 0 (which every mechanism satisfies)."""
    if form == "coins":
        return max(0.0, float(coins(likelier, other, tail=tail * (1 - SPILL))))
    return max(0.0, float(two_counts(likelier, trials, other, other_trials, delta=delta, tail=tail)))


def expected(form: Form, p: float, q: float, size: int, *, delta: float, tail: float) -> float:
    """The bound that `size` outputs a side would give if every count came out as expected."""
    if form == "coins":
        half = size - sqrt(size * log(2 / SPILL))
        return float(coins(half * p, half * q, tail=tail * (1 - SPILL))) if half >= 1 else -inf
    return float(two_counts(size * p, size, size * q, size, delta=delta, tail=tail))


def better_form(p: float, q: float, size: int, *, delta: float, tail: float) -> Form:
    """The form that promises more for an event of about these probabilities. To be asked before the fresh outputs."""
    if delta > 0:
        return "two counts"
    by_coins = expected("coins", p, q, size, delta=0.0, tail=tail)
    return "coins" if by_coins > expected("two counts", p, q, size, delta=0.0, tail=tail) else "two counts"


def shown(form: Form, p: float, q: float, size: int, *, claimed: float, delta: float, tail: float) -> bool:
    """Whether an event of these probabilities would be called a violation of `claimed` with probability ≥ 95 %."""
    from scipy.stats import binom  # takes long to import

    each = (1 - POWER) / 2  # a lucky draw on either side may spoil it
    if form == "coins":
        half = int(size - sqrt(size * log(2 / SPILL)))
        seen = binom.ppf(each, 2 * half, (p + q) / 2) if half >= 1 else 0
        k = binom.ppf(each, seen, p / (p + q)) if seen > 0 else 0
        return float(coins(k, seen - k, tail=tail * (1 - SPILL))) > claimed
    k, m = binom.ppf(each, size, p), binom.ppf(1 - each, size, q)
    return float(two_counts(k, size, m, size, delta=delta, tail=tail)) > claimed


def detectable(form: Form, p: float, size: int, *, claimed: float, delta: float, tail: float) -> float:
    """The least ε that would be called a violation of `claimed` with probability ≥ 95 %, on an event of probability p.

    Infinite when no loss at all could be shown with so few outputs.
    """

    def found(epsilon: float) -> bool:
        q = (p - delta) * exp(-epsilon)
        return shown(form, p, q, size, claimed=claimed, delta=delta, tail=tail)

    low, high = claimed, claimed + 60.0
    if p <= delta or not found(high):
        return inf
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def rarest(epsilon: float, size: int, *, claimed: float, delta: float, tail: float) -> float:
    """The least probability (of halves, quarters, …) of an event that, if it carried the loss `epsilon` and the search
    found it, would be called a violation of `claimed` with probability ≥ 95 %. 1 when not even a half is enough."""
    least, p = 1.0, 0.5
    while p > max(delta, 1 / size):
        q = (p - delta) * exp(-epsilon)
        form = better_form(p, q, size, delta=delta, tail=tail)
        if not shown(form, p, q, size, claimed=claimed, delta=delta, tail=tail):
            break
        least, p = p, p / 2
    return least
