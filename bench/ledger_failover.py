"""How long charges stop when the ledger's primary dies: kill -9, the standby is promoted at once, clients charge on.

Clients with connections of their own charge to one account without a pause, each one key after another, and ask again
until a key is acknowledged. Afterwards each of them has to be in the log, once, with no other; the chain is verified.
To notice a death is the operator's or their cluster manager's, and not in here. TACIT_BENCH_FAILOVERS: how often (10).
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from statistics import median
from threading import Event
from time import monotonic, sleep

from rich.table import Table

from bench.ledger_postgres import ACCOUNT, LIMITS, PROGRAM
from tacit.base import LedgerError, Relation
from tacit.ledger import Ledger
from tacit.ledger.verify import verify
from tacit.policy.account import Currency, Terms

__all__ = ["COUNT", "run"]

TURNS = int(os.environ.get("TACIT_BENCH_FAILOVERS", "10"))
CLIENTS, BEFORE, AFTER = 3, 0.5, 0.5
COUNT = TURNS


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The table, and whether nothing was lost or paid twice."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from support.postgres import Server, either, server

    table = Table(title=f"The ledger's primary is killed under {CLIENTS} clients, {TURNS} times: seconds")
    for name in ("from the kill", "median", "least", "most"):
        table.add_column(name, justify="left" if name == "from the kill" else "right")
    primary = Server(server().binaries)
    standby = primary.standby()
    acknowledged: list[str] = []
    promoted, first, every = [], [], []
    try:
        with Ledger.open(either(primary, standby)) as ledger:
            fixed = {"people": "visitors", "currency": Currency.EPSILON, "relation": Relation.ADD_REMOVE}
            ledger.apply(Terms(**fixed, unit="row", delta=Fraction(0), limits=LIMITS))  # type: ignore[arg-type]  # by name
        for turn in range(TURNS):
            tick(f"failover {turn + 1}")
            where, over = either(primary, standby), Event()
            with ExitStack() as stack:
                ledgers = [stack.enter_context(Ledger.open(where)) for _ in range(CLIENTS)]
                pool = stack.enter_context(ThreadPoolExecutor(CLIENTS))
                going = [pool.submit(_charges, each, f"{turn} {n}", over) for n, each in enumerate(ledgers)]
                sleep(BEFORE)
                killed = monotonic()
                primary.kill()
                standby.promote()
                promoted.append(monotonic() - killed)
                sleep(AFTER)
                over.set()
                told = [each.result() for each in going]
            acknowledged += [key for keys in told for key, _ in keys]
            resumed = [min(at for _, at in keys if at > killed + promoted[-1]) - killed for keys in told]
            first.append(min(resumed))
            every.append(max(resumed))
            primary.close()
            primary, standby = standby, standby.standby()
        with Ledger.open(either(primary, standby)) as ledger:
            bodies = [json.loads(entry.body) for entry in ledger.log("visitors") if entry.kind == "charge"]
        found = Counter(body["key"] for body in bodies)
        whole = verify(either(primary, standby)).ok
        good = whole and found == dict.fromkeys(acknowledged, 1)
    finally:
        standby.close()
        primary.close()
    for name, seconds in (("standby promoted", promoted), ("first charge", first), ("every client charges", every)):
        table.add_row(name, f"{median(seconds):.2f}", f"{min(seconds):.2f}", f"{max(seconds):.2f}")
    lost = len(set(acknowledged) - set(found))
    twice = sum(number > 1 for number in found.values())
    table.caption = (
        f"{len(acknowledged):,} charges acknowledged, {len(found):,} keys in the log, {lost} lost, {twice} twice, "
        f"chain {'whole' if whole else 'BROKEN'}"
    )
    return [table], good


def _charges(ledger: Ledger, name: str, over: Event) -> list[tuple[str, float]]:
    """Keys that were acknowledged, and when."""
    found: list[tuple[str, float]] = []
    while True:
        last, key = over.is_set(), f"{name} {len(found)}"
        while True:
            try:
                ledger.charge(ACCOUNT, PROGRAM.cost, PROGRAM, key)
                break
            except LedgerError:
                sleep(0.01)
        found.append((key, monotonic()))
        if last:  # one charge at least was asked for after all was well
            return found


if __name__ == "__main__":
    from rich.console import Console

    tables, met = run(lambda what: print(what, file=sys.stderr, flush=True))
    for each in tables:
        Console(width=180).print(each)
    sys.exit(0 if met else 1)
