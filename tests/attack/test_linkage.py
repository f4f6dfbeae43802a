"""Linking rows to names: only unique matches are named, and tacit's counts name nobody."""

import pyarrow as pa
import pytest

from tacit.attack.linkage import link, stage, uniqueness
from tacit.base import InputError

REGISTER = pa.table(
    {
        "name": ["Ann", "Bob", "Cid", "Dee"],
        "zip": ["02138", "02138", "02138", "02139"],
        "born": ["1945-07-31", "1950-01-01", "1950-01-01", "1945-07-31"],
    }
)
RELEASE = pa.table(
    {
        "zip": ["02139", "02138", "02138", "99999"],
        "born": ["1945-07-31", "1950-01-01", "1945-07-31", "1945-07-31"],
    }
)


def test_only_a_single_match_is_a_name() -> None:
    found = link(RELEASE, REGISTER, ["zip", "born"])
    assert found.row.tolist() == [3, -1, 0, -1]
    assert found.share == 0.5
    assert link(RELEASE, REGISTER, ["zip"]).row.tolist() == [3, -1, -1, -1]


def test_uniqueness_counts_people_who_are_alone() -> None:
    assert uniqueness(REGISTER, ["zip", "born"]) == 0.5
    assert uniqueness(REGISTER, ["name"]) == 1.0


def test_columns_must_be_in_both_and_alike() -> None:
    with pytest.raises(InputError, match="on of register"):
        link(RELEASE, REGISTER.drop_columns(["born"]), ["zip", "born"])
    with pytest.raises(InputError, match="another type"):
        link(pa.table({"zip": pa.array([True])}), REGISTER, ["zip"])


def test_the_attack_works_on_rows_and_not_on_private_counts() -> None:
    found = stage(patients=4000)
    assert found.undefended.success == pytest.approx(0.87, abs=0.03)
    right = list(found.facts["right"].values())
    assert right[1] / 4000 == pytest.approx(0.50, abs=0.03)
    assert right == list(found.facts["named"].values())  # the list is complete, so no name is wrong
    assert found.facts["groups_listed"] == 0
    assert found.defended.success == 0
    assert found.facts["guess_private"] < 0.36  # of 0.30 without any release


def test_an_incomplete_list_finds_fewer_and_errs_sometimes() -> None:
    found = stage(patients=4000, coverage=0.6)
    right, named = (list(found.facts[which].values()) for which in ("right", "named"))
    assert 0.45 < right[0] / 4000 < 0.62
    assert named[1] > right[1]
