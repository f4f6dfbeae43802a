"""The published figure: above the bound it stands for, and its moves never below what all votes near by really do."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tacit.learn import GNMax, LNMax
from tacit.learn.agreement import Agreement
from tacit.learn.votes import VoteRule

Votes = tuple[int, ...]
RULES = [GNMax(sigma=2), GNMax(sigma="1/2", confident=(1, 5)), LNMax(scale=3), LNMax(scale="1/2")]


def neighbours(votes: Votes, teachers: int) -> list[Votes]:
    """One teacher changes its vote, loses it, or gets one."""
    found = []
    for i, j in product(range(len(votes)), repeat=2):
        if i != j and votes[i]:
            moved = list(votes)
            moved[i] -= 1
            moved[j] += 1
            found.append(tuple(moved))
    for i in range(len(votes)):
        if votes[i]:
            found.append((*votes[:i], votes[i] - 1, *votes[i + 1 :]))
        if sum(votes) < teachers:
            found.append((*votes[:i], votes[i] + 1, *votes[i + 1 :]))
    return found


def figure_of(rule: VoteRule, teachers: int, classes: int, order: int = 6) -> Agreement:
    return Agreement(rule=rule, order=order, teachers=teachers, classes=classes, answered=1, checked=1)


def asked(figure: Agreement, votes: Votes) -> tuple[int, tuple[int, ...]]:
    row, yes = np.array([votes]), np.array([True])
    return figure.figure(row, yes), figure.moves(row, yes)


def enumerated(figure: Agreement, teachers: int, classes: int) -> tuple[dict[Votes, int], dict[Votes, list[int]]]:
    """All votes there are: their figures, and the exact largest move within 0, 1, 2, … changes."""
    every = [v for v in product(range(teachers + 1), repeat=classes) if sum(v) <= teachers]
    near = {v: neighbours(v, teachers) for v in every}
    value = {v: asked(figure, v)[0] for v in every}
    step = {v: max(abs(value[v] - value[w]) for w in near[v]) for v in every}
    exact = {v: [step[v]] for v in every}
    for k in range(teachers):
        for v in every:
            exact[v].append(max(exact[v][k], *(exact[w][k] for w in near[v])))
    return value, exact


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(("teachers", "classes"), [(6, 3), (11, 2)])
def test_moves_are_never_below_exact_enumeration(rule: VoteRule, teachers: int, classes: int) -> None:
    figure = figure_of(rule, teachers, classes)
    _, exact = enumerated(figure, teachers, classes)
    moves = {v: asked(figure, v)[1] for v in exact}
    close = 0
    for v, true in exact.items():
        bound = moves[v]
        for k, least in enumerate(true):
            assert bound[min(k, len(bound) - 1)] >= least, (v, k)
        close += bound[0] <= 3 * max(true[0], 1)
        for w in neighbours(v, teachers):  # what SmoothNoise is promised
            later = moves[w]
            assert all(bound[k] <= later[min(k + 1, len(later) - 1)] for k in range(len(bound)))
    assert close > 0.05 * len(exact)  # a bound, and not an idle one


def test_a_bound_that_is_too_small_is_seen() -> None:
    """The mutation: moves of one gap where a moved vote moves two are caught by the enumeration above."""
    _, exact = enumerated(figure_of(GNMax(sigma=2), 11, 2), 11, 2)
    figure = replace(figure_of(GNMax(sigma=2), 11, 2), moved=0.5)  # type: ignore[arg-type]  # the mutation
    assert any(figure.moves(np.array([v]), np.array([True]))[0] < true[0] for v, true in exact.items())


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_figure_is_above_what_it_stands_for_and_not_far(rule: VoteRule) -> None:
    rng = np.random.default_rng(1)
    votes = rng.multinomial(40, [0.8, 0.1, 0.05, 0.05], size=50)
    answered = np.arange(50) % 3 > 0
    figure = Agreement(rule=rule, order=8, teachers=40, classes=4, answered=int(answered.sum()), checked=50)
    exact = rule.hindsight(votes, answered, {}).curve.at(8)
    found = figure.figure(votes, answered) * float(figure.step)
    assert exact <= found <= exact * 1.05 + 100 * float(figure.step)
    assert found <= figure.most * (1 + 1e-5)
    moves = figure.moves(votes, answered)
    assert list(moves) == sorted(moves)
    assert moves[-1] <= figure.top


def test_parts_add_up_over_queries() -> None:
    votes = np.array([[9, 1, 0], [5, 5, 0], [10, 0, 0]])
    rule, yes = GNMax(sigma=2, confident=(3, 6)), np.array([True, False, True])
    figure = Agreement(rule=rule, order=5, teachers=10, classes=3, answered=2, checked=3)
    only = [figure.figure(votes[i : i + 1], yes[i : i + 1]) for i in range(3)]
    # one query alone: whether it was answered is counted by `answered`, so a part that was not adds its check alone
    assert figure.figure(votes, yes) == sum(only)
