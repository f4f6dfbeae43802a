"""How fast a durable charge to PostgreSQL is, beside the barest statement that could do it on the same server.

The bare statement spends from one row, if that stays within the limit, and inserts an entry of the same size into a
table of the same shape: no second holder, no chain of hashes, no window. Both go through psycopg, with the
statement prepared, and commit each time. They take turns in short blocks, so that both see the same machine.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import psycopg
from rich.table import Table

from tacit.base import Relation, Sensitivity
from tacit.ledger import Ledger
from tacit.mechanism import DiscreteLaplace
from tacit.policy.account import Account, Amount, Currency, Limit, Terms
from tacit.program import Program, Step

if TYPE_CHECKING:
    from support.postgres import Server

__all__ = ["COUNT", "run"]

BLOCKS, SIZE = 80, 25  # blocks of so many charges
CLIENTS, EACH = 32, 40
COUNT = 3
TARGET = 0.25  # of the bare rate: three round trips beside one, and nobody feels it beside a query
PLENTY = Amount(10**30)
LIMITS = (Limit(holder="dataset", total=PLENTY), Limit(holder="analyst:ann", total=PLENTY))
ACCOUNT = Account(people="visitors", analyst="ann", limits=LIMITS)
STEP = Step(name="count", mechanism=DiscreteLaplace(scale=Fraction(2)), sensitivity=Sensitivity.scalar(1))
PROGRAM = Program(steps=(STEP,), tables=("visits",))
TABLES = """
CREATE TABLE bare_balances (id integer PRIMARY KEY, spent numeric NOT NULL, most numeric NOT NULL, seq bigint NOT NULL);
INSERT INTO bare_balances VALUES (1, 0, 1e30, 0);
CREATE TABLE bare_entries (LIKE tacit_entries INCLUDING ALL)
"""
BARE = """
WITH paid AS (
    UPDATE bare_balances SET spent = spent + %s, seq = seq + 1 WHERE id = 1 AND spent + %s <= most RETURNING seq
)
INSERT INTO bare_entries (account, seq, kind, time, analyst, key, body, digest)
SELECT 1, seq, 'charge', %s, 'ann', %s, %s, %s FROM paid RETURNING seq
"""


def _server() -> "Server":
    sys.path.append(str(Path(__file__).parents[1] / "tests"))  # tests and benchmarks start it in the same way
    from support.postgres import server

    return server()


class Bare:
    """A client that only sends the bare statement."""

    def __init__(self, place: "Server", name: str, body: str) -> None:
        self.connection: psycopg.Connection[Any] = psycopg.connect(place.dsn(name), autocommit=True)
        self.body = body

    def charge(self, key: str) -> None:
        values = (5 * 10**11, 5 * 10**11, 1, key, self.body, b"\0" * 32)
        self.connection.execute(BARE, values, prepare=True).fetchone()


def _block(charge: Callable[[str], object], keys: "count[int]", size: int) -> float:
    start = perf_counter()
    for _ in range(size):
        charge(f"key {next(keys)}")
    return (perf_counter() - start) / size


def _together(charges: list[Callable[[str], object]], keys: "count[int]") -> float:
    """Charges a second, all clients to one account at once."""
    with ThreadPoolExecutor(len(charges)) as pool:
        list(pool.map(lambda charge: _block(charge, keys, 2), charges))  # connect and prepare
        start = perf_counter()
        list(pool.map(lambda charge: _block(charge, keys, EACH), charges))
        return len(charges) * EACH / (perf_counter() - start)


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The table, and whether the target was met."""
    tick("starting PostgreSQL")
    place, keys = _server(), count()
    with ExitStack() as stack:
        name = stack.enter_context(place.database())
        ledger = stack.enter_context(Ledger.open(place.url(name)))
        terms = {"people": "visitors", "currency": Currency.EPSILON, "relation": Relation.ADD_REMOVE, "unit": "row"}
        ledger.apply(Terms(**terms, delta=Fraction(0), limits=LIMITS))  # type: ignore[arg-type]  # by name

        def ours(key: str) -> None:
            ledger.charge(ACCOUNT, PROGRAM.cost, PROGRAM, key)

        ours("first")
        *_, last = ledger.log("visitors")
        clients = [Bare(place, name, last.body) for _ in range(CLIENTS)]
        for client in clients:
            stack.callback(client.connection.close)
        clients[0].connection.execute(TABLES)
        tick("one client")
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(BLOCKS + 2):
            for charge, found in zip((ours, clients[0].charge), times, strict=True):
                seconds = _block(charge, keys, SIZE)
                if number >= 2:
                    found.append(seconds)
        alone = median(bare / mine for mine, bare in zip(*times, strict=True))
        tick(f"{CLIENTS} clients")
        many, many_bare = _together([ours] * CLIENTS, keys), _together([c.charge for c in clients], keys)
    table = Table(title="Durable charges a second to one account, PostgreSQL (fsync on, one Unix socket)")
    for column in ("clients", "tacit", "bare statement", "ratio", "met"):
        table.add_column(column, justify="right")
    met = alone >= TARGET
    table.add_row(
        "1", f"{1 / median(times[0]):,.0f}", f"{1 / median(times[1]):,.0f}", f"{alone:.2f}", "yes" if met else "NO"
    )
    table.add_row(f"{CLIENTS}", f"{many:,.0f}", f"{many_bare:,.0f}", f"{many / many_bare:.2f}", "")
    table.caption = f"target: one client ≥ {TARGET} of the bare statement (median over blocks that take turns)"
    return [table], met
