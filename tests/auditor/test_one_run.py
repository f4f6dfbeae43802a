"""One run: the bound is what the best mechanism attains, holds as often as it says, and beats the published one."""

from itertools import product
from math import comb, exp, log, log1p, prod, sqrt

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from support.fixed_rng import FixedRng
from tacit.auditor.one_run import canaries, epsilon_of, one_run, p_value
from tacit.base import InputError
from tacit.loss import gaussian_epsilon


def most_correct(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """The largest Pr[at least v of r correct] of any (ε, δ)-DP run, by linear programming over symmetric ones.

    Unknowns: the chance of n correct guesses, and the excess at each n when the canary in question is guessed right
    (and when it is guessed wrong).
    """
    size = r + 1
    unknowns = size + 2 * r
    rows, limits = [], []
    for n in range(1, size):
        row = np.zeros(unknowns)
        row[n], row[n - 1], row[size + n - 1] = 1, -exp(epsilon) * comb(r, n) / comb(r, n - 1), -1
        rows.append(row)
        row = np.zeros(unknowns)
        row[n - 1], row[n], row[size + r + n - 1] = 1, -exp(epsilon) * comb(r, n - 1) / comb(r, n), -1
        rows.append(row)
        limits += [0.0, 0.0]
    spent = np.zeros(unknowns)
    spent[size : size + r] = np.arange(1, size) / m
    spent[size + r :] = (r - np.arange(r)) / m
    goal = np.zeros(unknowns)
    goal[v:size] = -1
    total = np.zeros((1, unknowns))
    total[0, :size] = 1
    found = linprog(goal, A_ub=np.array([*rows, spent]), b_ub=[*limits, delta], A_eq=total, b_eq=[1], bounds=(0, None))
    assert found.success
    assert found.fun is not None
    return -float(found.fun)


def published(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """Steinke, Nasr and Jagielski's own bound: β + 2mδ·max over i of Pr[v > W ≥ v − i]/i."""
    share = 1 / (1 + exp(-epsilon))
    between = np.cumsum(binom.pmf(np.arange(v - 1, -1, -1), r, share)) / np.arange(1, v + 1)
    return min(1.0, float(binom.sf(v - 1, r, share) + 2 * m * delta * between.max(initial=0.0)))


@pytest.mark.parametrize("seed", range(40))
def test_the_p_value_is_what_the_best_mechanism_reaches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 20))
    r = int(rng.integers(1, m + 1))
    v = int(rng.integers(0, r + 1))
    epsilon, delta = rng.uniform(0, 2), 10 ** rng.uniform(-3, -1)
    found = p_value(canaries=m, guesses=r, correct=v, epsilon=epsilon, delta=delta)
    assert found == pytest.approx(most_correct(m, r, v, epsilon, delta), rel=1e-6)


def test_a_mechanism_that_reaches_it_listed_outcome_by_outcome() -> None:
    """Two canaries, both guessed; randomised response, but "both wrong" is made rarer. Its δ comes by brute force."""
    right, rarer = 0.9, 0.5
    weight = {0: 1 - rarer}
    weight |= dict.fromkeys((1, 2), 1 + rarer * (1 - right) ** 2 / (1 - (1 - right) ** 2))

    def law(truth: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        return {
            guess: prod(right if a == b else 1 - right for a, b in zip(truth, guess, strict=True))
            * weight[sum(a == b for a, b in zip(truth, guess, strict=True))]
            for guess in product((0, 1), repeat=2)
        }

    epsilon, delta = log(9), 0.0
    for truth in product((0, 1), repeat=2):
        for place in (0, 1):
            other = law((truth[0] ^ (place == 0), truth[1] ^ (place == 1)))
            delta = max(delta, sum((max(0.0, p - 9 * other[guess]) for guess, p in law(truth).items()), 0.0))
    reached = sum(p for guess, p in law((0, 0)).items() if 0 in guess)
    assert p_value(canaries=2, guesses=2, correct=1, epsilon=epsilon, delta=delta) == pytest.approx(reached)
    assert published(2, 2, 1, epsilon, delta) < reached  # so far from the tail the published form is too small


def test_the_numbers_of_the_paper_and_ours_beside_them() -> None:
    """Printed there: 0.673 (Appendix D) and 2.675 (section 7)."""
    for (m, r, v, delta), printed in {(1000, 100, 75, 1e-4): 0.673, (100_000, 1510, 1439, 1e-5): 2.675}.items():
        assert published(m, r, v, printed, delta) == pytest.approx(0.05, rel=0.02)
        ours = epsilon_of(canaries=m, guesses=r, correct=v, delta=delta)
        assert printed < ours < epsilon_of(canaries=m, guesses=r, correct=v)
        assert published(m, r, v, ours, delta) > 0.05


def test_wherever_something_is_refuted_the_bound_is_the_smaller_one() -> None:
    for m, r, epsilon, delta in product((10, 100, 1000), (4, 10), (0.0, 1.0, 3.0), (1e-6, 1e-4, 1e-2)):
        for v in range(1, r + 1):
            found = p_value(canaries=m, guesses=r, correct=v, epsilon=epsilon, delta=delta)
            if found < 0.5:
                assert found <= published(m, r, v, epsilon, delta) * (1 + 1e-6)


def test_closed_forms_and_ends() -> None:
    # all r guesses right: q^r = 0.05
    share = 0.05 ** (1 / 50)
    assert epsilon_of(canaries=50, guesses=50, correct=50) == pytest.approx(log(share) - log1p(-share))
    assert p_value(canaries=9, guesses=9, correct=0, epsilon=1) == 1
    assert epsilon_of(canaries=50, guesses=50, correct=25) == 0
    # with probability δ everything is told, else one flips coins
    assert p_value(canaries=10, guesses=10, correct=10, epsilon=0, delta=0.5) == pytest.approx(0.5 + 0.5**11)
    values = [p_value(canaries=200, guesses=60, correct=50, epsilon=e, delta=1e-3) for e in np.linspace(0, 8, 200)]
    assert (np.diff(values) >= 0).all()


def train(sigma: float, coins: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A run in which each canary moves a coordinate of its own by 1: the sum of what is in, plus Gaussian noise."""
    return coins + rng.normal(scale=sigma, size=len(coins))


def test_on_gaussian_noise_the_bound_holds_and_says_something() -> None:
    sigma, delta, trials = 0.7, 1e-5, 400
    truth = gaussian_epsilon(1 / sigma, delta)  # the least ε at δ: each canary moves one coordinate by 1
    source, rng = FixedRng(3), np.random.default_rng(4)
    for guesses in (None, 200):
        found = []
        for _ in range(trials):
            coins = canaries(1000, source)
            found.append(one_run(train(sigma, coins, rng), coins, guesses=guesses, delta=delta).epsilon)
        wrong = sum(each > truth for each in found)
        assert wrong <= binom.ppf(1 - 1e-6, trials, 0.05)
        assert np.median(found) > 0.3 * truth


def test_the_share_of_wrong_bounds_is_what_was_allowed() -> None:
    """Randomised response attains the bound at δ = 0, so about 5 % of the bounds exceed the truth, and not more."""
    source, rng, trials, size = FixedRng(5), np.random.default_rng(6), 4000, 300
    wrong = 0
    for _ in range(trials):
        coins = canaries(size, source)
        told = coins ^ (rng.random(size) < 1 / (1 + exp(1)))
        wrong += epsilon_of(canaries=size, guesses=size, correct=int((told == coins).sum())) > 1
    assert 0.02 * trials < wrong <= binom.ppf(1 - 1e-6, trials, 0.05)


def test_without_privacy_the_bound_is_large() -> None:
    coins = canaries(2000, FixedRng(1))
    found = one_run(coins.astype(float), coins)
    assert found.epsilon > 5
    assert found.correct == sum(found.guesses)
    assert found.choices > 10
    assert "guesses" in str(found)
    assert one_run(coins.astype(float), coins, guesses=1500, delta=1e-6).epsilon > 6


def test_without_leak_the_bound_is_nothing() -> None:
    scores = np.random.default_rng(0).normal(size=2000)
    assert one_run(scores, canaries(2000, FixedRng(2))).epsilon < 0.2


def test_guesses_at_one_end_only() -> None:
    coins = canaries(1000, FixedRng(9))
    scores = np.where(coins & (np.arange(1000) % 4 == 0), 1.0, 0.0)  # few canaries show, and only when they are in
    assert one_run(scores, coins, guesses=(100, 0)).epsilon > 3
    assert one_run(scores, coins, guesses=(0, 100)).epsilon < 1
    assert one_run(scores, coins).guesses[1] == 0


def test_canaries_are_fair_coins() -> None:
    coins = canaries(100_000, FixedRng(8))
    assert coins.dtype == np.bool_
    assert abs(coins.sum() - 50_000) < 6 * sqrt(25_000)
    assert (canaries(64) != canaries(64)).any()


@pytest.mark.parametrize(
    ("scores", "included", "options"),
    [
        ([1.0, float("nan")], [True, False], {}),
        ([], [], {}),
        ([1.0, 2.0], [1, 0], {}),
        ([1.0, 2.0], [True], {}),
        ([1.0, 2.0], [True, False], {"guesses": 3}),
        ([1.0, 2.0], [True, False], {"guesses": 0}),
        ([1.0, 2.0], [True, False], {"guesses": (2, 1)}),
        ([1.0, 2.0], [True, False], {"delta": 1}),
        ([1.0, 2.0], [True, False], {"confidence": 1}),
        (["a", "b"], [True, False], {}),
    ],
)
def test_what_makes_no_sense_is_refused(scores: list[float], included: list[bool], options: dict[str, int]) -> None:
    with pytest.raises(InputError):
        one_run(scores, included, **options)
    with pytest.raises(InputError):
        p_value(canaries=3, guesses=2, correct=3, epsilon=1)
