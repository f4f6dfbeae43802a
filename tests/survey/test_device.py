"""A device in Python: it randomises once, keeps to it, and refuses what is no answer before any coin."""

import json
from typing import Any

import pytest

from support.fixed_rng import FixedRng, ScriptedRng, drawing_from
from support.surveys import SLEEP, sleep
from tacit.base import InputError
from tacit.survey.device import Device
from tacit.survey.survey_file import parse

GOOD: dict[str, Any] = {"slept": True, "wakes": "noise", "takes": ["tea", "a walk"], "hours": 7.5}


def test_a_submission_has_a_report_on_every_question() -> None:
    survey = sleep()
    made = Device(survey).answer(GOOD)
    assert made.reports.keys() == survey.questions.keys()
    for name, report in made.reports.items():
        assert survey.protocols[name].read(report).shape[0] == 1
    body = json.loads(made.json())
    assert body.keys() == {"id", "version", "reports"}
    assert len(body["id"]) == 32


def test_it_is_the_same_ever_after_even_for_other_answers() -> None:
    memory: dict[str, str] = {}
    first = Device(sleep(), memory=memory).answer(GOOD)
    for _ in range(20):  # a new device each time, with the memory of the old one
        again = Device(sleep(), memory=memory).answer({**GOOD, "slept": False, "hours": 1})
        assert again == first
    assert "7.5" not in str(memory)
    assert "noise" not in str(memory)
    assert Device(sleep()).answer(GOOD).id != first.id


def test_another_version_under_the_same_name_is_not_answered() -> None:
    memory: dict[str, str] = {}
    Device(sleep(), memory=memory).answer(GOOD)
    other = parse(SLEEP.replace("noise", "sound"))
    with pytest.raises(InputError, match="answers once"):
        Device(other, memory=memory).answer({**GOOD, "wakes": "sound"})


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("slept", 1, "True or False"),
        ("slept", "yes", "True or False"),
        ("wakes", "rain", "one of the 5 options"),
        ("wakes", 1, "one of the 5 options"),
        ("takes", "tea", "a list of options"),
        ("takes", ["rain"], "one of the 3 options"),
        ("hours", 12.5, "in the range"),
        ("hours", float("nan"), "in the range"),
        ("hours", True, "a number"),
    ],
)
def test_what_is_no_answer_is_refused_before_a_coin(name: str, answer: Any, message: str) -> None:
    memory: dict[str, str] = {}
    with pytest.raises(InputError, match=message), drawing_from(ScriptedRng([])):
        Device(sleep(), memory=memory).answer({**GOOD, name: answer})
    assert not memory


@pytest.mark.parametrize("answers", [{"slept": True}, {**GOOD, "more": 1}])
def test_every_question_has_to_be_answered(answers: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="answer every question and no other"), drawing_from(ScriptedRng([])):
        Device(sleep()).answer(answers)


def test_several_are_a_set() -> None:
    question = sleep().questions["takes"]
    assert question.encoded(["a walk", "tea", "tea"]) == question.encoded(("tea", "a walk")) == 0b101
    assert question.encoded([]) == 0


def test_both_ends_of_the_range_are_answers() -> None:
    for end in (0, 12):
        with drawing_from(FixedRng(end)):
            Device(sleep()).answer({**GOOD, "hours": end})
