"""Reconstruction: too many answers that are too exact give the whole table away (Dinur and Nissim 2003).

Each person has one secret bit. Somebody answers how many of a random subset have it, each time a little wrong. With 4n
answers the bits come back, unless the errors are well above √n, as tacit's are when one budget pays for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, sqrt
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog, lsq_linear
from scipy.sparse import csc_array, eye_array, hstack
from scipy.sparse.linalg import lsqr
from scipy.special import log_ndtr

from tacit.attack.population import chance
from tacit.attack.registry import Attempt, Outcome, Progress, silent
from tacit.base import InputError, Sensitivity, TacitError
from tacit.base.number import round_up
from tacit.loss import Approx
from tacit.mechanism import DiscreteGaussian

__all__ = [
    "DELTA",
    "METHODS",
    "Array",
    "Method",
    "Reconstruction",
    "least_absolute",
    "least_largest",
    "least_squares",
    "noise_for",
    "posterior",
    "private_sums",
    "reconstruct",
    "stage",
    "subset_sums",
]

Array = np.ndarray[Any, np.dtype[Any]]

KEPT = 2.5  # rows a bit in the first programme: at the optimum hardly more than one a bit is tight
GAP = 1e-3
ROUNDS = 50


def subset_sums(queries: Any, answers: Any) -> tuple[Array, Array]:
    """Queries as a matrix of 0 and 1, a row each, with an answer for each row; anything else is refused."""
    rows, sums = np.asarray(queries), np.asarray(answers, dtype=float)
    if rows.ndim != 2 or 0 in rows.shape:
        raise InputError("queries must be a matrix with a row for each query and a column for each person")
    if sums.shape != (len(rows),):
        raise InputError(f"answers must hold a number for each of the {len(rows)} queries, not shape {sums.shape}")
    if not ((rows == 0) | (rows == 1)).all():
        raise InputError("queries must hold 0 and 1 only: a person is in a subset, or is not")
    if not np.isfinite(sums).all():
        raise InputError("answers must be finite numbers")
    return rows.astype(np.float32 if rows.size > 10**7 else np.float64), sums


def least_squares(queries: Array, answers: Array) -> Array:
    """The x with the least squared error, by LSQR: products with the matrix alone, so that thousands of bits are fine.

    The first half of Dinur and Nissim's (2003) idea as Dwork, McSherry and Talwar (2007) and others use it.
    """
    return np.asarray(lsqr(queries, answers, atol=1e-6, btol=1e-6, iter_lim=200)[0])


def least_absolute(queries: Array, answers: Array) -> Array:
    """The x in [0, 1]ⁿ with the least sum of |error| (L1), from the dual programme, which has a row a bit, not a query.

    Primal: min Σ|b − Ax|, 0 ≤ x ≤ 1. Dual: max b·y − Σw with Aᵀy − w ≤ 0, |y| ≤ 1, w ≥ 0; x are its shadow prices.
    """
    count, bits = queries.shape
    rows: Any = hstack([csc_array(queries.T.astype(float)), -eye_array(bits)])
    price = np.concatenate([-answers, np.ones(bits)])
    solved = _solve(price, rows, np.zeros(bits), [(-1, 1)] * count + [(0, None)] * bits)
    return np.asarray(np.clip(-solved.ineqlin.marginals, 0, 1))


def least_largest(queries: Array, answers: Array) -> Array:
    """The x in [0, 1]ⁿ whose largest |error| (L∞) is within 0.1 % of the least there is.

    Few of the constraints |b − Ax| ≤ t matter: the programme starts with those a least-squares point is worst at, and
    takes in what its solution violates. What it finds before it has all is a lower bound on t, so the gap is known.
    """
    bits = queries.shape[1]
    signed = np.concatenate([queries, -queries]).astype(float)
    goal = np.concatenate([answers, -answers])  # signed @ x + t >= goal
    point = lsq_linear(queries, answers, bounds=(0, 1)).x
    kept = np.zeros(len(goal), dtype=bool)
    kept[np.argsort(signed @ point - goal)[: int(KEPT * bits)]] = True
    price = np.concatenate([np.zeros(bits), [1.0]])
    for _ in range(ROUNDS):
        rows = np.column_stack([-signed[kept], -np.ones(int(kept.sum()))])
        solved = _solve(price, csc_array(rows), -goal[kept], [(0, 1)] * bits + [(0, None)])
        point, largest = solved.x[:bits], solved.x[bits]
        short = goal - signed @ point
        beyond = np.flatnonzero((short > largest * (1 + GAP) + 1e-6) & ~kept)
        if not beyond.size:
            return np.asarray(np.clip(point, 0, 1))
        kept[beyond[np.argsort(-short[beyond])[:bits]]] = True
    raise TacitError("the linear programme was not solved in time: give fewer queries, or use least squares")


def _solve(price: Array, rows: Any, most: Array, bounds: list[Any]) -> Any:
    """min price·x with rows·x ≤ most, by HiGHS; interior points, since the matrix is half full."""
    solve: Any = linprog  # its stub knows no sparse matrix
    solved = solve(price, A_ub=rows.tocsc(), b_ub=most, bounds=bounds, method="highs-ipm")
    if solved.status != 0:
        raise TacitError(f"the linear programme was not solved: {solved.message}")
    return solved


PASSES = 80
DAMPING = 0.7  # the share of a new message that is taken over: full steps can swing for ever
STILL = 1e-5


def posterior(queries: Array, answers: Array, *, bound: float | None = None, sigma: float | None = None) -> Array:
    """The chance that each bit is 1, if each answer is off by uniform noise in ±`bound`, or by a normal of `sigma`."""
    if (bound is None) == (sigma is None) or not (bound or sigma or 0) > 0:
        raise InputError("say how large the noise is: bound (it is uniform in ±bound) or sigma (it is normal), above 0")
    count, people = queries.shape
    signs = (queries - 0.5) * 0.5  # with s = 2x − 1 in ±1, Ax is signs·s, plus Σs/4, plus half the row's sum
    rest = answers - queries.sum(axis=1) / 2
    weight = 1 / 16  # each entry of `signs`, squared
    spins: Array = np.zeros(people)
    pull: Array = np.zeros(count)
    seen: Any = signs @ spins
    size = float(bound or sigma or 0)
    noise = size**2 / 3 if bound else size**2  # its variance
    for _ in range(PASSES):
        spread = max(weight * float((1 - spins**2).sum()), (1e-3 * size) ** 2)
        # the level Σs/4 is common to all answers. What they have left on average says it well at first, the bits later
        doubt = noise / count / (noise / count + spread)
        level = (1 - doubt) * float((rest - seen).mean()) + doubt * float(spins.sum()) / 4
        expected = seen - spread * pull + level
        gap, whole = rest - expected, spread + noise
        fresh, curvature = _uniform(gap, spread, bound) if bound else (gap / whole, count / whole)
        pull = DAMPING * fresh + (1 - DAMPING) * pull
        variance = 1 / (weight * max(curvature, 1e-12))
        found = np.tanh((spins + variance * (signs.T @ pull)) / variance)
        moved = float(np.abs(found - spins).max())
        spins = DAMPING * found + (1 - DAMPING) * spins
        if moved < STILL:
            break
        seen = signs @ spins
    return np.asarray((spins + 1) / 2, dtype=float)


def _uniform(gap: Array, spread: float, bound: float) -> tuple[Array, float]:
    """The mean of N(0, spread) given that it lies within `bound` of `gap`, and by how much that narrows it."""
    width = sqrt(spread)
    # the far tail is computed on the left, where differences of normal tails keep their digits
    centre = -np.abs(gap) / width
    low, high = centre - bound / width, centre + bound / width
    mass = log_ndtr(high) + np.log(-np.expm1(np.minimum(log_ndtr(low) - log_ndtr(high), -1e-12)))
    at_low, at_high = (np.exp(-(end**2) / 2 - mass) / sqrt(2 * np.pi) for end in (low, high))
    mean = at_low - at_high
    narrowed = mean**2 + high * at_high - low * at_low
    return np.sign(gap) * -mean / width, float(np.clip(narrowed, 0, 1).sum()) / spread


Method = Literal["least squares", "L1", "L-infinity", "message passing"]
METHODS: tuple[Method, ...] = ("least squares", "L1", "L-infinity", "message passing")
SOLVERS = {"least squares": least_squares, "L1": least_absolute, "L-infinity": least_largest}
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
    if method not in METHODS:
        raise InputError(f'there is no method "{method}": there are {", ".join(METHODS)}')
    if method == "message passing":
        estimate = posterior(rows, sums, bound=bound, sigma=sigma)
    else:
        estimate = SOLVERS[method](rows, sums)
    return Reconstruction(bits=(estimate > 0.5).astype(np.int8), estimate=estimate, method=method)


def noise_for(answers: int, *, epsilon: float, each: int = 1) -> DiscreteGaussian:
    """What `private_sums` adds to so many answers."""
    size = Sensitivity(l1=Fraction(each * answers), l2=round_up(each * sqrt(answers) * (1 + 1e-15)))
    return DiscreteGaussian.from_loss(Approx(epsilon, DELTA), sensitivity=size)


def private_sums(sums: Any, *, epsilon: float, each: int = 1) -> tuple[Array, float]:
    """All answers with tacit's noise, and its standard deviation: together they are (epsilon, 10⁻⁶)-private.

    A person adds at most `each` to each of m answers, each·√m in length, which is what the Gaussian noise covers.
    """
    exact = np.asarray(sums, dtype=np.int64)
    mechanism = noise_for(exact.size, epsilon=epsilon, each=each)
    return np.asarray(mechanism.sample(exact), dtype=float), float(mechanism.sigma)


def stage(
    *,
    seed: int = 1,
    people: int = 300,
    rounds: int = 5,
    epsilon: float = 1.0,
    progress: Progress = silent,
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
        secret = source.integers(0, 2, people, dtype=np.int8)
        queries = source.integers(0, 2, (4 * people, people), dtype=np.int8)
        sums = queries.astype(np.float32) @ secret.astype(np.float32)
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


def _draw(lines: dict[Method, Array], spent: Array, people: int) -> Any:
    from tacit.plot import LabelledCurve, curves
    from tacit.plot.page import beside

    def panel(axis: str, x: Sequence[float], by_label: Mapping[str, Sequence[float]], *title: str) -> Any:
        drawn = [LabelledCurve(label, x, y) for label, y in by_label.items()]
        axes = (axis, "share of bits found")
        return curves(drawn, title=title, axes=axes, chance=0.5, logarithmic=True, width=330)

    best = [1 / (1 + exp(-budget)) for budget in BUDGETS]
    asked = f"{people:,} people, {4 * people:,} answers, uniform in ±E"
    told = {"no attack can do better": best, "message passing against tacit": spent.tolist()}
    found = {str(method): line.tolist() for method, line in lines.items()}
    left = panel("E as a multiple of √n", ERRORS, found, "Errors up to E: found below √n, lost above", asked)
    title = "The same answers by tacit", "epsilon is for all of them together, delta 1e-06"
    return beside([left, panel("epsilon in all", BUDGETS, told, *title)])
