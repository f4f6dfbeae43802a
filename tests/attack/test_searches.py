"""Search logs: who is named, what is read, and what tacit shows."""

import pytest

from tacit.attack.population import chance
from tacit.attack.searches import exposed, named, searches, stage
from tacit.base import InputError


def test_whose_they_are() -> None:
    assert named(["weather", "person 7", "person 9", "person 7"]) == "person 7"
    assert named(["weather", "person 7 hiv test"]) is None


def test_what_is_read() -> None:
    mine = ["person 7", "weather", "divorce lawyer"]
    assert exposed([mine]) == {("person 7", "divorce lawyer")}
    assert exposed([[query] for query in mine]) == set(), "a worry without a name is nobody's"
    assert exposed([["person 8 loan shark"], ["news"]]) == {("person 8", "loan shark")}
    assert exposed([["hiv test", "weather"]]) == set()


def test_people_look_for_themselves() -> None:
    log = searches(500, chance(1))
    share = sum(named(own) == f"person {who}" for who, own in enumerate(log)) / len(log)
    assert 0.6 < share < 0.8


def test_the_stage() -> None:
    outcome = stage(people=1_000)
    numbers, short, none, often, ours = outcome.facts["read"].values()
    assert numbers > short > none > often > 0.03
    assert ours == outcome.defended.success == 0
    assert outcome.facts["shown"] > 0, "it shows something"
    assert stage(people=1_000, epsilon=500.0).facts["shown"] > 500, "it was the noise, and the threshold with it"
    assert outcome.plot().to_dict()["layer"]
    with pytest.raises(InputError, match="people"):
        stage(people=1)
