"""The units that are left above a bound which is chosen privately, and what no private choice can do."""

from math import exp, isqrt, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tacit.plan.choice import units_above
from tacit.program import Task


@given(
    st.one_of(st.none(), st.integers(1, 10**13)),
    st.one_of(st.none(), st.integers(1, 10**6)),
    st.integers(0, 10**12),
)
def test_units_above_a_bound_grow_by_one_at_most_with_each_unit(root: int | None, most: int | None, units: int) -> None:
    """With more, or fewer, a unit could lower the score of one bound and raise that of another."""
    task = Task(kind="choose", root=root, most=most)
    near = 4 * (root or 1) // 10_000  # where a root of them becomes less than half
    capped = (most or 0) ** 2 * 10_000 // (root or 1)  # and where it passes the most
    for n in (units, near, max(0, near - 1), near + 1, near + 2, near // 16, units % 7, capped, capped + 1):
        assert 0 <= units_above(task, n + 1) - units_above(task, n) <= 1
        assert units_above(task, n) <= min(n / 2, most or n)


def test_units_above_a_bound_are_half_or_a_root_of_all() -> None:
    assert [units_above(Task(kind="choose"), n) for n in (0, 1, 7, 1000)] == [0, 0, 3, 500]
    assert units_above(Task(kind="choose", root=40_000), 10_000) == 200
    assert units_above(Task(kind="choose", root=400), 10_000) == 20
    assert units_above(Task(kind="choose", root=10**10), 10_000) == 5_000
    assert units_above(Task(kind="choose", root=3), 10**10) == isqrt(3 * 10**6)
    assert units_above(Task(kind="choose", target=17), 3) == 17
    assert [units_above(Task(kind="choose", most=17, root=400), n) for n in (3, 5_000, 10**9)] == [0, 14, 17]
    assert [units_above(Task(kind="choose", most=17), n) for n in (3, 20, 10**9)] == [1, 10, 17]


def least_ratio(people: int, times: float, epsilon: float = 1.0) -> float:
    """The theorem of docs/theory/clip-choice.md: of the errors with the best bounds, for so many people more who have
    so many times the rows."""
    root = float((exp(people * epsilon / 2) / times) ** (2 / 3))
    return people * epsilon / sqrt(2 * (1 + root) ** 3)


@pytest.mark.parametrize(("people", "times", "said"), [(4, 10, 1.15), (5, 29, 1.81), (7, 100, 2.75), (10, 1000, 4.88)])
def test_no_private_method_is_near_the_best_bound_everywhere(people: int, times: int, said: float) -> None:
    """The closed form is what its two inequalities come to at the best threshold, and a linear program over all laws of
    answers finds none that is nearer."""
    assert least_ratio(people, times) == pytest.approx(said, abs=0.005)
    threshold = np.linspace(0, 1, 100_001)[1:-1]
    both = 1 / (1 - threshold) ** 2 + exp(people) / times**2 / threshold**2  # of 2r²/k²ε²: they are 1 at least
    assert least_ratio(people, times) == pytest.approx(people / np.sqrt(2 * both.min()), rel=1e-6)
    answers = np.linspace(0, people * times, 80)  # beyond the truth of the smaller table
    size, zeros = len(answers), np.zeros((len(answers), 1))
    one, odds = np.eye(size), exp(people)
    squares = np.block(
        [[answers**2 / 2, 0 * answers, -1], [0 * answers, (answers - answers[-1]) ** 2 / 2 / times**2, -1]]
    )
    found = linprog(
        np.append(np.zeros(2 * size), 1),
        A_ub=np.vstack([np.hstack([-odds * one, one, zeros]), np.hstack([one, -odds * one, zeros]), squares]),
        b_ub=np.zeros(2 * size + 2),
        A_eq=np.kron(np.eye(2), np.ones(size)) @ np.eye(2 * size, 2 * size + 1),
        b_eq=np.ones(2),
    )
    assert found.fun is not None
    assert 1 <= sqrt(found.fun) / least_ratio(people, times) <= 1.45
