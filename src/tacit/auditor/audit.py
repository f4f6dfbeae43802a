"""`audit`: a certified lower bound on the privacy loss of anything that can be run."""

from collections.abc import Callable, Iterable
from typing import Any

from tacit.auditor.certify import Form, allocated, better_form, bound, detectable, rarest
from tacit.auditor.claims import Case, Screened, Shares, Target, read_case, screened
from tacit.auditor.draw import OutputSource, opened_source
from tacit.auditor.events import Event
from tacit.auditor.search import Goal
from tacit.auditor.sequences import number_scores
from tacit.auditor.verdict import Status, Verdict, densities
from tacit.base import Number, between, whole
from tacit.loss import Loss
from tacit.noise import Rng, rng_or_default

__all__ = ["audit"]

SEARCH, ENOUGH, LITTLE = 0.2, 5000, 0.1  # share spent on choosing an event: 20 %, then 5000 outputs, at least 10 %
SCREEN = 0.4  # the same with several pairs of neighbours, among which one has to be chosen too
TWICE, MORE = 2.0, 0.1  # a pass means that twice the claimed ε, or so much more, would have been shown
RARE = 1 / 8  # on any event of this probability, when nothing was certified

Tell = Callable[[float, str], None]


def audit(
    target: Target,
    claim: Loss | Number | None = None,
    *,
    delta: Number | None = None,
    neighbours: tuple[Any, Any] | Iterable[tuple[Any, Any]] | None = None,
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
    tell: Tell = progress if progress is not None else _silent
    with opened_source(case.subject, workers=workers, rng=rng) as source:
        chosen = screened(
            source,
            case.pairs,
            Shares(one=max(int(LITTLE * size), min(int(SEARCH * size), ENOUGH)), many=int(SCREEN * size), samples=size),
            Goal(fresh=size, delta=case.delta, tail=tail),
            bits=bits,
            tell=lambda share, words: tell(min(share, 1.0) * SEARCH, words),
        )
        fresh = size - chosen.spent
        found = chosen.found
        form = better_form(found.p, found.q, fresh, delta=case.delta, tail=tail)
        sizes = allocated(fresh, rng_or_default(rng)) if form == "coins" else (fresh, fresh)
        counts = _counted(source, chosen, found.event, sizes, tell)
    return _verdict(case, chosen, form, sizes, counts, float(level), tail, size)


def _counted(
    source: OutputSource, chosen: Screened, event: Event, sizes: tuple[int, int], tell: Tell
) -> tuple[int, int]:
    """How many fresh outputs of each neighbour lie in the event."""
    counts, done = [0, 0], 0
    for side in (0, 1):
        for batch in source.batches(chosen.pair[side], sizes[side]):
            counts[side] += int(event.contains(batch).sum())
            done += len(batch)
            tell(SEARCH + (1 - SEARCH) * done / max(1, sum(sizes)), "certifying")
    return counts[0], counts[1]


def _verdict(
    case: Case,
    chosen: Screened,
    form: Form,
    sizes: tuple[int, int],
    counts: tuple[int, int],
    level: float,
    tail: float,
    samples: int,
) -> Verdict:
    mine, other = chosen.found.likelier, 1 - chosen.found.likelier
    epsilon = bound(form, counts[mine], sizes[mine], counts[other], sizes[other], delta=case.delta, tail=tail)
    fresh = samples - chosen.spent
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
        confidence=level,
        event=chosen.found.event.words,
        likelier="first" if mine == 0 else "second",
        counts=((counts[0], sizes[0]), (counts[1], sizes[1])),
        form=form,
        detectable=power,
        rarest=least,
        neighbours=chosen.pair,
        pairs=chosen.pairs,
        samples=samples,
        densities=densities(chosen.left, chosen.right, chosen.found.event, numeric[0] if numeric else None),
    )


def _silent(share: float, words: str) -> None:
    """Nobody asked."""
