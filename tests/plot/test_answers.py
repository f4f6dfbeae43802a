"""Pictures of noisy tables hold the numbers they were given: truth, answer and error bar."""

from datetime import date
from typing import Any

import pytest

from tacit.base import InputError
from tacit.plot import Cell, Panel, Rate, answer, choice, counts, law, page, rates
from tacit.plot.answers import ROOM, fitted, models
from tacit.plot.page import TRUTH


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


def test_made_up_truth_stands_beside_the_answer() -> None:
    rows: list[dict[str, Any]] = [{"ward": "x", "n": 1}, {"ward": "y", "n": 3}]
    ends = {"n": ([0.0, 2.0], [2.0, 4.0])}
    text = str(answer(rows, ends, truth={"n": [1.25, 3.5]}).to_dict())
    assert "1.25" in text
    assert TRUTH in text
    assert TRUTH not in str(answer(rows, ends).to_dict())
    days = [{"day": date(2024, 1, 1 + i), "n": i} for i in range(2)]
    assert "1.25" in str(answer(days, ends, truth={"n": [1.25, 3.5]}).to_dict())
    for wrong in ({"n": [1.25]}, {"ward": [1.0, 2.0]}):
        with pytest.raises(InputError, match="a number for each of its rows"):
            answer(rows, ends, truth=wrong)


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        answer([], {"n": ([], [])})
    with pytest.raises(InputError, match="nothing to draw"):
        answer([{"k": 1}], {})


LOOK: dict[str, Any] = {"accent": "#0f766e", "ink": "#17211f"}


@pytest.mark.parametrize("key", ["x", "a ward with a name that is rather long, as names can be", None])
@pytest.mark.parametrize("width", [260, 390, 900])
def test_labels_and_chart_are_as_wide_as_was_wished(key: str | None, width: int) -> None:
    found = fitted([{"ward": key, "n": 1}], {"n": ([0.0], [2.0])}, width=width, **LOOK)
    panel = found["vconcat"][0]
    label = panel["layer"][0]["encoding"]["y"]["axis"]["labelLimit"]
    assert 140 <= panel["width"] <= width - ROOM
    assert label <= max(60, width * 3 // 10)
    assert panel["width"] + min(label, len(str(key)) * 7) <= width


def test_it_says_what_it_shows_and_has_the_colours_of_the_page() -> None:
    found = fitted([{"ward": "x", "n": 1}], {"n": ([0.0], [2.0])}, width=500, **LOOK)
    assert found["description"].startswith("Noisy answers for n,")
    assert "'#0f766e'" in str(found)
    assert "'#17211f'" in str(found)


def test_nothing_is_no_picture() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        fitted([], {"n": ([], [])}, width=500, **LOOK)


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


def test_three_lines_over_respondents() -> None:
    counts = [100, 1000, 10_000]
    errors = {"local": [0.3, 0.1, 0.03], "shuffle": [0.02, 0.002, 0.0002], "central": [0.01, 0.001, 0.0001]}
    chart = models(counts, errors, title=("A question",))
    drawn, spec = values(chart), chart.to_dict()
    assert len(drawn) == 9
    assert {row["label"].split(":")[0] for row in drawn} == {"local", "shuffled", "central"}
    worst = max(drawn, key=lambda row: float(row["points"]))
    assert worst == {"label": "local: nobody is trusted", "respondents": 100, "points": 30.0}
    encoding = spec["layer"][0]["encoding"]
    assert encoding["x"]["scale"]["type"] == encoding["y"]["scale"]["type"] == "log"
