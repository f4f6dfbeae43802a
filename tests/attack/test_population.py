"""The made-up country: sizes add up, and so few people share a birth date as was published."""

import pytest

from tacit.attack.linkage import uniqueness
from tacit.attack.population import country


@pytest.mark.parametrize("seed", [1, 2])
def test_as_many_are_alone_as_was_published(seed: int) -> None:
    found = country(seed=seed)
    by_zip = uniqueness(found.people, ["zip", "birth_date", "sex"])
    by_place = uniqueness(found.people, ["place", "birth_date", "sex"])
    assert by_zip == pytest.approx(0.87, abs=0.03)
    assert by_place == pytest.approx(0.50, abs=0.03)
    assert by_zip == pytest.approx(found.expected(found.zips), abs=0.005)  # it follows from the sizes
    assert by_place == pytest.approx(found.expected(found.places), abs=0.005)


def test_everybody_lives_somewhere() -> None:
    found = country(places=5)
    assert found.people.num_rows == found.zips.sum() == found.places.sum()
    assert len(found.people.column("name").unique()) == found.people.num_rows
    assert len(found.people.column("zip").unique()) == len(found.zips)
    assert len(found.people.column("place").unique()) == 5
