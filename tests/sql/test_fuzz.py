"""Whatever is asked, a question or a TacitError comes out; what is accepted is sound, and nothing forbidden is."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.clinic import CLINIC
from support.grammar import Written, questions, soups
from support.plans import show
from support.sound import check_sound
from tacit.base import TacitError
from tacit.plan.question import LoweredQuestion
from tacit.sql import DIALECTS, lower, parse

QUICK, LONG = 100, 20_000
dialects = st.sampled_from((None, *DIALECTS))


def examples(count: int) -> settings:
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))


def ask(sql: str, dialect: str | None = None) -> LoweredQuestion | None:
    """The question, checked; None where it is refused. Any other exception is a failure of the test."""
    try:
        question = lower(parse(sql, dialect), CLINIC)
    except TacitError:
        return None
    check_sound(question, CLINIC)
    assert show(question)
    return question


def holds_for(written: Written, dialect: str | None) -> None:
    question = ask(written.sql, dialect)
    assert not (written.forbidden and question is not None), written.sql


@examples(QUICK)
@given(questions(), dialects)
def test_questions(written: Written, dialect: str | None) -> None:
    holds_for(written, dialect)


@examples(QUICK)
@given(questions(forbid=True))
def test_nothing_forbidden_is_accepted(written: Written) -> None:
    holds_for(written, None)


@examples(QUICK)
@given(
    st.one_of(
        soups(), st.text(max_size=60), st.text(max_size=40).map("SELECT COUNT(*) FROM visits WHERE note = '{}'".format)
    ),
    dialects,
)
def test_soups(sql: str, dialect: str | None) -> None:
    ask(sql, dialect)


@examples(QUICK)
@given(questions(), st.data())
def test_damaged_questions(written: Written, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(written.sql)))
    wide = data.draw(st.integers(0, 12))
    put = data.draw(
        st.sampled_from(
            ("", " ", ")", "(", "'", '"', ";", "--", "/*", "COUNT(*)", " visits ", "*", ",", "\x00", "é", "\ud800")
        )
    )
    ask(written.sql[:at] + put + written.sql[at + wide :])


@examples(QUICK)
@given(questions())
def test_the_same_question_written_differently(written: Written) -> None:
    """Spaces, comments, capitals of keywords and of names of tables and columns do not make another question."""
    first = ask(written.sql)
    spaced = '"Ward Name"'.join(part.replace(" ", "  \n") for part in written.sql.split('"Ward Name"'))
    second = ask(f"/* again */ {spaced} -- the end\n;")
    assert first == second
    if first is not None:
        assert {first} == {second}


def test_many_of_the_grammar_are_accepted() -> None:
    """Else the tests above would show nothing."""
    seen = []

    @examples(QUICK)
    @given(questions())
    def count(written: Written) -> None:
        seen.append(ask(written.sql) is not None)

    count()
    assert sum(seen) > len(seen) / 4


@pytest.mark.slow
@examples(LONG)
@given(questions(), dialects)
def test_questions_long(written: Written, dialect: str | None) -> None:
    holds_for(written, dialect)


@pytest.mark.slow
@examples(LONG)
@given(questions(forbid=True))
def test_nothing_forbidden_is_accepted_long(written: Written) -> None:
    holds_for(written, None)


@pytest.mark.slow
@examples(LONG)
@given(soups(), dialects)
def test_soups_long(sql: str, dialect: str | None) -> None:
    ask(sql, dialect)
