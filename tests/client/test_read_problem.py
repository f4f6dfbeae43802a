"""Refusals come back as what they were."""

import json
from typing import Any

import pytest

import tacit.base.errors as errors
from tacit.base import EngineError, OverBudget, PolicyError, TacitError
from tacit.client.door import PROBLEM, Reply
from tacit.client.read import KINDS, OPEN, SPENT, ServiceProblem
from tacit.server.problem import TABLE, problem_of


def reply(body: Any, *, kind: str = PROBLEM, status: int = 403) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status=status, kind=kind, cached=False, body=data)


@pytest.mark.parametrize("kind", TABLE, ids=lambda kind: kind.__name__)
def test_every_line_of_the_services_table_has_its_class_back(kind: type[TacitError]) -> None:
    sent = kind() if kind is EngineError else kind("what happened")
    said = problem_of(sent)
    problem = ServiceProblem.read(reply(said, status=said["status"]))
    assert problem is not None
    nearest = next(parent for parent in kind.__mro__ if parent.__module__ == errors.__name__)
    assert type(problem.error()) is nearest
    assert str(problem.error()) == said["detail"]
    assert problem.name in KINDS


def test_what_may_have_been_charged_for() -> None:
    assert {TABLE[kind].name for kind in TABLE if "never charged twice" in TABLE[kind].text} <= OPEN
    assert not OPEN & SPENT
    assert set(KINDS) >= OPEN | SPENT
    assert ServiceProblem(name="of-tomorrow", detail="").open
    assert not ServiceProblem(name="over-budget", detail="").open


def test_several_lines_and_a_remark() -> None:
    error = ServiceProblem(name="undeclared", detail="one\ntwo").error()
    assert isinstance(error, PolicyError)
    assert str(error) == "one\ntwo"
    assert str(ServiceProblem(name="over-budget", detail="no").error("so there")) == "no; so there"
    assert type(ServiceProblem(name="of-tomorrow", detail="x").error()) is TacitError


def test_nothing_that_drives_a_terminal_gets_through() -> None:
    said = {"type": "urn:tacit:problem:over-budget", "detail": "a\x1b[2Jb\r" + "c" * 50_000}
    problem = ServiceProblem.read(reply(said))
    assert problem is not None
    assert isinstance(problem.error(), OverBudget)
    assert problem.detail.startswith("a[2Jbc")
    assert len(problem.detail) < 10_001


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"<html>"),
        reply(b"[" * 100_000),
        reply([1]),
        reply({"type": "urn:tacit:problem:denied"}),
        reply({"type": 1, "detail": "x"}),
        reply({"type": "about:blank", "detail": "x"}),
        reply({"type": "urn:tacit:problem:denied", "detail": "x"}, kind="application/json"),
        reply({"type": "urn:tacit:problem:denied", "detail": "x"}, status=200),
    ],
)
def test_what_is_not_ours_is_no_problem_of_ours(answer: Reply) -> None:
    assert ServiceProblem.read(answer) is None
