"""Microdata: the textbook block, every block of a small world by trying all, and blocks published by tacit."""

from collections import defaultdict
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from tacit.attack.microdata import Group, Person, Row, consistent, in_group, overlap, publish, rebuild, stage
from tacit.base import InputError

MARITAL: dict[str, object] = {"marital": "married", "age": (18, 115)}
# Garfinkel, Abowd and Martindale (2018): counts below three are withheld
TEXTBOOK = [
    Row({}, 7, 38, 30),
    Row({"sex": "F"}, 4, 33.5, 30),
    Row({"sex": "M"}, 3, 44, 30),
    Row({"race": "black"}, 4, 48.5, 51),
    Row({"race": "white"}, 3, 24, 24),
    Row(MARITAL, 4, 54, 51),
    Row({"marital": "single", "age": (18, 115)}, None),
    Row({"race": "black", "sex": "F"}, 3, 36.7, 36),
    Row({"race": "black", "sex": "M"}, None),
    Row({"race": "white", "sex": "M"}, None),
    Row({"race": "white", "sex": "F"}, None),
    Row({"marital": "married", "age": (0, 17)}, 0),
]
ADULTS = {"age": range(116), "sex": "FM", "race": ("black", "white"), "marital": ("married", "single")}


def test_the_textbook_block_has_one_solution() -> None:
    block = rebuild(TEXTBOOK, ADULTS)
    assert block.unique
    assert sorted("{age} {sex} {race} {marital}".format(**person) for person in block.people) == [
        "18 M white single",
        "24 F white single",
        "30 M white married",
        "36 F black married",
        "66 F black married",
        "8 F black single",
        "84 M black married",
    ]
    assert publish(block.people, [], ages=[MARITAL])[0] == Row(MARITAL, 4, 54.0, 51.0)


SMALL = {"age": range(5), "sex": "FM"}
KINDS: list[Person] = [{"age": age, "sex": sex} for age, sex in product(range(5), "FM")]
GROUPS: list[Group] = [{"sex": "F", "age": (0, 2)}]
AGES: list[Group] = [{}, {"sex": "F"}]


def key(people: tuple[Person, ...]) -> str:
    return str([(row.group, row.count, row.mean, row.median) for row in publish(people, GROUPS, ages=AGES)])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_against_trying_all_blocks(size: int) -> None:
    """What is found is one of the blocks with the same tables, and `least` is the truth about them."""
    alike: dict[str, list[tuple[Person, ...]]] = defaultdict(list)
    for people in combinations_with_replacement(KINDS, size):
        alike[key(people)].append(people)
    lonely = 0
    for blocks in list(alike.values())[:: max(1, len(alike) // 25)]:
        found = rebuild(publish(blocks[0], GROUPS, ages=AGES), SMALL)
        assert any(overlap(found.people, block) == size for block in blocks)
        assert found.least == min(overlap(found.people, block) for block in blocks)
        lonely += found.unique
        assert found.unique == (len(blocks) == 1)
    assert lonely


def test_withheld_counts_are_narrowed_not_unknown() -> None:
    people = [{"age": 3, "sex": "F"}, {"age": 1, "sex": "M"}, {"age": 1, "sex": "M"}, {"age": 1, "sex": "M"}]
    rows = publish(people, [{"sex": "F"}, {"sex": "M"}], ages=[{}], withhold=2)
    assert [row.count for row in rows] == [None, 3, 4]
    found = consistent(rows, SMALL).solve()
    assert found is not None
    women = sum(count for kind, count in zip(KINDS, found, strict=False) if in_group(kind, {"sex": "F"}))
    assert round(women) == 1


def test_contradictory_tables_are_refused() -> None:
    with pytest.raises(InputError, match="no block of people fits"):
        rebuild([Row({}, 3), Row({"sex": "F"}, 4)], SMALL)


@pytest.mark.parametrize(
    ("rows", "domain", "said"),
    [
        ([Row({"sex": "F"}, 3)], SMALL, "how many people there are"),
        ([Row({}, 3)], {"sex": "FM"}, '"age" among them'),
        ([Row({}, 3)], {"age": range(0), "sex": "FM"}, "possible values"),
    ],
)
def test_wrong_inputs_are_named(rows: list[Row], domain: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        rebuild(rows, domain)  # type: ignore[arg-type]  # wrong on purpose


def test_rows_that_cannot_be_published() -> None:
    with pytest.raises(InputError, match="withheld"):
        Row({}, None, mean=3)
    with pytest.raises(InputError, match="half way"):
        Row({}, 3, median=3.2)


def test_people_are_counted_as_often_as_they_occur() -> None:
    one, two = {"age": 1}, {"age": 2}
    assert overlap([one, one, two], [one, two, two]) == 2
    assert overlap([one, one], [one, one]) == 2


def test_the_stage() -> None:
    told: list[float] = []
    outcome = stage(blocks=6, progress=told.append)
    assert np.allclose(told, np.arange(1, 7) / 6)
    assert outcome.undefended.success > 0.7
    assert outcome.defended.success < 0.3
    assert outcome.facts["sure"] <= outcome.facts["exact"]
    assert outcome.plot().to_dict()["layer"]
    generous = stage(blocks=3, epsilon=500.0)
    assert generous.defended.success > 2.5 * outcome.defended.success  # it was the noise
    with pytest.raises(InputError, match="at least one block"):
        stage(blocks=0)
