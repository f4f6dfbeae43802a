"""Declarations become facts."""

from datetime import date
from fractions import Fraction

import pytest

from tacit import policy
from tacit.base import Refused
from tacit.plan.bound import bound
from tacit.plan.contribution import PRIVATE, Contribution
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Scan
from tacit.sql import AskableTable, Catalog, lower, parse

POLICY = """
[dataset]
name = "clinic"

[privacy]
unit = "patient"
currency = "epsilon"
budget = 1

[tables.visits]
unit_column = "id"
max_rows_per_unit = 7

[tables.visits.columns]
id = { type = "integer", bounds = [0, 9] }
cost = { type = "decimal", bounds = [0, 50], step = "0.5", nullable = false }
heat = { type = "float", bounds = [0, 50], step = "0.5", nullable = false }
age = { type = "integer", bounds = [0, 120] }
ward = { type = "text", group_keys = ["east", "west"] }
day = { type = "date", bounds = [2024-01-01, 2024-12-31] }
urgent = { type = "boolean" }
free = { type = "integer" }
secret = { type = "integer", hidden = true }
blob = {}

[tables.wards]
public = true
columns = { ward = { type = "text" }, id = { type = "integer" } }

[tables.lost]
columns = { x = { type = "integer" } }
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.from_policy(policy.parse(POLICY))


def test_facts_of_columns(catalog: Catalog) -> None:
    columns = catalog.tables["visits"].columns
    half = Fraction(1, 2)
    assert columns["cost"] == Facts(type=Type.NUMBER, low=Fraction(0), high=Fraction(50), step=half, nullable=False)
    assert columns["age"] == Facts(type=Type.INTEGER, low=0, high=120, step=Fraction(1))
    assert type(columns["age"].high) is int
    assert columns["ward"] == Facts(type=Type.TEXT, domain=("east", "west"))
    assert columns["day"] == Facts(type=Type.DATE, low=date(2024, 1, 1), high=date(2024, 12, 31))
    assert columns["urgent"].domain == (False, True)
    assert columns["free"].why == 'column "free" has no bounds'


def test_a_float_is_missing_only_where_it_may_be(catalog: Catalog) -> None:
    assert not catalog.tables["visits"].columns["heat"].nullable  # rows in which it is NaN are left out


@pytest.mark.parametrize(
    ("value", "noises"),
    [("heat", 1), ("heat * 2", 1), ("CLAMP(heat / cost, 0, 9)", 2), ("NULLIF(heat, 3)", 2), ("age", 2)],
)
def test_one_noise_serves_rows_and_sums_of_what_is_never_missing(catalog: Catalog, value: str, noises: int) -> None:
    """What can make NULL (a quotient by zero, NULLIF) has a count of its own."""
    question = lower(parse(f"SELECT COUNT(*), SUM({value}) FROM visits"), catalog)
    for rows in (PRIVATE, Fraction(3)):
        part = bound(question, norm="l1", contribution=Contribution(rows=rows)).parts[0]
        assert len(part.clips) == noises


def test_columns_that_cannot_be_used(catalog: Catalog) -> None:
    table = catalog.tables["visits"]
    assert table.hidden == {"secret"}
    assert table.untyped == {"blob"}
    assert not table.columns.keys() & {"secret", "blob"}
    for sql, words in (("SUM(secret)", "policy hides it"), ("COUNT(blob)", "no type"), ("COUNT(sacred)", "no column")):
        with pytest.raises(Refused, match=words):
            lower(parse(f"SELECT {sql} FROM visits"), catalog)


def test_hidden_columns_are_not_suggested_and_not_in_star(catalog: Catalog) -> None:
    with pytest.raises(Refused, match="no column") as refusal:
        lower(parse("SELECT COUNT(secrets) FROM visits"), catalog)
    assert '"secret"' not in str(refusal.value)
    with pytest.raises(Refused, match='no column "secret"'):
        lower(parse("SELECT COUNT(secret) FROM (SELECT * FROM visits) t"), catalog)


def test_whose_rows(catalog: Catalog) -> None:
    visits, wards, lost = (catalog.tables[name] for name in ("visits", "wards", "lost"))
    assert (visits.private, visits.unit, visits.rows_per_unit) == (True, "id", 7)
    assert not wards.private
    assert wards.owned
    assert not lost.owned
    with pytest.raises(Refused, match="whose rows"):
        lower(parse("SELECT COUNT(*) FROM lost"), catalog)


def test_the_unit_is_read_without_bounds(catalog: Catalog) -> None:
    """Clamping two units to the same number would make them one, so the unit has a reading of its own."""
    source = lower(parse("SELECT COUNT(*) FROM visits WHERE id > 3"), catalog).source
    scan = source.below  # type: ignore[attr-defined]  # the question has a filter
    assert isinstance(scan, Scan)
    unit, value = scan.columns
    assert (unit.name, unit.column, unit.facts) == (scan.unit, "id", Facts(type=Type.INTEGER))
    assert (value.column, value.facts.high) == ("id", 9)


def test_a_unit_that_is_not_a_column_can_be_counted() -> None:
    catalog = Catalog(tables={"t": AskableTable(columns={}, unit="who")})
    question = lower(parse("SELECT COUNT(DISTINCT who) FROM t"), catalog)
    assert question.aggregates[0].function == "count_units"
    with pytest.raises(Refused, match="no type"):
        lower(parse("SELECT COUNT(*) FROM t WHERE who > 3"), catalog)
    hidden = Catalog(tables={"t": AskableTable(columns={}, unit="who", hidden=frozenset({"who"}))})
    with pytest.raises(Refused, match="policy hides it"):
        lower(parse("SELECT COUNT(DISTINCT who) FROM t"), hidden)


def test_names_in_any_capitals(catalog: Catalog) -> None:
    assert catalog.find("VISITS") == ("visits", catalog.tables["visits"])
    assert catalog.find("visit") is None
    with pytest.raises(Refused, match='did you mean "visits"'):
        lower(parse("SELECT COUNT(*) FROM visit"), catalog)


def test_whole_numbers_beyond_all_doubles_are_numbers_but_units_stay_what_they_are() -> None:
    bounds = {"id": 2**60, "n": 2**60, "m": 2**53}
    columns = {name: policy.Column(type=policy.ColumnType.INTEGER, bounds=(0, most)) for name, most in bounds.items()}
    declared = policy.Policy(
        dataset=policy.Dataset(name="d"),
        privacy=policy.Privacy(currency=policy.Currency.EPSILON, budget=Fraction(1)),
        tables={"t": policy.Table(unit_column="id", columns=columns)},
    )
    table = Catalog.from_policy(declared).tables["t"]
    found = table.columns
    assert table.unit_type is Type.INTEGER
    assert found["n"].type is Type.NUMBER
    assert found["n"].step == Fraction(1)
    assert found["m"].type is Type.INTEGER
