"""Two releases together: the two published hospitals, and two made-up ones with and without tacit."""

import pytest

from tacit.attack.anonymity import measure
from tacit.attack.composition import HOSPITALS, compose, stage
from tacit.base import InputError

QUASI = ["zip", "age", "nationality"]
ALICE = {"zip": "13012", "age": 28, "nationality": "American"}


def test_each_hospital_is_anonymous_and_both_tell_on_alice() -> None:
    assert [measure(table, QUASI).k for table in HOSPITALS] == [4, 6]
    first, second = (compose([table], ALICE, QUASI, "condition").of() for table in HOSPITALS)
    assert first == {"AIDS", "Heart Disease", "Viral Infection"}
    assert second == {"AIDS", "Tuberculosis", "Flu", "Cancer"}
    both = compose(HOSPITALS, ALICE, QUASI, "condition")
    assert both.of() == {"AIDS"}
    assert both.certain.tolist() == [True]
    assert both.alone.tolist() == [3]


def test_somebody_who_is_in_neither_has_nothing_possible() -> None:
    found = compose(HOSPITALS, ALICE | {"zip": "90210"}, QUASI, "condition")
    assert found.of() == set()
    assert not found.certain.any()


def test_no_release_is_no_attack() -> None:
    with pytest.raises(InputError, match="releases is empty"):
        compose([], ALICE, QUASI, "condition")


def test_it_works_on_two_tables_and_not_on_two_private_releases() -> None:
    found = stage()
    assert found.undefended.low > 0.2
    assert found.facts["alone"] == [0, 0]
    assert found.defended.success == 0
    assert found.facts["guess_private"] < 0.16  # of 0.05 without any release, and at most e² times that
