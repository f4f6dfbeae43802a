"""The planner says beforehand how wide the bars will be, and how many answers make them so narrow."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import InputError
from tacit.mechanism import DiscreteLaplace
from tacit.survey import DirectResponse
from tacit.survey.plan import beside, plan, simulate, spelled
from tacit.survey.results import results_of
from tacit.survey.survey import parse

EVERY = """
name = "every"
title = "Every kind"
epsilon = 9
[questions.sure]
ask = "?"
kind = "yes-no"
epsilon = 1
[questions.one]
ask = "?"
kind = "choice"
options = ["a", "b", "c", "d", "e", "f", "g", "h"]
epsilon = 1
[questions.many]
ask = "?"
kind = "several"
options = ["a", "b", "c"]
epsilon = 1
[questions.mean]
ask = "?"
kind = "number"
range = [-10, 30]
epsilon = 1
[questions.shape]
ask = "?"
kind = "number"
range = [0, 1]
show = "distribution"
bins = 8
epsilon = 2
[questions.word]
ask = "?"
kind = "text"
longest = 4
"""


def test_the_number_of_a_yes_or_no_by_hand() -> None:
    survey = parse(EVERY)
    found = plan(survey, answers=5000).forecasts[0]
    p = 1 / (1 + np.exp(-1))
    assert found.margin == pytest.approx(1.959964 * np.sqrt(0.25 / 5000) / (2 * p - 1), rel=1e-6)
    assert found.shown == "± 3.0 points"


def test_forecasts_are_the_bars_that_come() -> None:
    survey, people = parse(EVERY), 40_000
    with drawing_from(FixedRng(2)):
        made = simulate(survey, answers=people)
    found = {finding.name: finding for finding in results_of(survey, made.tallies()).findings}
    for forecast in plan(survey, answers=people).forecasts:
        if forecast.unit == "text":
            continue
        widest = max((line.upper - line.lower) / 2 for line in found[forecast.name].lines)
        assert 0.6 * forecast.margin < widest < 1.15 * forecast.margin, forecast.name


def test_texts_above_the_forecast_are_found() -> None:
    survey, people = parse(EVERY), 60_000
    forecast = plan(survey, answers=people).forecasts[-1]
    assert "texts that" in forecast.shown
    with drawing_from(FixedRng(4)):
        made = simulate(survey, answers=people)
    finding = results_of(survey, made.tallies()).findings[-1]
    found = {line.answer for line in finding.lines}
    truth = made.truth("word")
    assert {text for text, share in truth.items() if share > 1.5 * forecast.margin} <= found <= truth.keys()
    assert any(share > 1.5 * forecast.margin for share in truth.values())


def test_as_many_answers_as_needed_are_enough_and_fewer_are_not() -> None:
    survey = parse(EVERY)
    for forecast in plan(survey, answers=100, within="0.02").forecasts[:4]:
        protocol, width = survey.protocols[forecast.name], 40 if forecast.name == "mean" else 1
        assert forecast.needed is not None
        assert protocol.margin(answers=forecast.needed) <= 0.02 * width
        assert protocol.margin(answers=round(0.99 * forecast.needed)) > 0.02 * width


def test_more_answers_and_more_epsilon_help() -> None:
    weak, strong = (
        parse(EVERY),
        parse(EVERY.replace("epsilon = 2", "epsilon = 3").replace("epsilon = 1", "epsilon = 2").replace("= 9", "= 20")),
    )
    for few, many, more in zip(
        plan(weak, answers=100).forecasts,
        plan(weak, answers=10_000).forecasts,
        plan(strong, answers=100).forecasts,
        strict=True,
    ):
        assert many.margin == pytest.approx(few.margin / 10, rel=1e-9)
        assert more.margin < few.margin
        assert few.central < few.margin


def test_wishes_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="within must be less than 1"):
        plan(parse(EVERY), answers=10, within=2)
    with pytest.raises(InputError, match="answers"):
        plan(parse(EVERY), answers=0)


def test_margins_are_rounded_up() -> None:
    assert spelled(0.02991, "share") == "± 3.0 points"
    assert spelled(0.0201, "share") == "± 2.1 points"
    assert spelled(2, "share").endswith("it will say nothing")
    assert spelled(0.4701, "number") == "± 0.48"
    assert spelled(123.4, "number") == "± 130"


def test_each_error_is_that_of_its_mechanism() -> None:
    for categories, scale in ((2, 1), (5, 2)):
        (row,) = beside(categories=categories, epsilon=1, delta=1e-6, reports=[1000])
        weights = DiscreteLaplace(scale=Fraction(scale)).weights()
        noise = sqrt(2 * sum(w * z * z for z, w in enumerate(weights)))
        assert row.central == pytest.approx(noise / 1000, rel=1e-9)
        assert row.local == DirectResponse(epsilon=Fraction(1), categories=categories).deviation(reports=1000)
        assert row.shuffle == DirectResponse(epsilon=row.local_epsilon, categories=categories).deviation(reports=1000)


def test_trust_buys_accuracy_and_more_people_widen_the_gap() -> None:
    few, many = beside(categories=2, epsilon=1, delta=1e-6, reports=[100, 100_000])
    for row in (few, many):
        assert row.central < row.shuffle < row.local
    assert many.local / many.shuffle > 20 > few.local / few.shuffle
    assert few.local / many.local == pytest.approx(sqrt(1000), rel=1e-9), "local error falls like 1/sqrt(n)"
    assert few.central / many.central == pytest.approx(1000, rel=1e-9), "central error like 1/n"
    assert 1 <= few.local_epsilon < many.local_epsilon
