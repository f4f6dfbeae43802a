"""A ledger in PostgreSQL with up to a million analysts and ten million entries: what a charge takes, and verifying it.

Entries are written in bulk, past `Ledger`, with the right hashes and balances; then the real thing charges and verifies
all of it and what came since. Charges to the large ledger and to a small one on the same server take turns.
TACIT_BENCH_ENTRIES names the sizes (1e5, 1e6).
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any

import psycopg
from rich.table import Table

from tacit.base import Relation, Sensitivity
from tacit.ledger import Ledger
from tacit.ledger.chain import digest
from tacit.ledger.charge import limit_body
from tacit.ledger.verify import verify
from tacit.mechanism import Laplace
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, Terms, analyst_holder
from tacit.program import Program, Step

if TYPE_CHECKING:
    from support.postgres import Server

__all__ = ["COUNT", "run"]

SIZES = tuple(int(float(size)) for size in os.environ.get("TACIT_BENCH_ENTRIES", "1e5,1e6").split(","))
ANALYSTS = 10  # entries of each
CHARGES, BLOCK = 400, 20
SPEND, POLICY = 10**6, "0" * 64
PLENTY = Amount(10**30)
FLAT = 1.25  # times a charge to a ledger of a thousand entries
COUNT = 3 * len(SIZES)
STEP = Step(name="count", mechanism=Laplace(scale=Fraction(10**6)), sensitivity=Sensitivity(l1=Fraction(1)))
PROGRAMS = [Program(steps=(STEP,), tables=("visits",), query=f"question {n}") for n in range(50)]
INTO_ENTRIES = "COPY tacit_entries (account, seq, kind, time, analyst, key, body, digest) FROM STDIN"
INTO_BALANCES = (
    'COPY tacit_balances (account, holder, limit_spend, limit_delta, spent_spend, spent_delta, "window", '
    "window_spend, window_delta) FROM STDIN"
)


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The table, and whether every target was met."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from support.postgres import server

    table = Table(title="A ledger in PostgreSQL, written in bulk: charges by the wall, verifying by processor time")
    names = (
        "entries",
        "analysts",
        "MB",
        "charge ms",
        "of 1,000",
        "ratio",
        "verify s",
        "µs each",
        "since s",
        "met",
    )
    for name in names:
        table.add_column(name, justify="right")
    place, good = server(), True
    for size in SIZES:
        with ExitStack() as stack:
            tick(f"writing {size:,} entries")
            small, large = (_book(place, stack, entries) for entries in (1000, size))
            tick("charging")
            analysts = max(1, size // ANALYSTS)
            times = _turns(small, large, analysts)
            ours, theirs = (median(each) * 1000 for each in times)
            tick(f"verifying (a charge took {ours:.2f} ms, and {theirs:.2f} ms beside a thousand entries)")
            start = process_time()
            report = verify(large.store.where)
            seconds = process_time() - start
            assert report.ok, report.findings
            _turns(small, large, analysts, first=10**6)
            start = process_time()
            since = verify(large.store.where, since=report.verified)
            later = process_time() - start
            assert since.ok, since.findings
            assert since.entries < 3 * CHARGES
            met = ours <= FLAT * theirs
            good &= met
            with psycopg.connect(large.store.where.replace("+psycopg", "")) as raw:
                ((bytes_,),) = raw.execute("SELECT pg_database_size(current_database())").fetchall()
            row = (f"{size:,}", f"{analysts:,}", f"{bytes_ / 1e6:,.0f}", f"{ours:.2f}", f"{theirs:.2f}")
            told = (f"{ours / theirs:.2f}", f"{seconds:.1f}", f"{seconds / report.entries * 1e6:.1f}", f"{later:.2f}")
            table.add_row(*row, *told, "yes" if met else "NO")
    return [table], good


def _turns(small: Ledger, large: Ledger, analysts: int, first: int = 0) -> tuple[list[float], list[float]]:
    """Seconds of single charges to the large one and to the small one, each time by another analyst."""
    numbers, found = count(first), ([], [])  # type: tuple[Any, tuple[list[float], list[float]]]
    for turn in range(CHARGES // BLOCK + 1):
        for ledger, times, people in ((large, found[0], analysts), (small, found[1], 100)):
            for _ in range(BLOCK):
                number = next(numbers)
                who = analyst_holder(name := f"analyst {number * 7919 % people}")
                limits = (Limit(holder=DATASET, total=PLENTY), Limit(holder=who, total=PLENTY))
                account = Account(people="bench", analyst=name, limits=limits, policy=POLICY)
                program = PROGRAMS[number % 50]
                start = perf_counter()
                ledger.charge(account, program.cost, program, f"measured {number}")
                if turn:
                    times.append(perf_counter() - start)
    return found


def _book(place: "Server", stack: ExitStack, entries: int) -> Ledger:
    name = stack.enter_context(place.database())
    ledger = stack.enter_context(Ledger.open(place.url(name)))
    fixed = {"people": "bench", "currency": Currency.EPSILON, "relation": Relation.ADD_REMOVE, "unit": "row"}
    limits = (Limit(holder=DATASET, total=PLENTY),)
    ledger.apply(Terms(**fixed, delta=Fraction(1, 10**6), limits=limits))  # type: ignore[arg-type]  # by name
    standing = ledger.standing("bench")
    analysts = max(1, entries // ANALYSTS)
    with psycopg.connect(place.dsn(name)) as raw, raw.cursor() as cursor:
        row = cursor.execute("SELECT id FROM tacit_accounts WHERE people = 'bench'").fetchone()
        assert row is not None
        last = [standing.seq, standing.time, standing.head]
        with cursor.copy(INTO_ENTRIES) as copy:
            for block in _lines(row[0], entries - standing.seq - 1, analysts, last):
                copy.write(block)
                while raw.pgconn.flush():  # else what the server has not taken yet heaps up in memory
                    sleep(0.001)
        charges = entries - standing.seq - 1 - analysts
        with cursor.copy(INTO_BALANCES) as copy:
            for number in range(analysts):
                spent = len(range(number, charges, analysts)) * SPEND
                holder = analyst_holder(f"analyst {number}")
                copy.write(f"{row[0]}\t{holder}\t{PLENTY.spend}\t0\t{spent}\t0\t1\t{spent}\t0\n")
        spent = charges * SPEND
        cursor.execute(
            "UPDATE tacit_balances SET spent_spend = %s, window_spend = %s WHERE account = %s AND holder = 'dataset'",
            (spent, spent, row[0]),
        )
        cursor.execute("UPDATE tacit_accounts SET seq = %s, time = %s, head = %s WHERE id = %s", (*last, row[0]))
    with psycopg.connect(place.dsn(name), autocommit=True) as raw:
        raw.execute("VACUUM ANALYZE")
        raw.execute("CHECKPOINT")
    return ledger


def _lines(account: int, entries: int, analysts: int, last: list[Any]) -> Iterator[str]:
    """A limit for each analyst, then charges by one after another, as COPY reads them; `last` is moved on."""
    seq, time, head = last
    lines: list[str] = []
    for number in range(entries):
        name = f"analyst {number % analysts}"
        if number < analysts:
            kind, who, key = "limit", "\\N", "\\N"
            body = limit_body(Limit(holder=analyst_holder(name), total=PLENTY), before=None, policy=POLICY)
        else:
            kind, who, key = "charge", name, f"key-{number:012}"
            body = (
                f'{{"analyst":"{name}","delta":"0","holders":["dataset","analyst:{name}"],"key":"{key}","kind":"charge",'
                f'"policy":"{POLICY}","process":"bench:1:0123456789ab","program":{PROGRAMS[number % 50].text},'
                f'"spend":"{SPEND}"}}'
            )
        seq, time = seq + 1, time + 1
        head = digest(head, seq, time, body.encode())
        lines.append(f"{account}\t{seq}\t{kind}\t{time}\t{who}\t{key}\t{body}\t\\\\x{head.hex()}\n")
        if len(lines) == 1000:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)
    last[:] = seq, time, head


if __name__ == "__main__":
    from rich.console import Console

    tables, met = run(lambda what: print(what, file=sys.stderr, flush=True))
    for each in tables:
        Console(width=180).print(each)
    sys.exit(0 if met else 1)
