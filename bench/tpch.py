"""TPC-H with customers as units, beside plain DuckDB: time, error, and how often intervals hold.

`python -m bench.tpch --scale 1 --folder DIR` makes the data there once (tpchgen-cli). Both read the same Parquet files
with two threads, in turns, and the least of several times counts, since the machine has other work: processor time, and
time on the clock. Time is of the engine: what a question costs besides (planning, ledger) is some milliseconds whatever
the data.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

from bench.tpch_data import MORE, NOT_PRIVATE, PRIVATE, made
from bench.tpch_hand import BY_HAND
from tacit import Session
from tacit.base import TacitError
from tacit.engine import Engine, open_engine
from tacit.policy import Policy, load
from tacit.sql import Catalog, lower, parse
from tacit.sql.offer import Offer

__all__ = ["COUNT", "TpchResult", "least_times", "run"]

TARGETS = {1: 4.0, 5: 1.3, 6: 2.4, 14: 2.4, 19: 1.5}
COUNT = len(PRIVATE) + len(MORE)
TIMES, TRIALS, RHO = 5, 8, Fraction(1, 2)


@dataclass(frozen=True)
class TpchResult:
    """Of one question: seconds of both (clock, processor), the median relative error, and how many intervals hold the
    truth."""

    query: int
    plain: tuple[float, float]
    by_hand: tuple[float, float] | None
    private: tuple[float, float]
    error: float | None
    held: int
    intervals: int
    covers: str

    @property
    def ratios(self) -> tuple[float, float]:
        """Of processor time, and on the clock."""
        return self.private[1] / self.plain[1], self.private[0] / self.plain[0]


def least_times(*works: Callable[[], object], times: int = TIMES) -> list[tuple[float, float]]:
    """The least time of each on the clock and of the processor, done in turns."""
    best = [(inf, inf)] * len(works)
    for _ in range(times):
        for place, work in enumerate(works):
            clock, processor = time.perf_counter(), time.process_time()
            work()
            spent = (time.perf_counter() - clock, time.process_time() - processor)
            best[place] = (min(best[place][0], spent[0]), min(best[place][1], spent[1]))
    return best


def _measured(
    query: int, sql: str, policy: Policy, engine: Engine, plain: duckdb.DuckDBPyConnection, trials: int
) -> TpchResult:
    question = lower(parse(sql), Catalog.from_policy(policy))
    parts = Offer.of(rho=RHO).price(question, policy, least=Fraction(0), profiles={}).priced.parts
    written = sql.replace("CLAMP(COUNT(o_orderkey), 0, 50)", "LEAST(COUNT(o_orderkey), 50)")
    plain_time, private_time, hand_time = least_times(
        lambda: plain.execute(written).fetchall(),
        lambda: [engine.run(p) for p in parts],
        lambda: [plain.execute(each).fetchall() for each in BY_HAND.get(query, ())],
    )
    by_hand = hand_time if query in BY_HAND else None
    names = [column[0] for column in plain.execute(written).description or ()]
    keys = len(question.keys) if query != 14 else 0
    truth = {tuple(map(str, row[:keys])): dict(zip(names, row, strict=True)) for row in plain.fetchall()}
    held = intervals = 0
    errors: list[float] = []
    said: set[str] = set()
    for _ in range(trials):
        with TemporaryDirectory() as folder, Session(_fresh(policy, Path(folder)), "bench", engine=engine) as session:
            release = session.ask(sql, rho=RHO)
        for place, row in enumerate(release.table.to_pylist()):
            known = truth.get(tuple(str(value) for value in list(row.values())[:keys]))
            for name, (lows, highs) in release.intervals.items():
                if known is None or known.get(name) is None or row[name] is None:
                    continue
                value = float(known[name])
                said.add(release.covers(name).of)
                low, high = lows[place], highs[place]
                intervals += 1
                held += (low is None or low <= value) and (high is None or value <= high)
                errors.append(abs(float(row[name]) - value) / max(abs(value), 1.0))
    error = sorted(errors)[len(errors) // 2] if errors else None
    return TpchResult(query, plain_time, by_hand, private_time, error, held, intervals, " ".join(sorted(said)))


def _fresh(policy: Policy, folder: Path) -> Policy:
    """The same policy with a ledger of its own: else an answer would be recalled."""
    return replace(policy, dataset=replace(policy.dataset, ledger=str(folder / "bench.ledger")))


def run(
    scale: float = 1, folder: Path | None = None, queries: tuple[int, ...] = (), trials: int = TRIALS
) -> Iterator[TpchResult]:
    """One result for each question that has a private answer."""
    with TemporaryDirectory() as temporary:
        place = made(folder or Path(temporary), scale)
        policy = load(place / "tacit.toml")
        engine = open_engine(policy, reads_keys=True)
        with duckdb.connect() as plain:
            plain.execute("SET threads = 2")
            for table in policy.tables:
                plain.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{place / table}.parquet')")
            for query, sql in sorted({**PRIVATE, **MORE}.items()):
                if not queries or query in queries:
                    try:
                        yield _measured(query, sql, policy, engine, plain, trials)
                    except TacitError as error:
                        Console(stderr=True).print(f"Q{query}: {error}")
        engine.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1)
    options.add_argument("--folder", type=Path)
    options.add_argument("--trials", type=int, default=TRIALS)
    options.add_argument("queries", nargs="*", type=int)
    given = options.parse_args()
    table = Table("Q", "DuckDB ms", "by hand ms", "tacit ms", "processor", "clock", "target", "error", "held", "covers")
    for found in run(given.scale, given.folder, tuple(given.queries), given.trials):
        cells: list[Any] = [
            found.query,
            *(f"{s[1] * 1000:.0f}" if s else "" for s in (found.plain, found.by_hand, found.private)),
            *(f"{ratio:.2f}" for ratio in found.ratios),
        ]
        cells += [TARGETS.get(found.query, ""), "" if found.error is None else f"{found.error:.2%}"]
        table.add_row(*map(str, cells), f"{found.held}/{found.intervals}", found.covers)
    Console().print(table)
    for query, reason in NOT_PRIVATE.items():
        Console().print(f"Q{query}: {reason}")


if __name__ == "__main__":
    main()
