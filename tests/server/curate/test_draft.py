"""What is typed on a page, as a policy file: each value by the type of its column, and never as syntax."""

import tomllib
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.declared import draft
from tacit.engine.names import Schema
from tacit.server.curate.draft import CheckedDraft, Draft, check, toml
from tacit.server.curate.sources import DataSource

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def read(**changes: Any) -> dict[str, Any]:
    made = Draft.model_validate(draft(**changes))
    text = toml(made, engine="duckdb", source=None, sources={"shop": "shop.csv"}, ledger="tacit.ledger")
    return tomllib.loads(text, parse_float=Decimal)


def column(**given_: Any) -> dict[str, Any]:
    table = {"name": "shop", "columns": [{"name": "c", **given_}]}
    found: dict[str, Any] = read(tables=[table])["tables"]["shop"]["columns"]["c"]
    return found


def test_a_whole_draft() -> None:
    found = read(each="0.5", reset="90 days")
    assert found["privacy"]["each"] == Decimal("0.5")
    assert found["privacy"]["delta"] == Decimal("1e-6")
    assert found["privacy"]["reset"] == "90 days"
    assert found["tables"]["shop"]["source"] == "shop.csv"
    assert found["tables"]["shop"]["columns"]["branch"]["group_keys"] == ["east", "north", "west"]
    assert found["analysts"]["ana"] == {"limit": 2}


def test_a_draft_is_paid_for_in_rho_unless_it_says_otherwise() -> None:
    plain = {name: value for name, value in draft().items() if name != "currency"}
    assert Draft.model_validate(plain).currency == "rho"


@pytest.mark.parametrize(
    ("kind", "typed", "written"),
    [
        ("integer", "12", 12),
        ("decimal", "-1.50", Decimal("-1.50")),
        ("float", "1e3", Decimal("1e3")),
        ("integer", "012", "012"),
        ("integer", "0x10", "0x10"),
        ("float", "nan", "nan"),
        ("decimal", "1]\nx = 2", "1]\nx = 2"),
        ("date", "2026-02-03", date(2026, 2, 3)),
        ("date", "2026-02-31", "2026-02-31"),
        ("timestamp", "2026-02-03 04:05:06", datetime(2026, 2, 3, 4, 5, 6)),
        ("timestamp", "2026-02-03T04:05:06Z", "2026-02-03T04:05:06Z"),
        ("boolean", "true", True),
        ("boolean", "True", "True"),
        ("text", "12", "12"),
    ],
)
def test_values_by_the_type_of_their_column(kind: str, typed: str, written: Any) -> None:
    assert column(type=kind, group_keys=[typed])["group_keys"] == [written]
    assert column(type=kind, low=typed, high=typed)["bounds"] == [written, written]


def test_whose_rows() -> None:
    def table(**given_: Any) -> Any:
        return read(tables=[{"name": "shop", **given_}])["tables"]["shop"]

    assert table(whose="unit", unit_column="customer") == {"source": "shop.csv", "unit_column": "customer"}
    assert table(whose="unit", unit="customer") == table(whose="unit", unit_column="customer")  # its former name
    assert table(whose="each_row", unit="customer") == {"source": "shop.csv", "each_row_is_a_unit": True}
    assert table(whose="public") == {"source": "shop.csv", "public": True}
    assert table() == {"source": "shop.csv"}


@given(WORDS, WORDS, WORDS)
def test_nothing_becomes_syntax(one: str, two: str, three: str) -> None:
    table = {
        "name": one,
        "whose": "unit",
        "unit_column": two,
        "columns": [{"name": two, "type": three, "group_keys": [one], "clip": two}],
    }
    found = read(name=one, people=two, unit=three, budget=two, tables=[table], analysts=[{"name": three, "each": one}])
    assert set(found) == {"dataset", "privacy", "tables", "analysts"}
    assert list(found["tables"]) == [one]
    assert list(found["tables"][one]["columns"]) == [two]
    assert list(found["analysts"]) == [three]
    assert found["dataset"]["name"] == one


COLUMNS = ("customer", "age", "branch", "paid", "day")


def checked(*, table: str = "shop", columns: tuple[str, ...] = COLUMNS, **changes: Any) -> CheckedDraft:
    schema = Schema(tables={table: dict.fromkeys(columns, "")})
    found = DataSource(schema=schema, source=None, sources={table: "shop.csv"})
    return check(Draft.model_validate(draft(**changes)), found, ledger="tacit.ledger", folder=Path("x"))


def one(column: str = "age", *, table: str = "shop", **given: Any) -> CheckedDraft:
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
        ({"tables": [{"name": "shop", "whose": "unit"}]}, ("tables", "shop", "unit_column")),
        ({"tables": [{"name": "shop", "whose": "public", "clip_rows": "3"}]}, ("tables", "shop", "clip_rows")),
    ],
)
def test_a_problem_is_at_its_field(changes: dict[str, Any], place: tuple[str, ...]) -> None:
    found = checked(**changes)
    assert found.policy is None
    assert place in [problem.path for problem in found.problems], found.problems


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"type": "money"}, "type"),
        ({"type": "integer", "low": "9", "high": "1"}, "bounds"),
        ({"type": "integer", "low": "9"}, "bounds"),
        ({"type": "text", "low": "a", "high": "b"}, "bounds"),
        ({"type": "integer", "group_keys": ["x"]}, "group_keys"),
        ({"type": "decimal", "step": "0"}, "step"),
        ({"type": "text", "clip": "4"}, "clip"),
    ],
)
@pytest.mark.parametrize("column", ["age", 'a", column "b": bounds', "x" * 80, "<b>"])
def test_a_problem_of_a_column(given: dict[str, Any], key: str, column: str) -> None:
    found = one(column, **given)
    assert found.policy is None
    assert [problem.path for problem in found.problems] == [("tables", "shop", "columns", column, key)]


def test_blanks_are_no_problems() -> None:
    found = checked(
        analysts=[], tables=[{"name": "shop", "whose": "unit", "unit_column": "customer", "columns": [{"name": "age"}]}]
    )
    assert found.policy is not None
    assert {blank.path for blank in found.blanks} == {
        ("tables", "shop", "clip_rows"),
        ("tables", "shop", "columns", "age", "type"),
        ("analysts",),
    }


def test_the_promise_is_told_while_columns_are_wrong() -> None:
    found = one(type="integer", low="9", high="1")
    assert found.promise is not None
    assert checked(budget="x").promise is None
