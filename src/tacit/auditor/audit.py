"""`audit`: a certified lower bound on the privacy loss of anything that can be run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from inspect import isclass
from itertools import islice
from math import ceil, isfinite, log2
from typing import Any

from tacit.auditor.certify import allocated, better_form, bound, detectable, rarest
from tacit.auditor.outputs import Outputs, OutputSource, opened_source
from tacit.auditor.search import BestEvent, Goal, search
from tacit.auditor.sequences import number_scores
from tacit.auditor.verdict import Status, Verdict, densities
from tacit.base import InputError, Number, between, non_negative, whole
from tacit.loss import Approx, Loss
from tacit.mechanism import Example, Mechanism
from tacit.noise import Rng, rng_or_default

__all__ = ["audit", "read_case"]

SEARCH, ENOUGH, LITTLE = 0.2, 5000, 0.1  # share spent on choosing an event: 20 %, then 5000 outputs, at least 10 %
SCREEN = 0.4  # the same with several pairs of neighbours, among which one has to be chosen too
TWICE, MORE = 2.0, 0.1  # a pass means that twice the claimed ε, or so much more, would have been shown
RARE = 1 / 8  # on any event of this probability, when nothing was certified

CURVE = 0.01  # the δ at which a claim is audited that has no ε at δ = 0 and names no δ of its own
LEAST = 150  # outputs a side that a pair needs to be looked at
MOST = 256  # pairs
HOPE = 0.05  # the doubt while pairs are compared: a rare event that may be great keeps its pair in the race

Tell = Callable[[float, str], None]
Target = Mechanism | type[Mechanism] | Example | Callable[..., Any]
Pairs = tuple[Any, Any] | Iterable[tuple[Any, Any]]


def audit(
    target: Target,
    claim: Loss | Number | None = None,
    *,
    delta: Number | None = None,
    neighbours: Pairs | None = None,
    samples: int = 100_000,
    confidence: Number = "0.95",
    progress: Tell | None = None,
    workers: int = 1,
    bits: bool = True,
    rng: Rng | None = None,
) -> Verdict:
    """Look for an event that contradicts the claim, certify what it shows on fresh outputs, and say so.

    `target` is a mechanism (its own examples give the claim and the neighbours that are left out), an `Example`, a
    mechanism's class (its first example), or a function: `f(data)` returns one output, `f(data, size)` that many, as an
    array or a list. Outputs may be numbers, vectors, truth values, texts, None, records, or sequences of these.

    `claim` is a loss, or an ε at `delta`. Without `delta`, a loss is audited at 0 if it has an ε there, else at the δ
    of an (ε, δ) claim, else at 0.01. `neighbours` is one pair (a tuple of two), or an iterable of pairs, of which the
    most telling one is found (at most 256, and no more than the samples allow are taken).

    `samples` is the number of outputs drawn for each side, in all: for the search and for the certificate. With
    `workers` above 1 they are drawn in so many processes. `progress` is told the share done and what is going on.
    Noise added in floating point breaks any claim through the last bits of its outputs; `bits=False` looks away from
    them, to see what else there is. `rng` is for tests: what a mechanism draws from in place of the operating system.

    The chance that a mechanism which keeps its claim is called violated is at most 1 − `confidence`, whatever the
    search does: one event in one direction is certified, on outputs that had no part in its choice
    (docs/theory/audit.md).
    """
    case = read_case(target, claim, delta, neighbours)
    size = whole(samples, "samples", least=10)
    level = between(confidence, "confidence", 0, 1)
    tail = float(1 - level)
    tell: Tell = progress or (lambda share, words: None)
    with opened_source(case.subject, workers=workers, rng=rng) as source:
        chosen = _chosen_pair(
            source,
            case.pairs,
            size,
            Goal(fresh=size, delta=case.delta, tail=tail),
            bits=bits,
            tell=lambda share, words: tell(min(share, 1.0) * SEARCH, words),
        )
        fresh, best = size - chosen.spent, chosen.best
        form = better_form(best.p, best.q, fresh, delta=case.delta, tail=tail)
        sizes = allocated(fresh, rng_or_default(rng)) if form == "coins" else (fresh, fresh)
        counts = _counted(source, chosen, sizes, tell)
    mine, other = best.likelier, 1 - best.likelier
    epsilon = bound(form, counts[mine], sizes[mine], counts[other], sizes[other], delta=case.delta, tail=tail)
    likely = counts[mine] / max(1, sizes[mine])
    power = detectable(form, likely, fresh, claimed=case.epsilon, delta=case.delta, tail=tail)
    double = max(TWICE * case.epsilon, case.epsilon + MORE)
    least = rarest(double, fresh, claimed=case.epsilon, delta=case.delta, tail=tail)
    status: Status = "inconclusive"
    if epsilon > case.epsilon:
        status = "violated"
    elif (epsilon > 0 and power <= double) or least <= RARE:
        status = "pass"
    numeric = number_scores(chosen.left, chosen.right)
    return Verdict(
        status=status,
        target=case.name,
        claimed=case.epsilon,
        delta=case.delta,
        epsilon=epsilon,
        confidence=float(level),
        event=best.event.words,
        likelier="first" if mine == 0 else "second",
        counts=((counts[0], sizes[0]), (counts[1], sizes[1])),
        form=form,
        detectable=power,
        rarest=least,
        neighbours=chosen.pair,
        pairs=chosen.pairs,
        samples=size,
        densities=densities(chosen.left, chosen.right, best.event, numeric[0] if numeric else None),
    )


def _counted(source: OutputSource, chosen: "ChosenPair", sizes: tuple[int, int], tell: Tell) -> tuple[int, int]:
    """How many fresh outputs of each neighbour lie in the event."""
    counts, done = [0, 0], 0
    for side in (0, 1):
        for batch in source.batches(chosen.pair[side], sizes[side]):
            counts[side] += int(chosen.best.event.contains(batch).sum())
            done += len(batch)
            tell(SEARCH + (1 - SEARCH) * done / max(1, sum(sizes)), "certifying")
    return counts[0], counts[1]


@dataclass(frozen=True, eq=False)
class Case:
    """What is audited against what: the mechanism, its name, the claim (epsilon, delta), and pairs of neighbours."""

    subject: Any
    name: str
    epsilon: float
    delta: float
    pairs: Iterator[tuple[Any, Any]]


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
        kind = type(target).__name__
        raise InputError(f"target must be a mechanism, an example or a function of the data, not {kind}")
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
    return _each_pair(neighbours)


def _each_pair(neighbours: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    pair = None
    for pair in neighbours:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError("each element of neighbours must be a pair (data, data with one unit changed)")
        yield pair[0], pair[1]
    if pair is None:
        raise InputError("neighbours is empty: pass at least one pair")


@dataclass(frozen=True, eq=False)
class ChosenPair:
    """The pair that won, its event, the outputs that were searched, how many pairs there were, outputs spent a side."""

    pair: tuple[Any, Any]
    best: BestEvent
    left: Outputs
    right: Outputs
    pairs: int
    spent: int


def _chosen_pair(
    source: OutputSource, pairs: Iterator[tuple[Any, Any]], samples: int, goal: Goal, *, bits: bool, tell: Tell
) -> ChosenPair:
    """The pair and the event with which to go for `goal` (whose `fresh` is set here, to what is left)."""
    one, many = max(int(LITTLE * samples), min(int(SEARCH * samples), ENOUGH)), int(SCREEN * samples)
    taken = list(islice(pairs, max(1, min(MOST, many // LEAST))))
    budget = one if len(taken) == 1 else many
    goal = replace(goal, fresh=max(1, samples - budget))
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
    return ChosenPair(pair, search(left, right, goal, bits=bits), left, right, len(taken), spent)
