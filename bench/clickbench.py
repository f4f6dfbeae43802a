"""ClickBench's 43 questions over made-up rows, with a user as the unit: which have a private answer, and what it takes.

`python -m bench.clickbench --rows 2000000 --folder DIR` makes the table there once. Each question that is accepted runs
beside plain DuckDB on the same Parquet file with two threads, in turns, and the least time of each counts: processor
time and time on the clock. The others are listed with the kind of their refusal and its words.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from rich.console import Console
from rich.table import Table

from bench.clickbench_data import QUESTIONS, made
from bench.tpch import least_times
from tacit.base import Refused, TacitError
from tacit.engine import Engine, open_engine
from tacit.policy import Policy, load
from tacit.sql import Catalog, lower, parse
from tacit.sql.offer import Offer

__all__ = ["COUNT", "ClickResult", "run"]

COUNT, TIMES, RHO = len(QUESTIONS), 3, Fraction(1, 2)
ACCEPTED = "accept"


@dataclass(frozen=True, kw_only=True)
class ClickResult:
    """Of one question: `accept` with the seconds of both (clock, processor), or the kind of refusal and its words."""

    number: int
    fate: str
    words: str = ""
    plain: tuple[float, float] = (0.0, 0.0)
    private: tuple[float, float] = (0.0, 0.0)


def _result(number: int, sql: str, policy: Policy, engine: Engine, plain: duckdb.DuckDBPyConnection) -> ClickResult:
    try:
        question = lower(parse(sql), Catalog.from_policy(policy))
        parts = Offer.of(rho=RHO).price(question, policy, least=Fraction(0), profiles={}).priced.parts
    except Refused as refused:
        return ClickResult(number=number, fate=str(refused.kind), words=str(refused))
    except TacitError as error:
        return ClickResult(number=number, fate=type(error).__name__, words=str(error))
    two = least_times(lambda: plain.execute(sql).fetchall(), lambda: [engine.run(part) for part in parts], times=TIMES)
    return ClickResult(number=number, fate=ACCEPTED, plain=two[0], private=two[1])


def run(rows: int, folder: Path | None = None, numbers: tuple[int, ...] = ()) -> Iterator[ClickResult]:
    """One result for each question."""
    with TemporaryDirectory() as temporary:
        place = made(folder or Path(temporary), rows)
        policy = load(place / "tacit.toml")
        engine = open_engine(policy)
        with duckdb.connect() as plain:
            plain.execute("SET threads = 2")
            plain.execute(f"CREATE VIEW hits AS SELECT * FROM read_parquet('{place / 'hits.parquet'}')")
            for number, sql in enumerate(QUESTIONS):
                if not numbers or number in numbers:
                    yield _result(number, sql, policy, engine, plain)
        engine.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=2_000_000)
    options.add_argument("--folder", type=Path)
    options.add_argument("numbers", nargs="*", type=int)
    given = options.parse_args()
    table, console = Table("Q", "DuckDB ms", "tacit ms", "processor", "clock"), Console()
    refused = []
    for found in run(given.rows, given.folder, tuple(given.numbers)):
        if found.fate != ACCEPTED:
            refused.append(found)
            continue
        ratios = [private / plain for private, plain in zip(found.private[::-1], found.plain[::-1], strict=True)]
        cells = [f"{found.plain[1] * 1000:.0f}", f"{found.private[1] * 1000:.0f}", *(f"{each:.1f}" for each in ratios)]
        table.add_row(str(found.number), *cells)
    console.print(table)
    for each in refused:
        console.print(f"Q{each.number}: {each.fate}: {each.words}", soft_wrap=True)


if __name__ == "__main__":
    main()
