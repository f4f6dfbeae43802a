"""How fast exact noise is: tacit beside OpenDP (also exact) and numpy (inexact), one core, processor time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import opendp.prelude as dp
from rich.table import Table

from tacit.noise import SecureRng, discrete_gaussian, discrete_gaussians, discrete_laplace, discrete_laplaces

__all__ = ["COUNT", "run"]

LAPLACE, GAUSSIAN = (1, 10, 1000, 10**6), (1, 10, 100, 1000)
COUNT = len(LAPLACE) + len(GAUSSIAN)
REPEATS = 7
TACIT, NUMPY, OPENDP, SINGLE = 2_000_000, 2_000_000, 40_000, 5_000  # draws a repeat
TARGETS = {"laplace": 4e6, "gaussian": 2e6}
PEER = 30  # times OpenDP
SLOWEST = 100e-6  # seconds a single draw


@dataclass(frozen=True)
class Case:
    """One law, and how each library draws so many of it."""

    law: str
    size: int
    ours: Callable[[int], object]
    single: Callable[[int], object]
    peer: Callable[[int], object]
    inexact: Callable[[int], object]


def cases() -> Iterator[Case]:
    dp.enable_features("contrib")
    rng, inexact = SecureRng(), np.random.default_rng()
    domain = dp.vector_domain(dp.atom_domain(T="i32"))
    for scale in LAPLACE:
        exact = Fraction(scale)
        peer = dp.m.make_laplace(domain, dp.l1_distance(T="i32"), scale=float(scale))
        yield Case(
            "laplace",
            scale,
            partial(discrete_laplaces, exact, rng=rng),
            partial(_one_by_one, discrete_laplace, exact, rng),
            partial(_release, peer),
            partial(inexact.laplace, 0.0, scale),
        )
    for sigma in GAUSSIAN:
        exact = Fraction(sigma) ** 2
        peer = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=float(sigma))
        yield Case(
            "gaussian",
            sigma,
            partial(discrete_gaussians, exact, rng=rng),
            partial(_one_by_one, discrete_gaussian, exact, rng),
            partial(_release, peer),
            partial(inexact.normal, 0.0, sigma),
        )


def _one_by_one(draw: Callable[..., int], parameter: Fraction, rng: SecureRng, size: int) -> None:
    for _ in range(size):
        draw(parameter, rng)


def _release(measurement: Any, size: int) -> Any:
    return measurement([0] * size)


def seconds(work: Callable[[int], object], size: int) -> float:
    """Median processor time a draw; one round beforehand fills caches and builds tables."""
    work(size)
    found = []
    for _ in range(REPEATS):
        start = process_time()
        work(size)
        found.append(process_time() - start)
    return median(found) / size


def run(tick: Callable[[str], None]) -> tuple[list[Table], bool]:
    """The tables, and whether every target was met."""
    table = Table(title="Exact noise, one core, million draws a second (median of 7, processor time)")
    for column in ("law", "scale", "tacit", "OpenDP 0.16", "ratio", "numpy (inexact)", "of numpy", "one draw", "met"):
        table.add_column(column, justify="left" if column == "law" else "right")
    good = True
    for case in cases():
        tick(f"{case.law} {case.size}")
        ours, one = seconds(case.ours, TACIT), seconds(case.single, SINGLE)
        peer, inexact = seconds(case.peer, OPENDP), seconds(case.inexact, NUMPY)
        met = 1 / ours >= TARGETS[case.law] and peer / ours >= PEER and one < SLOWEST
        good &= met
        rates = f"{1e-6 / ours:.1f}", f"{1e-6 / peer:.3f}", f"{peer / ours:,.0f}×"
        table.add_row(
            case.law,
            f"{case.size:,}",
            *rates,
            f"{1e-6 / inexact:.1f}",
            f"{inexact / ours:.1f}×",
            f"{one * 1e6:.1f} µs",
            "yes" if met else "NO",
        )
    table.caption = f"targets: laplace ≥ 4 M/s, gaussian ≥ 2 M/s, ≥ {PEER}× OpenDP, a single draw < 100 µs"
    return [table], good
