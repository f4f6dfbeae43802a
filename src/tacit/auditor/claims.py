"""What is audited against what: the claimed ε and δ, and the neighbours to look at."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from inspect import isclass
from itertools import chain, islice
from math import ceil, isfinite, log2
from typing import Any

from tacit.auditor.draw import OutputSource
from tacit.auditor.outputs import Outputs
from tacit.auditor.search import Found, Goal, search
from tacit.base import InputError, Number, between, non_negative
from tacit.loss import Approx, Loss
from tacit.mechanism import Example, Mechanism

__all__ = ["Case", "Screened", "Shares", "Target", "read_case", "screened"]

Target = Mechanism | type[Mechanism] | Example | Callable[..., Any]
Pairs = tuple[Any, Any] | Iterable[tuple[Any, Any]]

CURVE = 0.01  # the δ at which a claim is audited that has no ε at δ = 0 and names no δ of its own


class Case:
    """The mechanism, its name, the claim (epsilon, delta), and an iterator over pairs of neighbours."""

    def __init__(self, subject: Any, name: str, epsilon: float, delta: float, pairs: Iterator[tuple[Any, Any]]) -> None:
        self.subject, self.name, self.epsilon, self.delta, self.pairs = subject, name, epsilon, delta, pairs


def read_case(target: Target, claim: Loss | Number | None, delta: Number | None, neighbours: Pairs | None) -> Case:
    """Arguments of an audit, with what a mechanism's own examples say in place of what was left out."""
    subject: Any = target
    examples: list[Example] = []
    if isclass(target) and issubclass(target, Mechanism):
        examples = sorted(target.examples(), key=lambda example: not example.tight)[:1]
        if not examples:
            raise InputError(f"{target.__name__} has no examples: pass a mechanism with its parameters, and neighbours")
        subject = examples[0].mechanism
    elif isinstance(target, Example):
        subject, examples = target.mechanism, [target]
    elif isinstance(target, Mechanism):
        examples = [example for example in target.examples() if example.mechanism == target]
    elif not callable(target):
        raise InputError(
            f"target must be a mechanism, an example or a function of the data, not {type(target).__name__}"
        )
    name = getattr(subject, "__name__", type(subject).__name__)
    if claim is None:
        if not examples:
            raise InputError(f"claim is missing: pass the epsilon (or the loss) that {name} is said to have")
        examples = [example for example in examples if example.claim == examples[0].claim]
        claim = examples[0].claim
    if neighbours is None:
        if not examples:
            raise InputError(f"neighbours are missing: pass neighbours=(data, data with one unit changed) for {name}")
        neighbours = [(example.left, example.right) for example in examples]
    epsilon, at = _claimed(claim, delta)
    return Case(subject, name, epsilon, at, _pairs(neighbours))


def _claimed(claim: Loss | Number, delta: Number | None) -> tuple[float, float]:
    if not isinstance(claim, Loss):
        at = 0.0 if delta is None else float(non_negative(delta, "delta"))
        epsilon = float(non_negative(claim, "claim"))
    else:
        exact: Number = CURVE
        if delta is not None:
            exact = non_negative(delta, "delta")
        elif isfinite(float(claim.epsilon(0))):
            exact = 0
        elif isinstance(claim, Approx):
            exact = claim.slack  # its double may lie below, where there is no epsilon
        epsilon, at = float(claim.epsilon(exact)), float(exact)
    if at:
        between(at, "delta", 0, 1)
    if not isfinite(epsilon):
        raise InputError(f"the claim has no finite epsilon at delta = {at:g}, so nothing can contradict it: pass delta")
    return epsilon, at


def _pairs(neighbours: Any) -> Iterator[tuple[Any, Any]]:
    """A tuple of two is one pair; any other iterable holds pairs."""
    if isinstance(neighbours, tuple) and len(neighbours) == 2:
        return iter([neighbours])
    if isinstance(neighbours, str | bytes) or not isinstance(neighbours, Iterable):
        raise InputError("neighbours must be a pair (data, data with one unit changed), or an iterable of such pairs")
    found = (_pair(pair) for pair in neighbours)
    first = list(islice(found, 1))
    if not first:
        raise InputError("neighbours is empty: pass at least one pair")
    return chain(first, found)


def _pair(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError("each element of neighbours must be a pair (data, data with one unit changed)")
    return pair[0], pair[1]


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
    source: OutputSource,
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
