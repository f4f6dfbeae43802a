"""How a question was understood, as data and as text."""

import pytest
from bench.accepted import FOLDER

from tacit.base import Refused
from tacit.plan.node import Scan
from tacit.plan.owner import Link, UnitPath
from tacit.policy.read import PolicyFile
from tacit.sql.catalog import Catalog
from tacit.sql.explain import TITLES, Explanation, _table, explain

POLICY = PolicyFile.read(FOLDER / "policy.toml").policy
CATALOG = Catalog.from_policy(POLICY)


def explained(sql: str) -> Explanation:
    return explain(sql, None, POLICY, CATALOG)


def of(found: Explanation, kind: str) -> list[str]:
    return [finding.words for finding in found.findings if finding.kind == kind]


def test_units_tables_joins_clips_keys_and_what_comes_after() -> None:
    found = explained(
        "SELECT p.category, o.city, SUM(o.amount) / COUNT(*) AS mean FROM orders o JOIN products p ON o.product_id = "
        "p.product_id WHERE o.quantity > 2 GROUP BY p.category, o.city HAVING COUNT(*) > 5 ORDER BY mean DESC LIMIT 3"
    )
    assert "every person" in of(found, "unit")[0]
    assert of(found, "table") == ["products: public", "orders: private, customer_id says whose row it is"]
    assert of(found, "row") == [
        "inner join on product_id = product_id (each row meets at most one)",
        "those where (quantity > 2)",
    ]
    assert of(found, "key") == [
        "by category: 4 keys known from declarations, each shown",
        "by city: keys with enough persons are found with noise, others are not shown",
    ]
    assert of(found, "aggregate") == ["SUM(amount)", "COUNT(*)"]
    assert any("scaled down to" in words for words in of(found, "clip"))
    assert of(found, "after") == [
        "mean = (SUM(amount) / COUNT(*))",
        "groups are kept where (COUNT(*) > 5)",
        "ordered by (SUM(amount) / COUNT(*)), descending",
        "3 rows from row 1 on",
    ]


def test_what_is_computed_by_unit_comes_before_what_is_chosen_of_it() -> None:
    found = explained(
        "SELECT COUNT(*) FROM (SELECT customer_id, LEAST(COUNT(*), 5) AS n FROM orders GROUP BY customer_id) AS t "
        "WHERE n > 2"
    )
    assert of(found, "row") == [
        "by person: COUNT(*), exact, since each is of one person",
        "those where (least(COUNT(*), 5) > 2)",
    ]
    assert of(found, "clip") == [
        "no person can count more than 1 full row over all groups together: nothing is clipped"
    ]


def test_data_first_and_text_from_it() -> None:
    found = explained("SELECT status, COUNT(*) AS n FROM orders GROUP BY status")
    told = found.json()
    assert {each["kind"] for each in told["findings"]} <= set(TITLES)
    assert told["columns"] == [{"name": "status", "type": "text"}, {"name": "n", "type": "integer"}]
    assert repr(found).splitlines()[0] == "who is protected"
    assert all(each["words"] in repr(found) for each in told["findings"])


def test_a_question_that_is_refused_is_not_explained() -> None:
    with pytest.raises(Refused, match="rows are never released"):
        explained("SELECT * FROM orders")


def test_links_and_units_of_several_columns_are_told() -> None:
    path = UnitPath(links=(Link(column="order_id", table="orders", key="id"),), columns=("customer",), types=(None,))
    scan = Scan(table="items", columns=(), is_private=True, unit_name="u", path=path)
    told = "items: private, orders.customer says whose row it is, by the link order_id = orders.id"
    assert _table(scan, {}, "customer").words == told
    both = Scan(
        table="t", columns=(), is_private=True, unit_name="u", path=UnitPath(columns=("a", "b"), types=(None,) * 2)
    )
    assert _table(both, {}, "customer").words == "t: private, a and b say together whose row it is"


def test_what_is_made_of_answers_is_told_as_free() -> None:
    found = explained(
        "WITH a AS (SELECT status, COUNT(*) AS n FROM orders GROUP BY status) SELECT status, n / (SELECT SUM(n) FROM "
        "a) AS share FROM a WHERE n > 3 ORDER BY n DESC LIMIT 2"
    )
    assert of(found, "aggregate") == ["COUNT(*)"]
    assert of(found, "after") == [
        "totals of released numbers",
        "rows are kept where (n > 3)",
        "answers are joined",
        "ordered by n",
        "share = (n / SUM(n))",
        "2 rows from row 1 on",
    ]


def test_windows_groupings_and_cuts_are_told() -> None:
    found = explained(
        "SELECT AVG(s) FROM (SELECT SUM(amount) OVER (PARTITION BY customer_id ORDER BY order_date) AS s FROM orders) t"
    )
    assert of(found, "row") == ["beside each row, of the rows of its person alone: SUM(amount) ordered by order_date"]
    found = explained("SELECT status, COUNT(DISTINCT city) FROM orders GROUP BY ROLLUP (status)")
    assert of(found, "row") == ["in 2 groupings at once: (status), ()"]
    assert of(found, "clip") == ["no person adds more than 40 different values over all groups together"]
    two = explained("SELECT COUNT(*) AS n, (SELECT COUNT(*) FROM customers) AS m FROM orders")
    assert [words.split(":")[0] for words in of(two, "table")] == ["orders", "customers"]
