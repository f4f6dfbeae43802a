"""Reconstruction: too many answers that are too exact give the whole table away (Dinur and Nissim 2003).

Each person has one secret bit. Somebody answers how many of a random subset have it, each time a little wrong. With 4n
answers the bits come back, unless the errors are well above √n, as tacit's are when one budget pays for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, sqrt
from typing import Any, Literal

import numpy as np

from tacit.attack.outcome import Attempt, Outcome
from tacit.attack.population import Chance, chance
from tacit.attack.subset_sums import Array, least_absolute, least_largest, least_squares, posterior, subset_sums
from tacit.base import InputError, Sensitivity
from tacit.base.number import round_up
from tacit.loss import Approx
from tacit.mechanism import DiscreteGaussian

__all__ = ["METHODS", "Method", "Reconstruction", "private_sums", "reconstruct", "stage"]

Method = Literal["least squares", "L1", "L-infinity", "message passing"]
METHODS: tuple[Method, ...] = ("least squares", "L1", "L-infinity", "message passing")
DELTA = Fraction(1, 10**6)
ERRORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # of √n
DRAWN: tuple[Method, ...] = ("least squares", "L-infinity", "message passing")
BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class Reconstruction:
    """The bits, as rounded from `estimate`, which lies in [0, 1] unless least squares left it."""

    bits: Array
    estimate: Array
    method: Method

    def share(self, truth: Any) -> float:
        """The share of people whose bit was found."""
        known = np.asarray(truth)
        if known.shape != self.bits.shape:
            raise InputError(f"truth has shape {known.shape}, the reconstruction {self.bits.shape}")
        return float((known == self.bits).mean())


def reconstruct(
    queries: Any,
    answers: Any,
    *,
    method: Method = "least squares",
    bound: float | None = None,
    sigma: float | None = None,
) -> Reconstruction:
    """Everybody's secret bit from `answers` to `queries`, a matrix of 0 and 1 with a row for each subset.

    "message passing" needs to know the noise: uniform in ±`bound`, or normal with standard deviation `sigma`.
    """
    rows, sums = subset_sums(queries, answers)
    if method == "least squares":
        estimate = least_squares(rows, sums)
    elif method == "L1":
        estimate = least_absolute(rows, sums)
    elif method == "L-infinity":
        estimate = least_largest(rows, sums)
    elif method == "message passing":
        estimate = posterior(rows, sums, bound=bound, sigma=sigma)
    else:
        raise InputError(f'there is no method "{method}": there are {", ".join(METHODS)}')
    return Reconstruction(bits=(estimate > 0.5).astype(np.int8), estimate=estimate, method=method)


def private_sums(sums: Any, *, epsilon: float) -> tuple[Array, float]:
    """All answers with tacit's noise, and its standard deviation: together they are (epsilon, 10⁻⁶)-private.

    A person adds at most 1 to each of m answers, √m in length, which is what the Gaussian noise covers.
    """
    exact = np.asarray(sums, dtype=np.int64)
    size = Sensitivity(l1=Fraction(exact.size), l2=round_up(sqrt(exact.size) * (1 + 1e-15)))
    mechanism = DiscreteGaussian.from_loss(Approx(epsilon, DELTA), sensitivity=size)
    return np.asarray(mechanism.sample(exact), dtype=float), float(mechanism.sigma)


def stage(
    *,
    seed: int = 1,
    people: int = 300,
    rounds: int = 5,
    epsilon: float = 1.0,
    progress: Callable[[float], None] | None = None,
) -> Outcome:
    """4n questions about n people: answered within ±√n/2, and by tacit, with `epsilon` for all of them together.

    Each of the `rounds` is another table; the slow linear programme is solved in the first alone.
    """
    if people < 20 or rounds < 1:
        raise InputError("the stage needs at least 20 people and one round")
    source, root = chance(seed), sqrt(people)
    lines = {method: np.zeros(len(ERRORS)) for method in DRAWN}
    spent, found, private = np.zeros(len(BUDGETS)), 0, 0
    for number in range(rounds):
        secret, queries, sums = _asked(source, people)
        found += _hits(queries, sums + source.uniform(-root / 2, root / 2, len(sums)), secret, bound=root / 2)
        answers, sigma = private_sums(sums, epsilon=epsilon)
        private += _hits(queries, answers, secret, sigma=sigma)
        for place, error in enumerate(ERRORS):
            noisy = sums + source.uniform(-error * root, error * root, len(sums))
            lines["message passing"][place] += _hits(queries, noisy, secret, bound=error * root) / people / rounds
            lines["least squares"][place] += reconstruct(queries, noisy).share(secret) / rounds
            if number == 0:
                lines["L-infinity"][place] = reconstruct(queries, noisy, method="L-infinity").share(secret)
        for place, budget in enumerate(BUDGETS):
            answers, narrow = private_sums(sums, epsilon=budget)
            spent[place] += _hits(queries, answers, secret, sigma=narrow) / people / rounds
        if progress is not None:
            progress((number + 1) / rounds)
    trials = people * rounds
    ceiling = 1 / (1 + exp(-epsilon)) + float(DELTA)
    return Outcome(
        name="reconstruction",
        headline="Everybody's secret from sums that were all a little wrong",
        measure=f"share of {people:,} people whose secret bit is found from {4 * people:,} answers",
        chance=0.5,
        undefended=Attempt.counted(f"every answer within ±√n/2 = ±{root / 2:.1f}", found, trials),
        defended=Attempt.counted(f"tacit, epsilon {epsilon:g} for all answers together", private, trials),
        remarks=(
            f"tacit spends epsilon {epsilon:g}, delta 1e-06 on all {4 * people:,} answers: noise of standard deviation "
            f"{sigma:.0f} on each, {sigma / root:.1f} times √n",
            f"at that budget no attack whatever finds a fair bit more often than {ceiling:.1%}",
            "it is the number of questions that costs: the same budget on a few of them leaves them useful",
        ),
        facts={"people": people, "queries": 4 * people, "rounds": rounds, "epsilon": epsilon, "delta": float(DELTA)}
        | {"sigma": sigma, "errors": list(ERRORS), "budgets": list(BUDGETS), "private": spent.tolist()}
        | {method: line.tolist() for method, line in lines.items()},
        draw=lambda: _draw(lines, spent, people),
    )


def _hits(queries: Array, answers: Array, secret: Array, **noise: float) -> int:
    """How many bits message passing finds."""
    return int((reconstruct(queries, answers, method="message passing", **noise).bits == secret).sum())


def _asked(source: Chance, people: int) -> tuple[Array, Array, Array]:
    """Fair secret bits, 4n random subsets, and the true answers."""
    secret = source.integers(0, 2, people, dtype=np.int8)
    queries = source.integers(0, 2, (4 * people, people), dtype=np.int8)
    return secret, queries, queries.astype(np.float32) @ secret.astype(np.float32)


def _draw(lines: dict[Method, Array], spent: Array, people: int) -> Any:
    from tacit.plot import Curve, curves
    from tacit.plot.page import beside

    left = curves(
        [Curve(label=method, x=ERRORS, y=line.tolist()) for method, line in lines.items()],
        title=(
            "Errors up to E: found below √n, lost above",
            f"{people:,} people, {4 * people:,} answers, uniform in ±E",
        ),
        axes=("E as a multiple of √n", "share of bits found"),
        chance=0.5,
        logarithmic=True,
        width=330,
    )
    right = curves(
        [
            Curve(label="no attack can do better", x=BUDGETS, y=[1 / (1 + exp(-budget)) for budget in BUDGETS]),
            Curve(label="message passing against tacit", x=BUDGETS, y=spent.tolist()),
        ],
        title=("The same answers by tacit", "epsilon is for all of them together, delta 1e-06"),
        axes=("epsilon in all", "share of bits found"),
        chance=0.5,
        logarithmic=True,
        width=330,
    )
    return beside([left, right])
