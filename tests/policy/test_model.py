"""A policy in Python is the policy of the file."""

import pickle
from fractions import Fraction

import pytest

from support.policies import CLINIC, clinic
from tacit.base import PolicyError
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Group, Policy, Privacy, Table, parse


def in_python(**changes: object) -> Policy:
    columns = {
        "patient_id": Column(type=ColumnType.INTEGER),
        "cost": Column(
            type=ColumnType.DECIMAL, bounds=(0, 5000), step=Fraction("0.01"), nullable=False, clip=Fraction(8000)
        ),
        "age": Column(type=ColumnType.INTEGER),
        "ward": Column(type=ColumnType.TEXT, group_keys=("east", "west")),
        "note": Column(type=ColumnType.TEXT, hidden=True),
    }
    parts: dict[str, object] = {
        "dataset": Dataset(
            name="clinic", people="patients of the clinic", source="clinic.duckdb", ledger="clinic.ledger"
        ),
        "privacy": Privacy(unit="patient", currency=Currency.RHO, budget=Fraction(2), delta=Fraction(1, 10**6)),
        "tables": {
            "visits": Table(unit_column="patient_id", clip_rows=Fraction(20), columns=columns),
            "wards": Table(public=True),
        },
        "analysts": {
            "ana": Analyst(limit=Fraction(1), each=Fraction("0.1"), tables=("visits",), groups=("research",)),
            "bob": Analyst(limit=Fraction(3, 2)),
        },
        "groups": {"research": Group(limit=Fraction(3, 2))},
    }
    return Policy(**(parts | changes))  # type: ignore[arg-type]  # mixed on purpose


def test_python_and_file_agree() -> None:
    assert in_python() == clinic()
    assert in_python().hash == clinic().hash


def test_python_is_checked_as_the_file_is() -> None:
    with pytest.raises(PolicyError, match="are reversed: write the lower one first"):
        Column(type=ColumnType.INTEGER, bounds=(5, 0))
    with pytest.raises(PolicyError, match='analyst "ana": there is no group "research"'):
        in_python(groups={})
    with pytest.raises(PolicyError, match="tables must map names to a Table each"):
        in_python(tables={"visits": Column()})
    with pytest.raises(PolicyError, match="groups must map names to a Group each"):
        in_python(groups={"research": Analyst()})
    with pytest.raises(PolicyError, match="dataset must be a Dataset"):
        in_python(dataset="clinic")
    with pytest.raises(PolicyError, match='table "": the name must not be empty'):
        in_python(tables={"": Table(public=True)})


def test_the_hash_is_of_what_is_said_and_not_of_how() -> None:
    policy = clinic()
    same = "# a comment\n" + CLINIC.replace("budget = 2.0", "budget   = 2").replace("1e-6", "0.000001")
    assert parse(same).hash == policy.hash
    assert parse(CLINIC.replace('unit = "patient"', 'unit = "patient"\nrelation = "add_remove"')).hash == policy.hash
    moved = CLINIC.replace("[groups.research]\nlimit = 1.5\n", "")
    assert parse("[groups.research]\nlimit = 1.5\n" + moved).hash == policy.hash
    for old, new in (
        ("budget = 2.0", "budget = 2.1"),
        ("5000]", "5001]"),
        ('"west"', '"West"'),
        ("[analysts.ana]", "[analysts.ann]"),
    ):
        assert parse(CLINIC.replace(old, new)).hash != policy.hash


def test_the_hash_stays_what_it_was() -> None:
    """It is written into ledgers, so a change of how it is taken is a change of format."""
    assert clinic().hash == "aa78985710ebf33ba1d6a555c7c498caf4989a2ff515fd2b2951aa02e3c02c39"


def test_a_policy_can_be_sent_to_another_process() -> None:
    policy = clinic()
    there = pickle.loads(pickle.dumps(policy))
    assert there == policy
    assert there.hash == policy.hash
    with pytest.raises(TypeError):
        there.tables["x"] = Table()


def test_the_ledger_lies_beside_the_policy() -> None:
    assert clinic().ledger().endswith("/clinic.ledger")
    url = clinic(ledger='ledger = "postgresql://${HOST}/x"').ledger({"HOST": "h"})
    assert url == "postgresql://h/x"
