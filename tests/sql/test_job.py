"""A question is one job, with the same program from release to release; plans are remembered by words and rules."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from support.hospital import hospital
from tacit.base import Refused, TacitError
from tacit.policy import load
from tacit.session import Session
from tacit.sql import Catalog, job, parse
from tacit.sql.job import Plans
from tacit.sql.offer import Offer

SQL = "SELECT COUNT(*) AS n FROM visits"
HALF = Offer(rho=Fraction(1, 2))


@pytest.fixture
def rules(tmp_path: Path) -> tuple[Any, Catalog]:
    policy = load(hospital(tmp_path))
    return policy, Catalog.from_policy(policy)


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that was planned."""
    texts: list[str] = []
    first = parse

    def noted(sql: str, dialect: str | None = None) -> Any:
        texts.append(sql)
        return first(sql, dialect)

    monkeypatch.setattr("tacit.sql.job.parse", noted)
    return texts


def test_the_same_question_is_planned_once(rules: tuple[Any, Catalog], lowered: list[str]) -> None:
    memory = Plans()
    first = memory.plan(SQL, None, HALF, *rules)
    assert memory.plan(SQL, None, Offer(rho=Fraction(1, 2)), *rules) is first
    assert lowered == [SQL]
    assert first.expected is first.expected
    assert first.notes is first.notes


def test_other_words_another_offer_or_other_rules_are_another_plan(
    rules: tuple[Any, Catalog], lowered: list[str]
) -> None:
    memory, (policy, catalog) = Plans(), rules
    first = memory.plan(SQL, None, HALF, policy, catalog)
    others = [
        memory.plan(SQL + " ", None, HALF, policy, catalog),
        memory.plan(SQL, "postgres", HALF, policy, catalog),
        memory.plan(SQL, None, Offer(rho=Fraction(1, 4)), policy, catalog),
        memory.plan(SQL, None, Offer(rho=Fraction(1, 2), confidence=0.9), policy, catalog),
        memory.plan(SQL, None, HALF, replace(policy), catalog),
        memory.plan(SQL, None, HALF, policy, replace(catalog)),
    ]
    assert len({id(plan) for plan in (first, *others)}) == 7
    assert len(lowered) == 7


def test_a_question_without_a_plan_is_refused_every_time(rules: tuple[Any, Catalog], lowered: list[str]) -> None:
    memory = Plans()
    for _ in range(2):
        with pytest.raises(TacitError):
            memory.plan("SELECT patient FROM visits", None, HALF, *rules)
    assert len(lowered) == 2


def test_the_oldest_is_forgotten(
    rules: tuple[Any, Catalog], lowered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "MOST", 2)
    memory = Plans()
    for space in ("", " ", "", "  ", "", " "):  # the third is used again, so the second goes
        memory.plan(SQL + space, None, HALF, *rules)
    assert lowered == [SQL, SQL + " ", SQL + "  ", SQL + " "]


def test_long_questions_are_not_kept(rules: tuple[Any, Catalog], lowered: list[str]) -> None:
    memory = Plans()
    for _ in range(2):
        memory.plan(SQL + " " * job.LONGEST, None, HALF, *rules)
    assert len(lowered) == 2


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(hospital(tmp_path), "ana") as opened:
        yield opened


def test_a_remembered_plan_is_decided_and_charged_each_time(session: Session, lowered: list[str]) -> None:
    before = session.quote(SQL, rho=0.01)
    first = session.job(SQL, rho=0.01)
    session.ask(SQL, rho=0.01)
    after = session.quote(SQL, rho=0.01)
    assert lowered == [SQL]
    assert session.quote(first).left == after.left
    assert before.left.rho is not None
    assert after.left.rho is not None
    assert before.left.rho - after.left.rho == before.cost.rho
    session.policy = replace(session.policy, analysts={})
    with pytest.raises(TacitError, match="ana"):
        session.quote(SQL, rho=0.01)


def test_what_it_rests_on_is_told(session: Session) -> None:
    program = session.job(SQL, rho=0.01).program
    assert program.tables == ("visits",)
    assert session.desk.version(program) == session.engine.version(program.tables)
    with pytest.raises(Refused):
        session.job("SELECT 1")


# as ledgers of the first releases hold them: another hash would orphan every stored answer. Quantiles are asked anew
# since their cells rise with the size of values, and since less of their price goes to the interval
KNOWN = {
    "SELECT COUNT(*) FROM visits": "05fa2d84ecf4b3cb",
    "SELECT ward, COUNT(*) AS n, AVG(cost), SUM(cost) FROM visits GROUP BY ward": "94875c5875e5fef0",
    "SELECT MEDIAN(cost) FROM visits WHERE age > 60 AND ward IN ('a','b')": "c4d5997d12a18cdf",
}


@pytest.mark.parametrize(("sql", "known"), KNOWN.items())
def test_a_question_has_the_identity_that_it_always_had(sql: str, known: str, tmp_path: Path) -> None:
    with Session(hospital(tmp_path, currency="rho"), "ana") as session:
        program = session.job(sql, rho=1).program
    assert program.hashes[0].startswith(known)
    assert program.hashes[1] == program.hash
    assert all(step.task is not None for step in program.steps)


def test_a_job_is_planned_once_and_quoted_as_often_as_one_likes(tmp_path: Path) -> None:
    with Session(hospital(tmp_path), "ana") as session:
        found = session.job(SQL, rho="0.1")
        before = session.quote(found)
        release = session.spend(found)
        after = session.quote(found)
        assert found.columns == (("n", "integer"),)
        assert before.left.rho is not None
        assert after.left.rho is not None
        assert before.left.rho - after.left.rho == before.cost.rho
        assert session.spend(found) == release
        assert session.idempotency_key(found).answered


def test_a_job_of_yesterday_is_priced_by_the_rules_of_today(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    with Session(policy, "ana") as session:
        found = session.job(SQL, rho="0.1")
        policy.write_text(policy.read_text().replace("clip_rows = 20", "clip_rows = 5"))
        assert session.spend(found).facts["clips"][0]["rows"] == 5
