"""Groups as columns: all combinations, selected ones, where the rows of an engine belong; what is stored reads back."""

from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base import InputError
from tacit.sql.stored import Groups, Noisy, NoisyPart, StoredAnswer

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


def test_what_is_stored_reads_back() -> None:
    values = ((None, True, 7, "ü\x1b", Fraction(1, 3), date(2024, 1, 2), datetime(2024, 1, 2, 3, 4)),)
    groups = Groups(values=values, codes=(np.array([6, 0, 2]),), size=3)
    part = NoisyPart(
        groups=groups,
        measures={"m1": Noisy(np.array([1.5, -2.0, 1e300]), "laplace", 0.1)},
        quantiles={"m2": np.array([[1], [2], [3]])},
        ends={"m2": np.array([[[1, 2]], [[3, 4]], [[5, 6]]])},
    )
    whole = NoisyPart(groups=Groups.every([("a", None)]), measures={}, quantiles={}, ends={})
    back = StoredAnswer.from_bytes(StoredAnswer(parts=(part, whole), facts={"x": [1, "y"]}).to_bytes())
    first, second = back.parts
    assert back.facts == {"x": [1, "y"]}
    assert first.groups.column(0) == [values[0][6], None, 7]
    assert first.groups.values == values
    assert (first.measures["m1"].values == part.measures["m1"].values).all()
    assert (first.measures["m1"].kind, first.measures["m1"].size) == ("laplace", 0.1)
    assert (first.ends["m2"] == part.ends["m2"]).all()
    assert (first.quantiles["m2"] == part.quantiles["m2"]).all()
    assert second.groups.column(0) == ["a", None]
    data = StoredAnswer(parts=(), facts={}).to_bytes()
    with pytest.raises(InputError, match="version 9"):
        StoredAnswer.from_bytes(data.replace(b'"version":1', b'"version":9'))
