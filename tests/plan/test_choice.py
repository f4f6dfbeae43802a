"""The units that are left above a bound which is chosen privately."""

from math import isqrt

from hypothesis import given
from hypothesis import strategies as st

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
