"""Filters keep their limit against an analyst who adapts, and odometers are right at every moment."""

from collections.abc import Callable
from copy import copy
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.base import ExhaustedError, InputError, LossError, Relation, RelationError
from tacit.loss import GDP, ZCDP, Approx, Pure, gaussian_delta
from tacit.loss.cost import Cost, cost_at
from tacit.loss.filter import Filter, Odometer, Reading, Spent
from tacit.loss.renyi import RDP


def spent_exactly(filter_: Filter, loss: Any) -> int:
    count = 0
    while filter_.fits(loss):
        filter_.spend(loss)
        count += 1
    return count


def test_sums_are_exact() -> None:
    thirds = Filter(epsilon=1)
    for _ in range(3):
        thirds.spend(Pure("1/3"))
    assert thirds.left == Spent(Fraction(0), Fraction(0))
    with pytest.raises(ExhaustedError, match="epsilon"):
        thirds.spend(Pure(Fraction(1, 10**12)))
    assert thirds.spent == Spent(Fraction(1), Fraction(0))


def test_a_refusal_changes_nothing() -> None:
    budget = Filter(epsilon=1, delta=1e-6)
    budget.spend(Approx("0.5", "5e-7"))
    before = budget.spent
    for loss in (Pure("0.6"), Approx("0.1", "6e-7")):
        with pytest.raises(ExhaustedError):
            budget.spend(loss)
        assert budget.spent == before
    budget.spend(Approx("0.5", "5e-7"))
    assert budget.left == Spent(Fraction(0), Fraction(0))


def test_advanced_is_the_formula_of_the_theorem() -> None:
    budget = Filter(epsilon=2, delta=1e-6, slack=4e-7, method="advanced")
    v = mpmath.mpf(budget.limit.amount.numerator) / budget.limit.amount.denominator
    assert mpmath.sqrt(2 * v * mpmath.log(1 / mpmath.mpf("6e-7"))) + v / 2 == pytest.approx(2, rel=1e-8)
    assert mpmath.sqrt(2 * v * mpmath.log(1 / mpmath.mpf("6e-7"))) + v / 2 < 2
    assert spent_exactly(budget, Pure("0.01")) == int(v / mpmath.mpf("0.0001"))
    assert budget.limit.delta == Fraction(4, 10**7)


def test_advanced_squares_each_mechanism_not_their_sum() -> None:
    budget = Filter(epsilon=1, delta=1e-6, method="advanced")
    assert budget.price(100 * Pure("0.01")).amount == Fraction(1, 100)
    assert budget.price(Pure(1)).amount == 1
    assert budget.price(Cost(epsilon=Fraction(1, 2))).amount == Fraction(1, 4)


@pytest.mark.parametrize("epsilon", [0.1, 1, 8])
@pytest.mark.parametrize("delta", [1e-10, 1e-5])
def test_limits_convert_back_to_what_was_promised(epsilon: float, delta: float) -> None:
    rho = Filter(epsilon=epsilon, delta=delta, method="zcdp").limit.amount
    assert epsilon * (1 - 1e-6) < ZCDP(rho).epsilon(delta).upper <= epsilon
    square = Filter(epsilon=epsilon, delta=delta, method="gdp").limit.amount
    assert delta * (1 - 1e-5) < gaussian_delta(sqrt(square), epsilon) <= delta
    renyi = Filter(epsilon=epsilon, delta=delta, method="rdp")
    assert renyi.order is not None
    a, b = float(renyi.order), float(renyi.limit.amount)
    assert b + log((a - 1) / a) - (log(delta) + log(a)) / (a - 1) == pytest.approx(epsilon, rel=1e-9)
    assert b + log((a - 1) / a) - (log(delta) + log(a)) / (a - 1) < epsilon
    # each rule admits at least as much Gaussian noise as the one before it
    advanced = Filter(epsilon=epsilon, delta=delta, method="advanced").limit.amount / 2
    assert advanced <= b / a * (1 + 1e-9) <= rho * (1 + 1e-3)
    assert rho <= square / 2


def test_the_zcdp_filter_spends_rho_and_delta() -> None:
    budget = Filter(epsilon=1, delta=1e-5, slack=1e-6, method="zcdp")
    budget.spend(GDP("0.1"))
    budget.spend(Pure("0.1"))
    budget.spend(Approx("0.1", "1e-6"))
    budget.spend(ZCDP("0.001"))
    assert budget.spent == (Fraction(16, 1000), Fraction(1, 10**6))
    with pytest.raises(ExhaustedError, match="slack"):
        budget.spend(Approx("0.001", "1e-12"))


def test_the_rdp_filter_reads_every_kind() -> None:
    budget = Filter(epsilon=4, delta=1e-6, slack=1e-9, method="rdp", order=8)
    assert budget.price(GDP("0.1")).amount == pytest.approx(0.04, rel=1e-9)
    concentrated = budget.price(ZCDP("0.01", delta="1e-10"))
    assert concentrated.amount == pytest.approx(0.08, rel=1e-9)
    assert concentrated.delta == Fraction(1, 10**10)
    assert budget.price(RDP([2, 8], [0.1, 0.3])).amount == pytest.approx(0.3, rel=1e-9)
    pure = budget.price(Pure(1)).amount
    p = mpmath.mpf(1) / (1 + mpmath.exp(-1))
    assert float(pure) == pytest.approx(float(mpmath.log(p**8 * (1 - p) ** -7 + (1 - p) ** 8 * p**-7) / 7), rel=1e-9)
    assert budget.price(Approx(1, "1e-10")) == (pure, Fraction(1, 10**10))
    sampled = GDP(1).sampled(rate=Fraction(1, 100))
    assert 0 < budget.price(sampled).amount < budget.price(GDP(1)).amount / 100
    with pytest.raises(LossError, match="order 8"):
        budget.price(RDP([2], [0.1]))


def test_the_gdp_filter_takes_gaussians_and_pure_mechanisms() -> None:
    budget = Filter(epsilon=1, delta=1e-5, slack=1e-6, method="gdp")
    assert budget.price(4 * GDP("0.1")).amount == Fraction(4, 100)
    for epsilon in (1e-6, 0.3, 0.999, 1, 5, 30):
        square, slack = budget.price(Approx(epsilon, "1e-7"))
        with mpmath.workdps(40):
            corner = mpmath.ncdf(-mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator) / 2)
            least = 1 / (1 + mpmath.exp(mpmath.mpf(str(epsilon))))
            assert corner <= least
            assert corner > least * (1 - mpmath.mpf(10) ** -10)
        assert slack == Fraction(1, 10**7)
    with pytest.raises(LossError, match="zcdp"):
        budget.price(ZCDP("0.1"))


def test_a_finished_program_enters_by_its_cost() -> None:
    program = 1000 * GDP("0.5").sampled(rate=Fraction(1, 100))
    budget = Filter(epsilon=8, delta=1e-5)
    with pytest.raises(LossError, match="cost_at"):
        budget.spend(program)
    budget.spend(cost_at(program, 1e-6))
    assert budget.spent.amount >= Fraction(program.epsilon(1e-6).upper)


@pytest.mark.parametrize("method", ["pld", "fdp", "f-DP", "tradeoff"])
def test_whole_curves_are_refused_with_the_reason(method: Any) -> None:
    with pytest.raises(LossError, match="need not be private"):
        Filter(epsilon=1, delta=1e-6, method=method)


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -0.1},
        {"epsilon": 1, "method": "zcdp"},
        {"epsilon": 1, "method": "advanced", "delta": 1e-6, "slack": 1e-6},
        {"epsilon": 1, "method": "rdp", "delta": 1e-6, "order": 1},
        {"epsilon": 1, "method": "rdp", "delta": 1e-6, "order": 1.5},
        {"epsilon": 1, "method": "sum", "order": 4},
        {"epsilon": 1, "method": "magic"},
    ],
)
def test_bad_filters(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Filter(**arguments)


def test_relations_never_mix() -> None:
    with pytest.raises(RelationError):
        Filter(epsilon=1).spend(Pure("0.1", relation=Relation.REPLACE))
    with pytest.raises(RelationError):
        Odometer().spend(Pure("0.1", unit="user"))


# an adaptive analyst, worked out in full: every transcript with its probability in both worlds

Strategy = Callable[[tuple[int, ...]], Fraction]


def harder_when_it_pays(history: tuple[int, ...]) -> Fraction:
    """Ask dear questions while the answers point one way: the stopping rule that breaks fixed-parameter theorems."""
    return Fraction(3, 10) if 2 * sum(history) >= len(history) else Fraction(1, 10)


def careful_when_it_pays(history: tuple[int, ...]) -> Fraction:
    return Fraction(1, 10) if 2 * sum(history) > len(history) else Fraction(2, 5)


def always(history: tuple[int, ...]) -> Fraction:
    return Fraction(1, 4)


def bold(history: tuple[int, ...]) -> Fraction:
    return Fraction(1, 2)


def transcripts(budget: Filter, ask: Strategy, *, depth: int) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []

    def play(history: tuple[int, ...], p: float, q: float, budget: Filter) -> None:
        ahead = ask(history)
        if len(history) == depth or not budget.fits(Pure(ahead)):
            found.append((p, q))
            return
        budget.spend(Pure(ahead))
        keep = 1 / (1 + exp(-float(ahead)))
        play((*history, 1), p * keep, q * (1 - keep), copy(budget))
        play((*history, 0), p * (1 - keep), q * keep, copy(budget))

    play((), 1.0, 1.0, budget)
    return found


def hockey_stick(pairs: list[tuple[float, float]], epsilon: float) -> float:
    return sum(max(0.0, p - exp(epsilon) * q) for p, q in pairs)


@pytest.mark.parametrize("ask", [harder_when_it_pays, careful_when_it_pays, always])
@pytest.mark.parametrize("method", ["sum", "advanced", "zcdp", "rdp", "gdp"])
def test_the_limit_holds_for_every_transcript_together(method: Any, ask: Strategy) -> None:
    epsilon, delta = 1.5, 0.1
    pairs = transcripts(Filter(epsilon=epsilon, delta=delta, method=method), ask, depth=11)
    assert sum(p for p, _ in pairs) == pytest.approx(1)
    assert len(pairs) > 4
    reverse = [(q, p) for p, q in pairs]
    assert max(hockey_stick(pairs, epsilon), hockey_stick(reverse, epsilon)) <= (1e-15 if method == "sum" else delta)


def test_this_check_would_notice_a_filter_that_forgets_to_stop() -> None:
    pairs = transcripts(Filter(epsilon=100, delta=0.1, method="sum"), bold, depth=11)
    assert hockey_stick(pairs, 1.5) > 0.1


# odometers


def test_an_odometer_adds_exactly() -> None:
    meter = Odometer()
    meter.spend(Approx("0.1", "1e-7"))
    meter.spend(Pure("0.2"))
    assert (meter.spent.epsilon, meter.spent.rho) == (Fraction(3, 10), Fraction(25, 1000))
    assert meter.spent.delta == Fraction(1, 10**7)
    assert meter.reading.epsilon == pytest.approx(0.3)
    assert meter.reading.delta == Fraction(1, 10**7)
    meter.spend(GDP(1))
    assert meter.spent.epsilon is None
    with pytest.raises(LossError, match="delta"):
        _ = meter.reading


def test_a_sum_of_mu_squared_is_read_as_the_rho_that_it_implies() -> None:
    square, rho = (Odometer(delta="1e-6") for _ in range(2))
    square.spend(Cost(mu_squared=Fraction(1, 5)))
    rho.spend(ZCDP("0.1"))
    assert square.reading == rho.reading


def test_a_reading_is_above_the_bound_for_one_moment_and_not_by_much() -> None:
    for tuned in (Fraction(1, 1000), Fraction(1, 8), Fraction(3)):
        meter = Odometer(delta=1e-6, rho=tuned)
        assert meter.reading == Reading(0.0, Fraction(0))
        meter.spend(ZCDP(tuned))
        fixed = float(tuned) + 2 * sqrt(float(tuned) * log(1e6))
        assert fixed < meter.reading.epsilon < 1.05 * fixed
        for _ in range(9):
            meter.spend(ZCDP(tuned))
        fixed = 10 * float(tuned) + 2 * sqrt(10 * float(tuned) * log(1e6))
        assert fixed < meter.reading.epsilon < 1.2 * fixed


def test_a_reading_never_exceeds_the_plain_sum() -> None:
    meter = Odometer(delta=1e-6)
    meter.spend(Pure("0.1"))
    assert meter.reading.epsilon == pytest.approx(0.1)
    assert meter.reading.delta == 0
    for _ in range(999):
        meter.spend(Pure("0.1"))
    assert meter.reading.epsilon < 30
    assert meter.reading.delta == Fraction(1, 10**6)


def test_readings_hold_at_the_worst_moment() -> None:
    """Gaussian noise, exactly: how likely is it that the loss is above the reading at any time at all?

    The loss of k Gaussians is a random walk. Its law on a fine grid, with what crosses removed, is followed step by
    step. A reading for one moment only, taken at every moment, is crossed too often: the same check catches that.
    """
    delta, steps, rho = 0.05, 200, 0.002

    def crossing(reading: Callable[[int], float]) -> float:
        width = 0.004
        losses = np.arange(-2500, 2501) * width
        mu, sd = rho, sqrt(2 * rho)
        reach = np.arange(-120, 121) * width
        kernel = np.exp(-((reach - mu) ** 2) / (2 * sd * sd))
        kernel /= kernel.sum()
        law = np.zeros(losses.size)
        law[2500] = 1.0
        for k in range(1, steps + 1):
            law = np.convolve(law, kernel, mode="same")
            law[losses > reading(k)] = 0.0
        return 1 - float(law.sum())

    def uniform(k: int) -> float:
        meter = Odometer(delta=delta, rho=Fraction(1, 10))
        meter.spend(Cost(rho=Fraction(2 * k, 1000)))
        return meter.reading.epsilon

    assert crossing(uniform) <= delta
    # the quantile of L at each single moment: right at each, wrong for all
    quantile = 1.6448536269514722
    assert crossing(lambda k: k * rho + quantile * sqrt(2 * k * rho)) > 3 * delta
