"""TPC-H for tacit: its policy with customers as units, and its questions as they are written.

Bounds are those of the specification (clauses 1.3 and 4.2.3), which everybody may read; nothing is taken from the data.
"""

from pathlib import Path
from subprocess import run
from sys import executable

__all__ = ["MORE", "NOT_PRIVATE", "POLICY", "PRIVATE", "made"]

HEAD = """
[dataset]
name = "tpch"
source = "."
ledger = "tpch.ledger"

[privacy]
unit = "customer"
currency = "rho"
budget = 1000000
delta = 1e-7

[analysts."*"]
"""
KEY = 'type = "integer"'
MONEY = 'type = "decimal"\nstep = "0.01"'
WORDS = 'type = "text"'
DAY = 'type = "date"\nbounds = [1992-01-01, 1998-12-31]'
NULLS = "\nnullable = false"


def _listed(*words: str) -> str:
    return f"{WORDS}\ngroup_keys = [{', '.join(f'{chr(34)}{word}{chr(34)}' for word in words)}]{NULLS}"


def _money(low: float, high: float) -> str:
    return f"{MONEY}\nbounds = [{low}, {high}]{NULLS}"


def _whole(low: int, high: int) -> str:
    return f"{KEY}\nbounds = [{low}, {high}]{NULLS}"


SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
NATIONS = ("ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY", "INDIA", "INDONESIA",
           "IRAN", "IRAQ", "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE", "PERU", "CHINA", "ROMANIA",
           "SAUDI ARABIA", "VIETNAM", "RUSSIA", "UNITED KINGDOM", "UNITED STATES")  # fmt: skip
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
UNIQUE = f"{KEY}\nunique = true"
TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "customer": (
        'unit_column = "c_custkey"\nmax_rows_per_unit = 1',
        {
            "c_custkey": KEY, "c_name": WORDS, "c_address": WORDS, "c_nationkey": KEY, "c_phone": WORDS,
            "c_acctbal": _money(-1000, 10000), "c_mktsegment": _listed(*SEGMENTS), "c_comment": WORDS,
        },
    ),
    "orders": (
        'unit_column = "o_custkey"\nclip_rows = 40',
        {
            "o_orderkey": KEY, "o_custkey": KEY, "o_orderstatus": _listed("F", "O", "P"),
            "o_totalprice": _money(0, 600000), "o_orderdate": DAY + NULLS, "o_orderpriority": _listed(*PRIORITIES),
            "o_clerk": WORDS, "o_shippriority": _whole(0, 1), "o_comment": WORDS,
        },
    ),
    "lineitem": (
        'link = { column = "l_orderkey", table = "orders", key = "o_orderkey" }\nclip_rows = 180',
        {
            "l_orderkey": KEY, "l_partkey": KEY, "l_suppkey": KEY, "l_linenumber": _whole(1, 7),
            "l_quantity": _money(1, 50), "l_extendedprice": _money(0, 105000), "l_discount": _money(0, 0.1),
            "l_tax": _money(0, 0.08), "l_returnflag": _listed("A", "N", "R"), "l_linestatus": _listed("F", "O"),
            "l_shipdate": DAY + NULLS, "l_commitdate": DAY + NULLS, "l_receiptdate": DAY + NULLS,
            "l_shipinstruct": _listed(*INSTRUCTIONS), "l_shipmode": _listed(*MODES), "l_comment": WORDS,
        },
    ),
    "part": (
        "public = true\nrows = 2000000",
        {
            "p_partkey": UNIQUE, "p_name": WORDS, "p_mfgr": WORDS, "p_brand": WORDS, "p_type": WORDS,
            "p_size": _whole(1, 50), "p_container": WORDS, "p_retailprice": _money(0, 3000), "p_comment": WORDS,
        },
    ),
    "supplier": (
        "public = true\nrows = 100000",
        {
            "s_suppkey": UNIQUE, "s_name": WORDS, "s_address": WORDS, "s_nationkey": KEY, "s_phone": WORDS,
            "s_acctbal": _money(-1000, 10000), "s_comment": WORDS,
        },
    ),
    "partsupp": (
        "public = true\nrows = 8000000",
        {
            "ps_partkey": KEY, "ps_suppkey": KEY, "ps_availqty": _whole(1, 9999), "ps_supplycost": _money(1, 1000),
            "ps_comment": WORDS,
        },
    ),
    "nation": (
        "public = true\nrows = 25",
        {"n_nationkey": UNIQUE, "n_name": _listed(*NATIONS), "n_regionkey": KEY, "n_comment": WORDS},
    ),
    "region": ("public = true\nrows = 5", {"r_regionkey": UNIQUE, "r_name": _listed(*REGIONS), "r_comment": WORDS}),
}  # fmt: skip
POLICY = HEAD + "".join(
    f"\n[tables.{name}]\n{head}\n"
    + "".join(f"\n[tables.{name}.columns.{column}]\n{said}\n" for column, said in columns.items())
    for name, (head, columns) in TABLES.items()
)


def made(folder: Path, scale: float) -> Path:
    """The tables of a scale as Parquet, with the policy beside them; made once."""
    place = folder / f"sf{scale:g}"
    if not (place / "region.parquet").exists():
        tool = Path(executable).with_name("tpchgen-cli")
        run([tool, "parquet", "-s", f"{scale:g}", f"--output-dir={place}"], check=True, capture_output=True)
    (place / "tacit.toml").write_text(POLICY)
    return place


REVENUE = "l_extendedprice * (1 - l_discount)"
PRIVATE: dict[int, str] = {
    1: """SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
        SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
        SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty,
        AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order FROM lineitem
        WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY GROUP BY l_returnflag, l_linestatus
        ORDER BY l_returnflag, l_linestatus""",
    5: f"""SELECT n_name, SUM({REVENUE}) AS revenue FROM customer, orders, lineitem, supplier, nation, region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
        AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
        AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY n_name ORDER BY revenue DESC""",
    6: """SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01'
        AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01
        AND l_quantity < 24""",
    14: f"""SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN {REVENUE} ELSE 0 END) / SUM({REVENUE})
        AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'
        AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH""",
    19: f"""SELECT SUM({REVENUE}) AS revenue FROM lineitem, part
        WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12'
            AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
            AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5
            AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
        OR (p_partkey = l_partkey AND p_brand = 'Brand#23'
            AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND l_quantity >= 10 AND l_quantity <= 10 + 10 AND p_size BETWEEN 1 AND 10
            AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
        OR (p_partkey = l_partkey AND p_brand = 'Brand#34'
            AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND l_quantity >= 20 AND l_quantity <= 20 + 10 AND p_size BETWEEN 1 AND 15
            AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')""",
}
MORE: dict[int, str] = {
    3: f"""SELECT o_orderdate, SUM({REVENUE}) AS revenue FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY o_orderdate ORDER BY revenue DESC LIMIT 10""",
    4: """SELECT o_orderpriority, COUNT(*) AS order_count FROM (SELECT o_custkey, o_orderpriority, o_orderkey
            FROM orders JOIN lineitem ON l_orderkey = o_orderkey WHERE o_orderdate >= DATE '1993-07-01'
            AND o_orderdate < DATE '1993-10-01' AND l_commitdate < l_receiptdate
            GROUP BY o_custkey, o_orderpriority, o_orderkey) AS late
        GROUP BY o_orderpriority ORDER BY o_orderpriority""",
    7: f"""SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(year FROM l_shipdate) AS l_year,
        SUM({REVENUE}) AS revenue FROM supplier, lineitem, orders, customer, nation n1, nation n2
        WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
        AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
        AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
        AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3""",
    8: f"""SELECT EXTRACT(year FROM o_orderdate) AS o_year,
        SUM(CASE WHEN n2.n_name = 'BRAZIL' THEN {REVENUE} ELSE 0 END) / SUM({REVENUE}) AS mkt_share
        FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
        WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
        AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
        AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
        AND p_type = 'ECONOMY ANODIZED STEEL' GROUP BY o_year ORDER BY o_year""",
    12: """SELECT l_shipmode,
        SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
        SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END)
        AS low_line_count FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP')
        AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01'
        AND l_receiptdate < DATE '1995-01-01' GROUP BY l_shipmode ORDER BY l_shipmode""",
    13: """SELECT c_count, COUNT(*) AS custdist FROM (SELECT c_custkey, CLAMP(COUNT(o_orderkey), 0, 50) AS c_count
        FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
        GROUP BY c_custkey) AS c_orders GROUP BY c_count ORDER BY custdist DESC, c_count DESC""",
}
NOT_PRIVATE: dict[int, str] = {
    2: "about public tables alone (part, supplier, partsupp): nobody to protect",
    9: "joins partsupp by two columns, of which no single one is unique: one unit could have 800 million rows",
    10: "lists customers by name: each row of the answer is one unit",
    11: "about public tables alone (partsupp, supplier): nobody to protect",
    15: "the supplier with the largest exact revenue: a comparison with a private maximum",
    16: "about public tables alone (partsupp, part): nobody to protect",
    17: "compares each row with the average over everybody's rows, before noise",
    18: "lists customers and their orders: each row of the answer is one unit",
    20: "compares with a sum over several units in a subquery, and lists suppliers",
    21: "EXISTS over other rows of the same order, by supplier: no such form yet",
    22: "compares balances with the average over everybody, before noise; NOT EXISTS over orders",
}
