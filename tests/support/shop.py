"""A small shop with normalised tables, in versions that differ by one customer, who reuses everybody's keys.

An item knows its order, a return its item, an order its customer. Keys are few, so most are there several times and
lead to several customers, to the same one twice, or to nobody. The linked tables are the same in every version: which
of their rows are whose follows from the orders alone.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from support.databases import VERSIONS, Answer, answered
from tacit.base import Exact
from tacit.engine.duckdb import DuckDBEngine
from tacit.plan.bounded import Bounded
from tacit.plan.facts import Facts, Type
from tacit.plan.node import Filter, Group, Join, Node, Project, Scan
from tacit.plan.owner import Link, UnitPath
from tacit.sql import AskableTable, Catalog

__all__ = ["ALONG", "PAIRED", "SHOP", "Shop", "in_version", "questions", "shop_rows", "shop_tables"]

WHOLE, TEXT = Facts(type=Type.INTEGER), Facts(type=Type.TEXT)
AMOUNT = Facts(type=Type.NUMBER, low=Fraction(-20), high=Fraction(50), step=Fraction(1, 2), nullable=False)
SMALL = Facts(
    type=Type.INTEGER, low=0, high=3, step=Fraction(1)
)  # keys beyond are clamped for questions, not for links
KIND = Facts(type=Type.TEXT, domain=("a", "b", "c"))


def _shop(columns: tuple[str, ...], types: tuple[Type | None, ...]) -> Catalog:
    """The shop, with a customer named by these columns."""
    named = {column: WHOLE if kind is Type.INTEGER else TEXT for column, kind in zip(columns, types, strict=True)}
    own: dict[str, Any] = {"unit": columns[0], "unit_type": types[0]} if len(columns) == 1 else {}
    path = None if own else UnitPath(columns=columns, types=types)
    to_orders = Link(column="order_id", table="orders", key="id", column_type=Type.INTEGER, key_type=Type.INTEGER)
    to_items = Link(column="item", table="items", key="code")

    def linked(*links: Link) -> UnitPath:
        return UnitPath(links=links, columns=columns, types=types)

    more: dict[str, Any] = {} if not own else {"unit_type": types[0]}
    return Catalog(
        tables={
            "customers": AskableTable(columns={**named, "kind": KIND}, path=path, **own),
            "orders": AskableTable(columns={**named, "id": SMALL, "paid": AMOUNT, "kind": KIND}, path=path, **own),
            "items": AskableTable(
                columns={"order_id": SMALL, "code": TEXT, "amount": AMOUNT, "kind": TEXT, "good": WHOLE},
                path=linked(to_orders),
                **more,
            ),
            "parcels": AskableTable(columns={"order_id": WHOLE, "weight": AMOUNT}, path=linked(to_orders), **more),
            "returns": AskableTable(columns={"item": TEXT, "back": AMOUNT}, path=linked(to_items, to_orders), **more),
            "goods": AskableTable(
                private=False, columns={"good": WHOLE, "group": KIND}, unique=frozenset({"good"}), rows=9
            ),
        }
    )


SHOP = _shop(("customer",), (Type.INTEGER,))
PAIRED = _shop(("tenant", "customer"), (Type.TEXT, Type.INTEGER))
ALONG = (
    "SELECT COUNT(*), SUM(amount), AVG(paid) FROM items i JOIN orders o ON i.order_id = o.id",
    "SELECT o.kind, SUM(amount) FROM orders o JOIN items i ON (o.id = i.order_id) WHERE amount > 0 GROUP BY 1",
    "SELECT COUNT(amount), COUNT(*) FROM orders o LEFT JOIN items i ON o.id = i.order_id AND i.kind = 'a'",
    "SELECT SUM(back), COUNT(*) FROM returns r JOIN items i ON r.item = i.code JOIN orders o ON i.order_id = o.id",
    "SELECT o.kind, COUNT(*) FROM orders o JOIN (items i JOIN returns r ON i.code = r.item) ON o.id = i.order_id "
    "GROUP BY 1",
    "SELECT g.group, SUM(amount) FROM orders o, goods g, items i WHERE i.good = g.good AND o.id = i.order_id "
    "GROUP BY 1",
)
QUESTIONS = (
    *ALONG,
    "SELECT COUNT(*), SUM(amount), MEDIAN(amount) FROM items",
    "SELECT kind, COUNT(*), AVG(amount) FROM items GROUP BY kind",
    "SELECT COUNT(*), SUM(back), COUNT(DISTINCT item, max_values_per_unit => 2) FROM returns",
    "SELECT COUNT(*), SUM(a.amount) FROM items a JOIN items b ON a.order_id = b.order_id",
    "SELECT SUM(weight * amount), COUNT(*) FROM parcels p, items i WHERE p.order_id = i.order_id AND amount < 30",
    "SELECT COUNT(*), SUM(weight) FROM items i LEFT JOIN orders o ON i.order_id = o.id LEFT JOIN parcels p "
    "ON o.id = p.order_id",
    "SELECT g.group, COUNT(*), SUM(amount) FROM items LEFT JOIN goods g ON items.good = g.good GROUP BY 1",
    "SELECT kind, SUM(n) FROM (SELECT kind, CLAMP(amount, 0, 5) AS n FROM items WHERE amount > -5) q GROUP BY kind",
)
OF_SINGLE = (
    "SELECT c.kind, COUNT(*), SUM(amount) FROM items i, orders o, customers c WHERE c.customer = o.customer "
    "AND o.id = i.order_id AND (paid > 0 OR paid < -3) GROUP BY c.kind",
    "SELECT COUNT(DISTINCT o.customer), SUM(back) FROM orders o JOIN items i ON o.id = i.order_id "
    "JOIN returns r ON r.item = i.code",
    "SELECT SUM(CLAMP(n, 0, 4)) FROM (SELECT o.customer, COUNT(*) AS n FROM items i JOIN orders o ON i.order_id = o.id "
    "GROUP BY o.customer) q",
)
OF_PAIR = (
    "SELECT c.kind, COUNT(*), SUM(amount) FROM items i, orders o, customers c WHERE c.customer = o.customer "
    "AND o.id = i.order_id AND c.tenant = o.tenant GROUP BY c.kind",
    "SELECT tenant, COUNT(*) FROM orders GROUP BY tenant",
    "SELECT SUM(CLAMP(n, 0, 4)) FROM (SELECT tenant, customer, COUNT(*) AS n FROM orders GROUP BY tenant, customer) q",
)


def questions(catalog: Catalog) -> tuple[str, ...]:
    return (*QUESTIONS, *(OF_SINGLE if catalog is SHOP else OF_PAIR))


CUSTOMERS: dict[bool, tuple[tuple[Any, ...], ...]] = {
    False: ((1,), (2,), (3,), (2**60,), (None,)),
    True: (("a", 1), ("a", 11), ("a1", 1), ("", 11), ("a", None), (None, 1), ("1:a", 1)),
}
KEYS = (0, 1, 2, 3, 4, 7, None)
CODES = ("x", "y", "z", "", None)
Rows = dict[str, list[tuple[Any, ...]]]


def shop_rows(seed: int, *, paired: bool, tidy: bool = False) -> dict[str, Rows]:
    """The rows of each table in each version. In a `tidy` shop the others have each key once, and so has she."""
    draw = random.Random(seed)
    who = CUSTOMERS[paired]
    gone = draw.choice([each for each in who if None not in each])
    amounts = (-20.0, -3.5, 0.0, 8.0, 50.0, 1e9)

    def of(unit: tuple[Any, ...], keys: Sequence[Any]) -> list[tuple[Any, ...]]:
        return [(*unit, key, draw.choice(amounts), draw.choice("abcd")) for key in keys]

    others: list[tuple[Any, ...]] = []
    for unit in who:
        if unit != gone and seed % 5:
            others += of(unit, [draw.choice(KEYS) for _ in range(draw.choice((0, 1, 2, 5)))])
    if tidy:
        named = [unit for unit in who if unit != gone and None not in unit]
        others = [order for key in KEYS[:-1] for order in of(draw.choice(named), [key])]
    mine = of(
        gone, KEYS[:-1] if tidy else [*KEYS, *(draw.choice(KEYS) for _ in range(draw.choice((0, 3, 9))))]
    )  # everybody's keys
    instead = of(gone, [None] if tidy else [draw.choice(KEYS) for _ in range(draw.choice((0, 1, 4)))])
    orders = {"whole": [*others, *mine], "without": others, "alone": mine, "replaced": [*others, *instead]}
    kept = [(*unit, draw.choice("abc")) for unit in who for _ in range(draw.choice((0, 1, 2))) if unit != gone]
    own = [(*gone, draw.choice("abc"))]
    customers = {"whole": [*kept, *own], "without": kept, "alone": own, "replaced": kept}
    same: Rows = {
        "items": [
            (draw.choice(KEYS), draw.choice(CODES), draw.choice(amounts), draw.choice("abe"), draw.randrange(6))
            for _ in range(40 if tidy else draw.choice((0, 4, 12)))
        ],
        "parcels": [(draw.choice(KEYS), draw.choice(amounts)) for _ in range(5)],
        "returns": [(draw.choice(CODES), draw.choice(amounts)) for _ in range(draw.choice((1, 6)))],
    }
    return {version: {"customers": customers[version], "orders": orders[version], **same} for version in VERSIONS}


GOODS = [(0, "a"), (1, "b"), (2, "a"), (2, "c"), (3, None)]
STORED = {Type.INTEGER: pa.int64(), Type.NUMBER: pa.float64(), Type.TEXT: pa.string()}
FORMS = {"id": 1, "order_id": 2, "customer": 1}  # the columns that are compared, each stored in its own way


def shop_tables(rows: Rows, catalog: Catalog, seed: int, *, texts: bool = True) -> dict[str, pa.Table]:
    """As tables; whole numbers are stored as such, as decimals, or with `texts` as texts of many spellings too."""
    found = {}
    for table, lines in {**rows, "goods": GOODS}.items():
        columns = catalog.tables[table].columns
        cells = list(zip(*lines, strict=True)) or [()] * len(columns)
        found[table] = pa.table(
            {
                name: _stored(cell, facts.type, _form(name, table, seed, texts))
                for (name, facts), cell in zip(columns.items(), cells, strict=True)
            }
        )
    return found


def _form(name: str, table: str, seed: int, texts: bool) -> int:
    form = (seed * FORMS[name] + len(table)) % 3 if name in FORMS else 0
    return form if texts or form != 1 else 0


def _stored(cells: Sequence[Any], kind: Type, form: int) -> pa.Array:
    if form == 0 or kind is not Type.INTEGER:
        return pa.array(cells, STORED[kind])
    if form == 2:
        return pa.array([None if cell is None else Decimal(cell) for cell in cells], pa.decimal128(38, 0))
    spelled = ("{}", "{}.0", "0{}", "{}.")
    return pa.array(
        [None if cell is None else spelled[i % 4].format(cell) for i, cell in enumerate(cells)], pa.string()
    )


class Shop:
    """The versions of one shop in one DuckDB."""

    def __init__(self, seed: int, catalog: Catalog, *, tidy: bool = False) -> None:
        self.rows = shop_rows(seed, paired=catalog is PAIRED, tidy=tidy)
        tables: dict[str, Any] = {}
        for version, rows in self.rows.items():
            made = shop_tables(rows, catalog, seed)
            tables |= {name if name == "goods" else f"{name} {version}": table for name, table in made.items()}
        self.engine = DuckDBEngine(tables, threads=1)

    def run(self, bounded: Bounded, version: str) -> Answer:
        return answered(bounded, self.engine.run(replace(bounded, source=in_version(bounded.source, version))))

    def norms(self, bounded: Bounded, edges: Mapping[int, Sequence[int]], version: str) -> Exact[Any]:
        return self.engine.norms(replace(bounded, source=in_version(bounded.source, version)), edges)

    def relation(self, node: Node, version: str) -> Node:
        return in_version(node, version)

    def close(self) -> None:
        self.engine.close()


def in_version(node: Node, version: str) -> Node:
    """The same relation over one version's tables."""
    match node:
        case Scan() if node.private:
            path = node.path
            if path is not None:
                path = replace(path, links=tuple(replace(link, table=f"{link.table} {version}") for link in path.links))
            return replace(node, table=f"{node.table} {version}", path=path)
        case Scan():
            return node
        case Filter() | Project() | Group():
            return replace(node, below=in_version(node.below, version))
        case Join():
            return replace(node, left=in_version(node.left, version), right=in_version(node.right, version))
    raise AssertionError(type(node).__name__)
