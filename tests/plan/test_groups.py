"""How many groups there are, and which keys are listed."""

import pytest

from tacit.base import Refused
from tacit.plan.bounded import Key
from tacit.plan.expression import Column, constant
from tacit.plan.facts import Facts, Type
from tacit.plan.groups import MOST_GROUPS, check_groups, listed, most_groups
from tacit.plan.operation import call


def key(name: str, facts: Facts) -> Key:
    return Key(name=name, expression=Column(name=name, facts=facts))


DECLARED = Facts(type=Type.INTEGER, domain=tuple(range(2000)), nullable=False)
COUNTED = Facts(type=Type.INTEGER, low=0, high=2999, nullable=False)


def test_declared_lists_stay_lists_and_may_be_too_many() -> None:
    keys = listed((key("a", DECLARED), key("b", DECLARED)))
    assert all(each.values is not None for each in keys)
    with pytest.raises(Refused, match=f"more than {MOST_GROUPS:,}"):
        check_groups(keys)


def test_what_follows_from_bounds_is_left_open_where_it_would_be_too_many() -> None:
    one, two = listed((key("a", DECLARED), key("b", COUNTED)))
    assert one.values is not None
    assert two.values is None
    check_groups((one, two))
    assert most_groups((one, two)) == 10_000
    (alone,) = listed((key("b", COUNTED),))
    assert alone.values is not None
    assert len(alone.values) == 3000


def test_what_is_computed_is_left_open_too() -> None:
    made = call("modulo", Column(name="b", facts=COUNTED), constant(600))
    keys = listed((key("a", DECLARED), Key(name="c", expression=made)))
    assert [each.values is None for each in keys] == [False, True]
