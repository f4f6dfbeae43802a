"""MST and AIM around mbi, for a Python that has mbi 2: `synth_mbi.py METHOD EPSILON DELTA RHO in.npz out.npz`.

mbi fits models and leaves the choice of measurements to scripts. This is that of the papers, with mbi's own mirror
descent, total and rows: noise is numpy's, which is faster than an exact one.
"""

import resource
import sys
from itertools import combinations
from math import sqrt
from time import process_time
from typing import Any

import numpy as np

__all__ = ["main"]

ITERATIONS = 1000
CELLS = 80 * 2**20 / 8


def main() -> None:
    method, _, _, rho, source, target = sys.argv[1:]
    stored = np.load(source)
    rows, sizes = stored["rows"], tuple(int(size) for size in stored["sizes"])
    import jax

    jax.config.update("jax_enable_x64", True)
    import mbi

    start = process_time()
    domain = mbi.Domain([f"c{i}" for i in range(len(sizes))], sizes)
    made = (_mst if method == "mst" else _aim)(mbi, rows, sizes, domain, float(rho))
    drawn = made.synthetic_data()
    found = np.stack([np.asarray(drawn.to_dict()[f"c{i}"]) for i in range(len(sizes))], axis=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    np.savez(target, rows=found, seconds=process_time() - start, peak=peak)


def _counts(rows: Any, sizes: Any, clique: tuple[int, ...]) -> Any:
    shape = tuple(sizes[i] for i in clique)
    cells = np.ravel_multi_index([rows[:, i] for i in clique], shape)
    return np.bincount(cells, minlength=int(np.prod(shape))).astype(float)


class _Fit:
    """Measurements so far, and mbi's fit of them."""

    def __init__(self, mbi: Any, rows: Any, sizes: Any, domain: Any) -> None:
        self.mbi, self.rows, self.sizes, self.domain = mbi, rows, sizes, domain
        self.source = np.random.default_rng()
        self.measured: list[Any] = []
        self.model: Any = None

    def measure(self, clique: tuple[int, ...], sigma: float) -> None:
        noisy = _counts(self.rows, self.sizes, clique)
        noisy = noisy + self.source.normal(0, sigma, noisy.shape)
        self.measured.append(self.mbi.LinearMeasurement(noisy, self.named(clique), sigma))

    def named(self, clique: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(f"c{i}" for i in clique)

    def fit(self) -> None:
        solver = self.mbi.estimation.MirrorDescent()
        self.model = solver.estimate(self.domain, list(self.measured), iters=ITERATIONS, warm_start=self.model)

    def expected(self, clique: tuple[int, ...]) -> Any:
        return np.asarray(self.model.project(self.named(clique)).datavector())

    def choose(self, scores: Any, scale: float) -> int:
        weights = np.exp((np.array(scores) - max(scores)) / scale)
        return int(self.source.choice(len(scores), p=weights / weights.sum()))


def _mst(mbi: Any, rows: Any, sizes: Any, domain: Any, rho: float) -> Any:
    fit, count = _Fit(mbi, rows, sizes, domain), len(sizes)
    for i in range(count):
        fit.measure((i,), sqrt(3 * count / (2 * rho)))
    fit.fit()
    epsilon, part = sqrt(8 * rho / 3 / (count - 1)), list(range(count))
    pairs = list(combinations(range(count), 2))
    scores = {pair: np.abs(_counts(rows, sizes, pair) - fit.expected(pair)).sum() for pair in pairs}
    for _ in range(count - 1):
        joining = [(a, b) for a, b in pairs if part[a] != part[b]]
        a, b = joining[fit.choose([scores[pair] for pair in joining], 2 / epsilon)]
        part = [part[a] if each == part[b] else each for each in part]
        fit.measure((a, b), sqrt(3 * (count - 1) / (2 * rho)))
    fit.fit()
    return fit.model


def _aim(mbi: Any, rows: Any, sizes: Any, domain: Any, rho: float) -> Any:
    fit, count = _Fit(mbi, rows, sizes, domain), len(sizes)
    pairs = list(combinations(range(count), 2))
    candidates = {r: sum(len(set(r) & set(s)) for s in pairs) for r in [*((i,) for i in range(count)), *pairs]}
    truth = {r: _counts(rows, sizes, r) for r in candidates}
    sigma, epsilon = sqrt(16 * count / (1.8 * rho)), sqrt(0.8 * rho / (16 * count))
    used = count / (2 * sigma**2)
    for i in range(count):
        fit.measure((i,), sigma)
    fit.fit()
    last = False
    while not last:
        left = rho - used
        if left < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8):
            sigma, epsilon, last = sqrt(1 / (1.8 * left)), sqrt(0.8 * left), True
        used += 1 / (2 * sigma**2) + epsilon**2 / 8
        cliques = [m.clique for m in fit.measured]
        small = [r for r in candidates if _size(mbi, domain, [*cliques, fit.named(r)]) <= CELLS * used / rho]
        bias = {r: sqrt(2 / np.pi) * sigma * truth[r].size for r in small}
        scores = [candidates[r] * (np.abs(truth[r] - fit.expected(r)).sum() - bias[r]) for r in small]
        chosen = small[fit.choose(scores, 2 * max(candidates.values()) / epsilon)]
        before = fit.expected(chosen)
        fit.measure(chosen, sigma)
        fit.fit()
        if np.abs(fit.expected(chosen) - before).sum() <= bias[chosen]:
            sigma, epsilon = sigma / 2, epsilon * 2
    return fit.model


def _size(mbi: Any, domain: Any, cliques: Any) -> float:
    tree, _ = mbi.junction_tree.make_junction_tree(domain, cliques)
    return float(sum(domain.size(clique) for clique in tree.nodes))


if __name__ == "__main__":
    main()
