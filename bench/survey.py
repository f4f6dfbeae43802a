"""Local protocols at a thousand answers: reports a second and error, beside pure-ldp and multi-freq-ldpy.

The peers need an interpreter of their own with what bench/peers/local.py names; TACIT_PEERS says where it is. Without
it their columns are empty and no ratio is claimed.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import fmean, median
from time import process_time
from typing import Any

import numpy as np
from rich.table import Table

from tacit.survey import (
    DirectResponse,
    Frequency,
    HadamardResponse,
    LocalHashing,
    OptimizedUnary,
    PooledHashing,
    SubsetSelection,
    SymmetricUnary,
)

__all__ = ["COUNT", "run"]

ANSWERS, EPSILON, PEOPLE = 1024, Fraction(1), 1_000_000
FEWER, TRIALS, REPEATS = 100_000, 40, 3
PEER_REPORTS = 1000
NEAR = 0.03  # of the stated error


@dataclass(frozen=True)
class Case:
    """A protocol, and the reports a second it must make and add up."""

    kind: Callable[..., Frequency]
    perturb: float | None = None
    aggregate: float | None = None


CASES = (
    Case(DirectResponse, 10e6, 100e6),
    Case(LocalHashing, 10e6, 300e3),
    Case(PooledHashing),
    Case(HadamardResponse, None, 50e6),
    Case(OptimizedUnary, 200e3),
    Case(SymmetricUnary),
    Case(SubsetSelection, 200e3),
)
COUNT = len(CASES) + 1


def rate(work: Callable[[], Any], count: int) -> float:
    """Reports a second of processor time, in the median; one round beforehand."""
    found = []
    for _ in range(REPEATS + 1):
        start = process_time()
        work()
        found.append(process_time() - start)
    return count / median(found[1:])


def added_up(protocol: Frequency, reports: Any) -> Any:
    """How many reports speak for each answer."""
    return protocol.support(protocol.tally(reports))


def squared_error(protocol: Frequency, answers: Any) -> float:
    """The summed squared error of all shares over so many surveys, as a multiple of what theory says."""
    truth = np.bincount(answers, minlength=ANSWERS) / answers.size
    errors: list[float] = []
    for _ in range(TRIALS):
        found = protocol.estimate(protocol.tally(protocol.sample(answers))).value
        errors.append(float(np.sum((found - truth) ** 2)))
    return fmean(errors) * int(answers.size) / protocol.total_error


def peers() -> dict[str, dict[str, dict[str, float]]]:
    """What each peer does a second, by library, kind and side; empty where they are not installed."""
    for python in (os.environ.get("TACIT_PEERS"), sys.executable):
        command = [python or sys.executable, "-W", "ignore", "-m", "bench.peers.local"]
        size = [str(ANSWERS), str(float(EPSILON)), str(PEER_REPORTS)]
        done = subprocess.run([*command, *size], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found: dict[str, dict[str, dict[str, float]]] = json.loads(done.stdout)
            return found
    return {}


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    table = Table(
        title=f"Local protocols, {ANSWERS} answers, ε = {EPSILON}, {PEOPLE:,} people, one core, reports a second"
    )
    columns = ("protocol", "side", "tacit", "pure-ldp", "ratio", "multi-freq-ldpy", "ratio", "error / theory", "met")
    for at, column in enumerate(columns):
        table.add_column(column, justify="left" if at < 2 else "right")
    tick("peers")
    others = peers()
    draw = np.random.default_rng(1)
    answers = draw.zipf(1.3, PEOPLE) % ANSWERS
    good = True
    for case in CASES:
        protocol = case.kind(epsilon=EPSILON, categories=ANSWERS)
        tick(protocol.kind)
        reports = protocol.sample(answers)
        sides = {
            "perturb": (rate(partial(protocol.sample, answers), PEOPLE), case.perturb),
            "aggregate": (rate(partial(added_up, protocol, reports), PEOPLE), case.aggregate),
        }
        error = squared_error(protocol, answers[:FEWER])
        for side, (ours, target) in sides.items():
            met = (target is None or ours >= target) and (side == "perturb" or abs(error - 1) <= NEAR)
            good &= met
            cells = [f"{ours:,.0f}"]
            for library in ("pure-ldp", "multi-freq-ldpy"):
                theirs = others.get(library, {}).get(protocol.kind, {}).get(side)
                cells += ["", ""] if theirs is None else [f"{theirs:,.0f}", f"{ours / theirs:,.0f}×"]
            shown = "" if side == "perturb" else f"{error:.3f}"
            table.add_row(protocol.kind if side == "perturb" else "", side, *cells, shown, "yes" if met else "NO")
    table.caption = (
        "targets: perturb ≥ 10 M direct and local hashing, ≥ 0.2 M optimized unary and subset; aggregate ≥ 100 M "
        f"direct, ≥ 0.3 M local hashing, ≥ 50 M hadamard; squared error over {TRIALS} surveys of {FEWER:,} within 3 % "
        "of theory"
    )
    return [table], good
