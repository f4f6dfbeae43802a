"""Markov quilts: noise for one entry of data whose entries depend on each other (Song, Wang and Chaudhuri 2017).

A quilt round entry i is a set Q of entries that cuts i and its near ones N off from all the rest. What the answer tells
about i then has two parts: Q tells at most e about i, and the card(N) near entries move the answer by at most L each.
Noise of scale L·card(N)/(ε − e) suffices; the best quilt of each entry may be taken, and the worst entry decides.
Statements and proofs, for one release and for many: docs/theory/pufferfish.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import inf, prod
from typing import Any, Protocol

import numpy as np

from tacit.base import InputError, Relation, positive, round_up, whole
from tacit.base.number import Number
from tacit.loss import RDP
from tacit.pufferfish.chain import Chain, Floats, Network

__all__ = ["ENTRY", "ChainLeaks", "Leaks", "NetworkLeaks", "Quilt", "quilt"]

Score = Callable[[Any, Any], Any]  # of how many entries are near and how much the quilt tells: less is better
SLACK = 2.0**-44  # for each step of a chain and each state: far more than powers are rounded by
FARTHEST = 2048  # how far to either side a quilt of a chain is looked for
MOST_WORK = 2e8
MOST_VARIABLES = 12  # of a network, whose quilts are all looked at
ENTRY = Relation.other("pufferfish", "one entry, with others as the model says they depend on it")
ORDERS = (1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128)


class Leaks(Protocol):
    """What the quilts of all entries tell and keep near."""

    @property
    def length(self) -> int: ...

    def worst(self, score: Score) -> float:
        """The best quilt's score for the entry that is worst off."""
        ...


@dataclass(frozen=True, eq=False)
class ChainLeaks:
    """The quilts of a chain: X_{i−a} and X_{i+b}, one of them alone where the other side is all near, and none.

    `left[i]`, `right[i]` and `both[i]` say what they tell of an entry of kind i, for distances from 1 on. `kinds` says
    of which kind each entry is; a chain that keeps its law has one. Where `group` entries in a row are one secret, i is
    the first of them, and distances to the right are from the last.
    """

    length: int
    right: Floats
    left: Floats
    both: Floats
    kinds: Any
    group: int = 1

    def worst(self, score: Score) -> float:
        reach, length, more = self.right.shape[1], self.length, self.group - 1
        steps = np.arange(1, reach + 1)
        places = np.arange(1, length - more + 1)
        best = np.full(len(places), float(score(np.float64(length), np.float64(0))))  # everything is near
        if not reach:
            return float(best.max())
        for kind in range(len(self.right)):
            ours = places[self.kinds[: len(places)] == kind]
            on_left, on_right = np.minimum(ours - 1, reach), np.minimum(length - more - ours, reach)
            two = score(steps[:, None] + steps[None, :] + more - 1.0, self.both[kind])
            two = np.minimum.accumulate(np.minimum.accumulate(two, axis=0), axis=1)
            inside = (on_left > 0) & (on_right > 0)
            found = best[ours - 1]
            found[inside] = np.minimum(found[inside], two[on_left[inside] - 1, on_right[inside] - 1])
            for start in range(0, len(ours), 4096):  # one side alone: everything on the other is near
                some = slice(start, start + 4096)
                here = ours[some, None]
                one = score(here + more + steps - 1.0, np.broadcast_to(self.right[kind], (len(here), reach)))
                one = np.where(steps <= length - more - here, one, inf).min(axis=1)
                other = score(length - here + steps * 1.0, np.broadcast_to(self.left[kind], (len(here), reach)))
                other = np.where(steps <= here - 1, other, inf).min(axis=1)
                found[some] = np.minimum(found[some], np.minimum(one, other))
            best[ours - 1] = found
        return float(best.max())


@dataclass(frozen=True, eq=False)
class NetworkLeaks:
    """Every quilt of every secret of a small network."""

    length: int
    quilts: tuple[tuple[Floats, Floats], ...]  # by secret: near, told

    def worst(self, score: Score) -> float:
        return max(float(score(near, told).min()) for near, told in self.quilts)


@dataclass(frozen=True)
class Quilt:
    """The noise that a sum needs, and what lies behind it: `scale` is of Laplace noise, where one entry moves the sum
    by at most `moves`."""

    leaks: Leaks
    stated: Fraction
    moves: Fraction
    scale: float

    @property
    def cost(self) -> Fraction:
        """The ε that one release of this noise costs an entry in an ordinary account, which is what adds."""
        return self.moves / Fraction(self.scale)

    def epsilon(self, spent: Number) -> float:
        """The ε about one entry, given releases that cost `spent` of entry-level ε together."""
        total = float(positive(spent, "spent"))
        return self.leaks.worst(lambda near, told: told + near * total) * (1 + 1e-12)

    def concentrated(self, spent: Number, *, unit: str = "entry") -> RDP:
        """The same for releases that cost `spent` of entry-level ρ together."""
        total = float(positive(spent, "spent"))

        def at(order: float) -> float:
            return self.leaks.worst(lambda near, told: told + near**2 * total * order) * (1 + 1e-12)

        return RDP(ORDERS, [round_up(at(order)) for order in ORDERS], relation=ENTRY, unit=unit)

    def json(self) -> dict[str, Any]:
        return {
            "epsilon": float(self.stated),
            "scale": self.scale,
            "entry_cost": float(self.cost),
            "length": self.leaks.length,
        }


def quilt(
    model: Chain | Network | tuple[Chain, ...],
    *,
    epsilon: Number,
    moves: Number = 1,
    approximate: bool = False,
    group: int = 1,
    secrets: Sequence[Sequence[int]] | None = None,
) -> Quilt:
    """The least noise by quilts for a sum over the entries of `model`, or of any of several chains that it may be.

    One entry moves the sum by at most `moves`: 1 for a count, 2 for a histogram. `approximate` needs only how fast a
    chain forgets, and holds for every law of its first state. Secret is each entry of a chain, or each `group` of
    entries in a row; of a network each variable, or `secrets` alone: lists of variables that are one secret together.
    """
    stated = positive(epsilon, "epsilon", toward="decimal")
    moved, size = positive(moves, "moves"), whole(group, "group", least=1)
    chains = model if isinstance(model, tuple) else () if isinstance(model, Network) else (model,)
    if isinstance(model, tuple) and (not model or len({chain.length for chain in model}) != 1):
        raise InputError("give one chain, or several of the same length of which any may be true")
    if size > min((chain.length for chain in chains), default=1) or (chains and secrets is not None):
        raise InputError("group is of entries in a row of a chain, secrets are lists of variables of a network")
    found: list[Leaks] = [
        _chain_leaks(chain, epsilon=float(stated), approximate=approximate, group=size) for chain in chains
    ]
    if isinstance(model, Network):
        found = [_network_leaks(model, secrets or [[each] for each in range(len(model.sizes))])]
    worst = max(found, key=lambda leaks: leaks.worst(_scale_at(float(stated))))
    scale = worst.worst(_scale_at(float(stated))) * float(moved)
    leaks = worst if len(found) == 1 else _Worst(tuple(found))
    most = float(round_up(worst.length * moved / stated))  # what rounding may not pass
    return Quilt(leaks=leaks, stated=stated, moves=moved, scale=min(float(round_up(scale * (1 + 1e-12))), most))


@dataclass(frozen=True, eq=False)
class _Worst:
    """Several models, of which any may be true."""

    models: tuple[Leaks, ...]

    @property
    def length(self) -> int:
        return self.models[0].length

    def worst(self, score: Score) -> float:
        return max(each.worst(score) for each in self.models)


def _scale_at(epsilon: float) -> Score:
    def score(near: Any, told: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(told < epsilon, near / (epsilon - told), inf)

    return score


# --- chains


def _chain_leaks(chain: Chain, *, epsilon: float, approximate: bool, group: int) -> ChainLeaks:
    """Quilts as far out as the best can be: beyond scale·ε entries are too many."""
    farthest = min(FARTHEST, chain.length - group)
    reach = min(32, farthest)
    if not farthest:
        nothing = np.zeros((1, 0))
        return ChainLeaks(chain.length, nothing, nothing, np.zeros((1, 0, 0)), np.zeros(1, int), group)
    while True:
        leaks = _forgotten(chain, reach, group) if approximate else _told(chain, reach, group)
        if reach == farthest or leaks.worst(_scale_at(epsilon)) * epsilon < reach:
            return leaks
        reach = min(2 * reach, farthest)


def _told(chain: Chain, reach: int, group: int) -> ChainLeaks:
    """Exactly: max over pairs of states and over what the quilt may show of the log ratio of its chances.

    A group's first and last state are taken as any two, which they are where the chain can go from each to each.
    """
    laws = _laws(chain)
    size = chain.states
    if len(laws) * reach**2 * size**2 > MOST_WORK:
        raise InputError("this chain is too long or has too many states for exact quilts: say approximate=True")
    power, ahead, behind = np.eye(size), [], []
    for _ in range(reach):
        power = power @ chain.matrix
        ahead.append(_most(power))
        behind.append(_most(power.T))
    forward, backward = (np.array(each).reshape(reach, size, size) for each in (ahead, behind))
    slack = SLACK * size * np.arange(1, reach + 1)
    right, left, both = [], [], []
    for law in laws:
        open_ = np.ix_(law > 0, law > 0)
        shift = np.log(law[law > 0])[None, :] - np.log(law[law > 0])[:, None]  # of a pair: log of their chances
        ours = forward if group > 1 else np.array([each[open_] for each in forward])
        theirs = np.array([each[open_] for each in backward]) + shift
        right.append(ours.max(axis=(1, 2), initial=0) + slack)
        left.append(theirs.max(axis=(1, 2), initial=0) + slack)
        if group > 1:
            both.append(left[-1][:, None] + right[-1][None, :])
            continue
        with np.errstate(invalid="ignore"):
            sums = [np.nan_to_num(each + ours, nan=inf, posinf=inf, neginf=-inf) for each in theirs]
        pairs = np.array([each.max(axis=(1, 2), initial=0) for each in sums]).reshape(reach, reach)
        both.append(pairs + slack[:, None] + slack[None, :])
    kinds = np.zeros(chain.length, int) if len(laws) == 1 else np.arange(chain.length)
    return ChainLeaks(chain.length, np.array(right), np.array(left), np.array(both), kinds, group)


def _laws(chain: Chain) -> list[Floats]:
    """The law of each entry, or the one law of all."""
    law = chain.start()
    if chain.stationary:
        return [law]
    found = [law]
    for _ in range(chain.length - 1):
        law = law @ chain.matrix
        found.append(law)
    return found


def _most(power: Floats) -> Floats:
    """For each pair of states the largest log ratio of their rows of `power`, over what one of them can show."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(power)
        ratios = logs[:, None, :] - logs[None, :, :]
    ratios[np.isnan(ratios)] = -inf  # neither can show it
    found: Floats = ratios.max(axis=2)
    return found


def _forgotten(chain: Chain, reach: int, group: int) -> ChainLeaks:
    """From how fast the chain forgets: |P^t(x, y)/π(y) − 1| ≤ Δ_t = e^(−gt/2)/π_min, whatever the first law."""
    law = chain.kept()
    if law.min() <= 0:
        raise InputError("the chain leaves one of its states for good: leave that state out")
    root = np.sqrt(law)
    turned = root[:, None] * chain.matrix / root[None, :]
    values = np.sort(np.linalg.svd(turned, compute_uv=False))[::-1]
    gap = 2 * (1 - values[1]) if chain.reversible() else 1 - values[1] ** 2
    if gap <= 1e-12:
        raise InputError("the chain never forgets where it was: no quilt helps")
    steps = np.arange(1, reach + 1)
    far = np.exp(-(gap - 1e-12) * steps / 2) / law.min() * (1 + 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(far < 1, np.log1p(far) - np.log1p(-np.minimum(far, 1)), inf)
    right, left = one, 2 * one
    both = left[:, None] + right[None, :]
    return ChainLeaks(chain.length, right[None], left[None], both[None], np.zeros(chain.length, int), group)


# --- networks


def _network_leaks(network: Network, secrets: Sequence[Sequence[int]]) -> NetworkLeaks:
    """For each secret every set that cuts others off, by looking at all combinations of values."""
    count = len(network.sizes)
    if count > MOST_VARIABLES:
        raise InputError(f"all quilts of at most {MOST_VARIABLES} variables are looked at, not of {count}")
    joint, beside = network.joint(), network.neighbours()
    found = []
    for secret in secrets:
        own = {whole(each, "a variable") for each in secret}
        if not own or len(own) != len(secret) or max(own) >= count:
            raise InputError(f"a secret is one or more different variables, from 0 to {count - 1}")
        if prod(network.sizes[each] for each in own) * joint.size > MOST_WORK:
            raise InputError("a secret of so many values takes too long to look at: fewer variables in one secret")
        others = [each for each in range(count) if each not in own]
        quilts = [(float(count), 0.0)]
        for size in range(1, len(others) + 1):
            for some in combinations(others, size):
                near = _reached(own, set(some), beside)
                if len(near) < count:
                    quilts.append((float(len(near)), _influence(joint, tuple(sorted(own)), some)))
        near_, told = (np.array(each) for each in zip(*quilts, strict=True))
        found.append((near_, told))
    return NetworkLeaks(count, tuple(found))


def _reached(own: set[int], cut: set[int], beside: list[set[int]]) -> set[int]:
    found, open_ = set(own), list(own)
    while open_:
        for each in beside[open_.pop()] - cut - found:
            found.add(each)
            open_.append(each)
    return found


def _influence(joint: Floats, own: tuple[int, ...], some: tuple[int, ...]) -> float:
    """The largest log ratio of chances of what the set shows, between two values of the secret."""
    kept = sorted((*own, *some))
    law = joint.sum(axis=tuple(each for each in range(joint.ndim) if each not in kept))
    law = np.moveaxis(law, [kept.index(each) for each in own], range(len(own)))
    law = law.reshape(int(np.prod(law.shape[: len(own)])), -1)
    law = law[law.sum(axis=1) > 0]
    told = float(_most(law / law.sum(axis=1, keepdims=True)).max(initial=0))
    return told + SLACK * joint.size
