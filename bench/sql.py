"""Asking in SQL beside plain DuckDB, bounding written by hand, and OpenDP: time and memory, each in its own process.

`python -m bench.sql` does the same, with options: `--huge` asks a hundred million rows in 6 GB of memory, `--rounds`
and `--skip-opendp` make it shorter. The data is made once (see bench/sql_data.py). TACIT_BENCH_PEERS names another
interpreter for OpenDP, whose Polars extra pins a version of Polars.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.sql_data import sales, several
from bench.sql_tasks import TASKS, Task
from tacit.engine.duckdb import DuckDBEngine
from tacit.ledger import Ledger
from tacit.policy import Analyst, Column, ColumnType, Currency, Dataset, Policy, Privacy
from tacit.policy import Table as Declared
from tacit.session.session import Session

__all__ = ["COUNT", "run"]

ROUNDS, REPEATS, OPENDP_ROUNDS = 3, 3, 2
TINY, TINY_ASKS, OVERHEAD = 1000, 200, 0.015  # rows, questions, seconds
HUGE_FILES, HUGE_MEMORY = 10, 6  # of ten million rows; GB, of which DuckDB is given half
COUNT = len(TASKS) * (ROUNDS + OPENDP_ROUNDS) + 1


@dataclass
class Best:
    """The least time and the most memory seen of one way."""

    wall: float = inf
    cpu: float = inf
    rss: float = 0.0
    failure: str = field(default="", repr=False)

    def add(self, found: dict[str, Any]) -> None:
        self.wall, self.cpu = min(self.wall, *found["wall"]), min(self.cpu, *found["cpu"])
        self.rss = max(self.rss, found["rss"])


def process(module: str, *arguments: str, python: str = sys.executable) -> dict[str, Any]:
    """What a worker printed; its last line is JSON."""
    done = subprocess.run([python, "-m", module, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{module} {arguments[0]}: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(task: Task, data: Path, rounds: int, opendp: int, tick: Callable[[str], None]) -> dict[str, Best]:
    """Every way in turn, several times over, so that what else the machine does touches all alike."""
    best = {way: Best() for way in ("tacit", *task.plain, "OpenDP")}
    for turn in range(rounds):
        tick(f"{task.name}, round {turn + 1}")
        for way in ("tacit", *task.plain):
            best[way].add(process("bench.sql_worker", way, task.name, str(data), str(REPEATS)))
    for _ in range(opendp):
        tick(f"{task.name}, OpenDP")
        peer = os.environ.get("TACIT_BENCH_PEERS") or sys.executable
        try:
            best["OpenDP"].add(process("bench.peers.opendp", task.name, str(data), "1", python=peer))
        except RuntimeError as failure:
            best["OpenDP"].failure = str(failure)
    return best


def run(tick: Callable[[str], None], rounds: int = ROUNDS, opendp: int = OPENDP_ROUNDS) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    data, good = sales(), True
    table = Table(title="Asking ten million rows of a million people (best of several, each in its own process)")
    for column in (
        "question",
        "way",
        "processor s",
        "tacit to it",
        "target",
        "met",
        "wall s",
        "tacit to it",
        "peak MB",
    ):
        table.add_column(column, justify="left" if column in ("question", "way") else "right")
    for task in TASKS:
        best = measure(task, data, rounds, opendp, tick)
        ours = best["tacit"]
        table.add_row(
            task.name, "tacit", f"{ours.cpu:.2f}", "", "", "", f"{ours.wall:.2f}", "", f"{ours.rss:,.0f}", style="bold"
        )
        for way, their in best.items():
            if way == "tacit" or their.wall == inf:
                if their.failure:
                    table.add_row("", way, "fails", "", "", "", "", "", "")
                continue
            ratio, target, met = ours.cpu / their.cpu, "", ""
            most = task.at_most.get(way, None if task.opendp is None else 1 / task.opendp)
            if most is not None:
                target = f"≤ {most:g}" if way in task.at_most else f"≤ 1/{1 / most:g}"
                met, good = "yes" if ratio <= most else "NO", good and ratio <= most
            both = (_times(ratio), _times(ours.wall / their.wall))
            table.add_row(
                "", way, f"{their.cpu:.2f}", both[0], target, met, f"{their.wall:.2f}", both[1], f"{their.rss:,.0f}"
            )
    table.caption = (
        f"best of {rounds * REPEATS}, of {opendp} for OpenDP; targets are held to processor time, which other work on "
        "the machine does not move; tacit from parsing to the stored answer"
    )
    tick("tiny table")
    small, fast = tiny()
    return [table, small], good and fast


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio > 0.2 else f"1/{1 / ratio:.1f}"


def tiny() -> tuple[Table, bool]:
    """What an ask costs beside the query: a table so small that the query is nothing."""
    rows = pa.table({"ward": ["east", "west"] * (TINY // 2), "cost": [float(n % 100) for n in range(TINY)]})
    declared = {
        "ward": Column(type=ColumnType.TEXT, group_keys=("east", "west")),
        "cost": Column(type=ColumnType.FLOAT, bounds=(0, 100), step=Fraction(1)),
    }
    policy = Policy(
        dataset=Dataset(name="tiny", source="tiny"),
        privacy=Privacy(currency=Currency.RHO, budget=Fraction(10**6), delta=Fraction(1, 10**6), least=Fraction(0)),
        tables={"visits": Declared(each_row_is_a_unit=True, columns=declared)},
        analysts={"ana": Analyst()},
    )
    table = Table(title=f"The whole of an ask on {TINY:,} rows, ledger on disk included ({TINY_ASKS} questions)")
    for column in ("question", "least", "median", "processor", "target", "met"):
        table.add_column(column, justify="left" if column == "question" else "right")
    good = True
    with TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger") as ledger:
        engine = DuckDBEngine({"visits": rows})
        try:
            session = Session(policy, "ana", ledger=ledger, engine=engine)
            for sql in (
                "SELECT COUNT(*) AS n FROM visits",
                "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost > 10 GROUP BY ward",
            ):
                wall, cpu = [], []
                for turn in range(TINY_ASKS):
                    start, used = perf_counter(), process_time()
                    session.ask(sql, rho=f"0.1{turn:03}1")
                    wall.append(perf_counter() - start)
                    cpu.append(process_time() - used)
                good &= median(wall) <= OVERHEAD
                times = (f"{value * 1000:.1f} ms" for value in (min(wall), median(wall), median(cpu)))
                table.add_row(sql, *times, "≤ 15 ms", "yes" if median(wall) <= OVERHEAD else "NO")
        finally:
            engine.close()
    return table, good


def huge(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """A hundred million rows: every question once, in a process that may use 6 GB."""
    tick("making the data")
    data, good = several(HUGE_FILES), True
    table = Table(title="A hundred million rows of ten million people (one run each)")
    for column in ("question", "seconds", "peak MB", "target", "met"):
        table.add_column(column, justify="left" if column == "question" else "right")
    for task in TASKS:
        tick(task.name)
        found = process("bench.sql_worker", "tacit", task.name, str(data), "1", f"{HUGE_MEMORY // 2}GB")
        fits = found["rss"] <= HUGE_MEMORY * 1000
        good &= fits
        table.add_row(
            task.name, f"{found['wall'][0]:.1f}", f"{found['rss']:,.0f}", f"≤ {HUGE_MEMORY} GB", "yes" if fits else "NO"
        )
    return [table], good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--huge", action="store_true", help="a hundred million rows instead of ten")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--skip-opendp", action="store_true")
    chosen, console = options.parse_args(), Console()

    def tick(what: str) -> None:
        console.print(what, style="dim")

    if chosen.huge:
        tables, met = huge(tick)
    else:
        tables, met = run(tick, chosen.rounds, 0 if chosen.skip_opendp else OPENDP_ROUNDS)
    for table in tables:
        console.print(table)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
