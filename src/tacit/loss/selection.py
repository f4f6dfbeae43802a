"""What it costs to run a private mechanism a random number of times and to release only the best run.

A fixed number of runs would cost each of them. When the number K is random, and nobody learns it, the best of the runs
costs little more than one: Liu and Talwar (2019), Papernot and Steinke (2022). The score must be computed from the
run's own (private) output, and ties broken in a fixed way.
"""

from fractions import Fraction
from math import expm1, inf, log, log1p

from tacit.base import InputError, LossError, Number, between, exact, positive, show
from tacit.loss.loss import Loss
from tacit.loss.pld import PLD, Pure
from tacit.loss.renyi import RDP

__all__ = ["best_of_poisson", "best_of_random", "expected_runs", "first_above"]


def expected_runs(*, stop: Number, shape: Number = 1) -> float:
    """E[K] of the truncated negative binomial with Pr[K = k] ∝ (1 − γ)^k·C(k + η − 1, k), γ = `stop`, η = `shape`.

    η = 1 is geometric: after each run, stop with probability γ, so 1/γ runs. η = 0 is logarithmic: (1/γ − 1)/log(1/γ).
    Otherwise η(1 − γ)/(γ(1 − γ^η)).
    """
    gamma, eta = float(_stop(stop)), float(_shape(shape))
    odds = (1 - gamma) / gamma
    return odds / -log(gamma) if eta == 0 else eta * odds / -expm1(eta * log(gamma))


def best_of_random(loss: Loss, *, stop: Number, shape: Number = 1) -> Loss:
    """The best of K runs, K truncated negative binomial (see `expected_runs`), each run costing `loss`.

    Pure ε becomes (2 + η)ε: 3ε for geometric K (Liu and Talwar 2019), 2ε for logarithmic K. A Rényi curve becomes
    ε(α) + (1 + η)(1 − 1/β)ε(β) + (1 + η)·log(1/γ)/β + log E[K]/(α − 1) for the best β (Papernot and Steinke 2022,
    Theorem 2 and Corollary 3).
    """
    gamma, eta = _stop(stop), _shape(shape)
    pure = _pure(loss)
    if pure is not None:
        return Pure((2 + eta) * pure, **loss.neighbours)
    curve = _curve(loss)
    once_more = min(
        float(1 - 1 / beta) * float(value) + -log(gamma) / float(beta)
        for beta, value in zip(curve.orders, curve.values, strict=True)
    )
    runs = expected_runs(stop=gamma, shape=eta)
    more = (1 + float(eta)) * once_more
    return RDP.from_function(
        lambda alpha: curve.at(alpha) + more + log(runs) / (alpha - 1), orders=curve.orders, **loss.neighbours
    )


def best_of_poisson(loss: Loss, *, mean: Number) -> RDP:
    """The best of K runs, K Poisson with `mean` ≥ 1; nothing is released when K = 0.

    ε(α) + mean·δ + log(mean)/(α − 1), where one run is (log(1 + 1/(α − 1)), δ)-DP.
    (Papernot and Steinke 2022, Theorem 6.)
    """
    mu = positive(mean, "mean")
    if mu < 1:
        raise InputError(f"mean must be at least 1, not {show(mu)}: fewer runs than one are not worth a search")
    curve = _curve(loss)

    def at(alpha: float) -> float:
        delta = min(curve.delta(log1p(1 / (alpha - 1))).upper, 1.0)
        return curve.at(alpha) + float(mu) * delta + log(mu) / (alpha - 1)

    return RDP.from_function(at, orders=curve.orders, **loss.neighbours)


def first_above(loss: Loss) -> Pure:
    """Run until a score reaches a public threshold and release that run; after each failure stop with a fixed chance γ.

    Pure ε becomes 2ε: an output y has probability p(y)/(γ + (1 − γ)p) with p the chance of success, and both change by
    e^ε at most; so does giving up, γ(1 − p)/(γ + (1 − γ)p) (Liu and Talwar 2019, Algorithm 1 without a step limit).
    """
    pure = _pure(loss)
    if pure is None:
        raise LossError("this search is known here for pure guarantees only: use best_of_random for a Rényi curve")
    return Pure(2 * pure, **loss.neighbours)


def _pure(loss: Loss) -> Fraction | None:
    if isinstance(loss, PLD) and not loss.slack and all(part.bound is not None for part, _ in loss.parts):
        return loss.bound
    return None


def _curve(loss: Loss) -> RDP:
    curve = RDP.implied_by(loss)
    if curve.slack:
        raise LossError("a guarantee with a delta has no bound for repetition here: use pure or Rényi guarantees")
    return curve


def _stop(value: Number) -> Fraction:
    return between(value, "stop", 0, 1, toward="down")


def _shape(value: Number) -> Fraction:
    eta = exact(value, "shape")
    if not -1 < eta < inf:
        raise InputError(f"shape must be greater than -1, not {show(eta)}")
    return eta
