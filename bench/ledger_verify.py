"""How long it takes to verify a ledger of a million entries, beside hashing the same bytes and nothing else, and to
price one of a hundred thousand programs again (`tacit ledger recompute`), beside verifying it."""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from time import perf_counter, process_time

from rich.table import Table

from tacit.base import Relation, Sensitivity
from tacit.ledger import Ledger
from tacit.ledger.chain import digest
from tacit.ledger.recompute import recompute
from tacit.ledger.verify import verify
from tacit.mechanism import Laplace
from tacit.policy.account import DATASET, Amount, Currency, Limit, Terms, analyst_holder
from tacit.program import Program, Step

COUNT = 6
ENTRIES = 1_000_000
LIMIT_SECONDS = 30.0
ANALYSTS = 100
SPEND = 10**6
PROGRAMS, SCALES = 100_000, 1000  # that are priced again


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.ledger"
        tick(f"writing {ENTRIES:,} entries")
        build(path, ENTRIES)
        tick("hashing the bodies alone")
        floor = hash_alone(path)
        tick("verifying")
        start = perf_counter()
        report = verify(path)
        took = perf_counter() - start
    assert report.ok, report.findings
    table = Table(title="verify a ledger")
    for name in ("entries", "seconds", "target", "entries a second", "× hashing alone"):
        table.add_column(name, justify="right")
    table.add_row(
        f"{report.entries:,}",
        f"{took:.1f}",
        f"< {LIMIT_SECONDS:g}",
        f"{report.entries / took:,.0f}",
        f"{took / floor:.1f}",
    )
    return [table, recomputed(tick)], took < LIMIT_SECONDS


def recomputed(tick: Callable[[str], None]) -> Table:
    table = Table(title=f"recompute a ledger ({SCALES:,} different scales of noise)")
    for name in ("programs", "processor seconds", "seconds", "× verifying"):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.ledger"
        tick(f"writing {PROGRAMS:,} programs")
        build(path, PROGRAMS, SCALES)
        tick("verifying them")
        start = process_time()
        assert verify(path).ok
        floor = process_time() - start
        tick("pricing them again")
        wall, start = perf_counter(), process_time()
        (found,) = recompute(path, "bench")
        took, wall = process_time() - start, perf_counter() - wall
    assert len(found.priced) == found.charges  # each is another text
    assert found.whole is not None, found.why
    table.add_row(f"{found.charges:,}", f"{took:.1f}", f"{wall:.1f}", f"{took / floor:.1f}")
    return table


def build(path: Path, entries: int, scales: int = 1) -> None:
    """A ledger whose charges were written past `Ledger`, in one transaction, with the right hashes and balances."""
    each = Amount(10**30)
    limits = (Limit(holder=DATASET, total=each), *(Limit(holder=_holder(n), total=each) for n in range(ANALYSTS)))
    terms = Terms(
        people="bench",
        currency=Currency.EPSILON,
        relation=Relation.ADD_REMOVE,
        unit="row",
        delta=Fraction(1, 10**6),
        limits=limits,
    )
    with Ledger.open(path) as ledger:
        ledger.apply(terms)
        standing, name = ledger.standing("bench"), ledger.store.ledger
    count = entries - standing.seq - 1  # one is in the list of accounts
    heads: list[bytes] = [standing.head]
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        account = raw.execute("SELECT id FROM tacit_accounts WHERE people = 'bench'").fetchone()[0]
        raw.execute("PRAGMA synchronous = OFF")
        raw.execute("BEGIN IMMEDIATE")
        rows = _rows(account, standing.seq, standing.time, count, heads, scales)
        raw.executemany(
            "INSERT INTO tacit_entries (account, seq, kind, time, analyst, key, body, digest) VALUES (?,?,?,?,?,?,?,?)",
            rows,
        )
        last = standing.seq + count
        values = (last, standing.time + count, heads[0], account)
        raw.execute("UPDATE tacit_accounts SET seq = ?, time = ?, head = ? WHERE id = ?", values)
        spent = {DATASET: count} | {_holder(n): len(range(n, count, ANALYSTS)) for n in range(ANALYSTS)}
        for holder, times in spent.items():
            total = str(times * SPEND)
            raw.execute(
                "UPDATE tacit_balances SET spent_spend = ?, window_spend = ? WHERE account = ? AND holder = ?",
                (total, total, account, holder),
            )
        raw.execute("COMMIT")
    finally:
        raw.close()
    assert name
    with Ledger.open(path):  # it hangs together, as far as opening tells
        pass


def _holder(number: int) -> str:
    return analyst_holder(f"analyst {number}")


def _rows(
    account: int, seq: int, time: int, count: int, heads: list[bytes], scales: int
) -> Iterator[tuple[object, ...]]:
    def step(n: int) -> Step:
        noise = Laplace(scale=Fraction(10**6 + n % scales))
        return Step(name="count", mechanism=noise, sensitivity=Sensitivity(l1=Fraction(1)))

    texts = [
        Program(steps=(step(n),), tables=("visits",), query=f"question {n}").text
        for n in range(count if scales > 1 else 50)
    ]
    head, policy = heads[0], "0" * 64
    for n in range(count):
        analyst, key = f"analyst {n % ANALYSTS}", f"key-{n:012}"
        body = (
            f'{{"analyst":"{analyst}","delta":"0","holders":["dataset","analyst:{analyst}"],"key":"{key}","kind":"charge",'
            f'"policy":"{policy}","process":"bench:1:0123456789ab","program":{texts[n % len(texts)]},'
            f'"spend":"{SPEND}"}}'
        )
        seq, time = seq + 1, time + 1
        head = digest(head, seq, time, body.encode())
        yield account, seq, "charge", time, analyst, key, body, head
    heads[0] = head


def hash_alone(path: Path) -> float:
    """Read every body and hash it: less than this no verification can do."""
    raw = sqlite3.connect(path)
    try:
        start = perf_counter()
        for (body,) in raw.execute("SELECT body FROM tacit_entries ORDER BY account, seq"):
            sha256(body.encode()).digest()
        return perf_counter() - start
    finally:
        raw.close()
