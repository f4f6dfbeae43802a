"""What cannot be in a table: read, written back, and refused where it speaks of what is not there."""

import pytest

from tacit.base import PolicyError
from tacit.policy import parse
from tacit.policy.rule import DependentColumn, ImpossibleRow

POLICY = """
[dataset]
name = "people"
[privacy]
unit = "person"
currency = "rho"
budget = 1
delta = 1e-6
[tables.people]
unit_column = "id"
{rules}
[tables.people.columns]
age = {{ type = "integer", bounds = [0, 99] }}
job = {{ type = "text", group_keys = ["cook", "clerk", "none"] }}
city = {{ type = "text", group_keys = ["Boston", "Reno, NV"], nullable = false }}
state = {{ type = "text", group_keys = ["MA", "NV"] }}
born = {{ type = "date", bounds = [1920-01-01, 2019-12-31] }}
free = {{ type = "float" }}
"""
RULES = """\
impossible = [{ age = [0, 14], job = ["cook", "clerk"] }, { born = 2000-01-01, job = "(missing)" }]
follows = [{ column = "state", from = "city", values = { Boston = "MA", "Reno, NV" = "NV" } }]
"""


def test_rules_are_read_and_written_back() -> None:
    policy = parse(POLICY.format(rules=RULES))
    first, second = policy.tables["people"].impossible
    assert first == ImpossibleRow(values=(("age", (0, 14)), ("job", ("cook", "clerk"))))
    assert second.values[1] == ("job", ("(missing)",))
    (state,) = policy.tables["people"].follows
    assert state == DependentColumn(column="state", source="city", values=(("Boston", "MA"), ("Reno, NV", "NV")))
    again = parse(policy.to_toml())
    assert again == policy
    assert again.hash == policy.hash
    assert parse(POLICY.format(rules=RULES.replace("14", "15"))).hash != policy.hash


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("impossible = [{ agee = 3 }]", 'there is no column "agee" in the table: did you mean "age"?'),
        ('impossible = "age"', "must be a list such as"),
        ("impossible = [3]", "must be a list such as"),
        ("impossible = [{}]", "names no column, so no row could be"),
        ("impossible = [{ age = [] }]", 'has no value for "age"'),
        ('impossible = [{ age = ["x", 3] }]', '"x" does not suit "age", which is of type integer'),
        ("impossible = [{ age = [9, 2] }]", "are one, or a lower and an upper end"),
        ('impossible = [{ job = "cok" }]', '"cok" is not among the group_keys of "job"'),
        ('impossible = [{ city = "(missing)" }]', "not among the group_keys"),
        ("impossible = [{ free = 3 }]", "neither group_keys nor bounds"),
        ('follows = [{ column = "state", from = "city" }]', "must name a column, the one it follows from, and values"),
        ('follows = [{ column = "state", from = "city", values = { Bosto = "MA" } }]', '"Bosto" is not among'),
        ('follows = [{ column = "city", from = "city", values = { Boston = "Boston" } }]', "cannot follow from itself"),
    ],
)
def test_rules_that_say_nothing_are_refused(rules: str, told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        parse(POLICY.format(rules=rules))
