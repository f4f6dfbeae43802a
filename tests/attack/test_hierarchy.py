"""Each level of a hierarchy only joins what the one below it kept apart, and labels cover what they say."""

import pytest

from tacit.attack.hierarchy import Hierarchy, any_of, covers, masked, stretch


def test_each_level_covers_the_one_below() -> None:
    ages = Hierarchy.bands(5, 10)
    for level in range(ages.top + 1):
        for age in (0, 7, 19, 20):
            assert covers(ages.labels([age], level)[0], age)


def test_labels_are_those_of_the_level() -> None:
    assert Hierarchy.digits(1, 2).labels(["13053"], 2) == ["130**"]
    assert Hierarchy.bands(5, 10, 20).labels([28, 30], 2) == ["20-29", "30-39"]
    assert Hierarchy.tree({"judge": "office"}).labels(["judge"], 1) == ["office"]
    assert Hierarchy.tree({"judge": "office"}).labels(["judge"], 2) == ["*"]
    assert Hierarchy().labels(["judge"], 1) == ["*"]


@pytest.mark.parametrize(
    ("label", "inside", "outside"),
    [
        ("*", ["anything", 3, None], []),
        ("130**", ["13053", "13099"], ["14053", "130", "130530"]),
        ("20-29", [20, 29, "25"], [19, 30, "x"]),
        ("-5--1", [-5, -1.5], [0, 5]),
        ("<30", [29, -3], [30]),
        (">=40", [40], [39.9]),
        ("{a, b}", ["a", "b"], ["c", "a, b"]),
        ("flu", ["flu"], ["influenza"]),
        (7, [7, "7"], [8]),
    ],
)
def test_a_label_covers_what_it_says(label: object, inside: list[object], outside: list[object]) -> None:
    assert all(covers(label, value) for value in inside)
    assert not any(covers(label, value) for value in outside)


def test_what_is_written_covers_what_it_was_written_for() -> None:
    assert covers(masked("13053", 2), "13053")
    assert covers(stretch(20, 29), 24)
    assert stretch(4, 4) == "4"
    assert covers(any_of(["b", "a"]), "a")
    assert any_of(["a"]) == "a"
