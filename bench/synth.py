"""Synthetic tables: how far marginals of drawn rows are from the true ones, and what that takes, beside peers.

A made-up table of the shape of Adult (TACIT_SYNTH names a Parquet file of whole numbers to use instead), δ = 1e-9. The
peers are run in Pythons of their own: TACIT_MBI and TACIT_DPMM name one each. Seconds are of processor time.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from math import prod
from pathlib import Path
from signal import SIGKILL, SIGXCPU
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from rich.table import Table

from bench.synth_data import NAMES, SIZES, codes, wide_codes, written
from tacit.session import Session

__all__ = ["COUNT", "run"]

RHOS = {"0.1": "0.000177138", "1": "0.0149731", "10": "1.09079"}  # the most that is within (ε, 1e-9)
DELTA = "1e-9"
METHODS = ("mst", "aim")
SEEDS = int(os.environ.get("TACIT_SYNTH_SEEDS", "1"))
LIMIT = int(os.environ.get("TACIT_SYNTH_LIMIT", "240"))  # seconds of processor time for a peer
COUNT = len(RHOS) * len(METHODS) + 1
FASTER, MOST_SECONDS, MOST_BYTES = 5, 120, 2**30


def counted(rows: Any, clique: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    shape = tuple(sizes[place] for place in clique)
    cells = np.ravel_multi_index([rows[:, place] for place in clique], shape)
    return np.bincount(cells, minlength=prod(shape)) / len(rows)


def apart(drawn: Any, rows: Any, sizes: tuple[int, ...], ways: int) -> float:
    """The mean total variation distance of all marginals of so many columns."""
    return float(
        np.mean(
            [
                np.abs(counted(drawn, clique, sizes) - counted(rows, clique, sizes)).sum() / 2
                for clique in combinations(range(len(sizes)), ways)
            ]
        )
    )


def ours(
    folder: Path, names: tuple[str, ...], sizes: tuple[int, ...], method: Any, rho: str, key: str
) -> tuple[Any, float]:
    """Rows of a release, through policy, ledger and engine, and the seconds that it took."""
    with Session(folder / "tacit.toml", "bench") as session:
        start = process_time()
        plan = session.synthesise(
            "people", rho=rho, columns=names, method=method, bins=dict(zip(names, sizes, strict=True))
        )
        made = plan.release(idempotency_key=key)
        table = made.rows().table
        seconds = process_time() - start
    return np.stack([table.column(name).to_numpy() for name in names], axis=1), seconds


def peer(script: str, python: str, method: str, epsilon: str, source: Path) -> tuple[Any, float] | str:
    """What a peer draws; a word where it does not come to an end."""
    place = Path(__file__).parent / "peers" / script
    target = source.with_name(f"{script}.npz")
    command = [python, "-P", str(place), method, epsilon, DELTA, RHOS[epsilon], str(source), str(target)]
    try:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        limited = ["sh", "-c", f'ulimit -t {LIMIT}; exec "$@"', "sh", *command]
        subprocess.run(limited, check=True, capture_output=True, env=environment)
    except subprocess.CalledProcessError as error:
        if error.returncode in (-SIGXCPU, -SIGKILL):
            return f"over {LIMIT} s"
        print(error.stderr.decode()[-500:], file=sys.stderr)
        return "failed"
    stored = np.load(target)
    return stored["rows"], float(stored["seconds"])


def accuracy(tick: Callable[[str], None]) -> tuple[Table, bool]:
    title = "Synthetic tables: total variation distance of 1-, 2- and 3-way marginals, δ = 1e-9"
    shown = Table(title=title)
    for name in ("ε", "method", "by", "1-way", "2-way", "3-way", "CPU s", "ratio"):
        shown.add_column(name, justify="left" if name in ("method", "by") else "right")
    good = True
    peers = [
        (script.removeprefix("synth_").removesuffix(".py"), script, python)
        for script, name in (("synth_mbi.py", "TACIT_MBI"), ("synth_dpmm.py", "TACIT_DPMM"))
        if (python := os.environ.get(name))
    ]
    given = os.environ.get("TACIT_SYNTH")
    rows = codes()
    names: tuple[str, ...] = NAMES
    sizes: tuple[int, ...] = SIZES
    if given:
        stored = pq.read_table(given)
        names = tuple(stored.column_names)
        rows = np.stack([stored.column(name).to_numpy() for name in names], axis=1)
        sizes = tuple(int(size) for size in rows.max(axis=0) + 1)
    with TemporaryDirectory() as place:
        folder = Path(place)
        written(folder, rows, sizes, names)
        np.savez(folder / "rows.npz", rows=rows, sizes=np.array(sizes))
        for epsilon in RHOS:
            for method in METHODS:
                tick(f"{method} at ε = {epsilon}")
                found: dict[str, list[tuple[Any, float]]] = {"tacit": []}
                words: dict[str, str] = {}
                for seed in range(SEEDS):
                    found["tacit"].append(ours(folder, names, sizes, method, RHOS[epsilon], f"{epsilon}{method}{seed}"))
                    for who, script, python in peers:
                        result = words.get(who) or peer(script, python, method, epsilon, folder / "rows.npz")
                        if isinstance(result, str):
                            words[who] = result
                        else:
                            found.setdefault(who, []).append(result)
                mine = {}
                for who, runs in found.items():
                    error = [float(np.mean([apart(drawn, rows, sizes, k) for drawn, _ in runs])) for k in (1, 2, 3)]
                    seconds = float(np.mean([each for _, each in runs]))
                    mine[who] = (error[1], seconds)
                    ratio = seconds / mine["tacit"][1]
                    cells = [f"{each:.4f}" for each in error]
                    shown.add_row(epsilon, method, who, *cells, f"{seconds:.1f}", f"{ratio:.1f}×")
                for who, word in words.items():
                    shown.add_row(epsilon, method, who, "–", "–", "–", word, "–")
                good &= "failed" not in words.values()
                others = [each for who, each in mine.items() if who != "tacit"]
                good &= all(
                    mine["tacit"][0] <= error * 1.05 and seconds >= FASTER * mine["tacit"][1]
                    for error, seconds in others
                )
    return shown, good


def scale(tick: Callable[[str], None]) -> tuple[Table, bool]:
    """A million rows of 14 columns, counted by DuckDB."""
    tick("a million rows")
    shown = Table(title="Synthetic tables: a million rows of 14 columns, AIM at ε = 1")
    for name in ("wall s", "CPU s", "peak MB", "1-way", "2-way"):
        shown.add_column(name, justify="right")
    rows, sizes, names = wide_codes(10**6)
    with TemporaryDirectory() as place:
        folder = Path(place)
        written(folder, rows, sizes, names)
        start = perf_counter()
        drawn, seconds = ours(folder, names, sizes, "aim", RHOS["1"], "wide")
        wall = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    errors = [f"{apart(drawn, rows, sizes, k):.4f}" for k in (1, 2)]
    shown.add_row(f"{wall:.1f}", f"{seconds:.1f}", f"{peak / 2**20:.0f}", *errors)
    return shown, wall <= MOST_SECONDS and peak <= MOST_BYTES


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    wide, wide_good = scale(tick)  # first, so that the peak is its own
    table, good = accuracy(tick)
    return [table, wide], good and wide_good
