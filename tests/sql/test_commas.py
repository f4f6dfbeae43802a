"""Tables between commas, joined by the equalities of WHERE: the same plan as with JOIN, in any order."""

from itertools import permutations

import pytest

from support.shop import SHOP
from tacit.base import Mistake, Refused
from tacit.plan.node import Filter, Join
from tacit.sql import lower, parse

WHERE = "c.customer = o.customer AND o.id = i.order_id AND i.good = g.good AND amount > 3"


@pytest.mark.parametrize("order", list(permutations(["customers c", "orders o", "items i", "goods g"])))
def test_any_order_is_joined_by_equal_keys(order: tuple[str, ...]) -> None:
    source = lower(parse(f"SELECT SUM(amount) FROM {', '.join(order)} WHERE {WHERE}"), SHOP).source
    assert isinstance(source, Filter)
    assert source.condition.line.count("=") == 0  # what joins is no filter any more
    joins = [node for node in source.walk() if isinstance(node, Join)]
    assert len(joins) == 3
    assert all(join.on for join in joins)
    assert sum(join.along is not None for join in joins) == 1
    assert sum(join.unique for join in joins) == 1


def test_it_is_the_plan_of_join() -> None:
    comma = "SELECT SUM(amount) FROM items i, orders o WHERE (o.id = i.order_id) AND (amount > 3)"
    join = "SELECT SUM(amount) FROM items i JOIN orders o ON (o.id = i.order_id) WHERE (amount > 3)"
    assert lower(parse(comma), SHOP).source == lower(parse(join), SHOP).source


def test_a_key_that_every_branch_has() -> None:
    either = "(i.good = g.good AND amount > 1) OR (amount < 0 AND i.good = g.good)"
    sql = f"SELECT COUNT(*) FROM items i, goods g WHERE {either}"
    source = lower(parse(sql), SHOP).source
    assert isinstance(source, Filter)  # the OR stays
    assert isinstance(source.below, Join)
    with pytest.raises(Refused, match="a join without equal keys"):
        lower(parse("SELECT COUNT(*) FROM items i, goods g WHERE i.good = g.good OR amount > 1"), SHOP)


def test_parentheses_and_chains_between_commas() -> None:
    sql = (
        "SELECT COUNT(*) FROM (orders o JOIN (items i JOIN returns r ON i.code = r.item) ON o.id = i.order_id), "
        "goods g JOIN customers c ON g.group = c.kind WHERE c.customer = o.customer"
    )
    source = lower(parse(sql), SHOP).source
    assert sum(isinstance(node, Join) for node in source.walk()) == 4


def test_a_query_that_is_used_twice_keeps_its_keys() -> None:
    sql = (
        "WITH q AS (SELECT o.customer, amount FROM items i, orders o WHERE o.id = i.order_id) "
        "SELECT COUNT(*) FROM q a JOIN q b ON a.customer = b.customer"
    )
    source = lower(parse(sql), SHOP).source
    assert sum(node.along is not None for node in source.walk() if isinstance(node, Join)) == 2


def test_mistakes() -> None:
    with pytest.raises(Refused, match='a join without equal keys \\("goods"\\)'):
        lower(parse("SELECT COUNT(*) FROM items, goods"), SHOP)
    with pytest.raises(Mistake, match='column "good" is in "items" and "goods"'):
        lower(parse("SELECT COUNT(*) FROM items JOIN goods ON items.good = goods.good WHERE good = 1"), SHOP)
    with pytest.raises(Mistake, match='two tables are called "items"'):
        lower(parse("SELECT COUNT(*) FROM items, items"), SHOP)
