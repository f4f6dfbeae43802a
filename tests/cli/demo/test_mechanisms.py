"""The worked examples come out, and the private answers are what the mechanisms promise."""

import json
from fractions import Fraction
from math import isclose, log
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import Relation
from tacit.cli import app
from tacit.cli.demo.mechanisms import Tour


@pytest.fixture(scope="module")
def tour() -> Tour:
    with drawing_from(FixedRng(7)):
        return Tour()


def test_average_age(tour: Tour) -> None:
    half, one = tour.ages
    assert half.mechanism.scale == Fraction(2, 100)
    assert round(half.error, 2) == 0.06
    assert round(one.error, 2) == 0.03
    assert [half.loss.bound, one.loss.bound] == [Fraction(1, 2), Fraction(1)]
    assert half.loss.relation is Relation.REPLACE
    assert half.loss.unit == "person"
    for age in tour.ages:
        assert 0 < abs(age.private - float(age.truth)) < 10 * float(age.mechanism.scale)


def test_histogram(tour: Tour) -> None:
    histogram = tour.histogram
    assert histogram.mechanism.scale == 2
    assert histogram.loss.bound == Fraction(1, 2)
    assert histogram.loss.relation is Relation.ADD_REMOVE
    assert histogram.truth.shape == (6, 2, 4)
    assert histogram.truth.sum() == 10_000
    assert histogram.private.dtype.kind == "i"
    assert histogram.private.min() == 0
    assert (histogram.noisy < 0).any(), "the small region is there to be clamped"
    assert np.abs(histogram.private - histogram.truth).max() <= histogram.error_everywhere
    assert histogram.error == 6
    assert histogram.error < histogram.error_everywhere


def test_pricing(tour: Tour) -> None:
    small = tour.small_market
    assert small.prices == (100, 101, 301, 302)
    assert small.revenues == (300, 202, 301, 0)
    assert small.best == 2
    market = tour.market
    assert market.loss.bound == Fraction(1, 2)
    assert market.revenues[market.chosen] >= market.revenues[market.best] - market.error
    assert isclose(sum(market.chances()), 1)
    assert market.error < 0.2 * market.revenues[market.best]


def test_survey(tour: Tour) -> None:
    survey = tour.survey
    assert isclose(float(survey.loss.bound), log(3), rel_tol=1e-12)
    assert survey.loss.relation is Relation.REPLACE
    assert isclose(survey.reported, 0.25 + survey.private / 2, abs_tol=1e-12)
    assert survey.low < survey.truth < survey.high
    assert 0.015 < (survey.high - survey.low) / 2 < 0.025


def test_costs_of_the_same_people_add(tour: Tour) -> None:
    assert tour.people_loss().bound == Fraction(5, 2)
    assert tour.people_loss().relation is Relation.REPLACE


def test_the_demo_has_new_noise_every_time() -> None:
    first, second = Tour(), Tour()
    assert (first.histogram.noisy != second.histogram.noisy).any()
    assert (first.histogram.truth == second.histogram.truth).all()


# --- what is printed


def shown(*words: object) -> str:
    with drawing_from(FixedRng(1)):
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["demo", "--mechanisms", *map(str, words)])
    assert result.exit_code == 0, result.exception
    return result.output


def test_the_table_of_mechanisms_fits_a_terminal_and_says_it_all() -> None:
    text = shown()
    assert all(len(line) <= 80 for line in text.splitlines())
    for expected in (
        "630,000",
        "42.545",
        "± 0.06",
        "± 0.03",
        "noise scale 0.02",
        "noise scale 2 in each",
        "earns $3.01",
        "coin-flip survey",
        "1.099",
        "ε = 2.5",
    ):
        assert expected in " ".join(text.split())


def test_json_of_the_mechanisms_has_the_same_numbers() -> None:
    found = json.loads(shown("--json"))
    assert found["paid_by_the_same_people"]["epsilon"] == 2.5
    age = found["answers"][0]
    assert age["cost"] == {"epsilon": 0.5, "delta": 0, "relation": "replace", "unit": "person"}
    assert age["private"] != age["truth"]
    assert len(found["answers"][2]["cells"]) == 48


def test_a_picture_of_the_mechanisms(tmp_path: Path) -> None:
    svg = tmp_path / "tour.svg"
    assert "The picture is in" in shown("--plot", svg)
    text = svg.read_text()
    for part in ("Average age", "People by age", "Which price", "Who smokes", "private answer", "true answer"):
        assert part in text
