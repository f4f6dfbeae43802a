"""Plans that are remembered: the same object for the same words and rules, another for anything else."""

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
from tacit.sql import Catalog, parse, plans
from tacit.sql.offer import Offer
from tacit.sql.plans import Plans

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

    monkeypatch.setattr("tacit.sql.plans.parse", noted)
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
    monkeypatch.setattr(plans, "MOST", 2)
    memory = Plans()
    for space in ("", " ", "", "  ", "", " "):  # the third is used again, so the second goes
        memory.plan(SQL + space, None, HALF, *rules)
    assert lowered == [SQL, SQL + " ", SQL + "  ", SQL + " "]


def test_long_questions_are_not_kept(rules: tuple[Any, Catalog], lowered: list[str]) -> None:
    memory = Plans()
    for _ in range(2):
        memory.plan(SQL + " " * plans.LONGEST, None, HALF, *rules)
    assert len(lowered) == 2


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(hospital(tmp_path), "ana") as opened:
        yield opened


def test_a_remembered_plan_is_decided_and_charged_each_time(session: Session, lowered: list[str]) -> None:
    before = session.quote(SQL, rho=0.01)
    job = session.job(SQL, rho=0.01)
    session.ask(SQL, rho=0.01)
    after = session.quote(SQL, rho=0.01)
    assert lowered == [SQL]
    assert session.quote(job).left == after.left
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
