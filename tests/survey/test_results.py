"""Results: every kind of question, raw and consistent, as JSON and CSV, and certified."""

import csv
import io
import json

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from support.surveys import sleep
from tacit.base import InputError
from tacit.survey.certificate import certificate_of
from tacit.survey.plan import simulate
from tacit.survey.protocol import Tally
from tacit.survey.results import meaning, results_of
from tacit.survey.survey import parse
from tacit.survey.survey_reports import empty_tally

EVERY = """
name = "every"
title = "Every kind"
epsilon = 12
[questions.sure]
ask = "?"
kind = "yes-no"
[questions.one]
ask = "?"
kind = "choice"
options = ["=a", "b", "c", "d", "e"]
[questions.many]
ask = "?"
kind = "several"
options = ["a", "b", "c"]
[questions.mean]
ask = "?"
kind = "number"
range = [-10, 30]
[questions.shape]
ask = "?"
kind = "number"
range = [0, 1]
show = "distribution"
bins = 8
[questions.word]
ask = "?"
kind = "text"
longest = 5
"""


def test_every_kind_holds_the_truth_in_its_bars() -> None:
    survey = parse(EVERY)
    with drawing_from(FixedRng(1)):
        made = simulate(survey, answers=30_000)
    found = results_of(survey, made.tallies())
    assert found.reports == 30_000
    for finding in found.findings:
        truth = made.truth(finding.name)
        assert finding.lines, finding.name
        held = [line.lower <= truth[line.answer] <= line.upper for line in finding.lines]
        assert sum(held) >= len(held) - 1, finding.name
        for line in finding.lines:
            assert abs(line.value - truth[line.answer]) < 5 * line.standard_error
        if finding.unit == "share":
            assert all(0 <= line.consistent <= 1 for line in finding.lines)
        if finding.kind in ("yes-no", "choice"):
            assert sum(line.consistent for line in finding.lines) == pytest.approx(1)
        assert finding.central is not None
        assert finding.central < max((line.upper - line.lower) / 2 for line in finding.lines)
    mean = found.findings[4].mean
    assert mean is not None
    assert mean.lower < made.answers["shape"].mean() < mean.upper


def test_csv_has_a_row_for_each_estimate_and_no_formulas() -> None:
    survey = parse(EVERY)
    with drawing_from(FixedRng(2)):
        found = results_of(survey, simulate(survey, answers=5000).tallies())
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    assert len(rows) == sum(len(each.lines) + (each.mean is not None) for each in found.findings)
    assert rows[2]["answer"] == "'=a", "a spreadsheet takes =a for a formula"
    assert float(rows[0]["lower"]) <= float(rows[0]["upper"])
    assert json.loads(json.dumps(found.json()))["questions"][0]["lines"][0]["answer"] == "no"


def test_without_reports_there_is_nothing_to_show() -> None:
    survey = sleep()
    none = {name: empty_tally(protocol) for name, protocol in survey.protocols.items()}
    found = results_of(survey, none, waiting=3)
    assert found.waiting == 3
    assert [finding.lines for finding in found.findings] == [()] * 4
    few = {**none, "takes": Tally(np.array([1, 0, 0, 0, 0, 0]), 1)}
    assert results_of(survey, few).findings[2].lines == (), "two options have no report yet"
    with pytest.raises(InputError, match="no tally of the question"):
        results_of(survey, {})


def test_epsilon_in_words_is_rounded_against_us() -> None:
    assert "at most 73.2 % sure" in meaning(1.0)  # 73.106 %
    assert "at most 50.3 % sure" in meaning(0.01)
    assert "almost 100 %" in meaning(12.0)


def test_a_certificate_says_how_and_what() -> None:
    survey = sleep(minimum=1000)
    with drawing_from(FixedRng(3)):
        tallies = simulate(survey, answers=3000).tallies()
    content = certificate_of(results_of(survey, tallies), tallies)["certificate"]
    assert content["guarantee"]["relation"] == "replace"
    wakes = content["questions"][1]
    assert wakes["protocol"]["device"]["keep"] == survey.terms()["questions"][1]["device"]["keep"]
    assert 0 < float(wakes["shuffled"]["epsilon"]) < 0.2, "a batch of a thousand hides well"
    text = json.dumps(content)
    assert json.loads(text) == content

    def floats(data: object) -> bool:
        if isinstance(data, dict):
            return any(map(floats, data.values()))
        return any(map(floats, data)) if isinstance(data, list) else isinstance(data, float)

    assert not floats(content), "floats have no one spelling, and what is signed must have"
    other = {**tallies, "slept": tallies["slept"] + tallies["slept"]}
    changed = certificate_of(results_of(survey, other), other)["certificate"]["questions"][0]
    assert changed["tally_sha256"] != content["questions"][0]["tally_sha256"]
