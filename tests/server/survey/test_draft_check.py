"""What is wrong with a draft is told at its field, all at once, also while names are still missing."""

from typing import Any

import pytest

from tacit.server.survey.draft import QuestionDraft, SurveyDraft, check
from tacit.survey.survey import parse

GOOD: dict[str, Any] = {"name": "slept", "ask": "Did you sleep?", "kind": "yes-no"}
WHOLE: dict[str, Any] = {"title": "Sleep", "name": "sleep", "epsilon": "2", "questions": [GOOD]}


def flaws(**changes: Any) -> list[tuple[list[Any], str]]:
    found = check(SurveyDraft(**{**WHOLE, **changes}))
    assert (found.survey is None) == bool(found.problems)
    return [(list(flaw.path), flaw.text) for flaw in found.problems]


def test_a_whole_draft_is_the_survey_of_its_file() -> None:
    found = check(SurveyDraft(**WHOLE))
    assert found.survey == parse(found.text)
    assert found.problems == ()


def test_an_empty_draft_is_told_what_it_needs() -> None:
    found = check(SurveyDraft())
    assert {flaw.path for flaw in found.problems} == {("title",), ("name",), ("epsilon",), ("questions",)}
    assert found.sketch is None


def test_a_forecast_does_not_wait_for_titles_and_names() -> None:
    found = check(
        SurveyDraft(
            epsilon="2", questions=[QuestionDraft(kind="yes-no"), QuestionDraft(kind="yes-no", name="unnamed-0")]
        )
    )
    assert found.survey is None
    assert found.sketch is not None
    assert len(found.sketch.questions) == 2


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"epsilon": "plenty"}, ["epsilon"], "must be a number"),
        ({"epsilon": "30"}, ["epsilon"], "must be at most 20"),
        ({"name": "Ünder score"}, ["name"], "must be small letters"),
        ({"minimum": "0"}, ["minimum"], "must be a whole number"),
        ({"opens": "soon"}, ["opens"], "must be a date"),
        ({"opens": "2026-05-01", "closes": "2026-05-01"}, ["closes"], "closes must be later"),
        ({"title": "a\nb"}, ["title"], "must not hold line breaks"),
        ({"epsilon": "1", "questions": [{**GOOD, "epsilon": "2"}]}, ["epsilon"], "add up to 2"),
        ({"epsilon": "1e-21"}, [], "choose a larger one"),
        ({"questions": []}, ["questions"], "add at least one"),
        ({"questions": [GOOD, GOOD]}, ["questions", 1, "name"], "question 1 is called so"),
        ({"questions": [{**GOOD, "name": "Slept!"}]}, ["questions", 0, "name"], "must be small letters"),
        ({"questions": [{**GOOD, "ask": ""}]}, ["questions", 0, "ask"], "is needed"),
        ({"questions": [{**GOOD, "kind": "maybe"}]}, ["questions", 0, "kind"], "must be one of"),
        ({"questions": [{**GOOD, "kind": "choice"}]}, ["questions", 0, "options"], "must be 2 to"),
        ({"questions": [{**GOOD, "kind": "choice", "options": ["a", "a"]}]}, ["questions", 0, "options"], "twice"),
        ({"questions": [{**GOOD, "options": ["a", "b"]}]}, ["questions", 0, "options"], "do not go with"),
        ({"questions": [{**GOOD, "kind": "number"}]}, ["questions", 0, "range"], "is needed"),
        ({"questions": [{**GOOD, "kind": "number", "low": "1"}]}, ["questions", 0, "range"], "must be two"),
        ({"questions": [{**GOOD, "kind": "number", "low": "x", "high": "2"}]}, ["questions", 0, "range"], "two num"),
        ({"questions": [{**GOOD, "kind": "text", "longest": "99"}]}, ["questions", 0, "longest"], "must be 1 to 32"),
    ],
)  # fmt: skip
def test_each_flaw_is_at_its_field(changes: dict[str, Any], place: list[Any], said: str) -> None:
    ((found, text),) = flaws(**changes)
    assert found == place
    assert said in text
    assert " = " not in text.partition(said)[0]  # the page shows what was typed


def test_everything_is_told_at_once() -> None:
    bad = {"name": "slept", "kind": "number", "low": "5", "high": "1", "epsilon": "-1"}
    found = flaws(title="", minimum="x", closes="never", questions=[GOOD, bad])
    places = [place for place, _ in found]
    asked = [["questions", 1, key] for key in ("ask", "name", "epsilon")]
    assert sorted(map(str, places)) == sorted(map(str, [["title"], ["minimum"], ["closes"], *asked]))
