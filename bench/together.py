"""What learning together costs in time: votes priced, votes answered, queries of a holdout, ticks of a stream.

Processor time in one run. The peer for pricing votes is the same theorem, one query and one order at a time, in plain
Python: what a reader of the paper writes first. The limit is 0.1 s for 1,000 queries.
"""

import tempfile
from fractions import Fraction
from math import exp, expm1, log, log1p, sqrt
from pathlib import Path
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit.learn import Counter, GNMax, Thresholdout
from tacit.learn.agreement import Agreement
from tacit.learn.stream_state import StreamState
from tacit.learn.thresholdout import FINE
from tacit.loss.pate import gnmax_given_votes
from tacit.loss.renyi import ORDERS
from tacit.noise import rng_or_default

QUERIES, SIGMA = 1000, 40


def one(order: float, log_q: float, variance: float) -> float:
    """The bound of one query at one order."""
    second = sqrt(variance * -log_q)
    first = second + 1
    e1, e2 = first / variance, second / variance
    if order > first or second <= 1 or log_q + e2 >= 0:
        return order / variance
    if log_q > (second - 1) * e2 - second * (log1p(1 / (first - 1)) + log1p(1 / (second - 1))):
        return order / variance
    right = log1p(-exp(log_q))
    a = right - log(-expm1((log_q + e2) * (1 - 1 / second)))
    b = e1 - log_q / (first - 1)
    moment = float(np.logaddexp(right + (order - 1) * a, log_q + (order - 1) * b))
    return min(order / variance, moment / (order - 1))


def timed(work: object) -> float:
    start = process_time()
    work()  # type: ignore[operator]  # a function of no arguments
    return process_time() - start


def main() -> None:
    votes = np.random.default_rng(0).multinomial(250, [0.7] + [0.3 / 9] * 9, size=QUERIES)
    gap = votes.max(axis=1, keepdims=True) - np.sort(votes, axis=1)[:, :-1]
    log_q = np.log(np.minimum(np.exp(-((gap / (2 * SIGMA)) ** 2)).sum(axis=1), 0.9))
    orders = [float(order) for order in ORDERS]
    ours = timed(lambda: gnmax_given_votes(votes, SIGMA, lattice=True))
    plain = timed(lambda: [sum(one(a, q, SIGMA**2) for q in log_q) for a in orders])
    rule, rng = GNMax(sigma=SIGMA, confident=(150, 200)), rng_or_default(None)
    answers = timed(lambda: [rule.answer(row, rng) for row in votes if rule.passes(row, rng)])
    figure = Agreement(rule=rule, order=20, teachers=250, classes=10, answered=QUERIES, checked=QUERIES)
    every = np.ones(QUERIES, dtype=bool)
    moves = timed(lambda: figure.moves(votes, every))
    run = Thresholdout(size=10_000, threshold=0.06, sigma=0.001, budget=20).start(rng)
    asked = timed(lambda: [run.ask(Fraction(1, 2), lambda: 5_010 * FINE) for _ in range(QUERIES)])
    counter = Counter(steps=4096, sigma=20)
    coefficients, mechanism = counter._coefficients, counter.step().mechanism
    with tempfile.TemporaryDirectory() as folder, StreamState.begin(Path(folder) / "s.stream", "r") as state:

        def tick(step: int) -> int:
            state.commit(step, [str(100 * step + i) for i in range(100)], times=1, separation=1)
            exact = sum(c * x for c, x in zip(coefficients, reversed(state.true_counts()), strict=False))
            state.release(step, mechanism.sample(exact))
            return step

        ticks = timed(lambda: [tick(step) for step in range(500)])
    table = Table("what", "time", "beside")
    table.add_row(
        f"price {QUERIES:,} queries", f"{ours:.3f} s", f"{plain:.2f} s one by one, {plain / ours:.0f}×; limit 0.1 s"
    )
    table.add_row(f"check and answer {QUERIES:,} votes of 10 classes", f"{answers:.2f} s", "")
    table.add_row(f"moves of the figure, {QUERIES:,} queries, 250 teachers", f"{moves:.2f} s", "")
    table.add_row(f"ask a holdout {QUERIES:,} times", f"{asked:.3f} s", "")
    table.add_row("500 ticks of a stream, 100 units each", f"{ticks:.2f} s", "two commits to disk a tick")
    Console().print(table)


if __name__ == "__main__":
    main()
