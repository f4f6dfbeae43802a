"""Synthetic tables: how far marginals of drawn rows are from the true ones, what a model learns from them, and what
that takes, beside peers.

TACIT_ADULT names the folder with the files of Adult (bench/synth_data.py says where they are from); without it a
made-up table of that shape is used. δ = 1e-9. The peers are run in Pythons of their own: TACIT_MBI and TACIT_DPMM name
one each. Every run is a process; seconds are of processor time, and memory is the most that the process ever had.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from math import prod
from pathlib import Path
from signal import SIGKILL, SIGXCPU
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from bench.synth_data import HELD, ROWS, SIZES, adult, codes, wide_codes

__all__ = ["COUNT", "run"]

RHOS = {"0.1": "0.000177138", "1": "0.0149731", "10": "1.09079"}  # the most that is within (ε, 1e-9)
DELTA = "1e-9"
METHODS = ("mst", "aim")
SEEDS = int(os.environ.get("TACIT_SYNTH_SEEDS", "1"))
PEER_SEEDS = int(os.environ.get("TACIT_SYNTH_PEER_SEEDS", "1"))
LIMIT = int(os.environ.get("TACIT_SYNTH_LIMIT", "600"))  # seconds of processor time for a run
COUNT = len(RHOS) * len(METHODS) + 2
FASTER, MOST_SECONDS, MOST_BYTES = 5, 120, 2**30
WORST = {  # on Adult: the most of TVD₁, TVD₂ and TVD₃, the least AUC, the most seconds
    ("0.1", "mst"): (1, 0.084, 1, 0.763, 5), ("1", "mst"): (1, 0.052, 1, 0.778, 5),
    ("10", "mst"): (1, 0.0505, 1, 0.778, 5), ("0.1", "aim"): (0.0205, 0.0769, 0.145, 0.836, 25),
    ("1", "aim"): (0.0031, 0.0221, 0.0545, 0.882, 25), ("10", "aim"): (0.0006, 0.0138, 0.0431, 0.891, 25),
}  # fmt: skip


class Measured(NamedTuple):
    """One run: errors of 1-, 2- and 3-way marginals, AUC, seconds of processor time, and bytes."""

    errors: tuple[float, float, float]
    auc: float
    seconds: float
    peak: float


def counted(rows: Any, clique: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    shape = tuple(sizes[place] for place in clique)
    cells = np.ravel_multi_index([rows[:, place] for place in clique], shape)
    return np.bincount(cells, minlength=prod(shape)) / len(rows)


def apart(drawn: Any, rows: Any, sizes: tuple[int, ...], ways: int) -> float:
    """The mean total variation distance of all marginals of so many columns."""
    cliques = combinations(range(len(sizes)), ways)
    return float(np.mean([np.abs(counted(drawn, c, sizes) - counted(rows, c, sizes)).sum() / 2 for c in cliques]))


def learned(drawn: Any, held: Any) -> float:
    """The AUC, on true rows that nobody saw, of gradient boosting that learned the last column from drawn rows."""
    if len(set(drawn[:, -1])) < 2:
        return 0.5
    model = HistGradientBoostingClassifier(random_state=0).fit(drawn[:, :-1], drawn[:, -1])
    return float(roc_auc_score(held[:, -1], model.predict_proba(held[:, :-1])[:, 1]))


def drawn_by(who: str, python: str, method: str, epsilon: str, source: Path) -> Any:
    """What a process draws; a word where it does not come to an end."""
    place, target = Path(__file__).parent / "peers" / f"synth_{who}.py", source.with_name(f"{who}.npz")
    command = [python, "-P", str(place), method, epsilon, DELTA, RHOS[epsilon], str(source), str(target)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    if who == "tacit":
        environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    limited = ["sh", "-c", f'ulimit -t {LIMIT}; exec "$@"', "sh", *command]
    try:
        subprocess.run(limited, check=True, capture_output=True, env=environment)
    except subprocess.CalledProcessError as error:
        if error.returncode in (-SIGXCPU, -SIGKILL):
            return f"over {LIMIT} s"
        print(error.stderr.decode()[-500:], file=sys.stderr)
        return "failed"
    return np.load(target)


def accuracy(tick: Callable[[str], None]) -> tuple[Table, bool]:
    given = os.environ.get("TACIT_ADULT")
    whole = adult(Path(given)) if given else codes(ROWS + HELD)
    rows, held = whole[:ROWS], whole[ROWS:]
    name = "Adult" if given else "a made-up table of the shape of Adult"
    shown = Table(title=f"{name}: AUC from true rows {learned(rows, held):.3f}; mean TVD of marginals, δ = 1e-9")
    heads = ("ε", "method", "by", "runs", "1-way", "2-way", "3-way", "AUC", "CPU s", "ratio", "peak MB")
    for head in heads:
        shown.add_column(head, justify="left" if head in ("method", "by") else "right")
    good = True
    named = (("mbi", "TACIT_MBI"), ("dpmm", "TACIT_DPMM"))
    peers = [(who, os.environ[variable]) for who, variable in named if variable in os.environ]
    with TemporaryDirectory() as place:
        source = Path(place) / "rows.npz"
        np.savez(source, rows=rows, sizes=np.array(SIZES))
        for epsilon in RHOS:
            for method in METHODS:
                found: dict[str, Measured] = {}
                for who, python in (("tacit", sys.executable), *peers):
                    tick(f"{method} at ε = {epsilon} by {who}")
                    runs = []
                    for _ in range(SEEDS if who == "tacit" else PEER_SEEDS):
                        stored = drawn_by(who, python, method, epsilon, source)
                        if isinstance(stored, str):
                            shown.add_row(epsilon, method, who, "–", "–", "–", "–", "–", stored, "–", "–")
                            good &= stored != "failed"
                            break
                        drawn = stored["rows"]
                        errors = tuple(apart(drawn, rows, SIZES, ways) for ways in (1, 2, 3))
                        runs.append((*errors, learned(drawn, held), float(stored["seconds"]), float(stored["peak"])))
                    if not runs:
                        continue
                    one, two, three, auc, seconds, _ = np.mean(runs, axis=0).tolist()
                    found[who] = Measured((one, two, three), auc, seconds, max(run[-1] for run in runs))
                    shown.add_row(epsilon, method, who, str(len(runs)), *_cells(found[who], found["tacit"]))
                    print(epsilon, method, who, len(runs), *_cells(found[who], found["tacit"]), file=sys.stderr)
                good &= _enough(found, WORST[epsilon, method] if given else None)
    return shown, good


def _cells(measured: Measured, mine: Measured) -> list[str]:
    return [
        *(f"{each:.4f}" for each in measured.errors),
        f"{measured.auc:.3f}",
        f"{measured.seconds:.1f}",
        f"{measured.seconds / mine.seconds:.1f}×",
        f"{measured.peak / 2**20:.0f}",
    ]


def _enough(found: dict[str, Measured], worst: Any) -> bool:
    """Whether tacit is as exact as the best peer, five times as fast as each, and reaches what is asked of it on
    Adult."""
    mine = found.pop("tacit")
    good = mine.peak <= MOST_BYTES
    if found:
        good &= mine.errors[1] <= min(each.errors[1] for each in found.values())
        good &= all(each.seconds >= FASTER * mine.seconds for each in found.values())
    if worst is not None:
        *errors, auc, seconds = worst
        good &= all(own <= most for own, most in zip(mine.errors, errors, strict=True))
        good &= mine.auc >= auc and mine.seconds <= seconds
    return good


def scale(tick: Callable[[str], None]) -> tuple[Table, bool]:
    """A million rows of 14 columns, counted by DuckDB."""
    tick("a million rows")
    shown = Table(title="Synthetic tables: a million rows of 14 columns, AIM at ε = 1")
    for name in ("wall s", "CPU s", "peak MB", "1-way", "2-way"):
        shown.add_column(name, justify="right")
    rows, sizes, _ = wide_codes(10**6)
    with TemporaryDirectory() as place:
        source = Path(place) / "rows.npz"
        np.savez(source, rows=rows, sizes=np.array(sizes))
        start = perf_counter()
        stored = drawn_by("tacit", sys.executable, "aim", "1", source)
        wall = perf_counter() - start
    if isinstance(stored, str):
        shown.add_row(stored, "–", "–", "–", "–")
        return shown, False
    seconds, peak = float(stored["seconds"]), float(stored["peak"])
    errors = [f"{apart(stored['rows'], rows, sizes, ways):.4f}" for ways in (1, 2)]
    shown.add_row(f"{wall:.1f}", f"{seconds:.1f}", f"{peak / 2**20:.0f}", *errors)
    return shown, wall <= MOST_SECONDS and peak <= MOST_BYTES


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    wide, wide_good = scale(tick)
    table, good = accuracy(tick)
    return [table, wide], good and wide_good
