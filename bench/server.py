"""The service under load: 64 analysts, ten thousand accounts, and a bare endpoint beside it.

Each analyst looks at an answer for a quarter of a second before the next request; this is what is judged. The same
without any pause is printed too: then the machine, which the clients share, is always full.

Of a hundred requests 58 are asks that were answered before, 38 quotes of known questions, 3 quotes of new ones, and one
is a new ask, which is charged and runs. Eight analysts have little to spend, so that some are refused. At the end the
books are read: nobody spent more than they may, and there is a charge for each new answer.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

from rich.table import Table

from bench.server_load import Request, Seen, load, request
from tacit.cli.demo.clinic import build
from tacit.engine.dialect import DUCKDB
from tacit.engine.render import statements
from tacit.engine.unit import StoredTable
from tacit.ledger import Ledger
from tacit.loss import Cost
from tacit.policy import load as load_policy
from tacit.policy.account import DATASET, Account, Amount, Currency, Limit, analyst_holder
from tacit.session import Session

__all__ = ["COUNT", "free_port", "process", "run"]

ANALYSTS, ACCOUNTS = 64, 10_000
SECONDS = float(os.environ.get("TACIT_BENCH_SECONDS", "60"))
PAUSE = float(os.environ.get("TACIT_BENCH_PAUSE", "0.25"))  # seconds that an analyst looks at an answer
SHORT = max(2.0, SECONDS / 6)  # of each side of the comparison
WORKERS = int(os.environ.get("TACIT_BENCH_WORKERS", "1"))
TIGHT, FEW = 8, 5  # analysts with little, and how many new questions that buys
EPSILON = "0.0001"  # of each new question
ASK, QUOTE, RATIO = 0.050, 0.100, 0.5  # targets: seconds at the 99th percentile, and of the bare endpoint's throughput
PEOPLE = "patients of a made-up clinic"
BY_WARD = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
NEW = "SELECT ward, COUNT(*) AS visits FROM visits WHERE age >= {age} AND cost <= {cost} GROUP BY ward"
COUNT = 6


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        tick(f"{ACCOUNTS:,} accounts")
        tokens = _set_up(folder)
        with _served(folder) as port:
            load(port, [_warm(token) for token in tokens], SHORT)
            tick(f"{ANALYSTS} analysts for {SECONDS:g} s")
            seen = load(port, [_mixed(token, place) for place, token in enumerate(tokens)], SECONDS, pause=PAUSE)
            tick("the same without a pause")
            full = load(port, [_mixed(token, 500 + place) for place, token in enumerate(tokens)], SHORT)
            tick("new questions alone")
            ours = load(port, [_new(token, 1000 + place) for place, token in enumerate(tokens[TIGHT:])], SHORT)
        spent = _books(folder, [seen, full, ours])
        rates = {}
        for what, statement in (("ledger writes", ""), ("ledger writes and DuckDB", _statement(folder))):
            tick(f"bare: {what}")
            rates[what] = _bare(folder, statement)
    return _told(seen, full, ours, rates, spent)


# --- what is asked


def _ask(token: str, sql: str, kind: str) -> Request:
    return request(kind, "/v1/datasets/clinic/ask", token, {"sql": sql, "epsilon": float(EPSILON)})


def _quote(token: str, sql: str, kind: str) -> Request:
    return request(kind, "/v1/datasets/clinic/quote", token, {"sql": sql, "epsilon": float(EPSILON)})


def _warm(token: str) -> Iterator[Request]:
    yield _ask(token, BY_WARD, "warm")
    yield _quote(token, BY_WARD, "warm")


def _mixed(token: str, place: int) -> Iterator[Request]:
    known, quoted = _ask(token, BY_WARD, "cached ask"), _quote(token, BY_WARD, "quote")
    for number in count(place):  # everybody begins elsewhere
        turn = number * 37 % 100
        if turn == 0:
            yield _ask(token, _text(place, number), "new ask")
        elif turn < 4:
            yield _quote(token, _text(place, -number), "new quote")
        else:
            yield known if turn < 62 else quoted


def _new(token: str, place: int) -> Iterator[Request]:
    return (_ask(token, _text(place, number), "new ask") for number in count())


def _text(place: int, number: int) -> str:
    """A question that nobody asked before."""
    return NEW.format(age=abs(number) % 90, cost=f"{3000 + place}.{(number % 10**6):06d}")


# --- the service


def _set_up(folder: Path) -> list[str]:
    """The clinic, ten thousand accounts in its ledger, and a token for each of those who will ask."""
    from tacit.server.auth.people import People
    from tacit.server.db import State

    build(folder)
    few = f"{Fraction(EPSILON) * (FEW + 1)!s}"  # the warm question is one more
    with (folder / "tacit.toml").open("a") as file:
        file.writelines(f'[analysts."analyst {n}"]\nlimit = {float(Fraction(few))}\n' for n in range(TIGHT))
        file.write('[analysts."*"]\nlimit = 1\nleast = 0\n')
    policy = load_policy(folder / "tacit.toml")
    with Session(policy, "analyst 0") as session, ThreadPoolExecutor(64) as threads:
        program = session.job(BY_WARD, **_offer()).program

        def opened(number: int) -> None:
            name = f"other {number}"
            limits = (Limit(holder=DATASET, total=_plenty()), Limit(holder=analyst_holder(name), total=_plenty()))
            account = Account(people=PEOPLE, analyst=name, limits=limits, policy=policy.hash)
            session.ledger.charge(account, Cost(epsilon=Fraction(1, 10**12), unit="patient"), program, "open")

        list(threads.map(opened, range(ACCOUNTS)))
    state = State(folder / "state.db")
    people = People(state)
    tokens = []
    for number in range(ANALYSTS):
        people.add(f"analyst {number}", "analyst")
        tokens.append(people.issue(f"analyst {number}").text)
    state.close()
    (folder / "state").mkdir()
    shutil.move(folder / "state.db", folder / "state" / "server.db")
    return tokens


def _plenty() -> Amount:
    return Amount.at_most(Fraction(3), Fraction(1, 10**6), Currency.EPSILON)


def _offer() -> Any:
    return {"epsilon": Fraction(EPSILON)}


@contextmanager
def _served(folder: Path) -> Iterator[int]:
    """`tacit serve` in a process of its own."""
    port = free_port()
    config = folder / "server.toml"
    lines = [f'listen = "127.0.0.1:{port}"', 'datasets = ["tacit.toml"]', 'state = "state"', f"workers = {WORKERS}"]
    config.write_text("\n".join([*lines, "rate = 10000000", "connections = 1000"]) + "\n")
    command = [sys.executable, "-c", "from tacit.cli import main; main()", "serve", "--config", str(config)]
    with process(command, port, {}, folder / "log"):
        yield port


def _bare(folder: Path, statement: str) -> float:
    """Requests a second of the bare endpoint."""
    shutil.copy(folder / "clinic.ledger", folder / "bare.ledger")
    with Ledger.open(folder / "clinic.ledger", create=False) as ledger:
        body = next(e.body for e in ledger.log(PEOPLE, after=ACCOUNTS) if e.kind == "charge")
    port = free_port()
    command = [sys.executable, "-m", "bench.server_bare", str(folder), str(port)]
    with process(command, port, {"TACIT_BARE_BODY": body, "TACIT_BARE_SQL": statement}, folder / "log"):
        wish = request("bare", "/ask", "none", {"sql": BY_WARD, "epsilon": float(EPSILON)})
        found = load(port, [iter(lambda: wish, None) for _ in range(ANALYSTS - TIGHT)], SHORT)
    assert not found.errors(), found.statuses
    for path in folder.glob("bare.*"):
        path.unlink()
    return found.rate()


@contextmanager
def process(command: list[str], port: int, environment: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("w") as file:
        process = subprocess.Popen(command, env=os.environ | environment, stdout=file, stderr=file)
    try:
        while True:
            assert process.poll() is None, log.read_text()[-2000:]
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _statement(folder: Path) -> str:
    """What DuckDB is told for a new question, over the file itself."""
    with Session(load_policy(folder / "tacit.toml"), "analyst 9") as session:
        priced = session.job(_text(1, 1), **_offer()).priced
        source = f"read_parquet('{folder / 'visits.parquet'}', can_have_nan = true)"
        table = StoredTable(sql=source, types=session.engine.columns("visits"))
        return statements(priced.parts[0], DUCKDB, {"visits": table}).groups or ""


# --- what came of it


def _books(folder: Path, seen: list[Seen]) -> str:
    """Empty if the books agree with what clients saw; else what is wrong."""
    answered = sum(each.statuses["new ask", 200] for each in seen)
    with Ledger.open(folder / "clinic.ledger", create=False) as ledger:
        standing = ledger.standing(PEOPLE)
        charges = [json.loads(entry.body) for entry in ledger.log(PEOPLE) if entry.kind == "charge"]
    fresh = [charge for charge in charges if charge["analyst"].startswith("analyst ")]
    total = sum(int(charge["spend"]) for charge in charges)
    for balance in standing.balances:
        if not balance.window_spent.fits(balance.limit):
            return f"{balance.holder} spent more than it may"
        if balance.holder == DATASET and balance.spent.spend != total:
            return "what was spent is not the sum of the charges"
    if len(fresh) - ANALYSTS < answered:
        return f"{answered} new answers, and {len(fresh) - ANALYSTS} charges"
    tight = [sum(charge["analyst"] == f"analyst {n}" for charge in fresh) for n in range(TIGHT)]
    return "" if max(tight) <= FEW + 1 else "a limit did not hold"


def _told(seen: Seen, full: Seen, ours: Seen, rates: dict[str, float], wrong: str) -> tuple[list[Table], bool]:
    paused = (
        f"{ANALYSTS} analysts for {SECONDS:g} s, {PAUSE:g} s between requests, {ACCOUNTS:,} accounts, {WORKERS} worker"
    )
    latency, quick = _latency(seen, paused, wrong)
    crowded, _ = _latency(full, f"The same for {SHORT:g} s without a pause (not judged)", wrong)
    beside, enough = _beside(ours, rates)
    calm = not any(each.errors() for each in (seen, full, ours)) and not wrong
    return [latency, crowded, beside], calm and quick and enough


def _latency(seen: Seen, title: str, wrong: str) -> tuple[Table, bool]:
    quotes = sorted(seen.times["quote"] + seen.times["new quote"])
    quote = quotes[int(0.99 * len(quotes))]
    latency = Table(title=title)
    for column in ("request", "count", "median", "p99", "target", "met"):
        latency.add_column(column, justify="left" if column == "request" else "right")
    goals = {"cached ask": ASK}
    for kind in ("cached ask", "quote", "new quote", "new ask"):
        median, last = (f"{seen.percentile(kind, share) * 1000:,.1f} ms" for share in (0.5, 0.99))
        goal = goals.get(kind)
        met = "" if goal is None else "yes" if seen.percentile(kind, 0.99) < goal else "NO"
        latency.add_row(kind, f"{len(seen.times[kind]):,}", median, last, f"{goal * 1000:g} ms" if goal else "", met)
    every = f"{quotes[len(quotes) // 2] * 1000:,.1f} ms", f"{quote * 1000:,.1f} ms"
    latency.add_row("all quotes", f"{len(quotes):,}", *every, f"{QUOTE * 1000:g} ms", "yes" if quote < QUOTE else "NO")
    refused = sum(n for (_, status), n in seen.statuses.items() if status == 403)
    latency.caption = f"{seen.rate():,.0f}/s in all; {refused:,} refused by the budget; errors: {seen.errors()}; "
    latency.caption += f"books: {wrong or 'right, nobody overspent'}"
    return latency, quote < QUOTE and seen.percentile("cached ask", 0.99) < ASK


def _beside(ours: Seen, rates: dict[str, float]) -> tuple[Table, bool]:
    beside = Table(title="New questions alone, and a bare FastAPI endpoint in the same run")
    for column in ("what", "a second", "tacit is", "met"):
        beside.add_column(column, justify="left" if column == "what" else "right")
    mine = len(ours.times["new ask"]) / ours.seconds
    beside.add_row("tacit: charged, run, noised, kept", f"{mine:,.0f}", "", "")
    for what, rate in rates.items():
        full = what != "ledger writes"
        beside.add_row(
            f"bare: {what}",
            f"{rate:,.0f}",
            f"{mine / rate:.2f} ×",
            ("yes" if mine >= RATIO * rate else "NO") if full else "",
        )
    beside.caption = f"target: {RATIO} × of the bare endpoint that writes and reads the same"
    return beside, mine >= RATIO * rates["ledger writes and DuckDB"]
