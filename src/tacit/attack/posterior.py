"""The best guess from private counts: what noisy counts of a person's group tell about that person's secret.

The attacker knows more than most: who is in each group, how the noise is drawn, and how common each value is.
"""

from collections.abc import Sequence
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from tacit.attack.classes import Integers
from tacit.base import InputError

__all__ = ["Floats", "evidence", "ruled_out", "sure_and_right"]

Floats = NDArray[np.float64]
SURE = 0.95


def evidence(noisy: Integers, others: Integers, prior: Floats, *, epsilon: float) -> Floats:
    """How much likelier each value of each person's secret becomes: a factor within e^±epsilon, one row a person.

    `noisy[i, v]` is the released count of value v in the group of person i, discrete Laplace noise of scale 1/epsilon
    added and negative answers shown as 0; `others[i]` says how many more people are in it, whose values are
    drawn from `prior`. Values are taken one by one, which loses what their sum tells.
    """
    if noisy.shape != (len(others), len(prior)) or epsilon <= 0:
        raise InputError("noisy must have a row for each of `others` and a column for each of `prior`, epsilon above 0")
    reach = np.arange(int(others.max(initial=0)) + 1)
    factors = np.empty(noisy.shape)
    for value, share in enumerate(prior):
        among = binom.pmf(reach, others[:, None], share)  # of so many others, how many have this value
        seen = np.maximum(noisy[:, value], 0)[:, None]
        without, with_one = _chance(seen, reach, epsilon), _chance(seen, reach + 1, epsilon)
        factors[:, value] = (among * with_one).sum(axis=1) / (among * without).sum(axis=1)
    return factors


def _chance(seen: Integers, count: Integers, epsilon: float) -> Floats:
    """The chance that `count` is released as `seen`: the pmf of the noise, and for 0 all that lies below."""
    ratio = exp(-epsilon)
    tail = ratio ** count.astype(float) / (1 + ratio)
    found: Floats = np.where(seen == 0, tail, (1 - ratio) / (1 + ratio) * ratio ** np.abs(seen - count).astype(float))
    return found


def ruled_out(posterior: Floats, truth: Integers, facts: int) -> Floats:
    """The posterior of somebody who knows of each person the `facts` likeliest wrong values to be wrong."""
    left = posterior.copy()
    people = np.arange(len(truth))
    if facts >= posterior.shape[1]:
        raise InputError(f"facts is {facts}: there are only {posterior.shape[1] - 1} wrong values")
    for _ in range(facts):
        wrong = left.copy()
        wrong[people, truth] = -1
        left[people, wrong.argmax(axis=1)] = 0
    left /= left.sum(axis=1, keepdims=True)
    return left


def sure_and_right(posterior: Floats, truth: Integers | Sequence[int], *, sure: float = SURE) -> tuple[int, int]:
    """How many people's values the attacker claims to know, being `sure` of them, and how many of these are right."""
    claimed = posterior.max(axis=1) >= sure
    right = claimed & (posterior.argmax(axis=1) == np.asarray(truth))
    return int(claimed.sum()), int(right.sum())
