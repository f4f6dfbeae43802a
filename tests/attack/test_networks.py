"""Sensitivities of degree histograms, by every graph of up to five people, and what the stage shows."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from math import exp

import numpy as np
import pytest

from tacit.attack.networks import EDGE, Edge, cut, degrees, friends, histogram, node_sensitivity, stage
from tacit.attack.population import chance
from tacit.base import InputError


def graphs(people: int) -> Iterator[list[Edge]]:
    pairs = list(combinations(range(people), 2))
    for mask in range(1 << len(pairs)):
        yield [pair for place, pair in enumerate(pairs) if mask >> place & 1]


def test_one_edge_moves_the_histogram_by_four_and_no_more() -> None:
    worst: dict[int, int] = defaultdict(int)
    for people in (2, 3, 4, 5):
        for edges in graphs(people):
            full = histogram(range(people), edges, people)
            for gone in edges:
                less = histogram(range(people), [edge for edge in edges if edge != gone], people)
                worst[people] = max(worst[people], int(np.abs(full - less).sum()))
    assert dict(worst) == {2: EDGE, 3: EDGE, 4: EDGE, 5: EDGE}


def test_one_person_moves_the_cut_histogram_by_its_sensitivity_and_no_more() -> None:
    """The bound is reached as soon as there are as many others as edges that are kept."""
    worst: dict[tuple[int, int], int] = defaultdict(int)
    uncut: dict[int, int] = defaultdict(int)
    for people in (2, 3, 4, 5):
        for edges in graphs(people):
            free = histogram(range(people), edges, people)
            for most in (1, 2, 3):
                full = histogram(range(people), cut(edges, most), most)
                for gone in range(people):
                    others = [one for one in range(people) if one != gone]
                    rest = [edge for edge in edges if gone not in edge]
                    moved = int(np.abs(full - histogram(others, cut(rest, most), most)).sum())
                    worst[people, most] = max(worst[people, most], moved)
                    moved = int(np.abs(free - histogram(others, rest, people)).sum())
                    uncut[people] = max(uncut[people], moved)
    for (people, most), moved in worst.items():
        assert moved == node_sensitivity(min(most, people - 1))
    assert dict(uncut) == {people: 2 * people - 1 for people in (2, 3, 4, 5)}


def test_an_order_that_looks_at_who_is_there_breaks_the_bound() -> None:
    """What the bound rests on: a single person may turn nobody else's order round."""

    def kept(people: int, edges: list[Edge]) -> list[Edge]:
        held: set[int] = set()
        found = []
        for edge in edges if people % 2 else reversed(edges):
            if held.isdisjoint(edge):
                held |= set(edge)
                found.append(edge)
        return found

    worst = 0
    for edges in graphs(4):
        full = histogram(range(5), kept(5, edges), 1)  # the fifth knows nobody
        worst = max(worst, int(np.abs(full - histogram(range(4), kept(4, edges), 1)).sum()))
    assert worst > node_sensitivity(1)


def test_cutting_keeps_what_fits() -> None:
    edges = friends(200, chance(1))
    kept = cut(edges, 5)
    assert max(degrees(range(200), kept).values()) == 5
    assert cut(edges, 200) == cut(reversed([(b, a) for a, b in edges]), 200)
    assert sorted(cut(edges, 200)) == sorted(edges)
    full = {one for one, many in degrees(range(200), kept).items() if many == 5}
    assert all(a in full or b in full for a, b in set(edges) - set(kept)), "no edge is left out that had room"


def test_a_person_knows_others() -> None:
    with pytest.raises(InputError, match="to itself"):
        cut([(1, 1)], 2)
    with pytest.raises(InputError, match="most"):
        cut([(1, 2)], 0)
    with pytest.raises(InputError, match="people"):
        stage(people=10)


def test_the_stage() -> None:
    outcome = stage(people=1_000, rounds=1_000)
    knows, knows_edge, knows_node, there, there_edge, there_node = outcome.facts["right"].values()
    limit = 1 / (1 + exp(-1)) + 0.05
    assert knows == there == 1
    assert max(knows_edge, knows_node, there_node) < limit < there_edge
    edge, node, cutting = outcome.facts["errors"].values()
    assert all(a < b for a, b in zip(edge, node, strict=True))
    assert cutting == sorted(cutting, reverse=True) or cutting[-1] < cutting[0]
    assert outcome.plot().to_dict()["vconcat"]
