"""How much one unit counts in a join, and in its totals, as the policy says of the tables."""

import pytest
from bench.accepted import FOLDER

from tacit.policy.read import PolicyFile
from tacit.sql import Catalog, lower, parse
from tacit.sql.offer import contribution_of

POLICY = PolicyFile.read(FOLDER / "policy.toml").policy
CATALOG = Catalog.from_policy(POLICY)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT COUNT(*) FROM customers", 1),
        ("SELECT COUNT(*) FROM customers c JOIN orders o ON c.customer_id = o.customer_id", 20),
        ("SELECT COUNT(*) FROM orders o JOIN impressions i ON o.customer_id = i.user_id", 20),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 7) COUNT(*) FROM orders", 7),
    ],
)
def test_a_table_of_one_row_each_says_nothing_of_a_join(sql: str, rows: int) -> None:
    assert contribution_of(POLICY, lower(parse(sql), CATALOG), {}).rows == rows
