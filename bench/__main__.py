"""Run every benchmark, or those named on the command line, and print what was measured."""

import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from bench import (
    accepted,
    accounting,
    accuracy,
    anonymity,
    census,
    choice,
    collector,
    coverage,
    hostile,
    learn_accuracy,
    learn_gradient,
    ledger,
    ledger_postgres,
    ledger_verify,
    market,
    noise,
    server,
    sql,
    survey,
    synth,
)

BENCHMARKS: dict[str, "Benchmark"] = {
    "noise": noise,
    "accepted": accepted,
    "accounting": accounting,
    "ledger": ledger,
    "ledger_postgres": ledger_postgres,
    "ledger_verify": ledger_verify,
    "sql": sql,
    "server": server,
    "hostile": hostile,
    "survey": survey,
    "collector": collector,
    "accuracy": accuracy,
    "coverage": coverage,
    "choice": choice,
    "anonymity": anonymity,
    "census": census,
    "learn_gradient": learn_gradient,
    "learn_accuracy": learn_accuracy,
    "synth": synth,
    "market": market,
}
MEASURED = ("tacit", "opendp", "numpy", "cryptography")


class Benchmark(Protocol):
    """A module that ticks COUNT times while it runs, and returns its tables and whether every target was met."""

    COUNT: int

    def run(self, tick: Callable[[str], None]) -> tuple[list[Table], bool]: ...


def main(names: list[str]) -> int:
    """0 when every target was met."""
    console = Console()
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        console.print(f"no benchmark called {', '.join(unknown)}: there is {', '.join(BENCHMARKS)}")
        return 2
    console.print(f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in MEASURED))
    met = [measure(name, console) for name in names or BENCHMARKS]
    return 0 if all(met) else 1


def measure(name: str, console: Console) -> bool:
    """Run one benchmark behind a progress bar and print its tables."""
    bar = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*bar, console=console, transient=True) as progress:
        task = progress.add_task(name, total=BENCHMARKS[name].COUNT)

        def tick(what: str) -> None:
            progress.update(task, description=f"{name}: {what}", advance=1)

        tables, met = BENCHMARKS[name].run(tick)
    for table in tables:
        console.print(table)
    return met


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
