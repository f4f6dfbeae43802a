"""One analyst against the house: the worst question that the planner accepts, again and again, while 16 others work.

Each person of a made-up town has a hundred trips, as many as the planner reckons with where nothing is declared, so a
join of three has a million rows for each of them. Mallory asks that from eight connections, each time with other
numbers, waits a while, and hangs up on it or is told that it took too long. The others ask, a quarter of a second after
each answer: every fifth question is new, the rest are stored. The same without Mallory is measured first.
"""

import os
import random
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from bench.server import free_port, process
from bench.server_load import Request, Seen, load, request

__all__ = ["COUNT", "run"]

OTHERS, CONNECTIONS, PEOPLE, TRIPS = 16, 8, 1_000, 100
SECONDS = float(os.environ.get("TACIT_BENCH_SECONDS", "60"))
PAUSE, LIMIT = 0.25, 20  # seconds between two questions of one analyst, and that a question may take
TARGET = 1.0  # seconds at the 99th percentile
EPSILON = 0.2
COUNT = 3
POLICY = """\
[dataset]
name = "town"
ledger = "town.ledger"

[privacy]
unit = "person"
currency = "epsilon"
budget = 100000
delta = 1e-6

[tables.trips]
source = "trips.parquet"
unit_column = "person_id"
clip_rows = 50

[tables.trips.columns]
person_id = { type = "integer", nullable = false }
minute = { type = "integer", bounds = [0, 1439], nullable = false }
fare = { type = "integer", bounds = [0, 100], nullable = false }

[analysts."*"]
limit = 150
"""
WORST = (
    "SELECT COUNT(*) AS n FROM trips a JOIN trips b ON a.person_id = b.person_id "
    "JOIN trips c ON b.person_id = c.person_id WHERE a.minute * b.fare + c.minute > {number}"
)


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The table, and whether everybody else was answered in time."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        tick("a town")
        tokens, mallory = _set_up(folder)
        with _served(folder) as port:
            load(port, [_others(token, -1) for token in tokens], 2)
            tick(f"{OTHERS} analysts for {SECONDS:g} s")
            calm = load(port, [_others(token, place) for place, token in enumerate(tokens)], SECONDS, pause=PAUSE)
            tick("the same beside the worst questions")
            with _attack(port, mallory) as asked:
                wishes = [_others(token, 100 + place) for place, token in enumerate(tokens)]
                seen = load(port, wishes, SECONDS, pause=PAUSE)
                worst = len(asked)
    return _told(calm, seen, worst)


def _others(token: str, place: int) -> Iterator[Request]:
    known = _ask(token, "SELECT COUNT(*) AS n FROM trips", "stored")
    yield known
    for number in count():
        if number % 5:
            yield known
        else:  # a question that nobody asked before
            low, high = (place * 1000 + number) % 700, 701 + (place * 1000 + number) // 700
            yield _ask(token, f"SELECT COUNT(*) AS n FROM trips WHERE minute > {low} AND minute < {high}", "new")


def _ask(token: str, sql: str, kind: str) -> Request:
    return request(kind, "/v1/datasets/town/ask", token, {"sql": sql, "epsilon": EPSILON})


@contextmanager
def _attack(port: int, token: str) -> Iterator[list[int]]:
    over, asked, numbers = threading.Event(), list[int](), count(1000)

    def ask() -> None:
        dice = random.Random()
        while not over.is_set():
            number = next(numbers)
            with socket.create_connection(("127.0.0.1", port)) as link:
                link.sendall(_ask(token, WORST.format(number=number), "worst").data)
                asked.append(number)
                link.settimeout(dice.choice([0.5, 2, 2 * LIMIT]))
                with suppress(TimeoutError):
                    link.recv(65_536)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    try:
        yield asked
    finally:
        over.set()


def _set_up(folder: Path) -> tuple[list[str], str]:
    from tacit.server.auth.people import People
    from tacit.server.db import State

    dice, size = np.random.default_rng(5), PEOPLE * TRIPS
    trips = {"person_id": np.repeat(np.arange(PEOPLE), TRIPS), "minute": dice.integers(0, 1440, size)}
    pq.write_table(pa.table({**trips, "fare": dice.integers(0, 101, size)}), folder / "trips.parquet")
    (folder / "tacit.toml").write_text(POLICY)
    (folder / "state").mkdir(mode=0o700)
    state = State(folder / "state" / "server.db")
    people, tokens = People(state), []
    for name in (*(f"analyst {number}" for number in range(OTHERS)), "mallory"):
        people.add(name, "analyst")
        tokens.append(people.issue(name).text)
    state.close()
    return tokens[:-1], tokens[-1]


@contextmanager
def _served(folder: Path) -> Iterator[int]:
    port, config = free_port(), folder / "server.toml"
    lines = [f'listen = "127.0.0.1:{port}"', 'datasets = ["tacit.toml"]', 'state = "state"']
    config.write_text("\n".join([*lines, "rate = 10000000", f"question_seconds = {LIMIT}"]) + "\n")
    command = [sys.executable, "-c", "from tacit.cli import main; main()", "serve", "--config", str(config)]
    with process(command, port, {}, folder / "log"):
        yield port


def _told(calm: Seen, seen: Seen, worst: int) -> tuple[list[Table], bool]:
    title = f"{OTHERS} analysts for {SECONDS:g} s, {PAUSE:g} s between questions, beside {worst} of the worst ones"
    table = Table(title=title)
    for column in ("question", "alone: median", "p99", "beside them: count", "median", "p99", "times", "target", "met"):
        table.add_column(column, justify="left" if column == "question" else "right")
    met = not calm.errors() and not seen.errors()
    for kind in ("stored", "new"):
        before, after = calm.percentile(kind, 0.99), seen.percentile(kind, 0.99)
        good = after <= TARGET
        met = met and good
        table.add_row(
            kind,
            _ms(calm.percentile(kind, 0.5)),
            _ms(before),
            f"{len(seen.times[kind]):,}",
            _ms(seen.percentile(kind, 0.5)),
            _ms(after),
            f"{after / before:.1f}",
            _ms(TARGET),
            "yes" if good else "no",
        )
    table.caption = f"{seen.errors()} of the others' questions were not answered"
    return [table], met


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms"
