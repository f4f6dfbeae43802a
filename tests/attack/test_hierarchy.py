"""Each level of a hierarchy only joins what the one below it kept apart."""

from tacit.attack.hierarchy import Hierarchy, covers


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
