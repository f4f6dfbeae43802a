"""Groups as columns: all combinations, selected ones, and where the rows of an engine belong."""

from datetime import date
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.sql.groups import Groups

ROWS = st.lists(
    st.tuples(st.sampled_from(["x", "y", "z", None]), st.one_of(st.none(), st.integers(0, 5)), st.booleans()),
    max_size=30,
)


def listed(groups: Groups) -> list[tuple[object, ...]]:
    return list(zip(*(groups.column(i) for i in range(len(groups.values))), strict=True))


def test_all_combinations_with_the_last_key_fastest() -> None:
    groups = Groups.every([("a", "b"), (1, 2, None)])
    assert listed(groups) == [(k, n) for k in ("a", "b") for n in (1, 2, None)]
    assert groups.find([("b", "a", "c"), (None, 1, 1)], 3).tolist() == [5, 0, -1]


def test_without_keys_there_is_one_group() -> None:
    groups = Groups.every([])
    assert len(groups) == 1
    assert groups.find([], 1).tolist() == [0]


def test_a_key_without_values_has_no_groups() -> None:
    groups = Groups.every([("a",), ()])
    assert len(groups) == 0
    assert groups.find([("a",), (1,)], 1).tolist() == [-1]


def test_numbers_are_matched_as_the_doubles_an_engine_has() -> None:
    groups = Groups.every([(Fraction(1, 10), Fraction(1, 2))])
    assert groups.find([(Fraction(0.5), Fraction(0.1), Fraction(1, 3))], 3).tolist() == [1, 0, -1]


def test_selected_groups_are_in_the_order_of_their_values() -> None:
    days = (date(2024, 2, 1), date(2024, 1, 1), None, date(2024, 1, 1))
    groups = Groups.sorted([days, ("b", "z", "a", "a")], np.array([0, 1, 2, 3]))
    assert listed(groups) == [(days[1], "a"), (days[1], "z"), (days[0], "b"), (None, "a")]
    assert len(Groups.sorted([days, "bzaa"], np.array([], dtype=np.int64))) == 0


@given(rows=ROWS, other=ROWS)
def test_finding_is_what_a_dictionary_does(rows: list[tuple[object, ...]], other: list[tuple[object, ...]]) -> None:
    unique = list(dict.fromkeys(rows))
    columns = [[row[i] for row in unique] for i in range(3)]
    groups = Groups.sorted(columns, np.arange(len(unique)))  # type: ignore[arg-type]  # of three kinds
    place = {row: number for number, row in enumerate(listed(groups))}
    assert set(place) == set(unique)
    asked = [[row[i] for row in other] for i in range(3)]
    assert groups.find(asked, len(other)).tolist() == [place.get(row, -1) for row in other]  # type: ignore[arg-type]  # mixed
