"""The picture of a noisy table."""

from datetime import date
from typing import Any

import pytest

from tacit.base import InputError
from tacit.plot import answer, page


def test_a_panel_for_each_noisy_column() -> None:
    rows: list[dict[str, Any]] = [{"ward": "x", "n": 1, "c": 2.0}, {"ward": None, "n": 3, "c": None}]
    chart = answer(rows, {"n": ([0.0, 2.0], [2.0, 4.0]), "c": ([1.0, None], [3.0, None])}).to_dict()
    assert len(chart["vconcat"]) == 2
    text = str(chart)
    assert "NULL" in text
    assert "ward" in text
    assert page([[answer(rows, {"n": ([0.0, 2.0], [2.0, 4.0])})]], title="t", subtitle="s").to_dict()


def test_dates_and_many_numbers_are_lines() -> None:
    days = [{"day": date(2024, 1, 1 + i), "n": i} for i in range(20)]
    ends = ([float(i) for i in range(20)], [float(i + 2) for i in range(20)])
    assert "'temporal'" in str(answer(days, {"n": ends}).to_dict())
    ages = [{"age": i, "n": i} for i in range(90)]
    many = ([0.0] * 90, [9.0] * 90)
    assert "'area'" in str(answer(ages, {"n": many}).to_dict())


def test_of_many_groups_the_first_are_shown() -> None:
    rows = [{"k": f"g{i}", "n": i} for i in range(200)]
    text = str(answer(rows, {"n": ([0.0] * 200, [9.0] * 200)}).to_dict())
    assert "the first 60 of 200 groups" in text
    assert "'g59'" in text
    assert "'g60'" not in text


def test_an_answer_without_keys_is_one_point() -> None:
    assert "'all'" in str(answer([{"n": 4}], {"n": ([1.0], [7.0])}).to_dict())


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        answer([], {"n": ([], [])})
    with pytest.raises(InputError, match="nothing to draw"):
        answer([{"k": 1}], {})
