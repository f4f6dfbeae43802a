"""Every error of the tree has its line in the table."""

import re
from pathlib import Path

import pytest

import tacit.base.errors as errors
import tacit.server
from tacit.base import LedgerError, OutcomeUnknown, OverBudget, PolicyError, Refused, SensitivityError, TacitError
from tacit.server.problem import TABLE, HttpProblem, kind_of, problem_of, response

TREE = [
    kind for name in errors.__all__ if isinstance(kind := getattr(errors, name), type) and issubclass(kind, TacitError)
]


@pytest.mark.parametrize("kind", TREE, ids=lambda kind: kind.__name__)
def test_each_class_is_told_as_itself_or_as_the_nearest_above(kind: type[TacitError]) -> None:
    error = kind.__new__(kind)
    nearest = next(parent for parent in kind.__mro__ if parent in TABLE)
    assert kind_of(error) == TABLE[nearest]


@pytest.mark.parametrize("kind", TABLE.values(), ids=lambda kind: kind.name)
def test_the_table_itself(kind: tuple[int, str, str, str, str]) -> None:
    status, name, title, sqlstate, _ = kind
    assert 400 <= status <= 599
    assert name
    assert title
    assert len(sqlstate) == 5


def test_addresses_in_errors_of_the_ledger_are_not_told() -> None:
    for error in (LedgerError("postgresql://me@db.example is away"), OutcomeUnknown("db.example is away")):
        told = problem_of(error)
        assert "db.example" not in str(told)
        assert "never charged twice" in told["detail"]
        assert response(error).headers["retry-after"]


def test_what_helps_is_told() -> None:
    for error, status in (
        (Refused("write COUNT"), 422),
        (OverBudget("nothing left"), 403),
        (PolicyError("declare", "bounds"), 422),
        (SensitivityError("declare"), 422),
        (HttpProblem(418, "tea", "A teapot", "short and stout"), 418),
    ):
        told = problem_of(error)
        assert (told["status"], told["detail"]) == (status, str(error))


def test_no_name_of_a_python_class_is_put_into_a_text_for_others() -> None:
    """Logs and metrics have them; what is sent to somebody does not."""
    for path in (Path(tacit.server.__file__).parent).rglob("*.py"):
        for line in path.read_text().splitlines():
            if "__name__" in line and "getLogger" not in line and path.name != "lab.py":
                assert re.search(r"event\(|log\.error|line\[\"error\"\]|metrics\.request", line), f"{path.name}: {line}"
