"""Forecasts on a page say what the planner says."""

import json
from typing import Any

import pytest

from support.surveys import sleep
from tacit.server.survey.draft import SurveyDraft, Trial, forecast
from tacit.survey.plan import plan
from tacit.survey.survey import parse

EVERY = """
name = "every"
title = "Every kind"
epsilon = 5
[questions.number]
ask = "a"
kind = "number"
range = [0, 12]
[questions.shape]
ask = "b"
kind = "number"
range = [0, 12]
show = "distribution"
[questions.word]
ask = "c"
kind = "text"
"""


def told(answers: str = "5000", within: str = "2", text: str | None = None) -> tuple[dict[str, Any], list[Any]]:
    survey = sleep() if text is None else parse(text)
    found, flaws = forecast(survey, Trial(survey=SurveyDraft(), answers=answers, within=within))
    json.dumps(found, allow_nan=False)
    return found, [(flaw.path, flaw.text) for flaw in flaws]


def test_it_is_the_plan_in_sentences() -> None:
    found, flaws = told()
    expected = plan(sleep(), answers=5000, within=0.02).forecasts
    assert flaws == []
    assert [each["name"] for each in found["questions"]] == [each.name for each in expected]
    for line, each in zip(found["questions"], expected, strict=True):
        assert line["expected"] == f"With 5,000 answers expect {each.shown}"
        assert f" it takes {each.needed:,} answers" in line["needed"]
    assert found["questions"][0]["needed"] == "For ± 2 points it takes 11,243 answers"


def test_each_kind_has_its_words() -> None:
    found, _ = told(text=EVERY)
    number, shape, word = found["questions"]
    assert number["needed"].startswith("For ± 2 % of the range it takes ")
    assert shape["needed"].startswith("For ± 2 points it takes ")
    assert word["needed"].startswith("For texts that 2 % give it takes ")
    assert word["expected"].startswith("With 5,000 answers it finds texts that ")


@pytest.mark.parametrize("answers", ["x", "0", "-5", "1.5", "nan", "1e400"])
def test_answers_that_are_no_number_are_told_and_nothing_is_forecast(answers: str) -> None:
    found, ((place, _),) = told(answers)
    assert place == ("answers",)
    assert found["questions"] == []


@pytest.mark.parametrize("within", ["x", "0", "100", "inf"])
def test_a_margin_that_is_none_is_told_and_the_rest_is_forecast(within: str) -> None:
    found, ((place, _),) = told(within=within)
    assert place == ("within",)
    assert [each["needed"] for each in found["questions"]] == [None] * 4


def test_without_answers_only_the_meaning_is_told() -> None:
    found, flaws = told("", "")
    assert (found["answers"], found["questions"], flaws) == (None, [], [])
    assert "at most 98.3 % sure" in found["meaning"]


def test_an_epsilon_that_tells_nothing_is_no_fault() -> None:
    text = 'name = "n"\ntitle = "t"\nepsilon = 1e-17\n[questions.a]\nask = "a"\nkind = "yes-no"\n'
    _, flaws = told(text=text)
    assert [place for place, _ in flaws] in ([("epsilon",)], [])
