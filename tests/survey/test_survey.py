"""Survey files: read strictly, and everything that is wrong is said at once."""

import re
from dataclasses import fields
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from support.surveys import SLEEP, sleep, written
from support.tree import ROOT
from tacit.base import PolicyError
from tacit.survey.question import Question
from tacit.survey.survey import STARTER, Survey, as_markdown, load, parse


def test_a_file_is_read(tmp_path: Path) -> None:
    survey = load(written(tmp_path))
    assert survey.title == "How do we sleep?"
    assert list(survey.questions) == ["slept", "wakes", "takes", "hours"]
    assert survey.spending == {"slept": 1, "wakes": 1, "takes": 1, "hours": 1}
    assert [protocol.kind for protocol in survey.protocols.values()][2:] == ["several", "one_bit_mean"]
    assert all(p.epsilon == survey.spending[name] for name, p in survey.protocols.items())


def test_what_is_left_is_shared_evenly_and_exactly() -> None:
    text = 'name = "a"\ntitle = "b"\nepsilon = 1\n'
    text += "".join(f'[questions.q{n}]\nask = "?"\nkind = "yes-no"\n' for n in range(3))
    assert set(parse(text).spending.values()) == {Fraction(1, 3)}


def test_the_starter_is_a_survey() -> None:
    survey = parse(STARTER)
    assert sum(survey.spending.values()) == survey.epsilon
    whole = re.sub(r"\n# (?=\[|ask|kind|options|range|show)", "\n", STARTER)
    assert len(parse(whole).questions) == 5, "the examples in its comments are right too"


WRONG = """
name = "No spaces"
title = 3
epsilon = 0
color = "red"
closes = "soon"

[questions.a]
ask = "?"
kind = "choise"

[questions.b]
kind = "choice"
options = ["x", "x"]

[questions.c]
ask = "?"
kind = "number"
ragne = [0, 1]
"""


def test_everything_wrong_is_said_at_once() -> None:
    with pytest.raises(PolicyError) as caught:
        parse(WRONG, file="s.toml")
    problems = str(caught.value)
    assert all(str(problem).startswith("s.toml: ") for problem in caught.value.problems)
    for part in (
        'name = "No spaces" must be small letters',
        "title = 3 must be text",
        "epsilon = 0 must be greater than 0",
        'there is no key "color"',
        'closes = "soon" must be a date',
        'question "a": kind = "choise" must be one of',
        'question "b": ask is missing',
        'question "b": options = ["x", "x"] names something twice',
        'question "c": there is no key "ragne": did you mean "range"?',
    ):
        assert part in problems, problems


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 4", "epsilon = 3", "leaves nothing for the questions without"),
        ("epsilon = 4", "epsilon = 2", "add up to 3, more than epsilon = 2"),
        ("range = [0, 12]", "range = [12, 0]", "the second larger"),
        ("range = [0, 12]", "", "range is missing"),
        ("range = [0, 12]", 'options = ["a", "b"]', "options do not go with"),
        ("minimum = 5", "minimum = 5\nopens = 2026-06-01\ncloses = 2026-05-01", "closes must be later than opens"),
        ('kind = "yes-no"', 'kind = "yes-no"\nshow = "distribution"', "does not go with"),
        ('["tea", "pills", "a walk"]', '["tea"]', "options must be 2 to 60"),
        ("epsilon = 4", "epsilon = 21", "at most 20"),
        ("[questions.slept]", "[questions.Slept]", "the name must be small letters"),
        ("minimum = 5", "minimum = five", "is not valid TOML"),
        ("range = [0, 12]", "range = [0, 12]\nepsilon = 1e-30", "epsilon is too small"),
    ],
)  # fmt: skip
def test_contradictions_are_named(old: str, new: str, message: str) -> None:
    assert old in SLEEP
    with pytest.raises(PolicyError, match=message):
        parse(SLEEP.replace(old, new, 1))


def test_no_questions_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="1 to 100 questions"):
        parse('name = "a"\ntitle = "b"\nepsilon = 1\n')
    with pytest.raises(PolicyError, match="no such file"):
        load(tmp_path / "none.toml")


def test_opening_hours() -> None:
    survey = sleep(opens="2026-05-01", closes="2026-06-01T12:00:00")
    noon = datetime(2026, 5, 10, 12, tzinfo=UTC)
    assert survey.is_open(noon)
    assert not survey.is_open(noon.replace(month=4))
    assert not survey.is_open(datetime(2026, 6, 1, 12, tzinfo=UTC))
    assert sleep().is_open(noon)


def test_the_version_is_of_what_reports_mean() -> None:
    first = sleep().version
    assert parse(SLEEP.replace("How do we sleep?", "Sleep")).version == first
    assert parse(SLEEP.replace("minimum = 5", "minimum = 9")).version == first
    for old, new in (("noise", "sound"), ("epsilon = 4", "epsilon = 5"), ("[0, 12]", "[0, 13]"), ("slept", "rested")):
        assert parse(SLEEP.replace(old, new)).version != first, old


def test_the_reference_is_current() -> None:
    page = ROOT / "docs" / "reference" / "survey-file.md"
    assert page.read_text(encoding="utf-8") == as_markdown(), "run `make docs`"


def test_every_key_is_in_it() -> None:
    text = as_markdown()
    for part in (Survey, Question):
        for item in fields(part):
            if item.metadata and "part" not in item.metadata:
                assert f"| `{item.name}` |" in text
