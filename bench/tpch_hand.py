"""The shortest private forms of some questions that we could write for DuckDB by hand: a floor for what can be reached.

Rows are added up by customer in whole numbers, or counted by customer where that is shorter; nothing is clamped, nobody
is clipped, and every key is taken to lead to one customer. So they are no private answers, but take about as long.
"""

from bench.tpch_data import MORE, PRIVATE

__all__ = ["BY_HAND"]


def _steps(value: str, step: str = "8e0") -> str:
    return f"SUM(CAST(FLOOR({value} * {step} + 0.5e0) AS INTEGER))"


PRICE, DISCOUNT, QUANTITY, TAX = (f"l_{name}::DOUBLE" for name in ("extendedprice", "discount", "quantity", "tax"))
REVENUE = f"({PRICE} * (1e0 - {DISCOUNT}))"
PROMO = f"CASE WHEN p_type LIKE 'PROMO%' THEN {REVENUE} ELSE 0e0 END"
SHIPPED = "l_shipdate <= DATE '1998-09-02'"
BY_HAND: dict[int, tuple[str, ...]] = {
    1: (
        "SELECT COUNT(*) FROM (SELECT o_custkey FROM (SELECT l_orderkey, COUNT(*) AS n FROM lineitem "
        f"WHERE {SHIPPED} GROUP BY 1) JOIN orders ON l_orderkey = o_orderkey GROUP BY o_custkey HAVING SUM(n) > 180)",
        f"SELECT l_returnflag, l_linestatus, COUNT(*), {_steps(f'({QUANTITY} - 25.5e0)', '100e0')}, "
        f"{_steps(f'({PRICE} - 52500e0)', '100e0')}, {_steps(REVENUE)}, "
        f"{_steps(f'({REVENUE} * ({TAX} + 1e0))', '16e0')}, "
        f"{_steps(f'({DISCOUNT} - 0.05e0)', '25600e0')} FROM lineitem WHERE {SHIPPED} GROUP BY ALL",
    ),
    5: (
        "SELECT n_name, SUM(revenue) FROM ("
        + PRIVATE[5]
        .replace("SELECT n_name,", "SELECT o_custkey, n_name,")
        .replace("GROUP BY n_name", "GROUP BY o_custkey, n_name")
        .replace("ORDER BY revenue DESC", "")
        .replace("SUM(l_extendedprice * (1 - l_discount))", _steps(REVENUE))
        + ") GROUP BY 1",
    ),
    6: (
        f"SELECT SUM(m) FROM (SELECT o_custkey, {_steps(f'{PRICE} * {DISCOUNT}', '10000e0')} AS m FROM lineitem "
        "JOIN orders ON l_orderkey = o_orderkey WHERE l_shipdate >= DATE '1994-01-01' "
        f"AND l_shipdate < DATE '1995-01-01' AND {DISCOUNT} BETWEEN 0.05e0 AND 0.07e0 "
        f"AND {QUANTITY} < 24e0 GROUP BY 1)",
    ),
    8: (
        "SELECT o_year, SUM(mkt_share) FROM ("
        + MORE[8]
        .replace("SELECT EXTRACT", "SELECT o_custkey, EXTRACT")
        .replace("GROUP BY o_year ORDER BY o_year", "GROUP BY 1, 2")
        + ") GROUP BY 1",
    ),
    14: (
        f"SELECT SUM(a), SUM(b) FROM (SELECT o_custkey, SUM(a) AS a, SUM(b) AS b FROM (SELECT l_orderkey, "
        f"{_steps(REVENUE)} AS a, {_steps(PROMO)} AS b FROM lineitem JOIN part ON l_partkey = p_partkey "
        "WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01' GROUP BY 1) "
        "JOIN orders ON l_orderkey = o_orderkey GROUP BY 1)",
    ),
    19: (
        "SELECT SUM(revenue) FROM ("
        + PRIVATE[19]
        .replace("FROM lineitem, part", "FROM lineitem JOIN orders ON l_orderkey = o_orderkey, part")
        .replace("SELECT SUM(l_extendedprice * (1 - l_discount))", f"SELECT o_custkey, {_steps(REVENUE)}")
        + " GROUP BY 1)",
    ),
}
