"""Every problem at its field: also where names are strange."""

from pathlib import Path
from typing import Any

import pytest

from support.declared import draft
from tacit.engine.check import Schema
from tacit.server.curate.draft import Checked, Draft, check
from tacit.server.curate.sources import Found

COLUMNS = ("customer", "age", "branch", "paid", "day")


def checked(*, table: str = "shop", columns: tuple[str, ...] = COLUMNS, **changes: Any) -> Checked:
    schema = Schema(tables={table: dict.fromkeys(columns, "")})
    found = Found(schema=schema, source=None, sources={table: "shop.csv"})
    return check(Draft.model_validate(draft(**changes)), found, ledger="tacit.ledger", folder=Path("x"))


def one(column: str = "age", *, table: str = "shop", **given: Any) -> Checked:
    made = {"name": table, "whose": "each_row", "columns": [{"name": column, **given}]}
    return checked(table=table, columns=(column,), tables=[made])


def test_a_good_draft_says_what_it_means() -> None:
    found = checked()
    assert (found.problems, found.blanks) == ((), ())
    assert found.policy is not None
    assert found.promise is not None
    assert found.promise["epsilon"] == pytest.approx(4)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"name": ""}, ("dataset", "name")),
        ({"people": " x"}, ("dataset", "people")),
        ({"budget": "0"}, ("privacy", "budget")),
        ({"budget": ""}, ("privacy", "budget")),
        ({"currency": "rho", "delta": ""}, ("privacy", "delta")),
        ({"reset": "soon"}, ("privacy", "reset")),
        ({"lifetime": "9"}, ("privacy", "lifetime")),
        ({"analysts": [{"name": "ana", "limit": "x"}]}, ("analysts", "ana", "limit")),
        ({"analysts": [{"name": ""}]}, ("analysts", "")),
        ({"analysts": [{"name": 'a": b'}, {"name": 'a": b'}]}, ("analysts", 'a": b')),
        ({"analysts": [{"name": "ana", "tables": ["no"]}]}, ("analysts", "ana")),
        ({"tables": [{"name": "nothing"}]}, ("tables", "nothing")),
        ({"tables": [{"name": "shop", "whose": "unit"}]}, ("tables", "shop", "unit")),
        ({"tables": [{"name": "shop", "whose": "public", "clip_rows": "3"}]}, ("tables", "shop", "clip_rows")),
    ],
)
def test_a_problem_is_at_its_field(changes: dict[str, Any], place: tuple[str, ...]) -> None:
    found = checked(**changes)
    assert found.policy is None
    assert place in [problem.place for problem in found.problems], found.problems


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"type": "money"}, "type"),
        ({"type": "integer", "low": "9", "high": "1"}, "bounds"),
        ({"type": "integer", "low": "9"}, "bounds"),
        ({"type": "text", "low": "a", "high": "b"}, "bounds"),
        ({"type": "integer", "keys": ["x"]}, "keys"),
        ({"type": "decimal", "step": "0"}, "step"),
        ({"type": "text", "clip": "4"}, "clip"),
    ],
)
@pytest.mark.parametrize("column", ["age", 'a", column "b": bounds', "x" * 80, "<b>"])
def test_a_problem_of_a_column(given: dict[str, Any], key: str, column: str) -> None:
    found = one(column, **given)
    assert found.policy is None
    assert [problem.place for problem in found.problems] == [("tables", "shop", "columns", column, key)]


def test_blanks_are_no_problems() -> None:
    found = checked(
        analysts=[], tables=[{"name": "shop", "whose": "unit", "unit": "customer", "columns": [{"name": "age"}]}]
    )
    assert found.policy is not None
    assert {blank.place for blank in found.blanks} == {
        ("tables", "shop", "clip_rows"),
        ("tables", "shop", "columns", "age", "type"),
        ("analysts",),
    }


def test_the_promise_is_told_while_columns_are_wrong() -> None:
    found = one(type="integer", low="9", high="1")
    assert found.promise is not None
    assert checked(budget="x").promise is None
