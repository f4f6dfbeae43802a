"""Links between tables of a policy: read, written back, and refused where they lead to nobody."""

import pytest

from tacit.base import PolicyError
from tacit.policy import Table, TableLink, parse
from tacit.policy.link import keys_linked_to, links_from

HEAD = """
[dataset]
name = "shop"
[privacy]
unit = "customer"
currency = "rho"
budget = 1
delta = 1e-6
[tables.customers]
unit_column = "id"
[tables.orders]
link = { column = "customer", table = "customers", key = "id" }
[tables.items]
link = { column = "order_id", table = "orders", key = "nr" }
"""
ITEM = TableLink(column="order_id", table="orders", key="nr")
ORDER = TableLink(column="customer", table="customers", key="id")


def test_links_are_followed_to_the_unit() -> None:
    policy = parse(HEAD)
    assert policy.tables["items"].link == ITEM
    assert links_from(policy.tables, "items") == (ITEM, ORDER)
    assert links_from(policy.tables, "customers") == ()
    assert keys_linked_to(policy.tables, "orders") == ("nr",)
    assert policy.tables["items"].needed == ("order_id",)


def test_a_policy_with_links_reads_back_as_itself() -> None:
    policy = parse(HEAD + '[tables.logins]\nunit_column = ["tenant", "user"]\n')
    again = parse(policy.to_toml())
    assert again == policy
    assert again.hash == policy.hash
    assert again.tables["logins"].unit_columns == ("tenant", "user")
    assert parse(HEAD.replace('"nr"', '"id"')).hash != parse(HEAD).hash


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ('link = { column = "a", table = "order", key = "b" }', 'did you mean "orders"'),
        ('link = { column = "a", table = "wards", key = "b" }', "which is public, so nobody would be protected"),
        ('link = { column = "a", table = "staff", key = "b" }', 'declare unit_column = "b" there'),
        ('link = { column = "a", table = "blank", key = "b" }', "does not say whose rows they are"),
        ('link = { column = "a", table = "items", key = "b" }', "lead in a circle, items → items"),
        ('link = { column = "a", table = "round", key = "b" }', "lead in a circle, items → round → items"),
        ('link = { column = "a", table = "orders" }', "must name a column, a table and the key there"),
        ('link = { column = "", table = "orders", key = "b" }', "has a column that must not be empty"),
        ('link = { column = "a", table = "orders", key = "b" }\npublic = true', "link and public exclude each other"),
        ('link = { column = "a", table = "orders", key = "b" }\nunit_column = "c"', "unit_column and link exclude"),
        ('unit_column = ["a"]', "two to eight that name a person together"),
        ('unit_column = ["a", "a"]', "names something twice"),
    ],
)
def test_what_leads_to_nobody_is_refused(item: str, said: str) -> None:
    more = """
[tables.wards]
public = true
[tables.staff]
each_row_is_a_unit = true
[tables.blank]
[tables.round]
link = { column = "a", table = "items", key = "b" }
"""
    text = HEAD.replace('link = { column = "order_id", table = "orders", key = "nr" }', item) + more
    with pytest.raises(PolicyError) as caught:
        parse(text)
    assert said in str(caught.value)


def test_a_float_leads_to_nobody() -> None:
    with pytest.raises(PolicyError, match="it leads to the people, and two of them can have the same float"):
        parse(HEAD + '[tables.items.columns.order_id]\ntype = "float"\n')


def test_what_a_view_may_bring_together() -> None:
    """Rows of one key are one unit's; of a part of a unit they are not."""
    assert Table(link=ITEM).kept_together == "order_id"
    assert Table(unit_column=("tenant", "user")).kept_together is None
    assert Table(unit_column="id").kept_together == "id"
