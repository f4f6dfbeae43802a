"""Networks: what is protected, one friendship or one person with all of theirs? A degree histogram under both.

A friendship moves the histogram by at most 4. A person with all friendships moves it by 2·people − 1 at worst, so
degrees are cut first: edges are taken in a fixed order unless an end is full (Day, Li and Lyu 2016). The sensitivities
are derived in docs/theory/degrees.md.
"""

from collections.abc import Iterable
from math import exp
from typing import Any

import numpy as np

from tacit.attack.population import Chance, Integers, chance
from tacit.attack.registry import Attempt, Outcome, Progress, bars, silent
from tacit.base import InputError, between, whole
from tacit.loss import Pure
from tacit.mechanism import DiscreteLaplace

__all__ = ["EDGE", "Edge", "cut", "degrees", "friends", "histogram", "node_sensitivity", "stage"]

Edge = tuple[int, int]
EDGE = 4  # l1: two people move from one bin to the next
CUTS = (2, 5, 10, 20, 30, 40)
MOST = CUTS[2]
MIX = 0x9E3779B97F4A7C15


def node_sensitivity(most: int) -> int:
    """The l1 norm by which one person, with all their edges, moves the histogram of `cut` edges."""
    return 2 * most + 1


def cut(edges: Iterable[Edge], most: int) -> list[Edge]:
    """Edges in a fixed order, each kept unless one of its ends has `most` kept edges already.

    The order follows from the two names alone, so that nobody's coming or going changes it for others.
    """
    limit = whole(most, "most", least=1)
    held: dict[int, int] = {}
    kept = []
    for edge in sorted({(min(pair), max(pair)) for pair in edges}, key=_turn):
        a, b = edge
        if a == b:
            raise InputError(f"edge {edge} joins {a} to itself: leave it out")
        if held.get(a, 0) < limit and held.get(b, 0) < limit:
            held[a], held[b] = held.get(a, 0) + 1, held.get(b, 0) + 1
            kept.append(edge)
    return kept


def _turn(edge: Edge) -> tuple[int, Edge]:
    """A place in an order that looks shuffled, so that small names are not always first."""
    a, b = edge
    return ((a * MIX + 1) ^ (b * MIX)) * MIX % 2**64 >> 32, edge


def degrees(nodes: Iterable[int], edges: Iterable[Edge]) -> dict[int, int]:
    """How many edges each of `nodes` has."""
    found = dict.fromkeys(nodes, 0)
    for a, b in edges:
        found[a] += 1
        found[b] += 1
    return found


def histogram(nodes: Iterable[int], edges: Iterable[Edge], most: int) -> Integers:
    """How many nodes have 0, 1, …, `most` or more edges."""
    of = np.minimum(np.array([*degrees(nodes, edges).values()], dtype=np.int64), most)
    return np.bincount(of, minlength=most + 1)


def friends(people: int, dice: Chance, *, each: int = 3) -> list[Edge]:
    """A made-up network in which who has many friends gets more: newcomers pick the ends of edges that are there."""
    ends = [0, 1]
    edges: set[Edge] = {(0, 1)}
    for newcomer in range(2, people):
        met = {ends[int(place)] for place in dice.integers(0, len(ends), each)}
        edges |= {(friend, newcomer) for friend in met}
        for friend in met:
            ends += [friend, newcomer]
    return sorted(edges)


def stage(
    *, seed: int = 1, people: int = 3_000, epsilon: float = 1.0, rounds: int = 1_000, progress: Progress = silent
) -> Outcome:
    """Is Ann in the network, and does she know Bob? From its degree histogram: exact, edge-private, node-private."""
    count, many = whole(people, "people", least=200), whole(rounds, "rounds", least=1)
    epsilon = float(between(epsilon, "epsilon", 0, 100))
    dice, everybody = chance(seed), range(count)
    edges = friends(count, dice)
    of = degrees(everybody, edges)
    ann = min(everybody, key=lambda one: (abs(of[one] - 30), one))  # she knows about thirty people, and Bob
    bond = next(edge for edge in edges if ann in edge)
    elsewhere = [one for one in everybody if one != ann]
    worlds = {
        "does Ann know Bob?": (everybody, [edge for edge in edges if edge != bond]),
        "is Ann in it?": (elsewhere, [edge for edge in edges if ann not in edge]),
    }
    noises = {most: _noise(node_sensitivity(most), epsilon) for most in CUTS}
    edge = _noise(EDGE, epsilon)
    releases = {"exact": (count, None), "edge-private": (count, edge), "node-private": (MOST, noises[MOST])}
    rows: list[tuple[str, Attempt, bool]] = []
    for question, (nodes, links) in worlds.items():
        for name, (most, noise) in releases.items():
            # nobody has as many friends as there are people, so that a cut there is none
            full, less = (
                histogram(some, cut(of_them, most), most) for some, of_them in ((everybody, edges), (nodes, links))
            )
            right = _right(full, less, noise, many, dice)
            against = "the exact degree histogram" if noise is None else f"tacit, {name}, ε = {epsilon:g}"
            rows.append((f"{question} {name}", Attempt.counted(against, right, many), noise is not None))
    progress(0.5)
    errors: dict[str, list[float]] = {name: [] for name in ("edge-private", "node-private", "by cutting alone")}
    for number, most in enumerate(CUTS):
        truth, short = histogram(everybody, edges, most), histogram(everybody, cut(edges, most), most)
        drawn = edge.sample(truth), noises[most].sample(short), short
        for line, found in zip(errors.values(), drawn, strict=True):
            line.append(float(np.abs(found - truth).sum()) / 2 / count)
        progress(0.5 + 0.5 * (number + 1) / len(CUTS))
    friendship, ceiling = rows[1][1].success, 1 / (1 + exp(-epsilon))
    best = min(range(len(CUTS)), key=errors["node-private"].__getitem__)
    edged, noded, lost = (line[best] for line in errors.values())
    return Outcome(
        name="networks",
        headline="A friendship is hidden, and the friend with all hers is not",
        measure=f"fair guesses whether Ann, who has {of[ann]} friends, is in a network of {count:,} people",
        chance=0.5,
        undefended=rows[3][1],
        defended=rows[5][1],
        remarks=(
            f"at ε = {epsilon:g} for one friendship, whether Ann knows Bob is guessed right {friendship:.1%} of the "
            f"time, and whether she is there at all {rows[4][1].success:.1%}: what must be hidden is the unit",
            f"whatever is the unit is guessed right at most {ceiling:.1%} of the time",
            f"one friendship moves the histogram by {EDGE}, one person by up to {2 * count - 1:,}; by "
            f"{node_sensitivity(MOST)} if {MOST} friends of each are counted",
            f"with {CUTS[best]} friends counted {edged:.1%} of the people are in a wrong bin if a friendship is the "
            f"unit, {noded:.1%} if a person is, {lost:.1%} by cutting alone. The best cut must be known beforehand",
        ),
        facts={"people": count, "edges": len(edges), "friends": of[ann], "epsilon": epsilon, "cuts": list(CUTS)}
        | {"errors": errors, "right": {row: attempt.success for row, attempt, _ in rows}},
        draw=lambda: _draw(rows, errors, epsilon),
    )


def _noise(sensitivity: int, epsilon: float) -> DiscreteLaplace:
    return DiscreteLaplace.from_loss(Pure(epsilon), sensitivity=sensitivity)


def _right(there: Integers, gone: Integers, noise: DiscreteLaplace | None, rounds: int, dice: Chance) -> int:
    """How often the likelier of two histograms is the one that was published, each as likely beforehand."""
    moved = np.flatnonzero(there != gone)
    if not moved.size:
        return int(dice.integers(0, 2, rounds).sum())
    if noise is None:
        return rounds
    one, other = there[moved], gone[moved]
    truth = dice.integers(0, 2, rounds)
    seen = noise.sample(np.where(truth[:, None], one, other))
    nearer = np.abs(seen - other).sum(axis=1) - np.abs(seen - one).sum(axis=1)
    guessed = np.where(nearer == 0, dice.integers(0, 2, rounds), nearer > 0)
    return int((guessed == truth).sum())


def _draw(rows: list[tuple[str, Attempt, bool]], errors: dict[str, list[float]], epsilon: float) -> Any:
    from tacit.plot import LabelledCurve, curves
    from tacit.plot.page import below

    title = "What the degree histogram tells", f"noise for ε = {epsilon:g}, for one friendship or for one person"
    guessed = bars(rows, title=title, axis="guesses that are right", chance=0.5)()
    wrong = curves(
        [LabelledCurve(name, CUTS, line) for name, line in errors.items()],
        title=("What it costs", "degrees from there on are one bin"),
        axes=("friends counted of each person, at most", "people in a wrong bin"),
        logarithmic=True,
        domain=None,
    )
    return below([guessed, wrong])
