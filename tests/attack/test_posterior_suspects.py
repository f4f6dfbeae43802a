"""The rows a person may be behind."""

import pyarrow as pa
import pytest

from tacit.attack.posterior import suspects
from tacit.base import InputError

RELEASE = pa.table(
    {
        "zip": ["130**", "130**", "130**", "1485*"],
        "age": ["<30", "<30", "30-39", "*"],
        "condition": ["heart", "viral", "cancer", "cancer"],
    }
)


def test_one_person() -> None:
    found = suspects(RELEASE, {"zip": "13068", "age": 21}, ["zip", "age"], "condition")
    assert found.of() == {"heart": 1, "viral": 1}


def test_many_people_and_one_who_is_not_there() -> None:
    people = pa.table({"zip": ["13068", "14853", "90210"], "age": [35, 99, 20]})
    found = suspects(RELEASE, people, ["zip", "age"], "condition")
    assert [found.of(n) for n in range(3)] == [{"cancer": 1}, {"cancer": 1}, {}]


def test_columns_must_be_there_on_both_sides() -> None:
    with pytest.raises(InputError, match="quasi of people"):
        suspects(RELEASE, {"zip": "13068"}, ["zip", "age"], "condition")
    with pytest.raises(InputError, match="at once"):
        suspects(RELEASE, {"zip": "13068"}, ["zip"], "zip")
