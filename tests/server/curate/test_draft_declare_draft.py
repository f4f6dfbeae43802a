"""What is typed on a page, as a policy file: each value by the type of its column, and never as syntax."""

import tomllib
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.declared import draft
from tacit.server.curate.draft import Draft, toml

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
    assert found["tables"]["shop"]["columns"]["branch"]["keys"] == ["east", "north", "west"]
    assert found["analysts"]["ana"] == {"limit": 2}


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
    assert column(type=kind, keys=[typed])["keys"] == [written]
    assert column(type=kind, low=typed, high=typed)["bounds"] == [written, written]


def test_whose_rows() -> None:
    def table(**given_: Any) -> Any:
        return read(tables=[{"name": "shop", **given_}])["tables"]["shop"]

    assert table(whose="unit", unit="customer") == {"source": "shop.csv", "unit": "customer"}
    assert table(whose="each_row", unit="customer") == {"source": "shop.csv", "each_row_is_a_unit": True}
    assert table(whose="public") == {"source": "shop.csv", "public": True}
    assert table() == {"source": "shop.csv"}


@given(WORDS, WORDS, WORDS)
def test_nothing_becomes_syntax(one: str, two: str, three: str) -> None:
    table = {
        "name": one,
        "whose": "unit",
        "unit": two,
        "columns": [{"name": two, "type": three, "keys": [one], "clip": two}],
    }
    found = read(name=one, people=two, unit=three, budget=two, tables=[table], analysts=[{"name": three, "each": one}])
    assert set(found) == {"dataset", "privacy", "tables", "analysts"}
    assert list(found["tables"]) == [one]
    assert list(found["tables"][one]["columns"]) == [two]
    assert list(found["analysts"]) == [three]
    assert found["dataset"]["name"] == one
