"""Spark on a cluster of its own: a master and two workers on loopback, the benchmark's questions, a census's and a
synthetic table's counting and a survey's tallies beside plain Spark; skew, speculation, time, a stop, a worker killed.

TACIT_BENCH_FILES × TACIT_BENCH_ROWS are the rows (8 × 1,250,000). Every integer is compared with DuckDB's.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from bench.cluster_driver import SLOW
from bench.sql_data import REGION_NAMES, UNITS, folder, several
from tacit.survey.plan import DEMO, simulate
from tacit.survey.survey import parse
from tacit.survey.survey_reports import write_reports

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # tests and benchmarks start it in the same way

__all__ = ["COUNT", "run"]

FILES, ROWS = int(os.environ.get("TACIT_BENCH_FILES", "8")), int(os.environ.get("TACIT_BENCH_ROWS", "1250000"))
HEAVY = 1_000_000  # rows of one unit
RESPONDENTS = 500_000  # of each of four files
SCRIPT = "from bench.cluster_driver import main; main()"
ROW_LEVEL, UNIT_LEVEL = 1.5, 2.0
MODES = ("measure", "speculate", "faults")
COUNT = 20


def skewed() -> Path:
    """Half of all rows have one key, and a tenth are one unit's."""
    place = folder() / f"skewed-{FILES}x{ROWS}"
    place.mkdir(exist_ok=True)
    draw = np.random.default_rng(3)
    for number in range(FILES):
        path = place / f"{number}.parquet"
        if path.exists():
            continue
        region = np.where(draw.random(ROWS) < 0.5, 0, draw.integers(0, len(REGION_NAMES), ROWS)).astype(np.int32)
        person = draw.integers(1, UNITS, ROWS)
        person[: HEAVY // FILES] = 0
        columns = {
            "person": person,
            "region": pa.DictionaryArray.from_arrays(region, list(REGION_NAMES)).cast(pa.string()),
            "product": draw.integers(0, 1000, ROWS, dtype=np.int32),
            "day": draw.integers(0, 365, ROWS, dtype=np.int32),
            "amount": np.round(draw.lognormal(3, 1, ROWS), 2),
        }
        pq.write_table(pa.table(columns), path, row_group_size=250_000)
    return place


def reports() -> Path:
    """Four files of a survey's reports."""
    place, survey = folder() / f"reports-{RESPONDENTS}", parse(DEMO)
    place.mkdir(exist_ok=True)
    for number in range(4):
        if not (path := place / f"{number}.parquet").exists():
            write_reports(path, survey, simulate(survey, answers=RESPONDENTS).reports)
    return place


@contextmanager
def driver(mode: str, tick: Callable[[str], None]) -> Iterator[tuple[Any, Iterator[dict[str, Any]]]]:
    """A cluster, and what a driver there says."""
    from support.cluster import Cluster

    tick(f"{mode}: a cluster")
    places = [str(each) for each in (several(FILES, ROWS), skewed(), reports())]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with Cluster() as cluster:
        pids = ",".join(str(found.pid) for name, found in cluster.processes.items() if name != "master")
        process = cluster.driver(SCRIPT, mode, cluster.url, *places, pids)

        def said() -> Iterator[dict[str, Any]]:
            assert process.stdout is not None
            for line in process.stdout:
                with (folder() / "cluster.jsonl").open("a") as log:  # what a run that is cut short has measured
                    log.write(line)
                yield json.loads(line)
            if process.wait():
                raise RuntimeError(cluster.said("driver"))

        try:
            yield cluster, said()
        finally:
            process.kill()
            process.wait()


def run(tick: Callable[[str], None], modes: tuple[str, ...] = MODES) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    table = Table(title=f"Spark: a master and two workers, {FILES * ROWS:,} rows, processor s of all processes")
    names = ("what", "plain", "by unit", "tacit", "× plain", "× by unit", "shuffled MB plain", "tacit", "same", "met")
    for name in names:
        table.add_column(name, justify="left" if name == "what" else "right")
    faults = Table(title="What goes wrong there")
    for name in ("what", "came of it"):
        faults.add_column(name)
    good = True
    for mode in modes:
        with driver(mode, tick) as (cluster, said):
            for each in said:
                tick(each["what"])
                if each["what"] == "kill now":
                    sleep(1.0)
                    cluster.kill("worker1")
                elif each["what"] == "slow now":
                    sleep(0.5)
                    cluster.signal("worker1", signal.SIGSTOP)
                    sleep(SLOW)
                    cluster.signal("worker1", signal.SIGCONT)
                elif "ways" in each:
                    cells, met = _compared(each)
                    table.add_row(*cells)
                    good &= met
                else:
                    found = {name: value for name, value in each.items() if name != "what"}
                    good &= found.get("same", True) and found.get("charges", 1) == 1
                    good &= found.get("integers") != "WRONG"
                    faults.add_row(each["what"], json.dumps(found))
    return [table, faults], good


def _compared(each: dict[str, Any]) -> tuple[list[str], bool]:
    """A line of the table, and whether its target was met."""
    ways = each["ways"]
    cpu = {name: found["cpu"] for name, found in ways.items()}
    ratio, unit = cpu["tacit"] / cpu["spark"], cpu["tacit"] / cpu["by unit"] if "by unit" in cpu else None
    met = each["same"] and (ratio <= ROW_LEVEL if unit is None else unit <= UNIT_LEVEL)
    seconds = [f"{cpu[name]:.1f}" if name in cpu else "" for name in ("spark", "by unit", "tacit")]
    moved = [f"{ways[name]['shuffled'] / 1e6:,.1f}" for name in ("spark", "tacit")]
    times = [f"{ratio:.2f}", "" if unit is None else f"{unit:.2f}"]
    return [each["what"], *seconds, *times, *moved, "yes" if each["same"] else "NO", "yes" if met else "NO"], met


if __name__ == "__main__":
    from rich.console import Console

    tables, met = run(lambda what: print(what, file=sys.stderr, flush=True), tuple(sys.argv[1:]) or MODES)
    for each in tables:
        Console(width=200).print(each)
    sys.exit(0 if met else 1)
