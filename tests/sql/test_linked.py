"""Joins along declared links, recognised or refused."""

import pytest

from support.shop import PAIRED, SHOP
from tacit.base import Refused
from tacit.plan.node import Join
from tacit.sql import Catalog, lower, parse


def along(sql: str, catalog: Catalog = SHOP) -> list[str | None]:
    source = lower(parse(sql), catalog).source
    return [node.along for node in source.walk() if isinstance(node, Join) and node.left.private and node.right.private]


@pytest.mark.parametrize(
    ("joined", "sides"),
    [
        ("items i JOIN orders o ON i.order_id = o.id", ["left"]),
        ("orders o JOIN items i ON o.id = i.order_id", ["right"]),
        ("orders o LEFT JOIN items i ON o.id = i.order_id", ["right"]),
        ("items i RIGHT JOIN orders o ON o.id = i.order_id", ["right"]),
        ("items i LEFT JOIN orders o ON o.id = i.order_id", [None]),  # its rows without a match would lose their unit
        ("returns r JOIN items i ON r.item = i.code JOIN orders o ON o.id = i.order_id", ["left", "left"]),
        ("items i JOIN parcels p ON i.order_id = p.order_id", [None]),  # both are linked to one order
        ("orders a JOIN orders b ON a.id = b.id", [None]),
        ("items a JOIN items b ON a.code = b.code", [None]),  # the key that returns are linked to
    ],
)
def test_recognised(joined: str, sides: list[str | None]) -> None:
    assert along(f"SELECT COUNT(*) FROM {joined}") == sides
    assert along(f"SELECT COUNT(*) FROM {joined}", PAIRED) == sides


@pytest.mark.parametrize(
    "joined",
    [
        "items i JOIN orders o ON i.good = o.id",
        "items i JOIN orders o ON i.order_id + 1 = o.id",
        "items i JOIN parcels p ON i.amount = p.weight",
        "returns r JOIN orders o ON r.item = o.kind",
        "items i JOIN (SELECT order_id + 0 AS k FROM items) j ON i.order_id = j.k",
    ],
)
def test_other_keys_say_nothing_of_the_unit(joined: str) -> None:
    with pytest.raises(Refused, match="on other keys than the unit is refused"):
        lower(parse(f"SELECT COUNT(*) FROM {joined}"), SHOP)


def test_a_part_of_a_unit_is_not_the_unit() -> None:
    with pytest.raises(Refused, match="on other keys than the unit is refused"):
        lower(parse("SELECT COUNT(*) FROM orders o JOIN customers c ON o.customer = c.customer"), PAIRED)
    found = lower(parse("SELECT SUM(n) FROM (SELECT tenant, COUNT(*) AS n FROM orders GROUP BY tenant) q"), PAIRED)
    assert found.after is not None  # it is measured by tenant, not computed for each unit
