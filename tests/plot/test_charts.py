"""Charts hold the numbers they were given: truth, answer and error bar."""

from typing import Any

import pytest

from tacit.plot import Cell, Panel, Rate, choice, counts, law, page, rates


def values(chart: Panel) -> list[dict[str, Any]]:
    """Every row of data in a chart. Altair gathers them in one place."""
    datasets = chart.to_dict()["datasets"]
    return [row for rows in datasets.values() for row in rows]


@pytest.fixture
def ages() -> Panel:
    return law(
        {"ε = 1": {1.0: 0.2, 2.0: 0.6, 3.0: 0.2}}, answers={"ε = 1": (2.5, 1.0)}, truth=2.0, title=("t",), axis="x"
    )


def test_law_shows_answer_error_and_truth(ages: Panel) -> None:
    rows = values(ages)
    assert any(row.get("x") == 2.5 and (row["low"], row["high"]) == (1.5, 3.5) for row in rows)
    assert any(row.get("x") == 2.0 and "true" in str(row.get("role")) for row in rows)


def test_counts_never_reach_below_zero() -> None:
    chart = counts([Cell("a", "c", "r", 2, 3, 6), Cell("b", "c", "r", 20, 21, 6)], title=("t",), axes=("x", "y"))
    found = {row["across"]: (row["low"], row["high"], row["truth"]) for row in values(chart) if "across" in row}
    assert found == {"a": (0.0, 8, 3), "b": (14, 26, 21)}


def test_choice_marks_the_best_and_the_chosen() -> None:
    chart = choice([1, 2, 3], [5, 9, 7], [0.1, 0.7, 0.2], chosen=2, floor=4, title=("t",), axes=("x", "y"))
    marks = {row["role"].split()[0]: (row["x"], row["y"]) for row in values(chart) if "role" in row}
    assert marks == {"true": (2, 9), "private": (3, 7)}
    assert any(row.get("y") == 4 and "chance" not in row for row in values(chart))


def test_rates_show_an_error_bar_where_there_is_one() -> None:
    rows = [Rate("raw", 0.35), Rate("estimate", 0.2, 0.18, 0.22)]
    found = {
        row["label"]: (row["low"], row["high"])
        for row in values(rates(rows, truth=0.2, title=("t",), axis="x"))
        if "label" in row
    }
    assert found == {"raw": (None, None), "estimate": (0.18, 0.22)}


def test_a_page_has_one_look(ages: Panel) -> None:
    whole = page([[ages], [ages, ages]], title="Title", subtitle="below").to_dict()
    assert whole["title"]["text"] == "Title"
    assert [len(row["hconcat"]) for row in whole["vconcat"]] == [1, 2]
    assert whole["config"]["background"] == "white"
