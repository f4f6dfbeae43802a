"""Drafts as files: whatever is typed is a value of the file, and never a part of its syntax."""

import tomllib
from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.server.survey.draft import QuestionDraft, SurveyDraft, toml, typed_time
from tacit.survey.survey import parse

WHOLE = SurveyDraft(
    title='Sleep "]\n[questions.x]\\',
    name="sleep",
    words="The clinic asks.",
    epsilon="3",
    opens="2026-05-01",
    closes="2026-06-01T10:00+02:00",
    minimum="50",
    public_results=True,
    questions=[
        QuestionDraft(name="slept", ask="Did you?", kind="yes-no", epsilon="1/3"),
        QuestionDraft(name="wakes", ask="What?", kind="choice", options=["noise", '"', "\\"]),
        QuestionDraft(name="takes", ask="What?", kind="several", options=["tea", "pills"]),
        QuestionDraft(
            name="hours", ask="How long?", kind="number", low="0", high="12.5", show="distribution", bins="8"
        ),
        QuestionDraft(name="word", ask="Which?", kind="text", longest="8"),
    ],
)


def test_everything_that_was_typed_is_in_the_file() -> None:
    title = 'Sleep "] [questions.x]\\'
    found = parse(toml(WHOLE.model_copy(update={"title": title})))
    assert (found.title, found.name, found.words, found.minimum) == (title, "sleep", "The clinic asks.", 50)
    assert found.public_results
    assert found.opens is not None
    assert found.closes is not None
    assert [found.opens.isoformat(), found.closes.isoformat()] == [
        "2026-05-01T00:00:00+00:00",
        "2026-06-01T08:00:00+00:00",
    ]
    assert list(found.questions) == ["slept", "wakes", "takes", "hours", "word"]
    assert found.questions["wakes"].options == ("noise", '"', "\\")
    assert found.questions["hours"].bins == 8
    assert found.questions["hours"].range == (0, 12.5)
    assert found.questions["word"].longest == 8
    assert found.spending["slept"] * 3 == 1


typed = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ['"', "\\", '"""', "]\n[x]", "= 1 #", "1e999", "true", "[1]", "{}", "0x10", "1_000", "inf", "2026-01-01", "'''"]
)


@given(text=typed, name=typed)
def test_nothing_that_is_typed_becomes_syntax(text: str, name: str) -> None:
    every = dict.fromkeys(("ask", "kind", "low", "high", "show", "bins", "longest", "epsilon"), text)
    question = QuestionDraft(name=name, options=[text, text], **every)
    keys = ("title", "words", "epsilon", "opens", "closes", "minimum")
    draft = SurveyDraft(name=text, questions=[question]).model_copy(update=dict.fromkeys(keys, text))
    found = tomllib.loads(toml(draft))
    assert set(found) <= {"name", *keys, "questions"}
    assert list(found["questions"]) == [name]
    inner = found["questions"][name]
    assert set(inner) <= {"ask", "kind", "options", "range", "show", "bins", "longest", "epsilon"}
    assert (inner["ask"], inner["kind"]) == (text, text)
    assert found.get("title", "") == text
    assert all(isinstance(inner.get(key, ""), str | int | float) for key in ("bins", "longest", "epsilon"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-05-01", date(2026, 5, 1)),
        ("2026-05-01T08:00", datetime(2026, 5, 1, 8)),
        ("2026-05-01T08:00:30Z", datetime(2026, 5, 1, 8, 0, 30)),
        ("2026-05-01T01:00+02:00", datetime(2026, 4, 30, 23)),
        ("0001-01-01T00:00+02:00", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_times_are_utc(text: str, found: date | None) -> None:
    assert typed_time(text) == found
