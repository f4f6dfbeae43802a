"""Answers are told from bytes that are none, refusals come back as what they were, numbers are sent exactly."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import tacit.base.errors as errors
from tacit.base import EngineError, InputError, Number, OverBudget, PolicyError, TacitError
from tacit.client.door import ARROW, JSON, PROBLEM, Lost, Reply
from tacit.client.read import (
    KINDS,
    OPEN,
    SPENT,
    ServiceProblem,
    plain,
    question_of,
    quote_of,
    read,
    release_of,
)
from tacit.server.problem import TABLE, problem_of
from tacit.session import Quote, TableRelease

COST = {"epsilon": "0.5", "rho": None, "delta": "0", "relation": "add_remove", "unit": "patient"}
QUOTE: dict[str, Any] = {
    "cost": COST,
    "left": {**COST, "epsilon": "1.5"},
    "enough": True,
    "expected": [{"column": "n", "error": None, "words": "± 3"}],
    "notes": ["a note"],
    "hints": [{"kind": "new here", "words": "a word", "more": 1}],
    "columns": [{"name": "n", "type": "integer"}],
}


def reply(body: bytes, kind: str = JSON, status: int = 200, *, cached: bool = False) -> Reply:
    return Reply(status=status, kind=kind, cached=cached, body=body)


def test_a_quote_is_a_quote() -> None:
    found = read(quote_of, reply(json.dumps(QUOTE).encode()))
    assert isinstance(found, Quote)
    assert found.json() == {name: value for name, value in QUOTE.items() if name != "columns"}
    assert found.columns == (("n", "integer"),)
    assert "costs epsilon 0.5" in repr(found)
    assert found._repr_html_()
    assert found == read(quote_of, reply(json.dumps(QUOTE).encode()))
    assert found != read(quote_of, reply(json.dumps(QUOTE | {"enough": False}).encode()))


@pytest.mark.parametrize("missing", QUOTE)
def test_a_quote_with_a_hole_is_none(missing: str) -> None:
    body = json.dumps({name: value for name, value in QUOTE.items() if name != missing}).encode()
    with pytest.raises(Lost, match="cannot be read"):
        read(quote_of, reply(body))


@pytest.mark.parametrize(
    "answer", [reply(b"[]"), reply(b"<html>"), reply(b"{}", "text/html"), reply(b"{}", status=302)]
)
def test_not_plain_data(answer: Reply) -> None:
    with pytest.raises(Lost):
        read(plain, answer)


def test_a_release_is_the_same_after_the_way() -> None:
    table = pa.table({"ward": ["east", None], "n": pa.array([3, 4], pa.int32())})
    sent = TableRelease(
        table=table, intervals={"n": ([1.0, None], [5.0, None])}, notes=("x",), facts={"unit": "patient"}
    )
    found = read(release_of, reply(sent.to_bytes(), ARROW, cached=True))
    assert found == sent
    assert found.cached
    assert not read(release_of, reply(sent.to_bytes(), ARROW)).cached


def test_bytes_that_are_no_release_or_lie() -> None:
    texts = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\x05\0\0\0\x01\0\0\0"), pa.py_buffer(b"hello")]
    )  # the second text ends before it begins
    lying = TableRelease(table=pa.table({"ward": texts}), intervals={})
    for body in (b"", b"[]", b"\xff" * 100, lying.to_bytes()):
        with pytest.raises(Lost):
            read(release_of, reply(body, ARROW))


# --- refusals


def refusal(body: Any, *, kind: str = PROBLEM, status: int = 403) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Reply(status=status, kind=kind, cached=False, body=data)


@pytest.mark.parametrize("kind", TABLE, ids=lambda kind: kind.__name__)
def test_every_line_of_the_services_table_has_its_class_back(kind: type[TacitError]) -> None:
    sent = kind() if kind is EngineError else kind("what happened")
    said = problem_of(sent)
    problem = ServiceProblem.read(refusal(said, status=said["status"]))
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
    problem = ServiceProblem.read(refusal(said))
    assert problem is not None
    assert isinstance(problem.error(), OverBudget)
    assert problem.detail.startswith("a[2Jbc")
    assert len(problem.detail) < 10_001


@pytest.mark.parametrize(
    "answer",
    [
        refusal(b"<html>"),
        refusal(b"[" * 100_000),
        refusal([1]),
        refusal({"type": "urn:tacit:problem:denied"}),
        refusal({"type": 1, "detail": "x"}),
        refusal({"type": "about:blank", "detail": "x"}),
        refusal({"type": "urn:tacit:problem:denied", "detail": "x"}, kind="application/json"),
        refusal({"type": "urn:tacit:problem:denied", "detail": "x"}, status=200),
    ],
)
def test_what_is_not_ours_is_no_problem_of_ours(answer: Reply) -> None:
    assert ServiceProblem.read(answer) is None


# --- questions


def sent(sql: Any = "SELECT 1", **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"epsilon": None, "rho": None, "error": None, "confidence": 0.95} | more
    found: dict[str, Any] = json.loads(question_of(sql, **given))
    return found


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        ("0.10", "0.1"),
        (10, "10"),
        (Decimal("1e-30"), "0.000000000000000000000000000001"),
        (1e-7, "0.0000001"),
        (Fraction(2, 3), "0." + "6" * 30),  # down: never more than was offered
    ],
)
def test_numbers_are_exact_decimals(number: Number, text: str) -> None:
    for name in ("epsilon", "rho", "error"):
        assert sent(**{name: number}) == {"sql": "SELECT 1", name: text, "confidence": "0.95"}


def test_what_was_not_offered_is_left_to_the_service() -> None:
    assert sent(confidence=1e-7) == {"sql": "SELECT 1", "confidence": "0.0000001"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 1, "rho": 1},
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"rho": float("inf")},
        {"error": -1},
        {"epsilon": Fraction(1, 10**31)},
        {"epsilon": 1, "confidence": 1},
        {"epsilon": 1, "sql": 7},
    ],
)
def test_wrong_arguments_do_not_leave(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        sent(**wrong)


def test_an_ibis_expression_is_sent_as_sql() -> None:
    ibis = pytest.importorskip("ibis")
    visits = ibis.table({"ward": "string"}, name="visits")
    assert "COUNT" in sent(visits.count(), epsilon=1)["sql"]
