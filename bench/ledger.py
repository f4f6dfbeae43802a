"""Durable charges in SQLite: one client beside bare sqlite3 doing the same writes, then many processes."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rich.table import Table

from tacit.base import Relation, Sensitivity
from tacit.ledger import Ledger
from tacit.loss import Cost
from tacit.mechanism import Laplace
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, Terms, analyst_holder
from tacit.program import Program, Step

__all__ = ["COUNT", "run"]

ROUNDS, CHARGES = 9, 600  # of one client
CLIENTS, SECONDS = 32, 5.0
COUNT = ROUNDS + 1
RATE, RATIO = 1000, 0.5  # targets: charges a second, and of what bare sqlite3 does
STARVED = 0.5  # no client below this part of the mean

ENTER = """
INSERT INTO tacit_entries (account, seq, kind, time, analyst, key, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
SPEND = """
UPDATE tacit_balances SET spent_spend = ?, spent_delta = ?, window = ?, window_spend = ?, window_delta = ?
WHERE account = 2 AND holder = ?"""
PLENTY = Amount(10**30, 10**30)
COST = Cost(epsilon=Fraction(1, 10))


def account(analyst: str) -> Account:
    limits = (Limit(holder=DATASET, total=PLENTY), Limit(holder=analyst_holder(analyst), total=PLENTY))
    return Account(people="patients", analyst=analyst, limits=limits, policy="0" * 64)


def program() -> Program:
    step = Step(name="count", mechanism=Laplace(scale=Fraction(10)), sensitivity=Sensitivity(l1=Fraction(1)))
    return Program(steps=(step,), tables=("visits",), query={"count": "visits", "by": ["ward", "month"]})


def terms() -> Terms:
    return Terms(
        people="patients",
        currency=Currency.EPSILON,
        relation=Relation.ADD_REMOVE,
        unit="row",
        delta=Fraction(1, 10**6),
        limits=account("alice").limits,
    )


class Bare:
    """The writes of a charge, and nothing else: no checks, no hashes, no queue, no lock between processes."""

    def __init__(self, path: Path, body: str) -> None:
        with Ledger.open(path) as ledger:
            ledger.apply(terms())
        self.body, self.seq = body, 1000
        self.raw = sqlite3.connect(path, isolation_level=None)
        self.raw.execute("PRAGMA journal_mode = WAL")
        self.raw.execute("PRAGMA synchronous = FULL")

    def charge(self) -> None:
        self.seq += 1
        number, digest, run = str(10**11 * self.seq), bytes(32), self.raw.execute
        run("BEGIN IMMEDIATE")
        row = (2, self.seq, "charge", self.seq, "alice", f"key-{self.seq}", self.body, digest)
        run(ENTER, row)
        for holder in ("dataset", "analyst:alice"):
            run(SPEND, (number, "0", 1, number, "0", holder))
        run("UPDATE tacit_accounts SET seq = ?, time = ?, head = ? WHERE id = 2", (self.seq, self.seq, digest))
        run("COMMIT")


def seconds(work: Callable[[int], object], times: int) -> float:
    """Wall time of one call: waiting for the disk is the point."""
    start = perf_counter()
    for number in range(times):
        work(number)
    return (perf_counter() - start) / times


def one_client(folder: Path, tick: Callable[[str], None]) -> tuple[float, float, float]:
    """Charges a second, the same of bare sqlite3, and the median of the ratios of neighbouring rounds."""
    who, what = account("alice"), program()
    with Ledger.open(folder / "ledger.db") as ledger:
        ledger.apply(terms())
        ledger.charge(who, COST, what, "first")
        (entry,) = (entry for entry in ledger.log("patients") if entry.kind == "charge")
        bare = Bare(folder / "bare.db", entry.body)
        with closing(bare.raw):
            ours, theirs = [], []

            def charge(turn: int, key: int) -> None:
                ledger.charge(who, COST, what, f"{turn}-{key}")

            for number in range(ROUNDS):
                tick(f"one client, round {number + 1}")
                theirs.append(seconds(lambda _: bare.charge(), CHARGES))
                ours.append(seconds(partial(charge, number), CHARGES))
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    return 1 / median(ours), 1 / median(theirs), median(ratios)


def _client(path: Path, number: int, ready: Any, results: Any) -> None:
    who, what = account(f"analyst {number}"), program()
    with Ledger.open(path) as ledger:
        ledger.charge(who, COST, what, "first")
        ready.wait()
        count, longest, end = 0, 0.0, perf_counter() + SECONDS
        while (start := perf_counter()) < end:
            ledger.charge(who, COST, what, str(count))
            count, longest = count + 1, max(longest, perf_counter() - start)
    results.put((count, longest))


def many_clients(folder: Path) -> list[tuple[int, float]]:
    """How many charges each of many processes made in the same seconds, and its longest wait."""
    path = folder / "many.db"
    with Ledger.open(path) as ledger:
        ledger.apply(terms())
    context = get_context("fork")
    ready, results = context.Barrier(CLIENTS), context.Queue()
    with _running([context.Process(target=_client, args=(path, n, ready, results)) for n in range(CLIENTS)]):
        return [results.get() for _ in range(CLIENTS)]


@contextmanager
def _running(processes: list[Any]) -> Iterator[None]:
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.join()


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    with TemporaryDirectory() as name:
        rate, bare, ratio = one_client(Path(name), tick)
        tick(f"{CLIENTS} processes")
        found = many_clients(Path(name))
    counts = [count for count, _ in found]
    fast, fair = rate >= RATE and ratio >= RATIO, min(counts) >= STARVED * sum(counts) / CLIENTS
    single = Table(title=f"Durable charges in SQLite, one client (median of {ROUNDS} rounds of {CHARGES}, wall time)")
    for column in ("charges/s", "bare sqlite3/s", "ratio", "met"):
        single.add_column(column, justify="right")
    single.add_row(f"{rate:,.0f}", f"{bare:,.0f}", f"{ratio:.2f}", "yes" if fast else "NO")
    single.caption = f"targets: ≥ {RATE:,}/s and ≥ {RATIO} of bare sqlite3 with the same rows, WAL and synchronous FULL"
    many = Table(title=f"{CLIENTS} processes on one SQLite ledger for {SECONDS:g} s")
    for column in ("charges/s in all", "fewest of a client", "most", "longest wait", "met"):
        many.add_column(column, justify="right")
    longest = f"{max(wait for _, wait in found) * 1000:,.0f} ms"
    many.add_row(
        f"{sum(counts) / SECONDS:,.0f}", f"{min(counts):,}", f"{max(counts):,}", longest, "yes" if fair else "NO"
    )
    many.caption = f"target: no client below {STARVED} of the mean"
    return [single, many], fast and fair
