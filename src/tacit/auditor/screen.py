"""The most telling of several pairs of neighbours, found by successive halving.

Every pair gets a few outputs; the half that promises more gets more, until one is left. What was drawn for it on the
way is the part of the outputs on which its event is chosen.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil, log2
from typing import Any

from tacit.auditor.draw import Source
from tacit.auditor.outputs import Outputs
from tacit.auditor.search import Found, Goal, search

__all__ = ["Screened", "Shares", "screened"]

LEAST = 150  # outputs a side that a pair needs to be looked at
MOST = 256  # pairs
HOPE = 0.05  # the doubt while pairs are compared: a rare event that may be great keeps its pair in the race


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Of `samples` outputs a side, spend about `one` on a single pair, or `many` in all on several."""

    one: int
    many: int
    samples: int


@dataclass(frozen=True, eq=False)
class Screened:
    """The pair that won, its event, the outputs that were searched, how many pairs there were, outputs spent a side."""

    pair: tuple[Any, Any]
    found: Found
    left: Outputs
    right: Outputs
    pairs: int
    spent: int


def screened(
    source: Source,
    pairs: Iterator[tuple[Any, Any]],
    shares: Shares,
    goal: Goal,
    *,
    bits: bool,
    tell: Callable[[float, str], None],
) -> Screened:
    """The pair and the event with which to go for `goal` (whose `fresh` is set here, to what is left)."""
    taken = list(islice(pairs, max(1, min(MOST, shares.many // LEAST))))
    budget = shares.one if len(taken) == 1 else shares.many
    goal = replace(goal, fresh=max(1, shares.samples - budget))
    rounds = max(1, ceil(log2(len(taken))))
    spent = 0
    empty = Outputs.joined([])
    alive = [(pair, empty, empty) for pair in taken]
    for turn in range(rounds):
        size = max(1, budget // rounds // len(alive))
        ranked = []
        for pair, left, right in alive:
            left = Outputs.joined([left, source.outputs(pair[0], size)])
            right = Outputs.joined([right, source.outputs(pair[1], size)])
            spent += size
            promised = search(left, right, replace(goal, doubt=HOPE), bits=bits).bound if len(alive) > 1 else 0.0
            ranked.append((promised, pair, left, right))
            tell(spent / budget, f"searching, round {turn + 1} of {rounds}")
        ranked.sort(key=lambda entry: -entry[0])
        alive = [(pair, left, right) for _, pair, left, right in ranked[: ceil(len(ranked) / 2)]]
    pair, left, right = alive[0]
    return Screened(pair, search(left, right, goal, bits=bits), left, right, len(taken), spent)
