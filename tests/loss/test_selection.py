"""Private selection: the claimed costs against the exact law of the best of a random number of runs."""

from collections.abc import Callable
from math import comb, exp, inf, log, log1p

import pytest

from tacit.base import InputError, LossError
from tacit.loss import GDP, ZCDP, Approx, Pure
from tacit.loss.renyi import RDP
from tacit.loss.selection import best_of_poisson, best_of_random, expected_runs, first_above


def best_of(masses: list[float], generating: Callable[[float], float]) -> list[float]:
    """The law of the largest of K draws, from the probability generating function of K; first the chance of no draw."""
    below, law = 0.0, [generating(0.0)]
    for mass in masses:
        law.append(generating(below + mass) - generating(below))
        below += mass
    return law


def geometric(stop: float) -> Callable[[float], float]:
    return lambda x: stop * x / (1 - (1 - stop) * x)


def logarithmic(stop: float) -> Callable[[float], float]:
    return lambda x: log1p(-(1 - stop) * x) / log(stop)


def poisson(mean: float) -> Callable[[float], float]:
    return lambda x: exp(mean * (x - 1))


def divergence(p: list[float], q: list[float], order: float) -> float:
    total = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True) if a > 0)
    return log(total) / (order - 1)


def rare(epsilon: float, chance: float) -> tuple[list[float], list[float]]:
    """Two ε-close laws in which the best outcome is rare and more likely in the first."""
    return [1 - chance * exp(epsilon), chance * exp(epsilon)], [1 - chance, chance]


@pytest.mark.parametrize(("shape", "generating", "factor"), [(1, geometric, 3), (0, logarithmic, 2)])
def test_pure_cost_holds_and_is_nearly_attained(
    shape: int, generating: Callable[[float], Callable[[float], float]], factor: int
) -> None:
    epsilon, stop = 0.5, 1e-4
    assert best_of_random(Pure("0.5"), stop="0.0001", shape=shape) == Pure(factor * 0.5)
    worst = 0.0
    for chance in [10 ** (-i / 4) for i in range(1, 21)]:
        for tiny in (1e-3, 0.1):
            # three outcomes: bad, middle, best; the middle one is released only when there was no best one
            p = [1 - chance - tiny * chance * exp(-epsilon), tiny * chance * exp(-epsilon), chance]
            q = [1 - tiny * chance - chance * exp(-epsilon), tiny * chance, chance * exp(-epsilon)]
            if all(exp(-epsilon) * 0.999999 <= a / b <= exp(epsilon) * 1.000001 for a, b in zip(p, q, strict=True)):
                a, b = best_of(p, generating(stop)), best_of(q, generating(stop))
                worst = max(worst, max(abs(log(x / y)) for x, y in zip(a, b, strict=True) if x and y))
    assert worst <= factor * epsilon * (1 + 1e-5)
    assert worst >= 0.8 * factor * epsilon


@pytest.mark.parametrize("order", [1.5, 2.0, 5.0, 30.0])
@pytest.mark.parametrize("chance", [0.3, 0.03, 0.001])
def test_renyi_cost_holds(order: float, chance: float) -> None:
    """On exact laws: a rare best outcome, seen more or less often."""
    epsilon = 0.4
    curve = RDP.implied_by(Pure("0.4"))
    claims = [
        (best_of_random(curve, stop="0.05"), geometric(0.05)),
        (best_of_random(curve, stop="0.05", shape=0), logarithmic(0.05)),
        (best_of_poisson(curve, mean=15), poisson(15.0)),
    ]
    for claim, generating in claims:
        assert isinstance(claim, RDP)
        p, q = (best_of(masses, generating) for masses in rare(epsilon, chance))
        assert max(divergence(p, q, order), divergence(q, p, order)) <= claim.at(order)


def test_expected_number_of_runs() -> None:
    assert expected_runs(stop="0.1") == pytest.approx(10)
    weights = {k: 0.9**k / k for k in range(1, 600)}
    assert expected_runs(stop="0.1", shape=0) == pytest.approx(0.9 / 0.1 / log(10), rel=1e-12)
    assert expected_runs(stop="0.1", shape=0) == pytest.approx(
        sum(k * w for k, w in weights.items()) / sum(weights.values()), rel=1e-9
    )
    two = {k: 0.9**k * comb(k + 1, k) for k in range(1, 600)}
    assert expected_runs(stop="0.1", shape=2) == pytest.approx(
        sum(k * w for k, w in two.items()) / sum(two.values()), rel=1e-9
    )


def test_the_formula_of_theorem_two_on_a_line() -> None:
    """For ρα the best β is √((log 1/γ)/ρ): worked out by hand."""
    rho, stop = 0.1, 0.1
    found = best_of_random(ZCDP("0.1"), stop="0.1")
    assert isinstance(found, RDP)
    best = min((1 - 1 / b) * rho * b + log(1 / stop) / b for b in [1 + i / 1000 for i in range(1, 20000)])
    for order in (2.0, 8.0):
        assert found.at(order) == pytest.approx(rho * order + 2 * best + log(10) / (order - 1), rel=1e-3)


def test_threshold_search_holds_and_is_attained() -> None:
    epsilon, stop = 0.7, 1e-5
    assert first_above(Pure("0.7")) == Pure("1.4")
    worst = 0.0
    for success in (0.5, 0.01, 1e-3):
        for other in (success * exp(-epsilon), 1 - (1 - success) * exp(epsilon)):
            if 0 < other < 1 and (1 - other) / (1 - success) < exp(epsilon) * 1.0001:
                tiny = (1e-3 * success, 1e-3 * success * exp(epsilon))  # one output, rarer in the first world
                total = [stop + (1 - stop) * success, stop + (1 - stop) * other]
                worst = max(worst, abs(log(tiny[1] / total[1] / (tiny[0] / total[0]))))
                assert abs(log((1 - success) / total[0] / ((1 - other) / total[1]))) <= 2 * epsilon
    assert 1.9 * epsilon <= worst <= 2 * epsilon * (1 + 1e-9)


def test_selection_is_much_cheaper_than_ten_runs() -> None:
    once = GDP("0.3")
    chosen = best_of_random(once, stop="0.1").epsilon(1e-6).upper
    assert once.epsilon(1e-6).upper < chosen < (100 * once).epsilon(1e-6).upper
    assert best_of_poisson(once, mean=10).epsilon(1e-6).upper < inf


def test_bad_input_is_refused() -> None:
    for stop in (0, 1, "1.5"):
        with pytest.raises(InputError, match="stop"):
            best_of_random(Pure(1), stop=stop)
    with pytest.raises(InputError, match="shape"):
        best_of_random(Pure(1), stop="0.5", shape=-1)
    with pytest.raises(InputError, match="mean"):
        best_of_poisson(Pure(1), mean="0.5")
    with pytest.raises(LossError, match="delta"):
        best_of_random(Approx(1, "1e-9"), stop="0.5")
    with pytest.raises(LossError, match="pure"):
        first_above(ZCDP(1))
