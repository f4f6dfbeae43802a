"""Secure noise for training beside torch's own, and the Poisson loader: time a number, in one run.

python bench/learn_noise.py
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from time import perf_counter

import numpy as np
import torch

from tacit.learn.noise import GradientNoise
from tacit.learn.rows import ArrayExamples, InputSize
from tacit.learn.sampling import PoissonSampler
from tacit.noise import rng_or_default, wide_gaussians

COUNT = 1 << 20


def best(work: Callable[[], object], times: int = 7) -> float:
    """Seconds of the quickest of a few runs, after one to warm up."""
    work()
    taken = []
    for _ in range(times):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken)


def load(examples: ArrayExamples, sampler: PoissonSampler) -> object:
    """One batch."""
    return examples.take(sampler.batch(0, rng_or_default(None)))


def main() -> None:
    torch.set_num_threads(1)
    rng = rng_or_default(None)
    single, double = torch.empty(COUNT), torch.empty(COUNT, dtype=torch.float64)
    zeros = np.zeros(COUNT)
    fast = GradientNoise(sigma=Fraction(1), dimension=COUNT)
    exact = replace(fast, form="exact")
    plain = best(single.normal_)
    print(f"{'':44}ns a number   × normal_   limit")
    lines = {
        "torch normal_, float32, not secure": (plain, ""),
        "torch normal_, float64, not secure": (best(double.normal_), ""),
        "secure noise, three digits": (best(lambda: wide_gaussians(COUNT, rng)), "3"),
        "secure noise, four digits": (best(lambda: wide_gaussians(COUNT, rng, 4)), ""),
        "rounded sum + fast noise": (best(lambda: fast.add([zeros], rng)), ""),
        "rounded sum + exact noise": (best(lambda: exact.add([zeros], rng), 2), ""),
    }
    for name, (seconds, limit) in lines.items():
        print(f"{name:44}{seconds / COUNT * 1e9:11.2f}{seconds / plain:12.2f}{limit:>8}")
    units = 1_000_000
    arrays = np.zeros((units, 64), np.float32), np.zeros(units, np.int64)
    examples = ArrayExamples(arrays, [InputSize((64,)), InputSize((), 2)])
    for rate in (Fraction(1, 1000), Fraction(1, 100)):
        sampler = PoissonSampler(rate, units)
        seconds = best(partial(load, examples, sampler))
        coins, found = units / seconds / 1e6, float(units * rate) / seconds / 1e6
        print(f"Poisson loader, rate {rate}: {coins:,.0f} M coins and {found:,.2f} M examples a second (limit 1 M)")


if __name__ == "__main__":
    main()
