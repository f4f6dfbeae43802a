"""The reference of the survey file is written from the model."""

from dataclasses import fields

from support.tree import ROOT
from tacit.survey.question import Question
from tacit.survey.survey import Survey
from tacit.survey.survey_file import as_markdown


def test_the_reference_is_current() -> None:
    page = ROOT / "docs" / "reference" / "survey-file.md"
    assert page.read_text(encoding="utf-8") == as_markdown(), "run `make docs`"


def test_every_key_is_in_it() -> None:
    text = as_markdown()
    for part in (Survey, Question):
        for item in fields(part):
            if item.metadata and "part" not in item.metadata:
                assert f"| `{item.name}` |" in text
