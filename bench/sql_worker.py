"""One way to answer one question, measured in a process of its own: prints wall and processor time and peak memory."""

import json
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import duckdb

from bench.sql_tasks import TASKS, policy
from tacit.engine import Limits
from tacit.engine.duckdb import DuckDBEngine
from tacit.engine.watch import size
from tacit.ledger import Ledger
from tacit.session.session import Session

__all__ = ["asking", "measured"]


@contextmanager
def plain(sql: str, data: Path, memory: str | None) -> Iterator[Callable[[int], object]]:
    with duckdb.connect(":memory:") as connection, TemporaryDirectory() as spill:
        connection.execute(f"SET temp_directory = '{spill}'")
        if memory is not None:
            connection.execute(f"SET memory_limit = '{memory}'")
        place = f"read_parquet('{data}/*.parquet')" if data.is_dir() else f"read_parquet('{data}')"
        yield lambda _: connection.sql(sql.format(data=place)).to_arrow_table()


@contextmanager
def asking(data: Path, memory: str | None = None, **declared: Any) -> Iterator[Session]:
    """A session over the bench data, with a ledger on disk; all that stays open from one question to the next."""
    with TemporaryDirectory() as folder:
        declares = policy(data, Path(folder) / "ledger", **declared)
        limits = Limits() if memory is None else Limits(memory=size(memory, "memory"))
        engine = DuckDBEngine({"sales": data, "each_sale": data}, limits=limits)
        try:
            with Ledger.open(Path(folder) / "ledger") as ledger:
                yield Session(declares, "ana", ledger=ledger, engine=engine)
        finally:
            engine.close()


@contextmanager
def tacit(sql: str, data: Path, memory: str | None) -> Iterator[Callable[[int], object]]:
    """Parse to answer, ledger included; each time at another price, since the same question again is free."""
    with asking(data, memory) as session:
        yield lambda turn: session.ask(sql, rho=f"0.05{turn}")


def measured(work: Callable[[int], object], repeats: int) -> dict[str, Any]:
    found: dict[str, Any] = {"wall": [], "cpu": []}
    for turn in range(1, repeats + 1):
        wall, cpu = perf_counter(), process_time()
        work(turn)
        found["wall"].append(perf_counter() - wall)
        found["cpu"].append(process_time() - cpu)
    return found | {"rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main(system: str, name: str, data: Path, repeats: int, memory: str | None) -> None:
    task = next(task for task in TASKS if task.name == name)
    way = tacit(task.question, data, memory) if system == "tacit" else plain(task.plain[system], data, memory)
    with way as work:
        print(json.dumps(measured(work, repeats)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5] if len(sys.argv) > 5 else None)
