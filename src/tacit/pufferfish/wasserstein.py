"""Noise for one answer about data of a known law: the Wasserstein mechanism, and the least noise that there is.

Two values of a secret give the answer two laws. If one can be turned into the other by moving every bit of it by at
most W, Laplace noise of scale W/ε hides which it was (Song, Wang and Chaudhuri 2017). That holds for one release of
the same people and not for two (docs/theory/pufferfish.md has the counterexample): what adds is `Quilt.cost`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, combinations
from math import log
from typing import Any

import numpy as np

from tacit.base import InputError, Sensitivity, positive, round_up, whole
from tacit.base.number import Number
from tacit.desk import Release
from tacit.mechanism import DiscreteLaplace
from tacit.policy import DATASET
from tacit.program import Program, Step
from tacit.pufferfish.chain import Chain, Floats, Network

__all__ = [
    "LawsUnknown",
    "Wasserstein",
    "count_laws",
    "distance",
    "entry_pairs",
    "network_pairs",
    "real_cost",
    "smallest_scale",
    "wasserstein",
]

Law = Mapping[int, Any]
KEY = "pufferfish wasserstein"
NEAR = 1e-10  # relative: far more than sums are rounded by
LONGEST = 2000  # of a chain whose laws of a count are worked out
RAREST = 1e-290  # chance of a count: what floats lose below 1e-308 would be seen above 1e-304 only


class LawsUnknown(InputError):  # noqa: N818 - says what is the case, as Denied does
    """The laws of a count cannot be worked out: the chain is too long, or some counts are too rare."""


@dataclass(frozen=True)
class Wasserstein:
    """Noise for one release: `scale` of Laplace noise at the stated ε, `moved` the distance W."""

    stated: Fraction
    moved: int
    scale: Fraction

    def cost(self, moves: Number = 1) -> Fraction:
        """The ε that this noise costs one entry in an ordinary account, where an entry moves the answer by at most
        `moves`: that is what adds."""
        if not self.scale:
            raise InputError(
                "an answer without noise has no cost that adds: a second one may tell everything. Use a quilt, whose "
                "noise is never none"
            )
        return positive(moves, "moves") / self.scale

    def release(self, answer: int, session: Any, table: str, *, moves: Number = 1) -> Release:
        """The answer with this noise, charged to the entries of `table` by what it costs one of them.

        Refused where anything was charged to them before: the stated ε is about one release alone. Whatever is charged
        afterwards, `Quilt.epsilon` says what all of it tells.
        """
        privacy, standing = session.policy.privacy, session.standing().balance(DATASET)
        cost, size = self.cost(moves), Sensitivity.scalar(positive(moves, "moves"))
        if standing is None or standing.spent.spend:
            raise InputError(
                f"something was charged to each {privacy.unit} of this account before, and the Wasserstein mechanism "
                "promises nothing for two releases about the same people: choose the noise by a quilt, and ask with "
                "its cost"
            )
        noise = DiscreteLaplace(scale=self.scale)
        about = {"pufferfish": "wasserstein", "epsilon": str(self.stated), "entry": str(cost)}
        step = Step(name="count", mechanism=noise, sensitivity=size)
        program = Program(steps=(step,), tables=(table,), relation=privacy.relation, unit=privacy.unit, query=about)
        given = whole(answer, "answer")
        # one key for all such releases: of two at the same moment, the ledger refuses the second
        released: Release = session.spend(program, lambda run: noise.sample(given), idempotency_key=KEY)
        return released

    def json(self) -> dict[str, Any]:
        return {"epsilon": float(self.stated), "moved": self.moved, "scale": float(self.scale)}


def distance(first: Law, second: Law) -> int:
    """W_∞ of two laws of whole numbers: the least W with Pr[first ≤ n] ≤ Pr[second ≤ n + W] for all n, either way.

    Chances may be fractions, which are compared exactly. Floats that nearly meet count as too far apart, unless they
    are the same; above the middle chances of more are compared, which are small where those of less are near 1.
    """
    for law in (first, second):
        if not law or min(law.values()) < 0 or abs(sum(law.values()) - 1) > 1e-9:
            raise InputError("a law gives whole numbers chances of at least 0, which add up to 1")
    low, high = min((*first, *second)), max((*first, *second))
    here, there = (_sums(law, low, high) for law in (first, second))
    widths = range(high - low + 1)
    return next(width for width in widths if _fits(here, there, width) and _fits(there, here, width))


Sums = tuple[list[Any], list[Any]]  # chances of at most n, and of more than n


def _sums(law: Law, low: int, high: int) -> Sums:
    chances = [law.get(n, 0) for n in range(low, high + 1)]
    more = list(accumulate(chances[:0:-1]))[::-1]
    return list(accumulate(chances)), [*more, 0]


def _fits(first: Sums, second: Sums, width: int) -> bool:
    size = len(first[0])
    for n in range(size - width):
        less, more = (first[0][n], second[0][n + width]), (second[1][n + width], first[1][n])
        smaller, larger = less if less[1] <= 0.5 else more
        if smaller != larger and smaller > larger * (1 if isinstance(larger, Fraction | int) else 1 - NEAR):
            return False
    return True


def wasserstein(pairs: Iterable[tuple[Law, Law]], *, epsilon: Number) -> Wasserstein:
    """The noise that hides, for each pair, which of two laws the answer was drawn from. Laws are of whole numbers."""
    stated = positive(epsilon, "epsilon", toward="decimal")
    found = [distance(first, second) for first, second in pairs]
    if not found:
        raise InputError("give the laws of the answer for at least one pair of secrets")
    return Wasserstein(stated=stated, moved=max(found), scale=max(found) / stated)


def count_laws(chain: Chain, state: int) -> list[list[dict[int, float]]]:
    """For each entry and each value that it may have: the law of how many entries are in `state`."""
    length, size = chain.length, chain.states
    if not 0 <= state < size:
        raise InputError(f"state must be from 0 to {size - 1}, not {state}")
    if length > LONGEST:
        raise LawsUnknown(f"laws of a count are worked out for up to {LONGEST:,} entries: use quilts")
    here, found = np.arange(size) == state, []
    chances = zip(*_courses(chain.start(), chain.matrix, here, length), strict=True)
    possible = zip(*_courses(chain.start() > 0, chain.matrix > 0, here, length), strict=True)
    for (left, right), (before, after) in zip(chances, possible, strict=True):
        laws = []
        for x in range(size):
            ways = np.convolve(before[x] * 1.0, after[x] * 1.0)
            law = np.convolve(left[x], right[x])
            if (law[ways > 0] < RAREST).any():
                raise LawsUnknown(
                    f"some counts have a chance below {RAREST:g}, which cannot be worked out: fewer entries, or quilts"
                )
            if ways.any():
                laws.append({int(n): float(law[n] / law.sum()) for n in np.flatnonzero(ways)})
        found.append(laws)
    return found


def _courses(start: Any, matrix: Any, here: Any, length: int) -> tuple[list[Floats], list[Floats]]:
    """For each entry, and each state that it may have: the weight of n entries in a state up to it, and after it.

    Of conditions in place of chances, whether it can be."""
    kind, size = matrix.dtype, len(matrix)
    before, after = [np.zeros((size, 2), kind)], [np.ones((size, 1), kind)]
    before[0][np.arange(size), here.astype(int)] = start
    for _ in range(length - 1):
        before.append(_counted(matrix.T @ before[-1], here))
        after.append(matrix @ _counted(after[-1], here))
    return before, after[::-1]


def _counted(weights: Floats, here: Any) -> Floats:
    out = np.zeros((len(weights), weights.shape[1] + 1), weights.dtype)
    out[here, 1:] = weights[here]
    out[~here, :-1] = weights[~here]
    return out


def entry_pairs(chain: Chain, state: int) -> list[tuple[dict[int, float], dict[int, float]]]:
    """Every two values of every entry, by the laws they give the count."""
    return [pair for laws in count_laws(chain, state) for pair in combinations(laws, 2)]


def network_pairs(
    network: Network, secret: Sequence[int], answer: Callable[..., int]
) -> list[tuple[dict[int, float], dict[int, float]]]:
    """Every two values that the variables of `secret` may have together, by the laws they give `answer`, a whole number
    from one value of each variable."""
    joint, laws = network.joint(), dict[Any, dict[int, float]]()
    if not secret or not {*secret} <= {*range(joint.ndim)}:
        raise InputError(f"a secret is one or more variables, from 0 to {joint.ndim - 1}")
    for place in np.argwhere(joint > 0).tolist():
        law = laws.setdefault(tuple(place[each] for each in secret), {})
        number = int(answer(*place))
        law[number] = law.get(number, 0) + float(joint[tuple(place)])
    shares = [{n: chance / sum(law.values()) for n, chance in law.items()} for law in laws.values()]
    return list(combinations(shares, 2))


def real_cost(pairs: Iterable[tuple[Law, Law]], scale: Number) -> float:
    """What one release with Laplace noise of this scale really tells of the secret: the largest log ratio, either way.

    Both densities are sums of e^(w/s) and e^(−w/s) between two whole numbers, so their ratio is largest at one.
    """
    size = float(positive(scale, "scale"))
    return max(_ratio(first, second, size) for first, second in pairs)


def _ratio(first: Law, second: Law, size: float) -> float:
    values = np.arange(min((*first, *second)), max((*first, *second)) + 1)
    logs = []
    for law in (first, second):
        kept = {place: _log(chance) for place, chance in law.items() if chance}
        spread = np.array(list(kept.values())) - np.abs(values[:, None] - np.array(list(kept))) / size
        top = spread.max(axis=1)
        logs.append(top + np.log(np.exp(spread - top[:, None]).sum(axis=1)))
    return float(np.abs(logs[0] - logs[1]).max())


def _log(chance: Any) -> float:
    """Of a fraction too, which as a float may be none."""
    return log(chance.numerator) - log(chance.denominator) if isinstance(chance, Fraction) else log(chance)


def smallest_scale(pairs: Iterable[tuple[Law, Law]], *, epsilon: Number) -> Fraction:
    """The least scale of Laplace noise that one release needs, where laws are known, to a millionth: nothing smaller is
    valid."""
    stated, every = positive(epsilon, "epsilon", toward="decimal"), list(pairs)
    target, widest = float(stated) * (1 - 1e-9), float(wasserstein(every, epsilon=stated).scale)
    if widest == 0:
        return Fraction(0)
    some = sorted(every, key=lambda pair: -_ratio(pair[0], pair[1], widest))[:8]
    found = _least(some, target, widest)
    if real_cost(every, found) > target:  # another pair decides at this scale
        found = _least(every, target, widest)
    return round_up(found)


def _least(pairs: list[tuple[Law, Law]], target: float, high: float) -> float:
    low, floor = 0.0, high / 1e6  # where laws are near each other without any noise
    while high - low > 1e-6 * high and high > floor:
        middle = (low + high) / 2
        low, high = (low, middle) if real_cost(pairs, middle) <= target else (middle, high)
    return high
