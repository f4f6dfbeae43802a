"""The reusable holdout: its price is exact, its answers are as near as it says, and null data do not fool it."""

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.base import ExhaustedError, InputError, Relation
from tacit.learn import Thresholdout
from tacit.learn.thresholdout import FINE, RowSum
from tacit.mechanism import Laplace, SparseVector


def settings(**changes: object) -> Thresholdout:
    given: dict[str, object] = {"size": 1000, "threshold": 0.1, "sigma": 0.02, "budget": 50}
    return Thresholdout(**(given | changes))  # type: ignore[arg-type]  # named apart


def test_the_price_is_lemma_23() -> None:
    assert settings().loss().epsilon(0).upper == pytest.approx(2 * 50 / (0.02 * 1000))
    assert settings(size=4000, budget=1).loss().epsilon(0).upper == pytest.approx(2 / (0.02 * 4000))
    assert settings().loss(relation=Relation.ADD_REMOVE).relation is Relation.ADD_REMOVE
    assert settings().loss().epsilon(1e-6).upper < 2.3


def test_a_round_costs_what_it_says_exactly() -> None:
    """On a coarse lattice the law of one round is listed: comparisons with a threshold that has noise of its own, then
    an answer. Its worst privacy loss attains the claim; with a tenth less noise on anything it would pass it."""
    n, sigma = 1, Fraction(3)  # in units of one row's move

    def worst(threshold: Fraction, query: Fraction, answer: Fraction) -> float:
        compare = SparseVector(threshold_scale=threshold, query_scale=query, answers=1)
        noise = Laplace(scale=answer, granularity=1)
        left, right = (compare.pmf((0, [at] * 5 + [-30 + off])) for at, off in ((40, 0), (41, -1)))
        first = max(abs(log(p / right[outcome])) for outcome, p in left.items() if p > 1e-290)
        p, q = noise.pmf(0), noise.pmf(1)
        second = max(abs(log(p[z] / q[z])) for z in range(-60, 60))
        return first + second

    claim = 2 / (n * float(sigma))
    assert worst(2 * sigma, 4 * sigma, sigma) <= claim * (1 + 1e-9)
    assert worst(2 * sigma, 4 * sigma, sigma) > 0.98 * claim
    assert worst(2 * sigma, 4 * sigma, sigma * Fraction(9, 10)) > claim
    assert worst(2 * sigma * Fraction(4, 5), 4 * sigma * Fraction(4, 5), sigma) > claim


def test_the_noise_that_is_drawn_is_the_noise_that_is_priced() -> None:
    own = settings()
    compare, answer = (step.mechanism for step in own.steps)
    assert compare == own.comparison
    assert answer == own.noise
    assert (own.comparison.threshold_scale, own.comparison.query_scale) == (2 * own.sigma, 4 * own.sigma)
    assert own.noise.scale == own.sigma
    assert [step.times for step in own.steps] == [50, 50]
    paid = [settings(budget=1).start(FixedRng(seed)).ask(Fraction(0), lambda: 500 * FINE)[0] for seed in range(300)]
    assert np.mean(np.abs(np.array(paid) - 0.5)) == pytest.approx(0.02, rel=0.3)


def test_agreement_is_free_and_overfitting_is_paid_until_the_budget_is_used() -> None:
    own = settings(sigma=0.002, budget=2)
    run = own.start(FixedRng(1))
    for _ in range(50):
        assert run.ask(Fraction(1, 2), lambda: 510 * FINE) == (0.5, False)
    for left in (1, 0):
        answer, paid = run.ask(Fraction(9, 10), lambda: 500 * FINE)
        assert paid
        assert abs(answer - 0.5) < 0.05
        assert run.left == left
    with pytest.raises(ExhaustedError, match="fresh held rows"):
        run.ask(Fraction(1, 2), lambda: 500 * FINE)


def test_answers_are_as_near_to_the_sample_as_it_says() -> None:
    own, wrong, runs = settings(budget=5, threshold=0.05, sigma=0.01), 0, 60
    bound = own.sample_error(20, 0.9)
    for seed in range(runs):
        run, far = own.start(FixedRng(seed)), False
        for query in range(20):
            held = 500 + 10 * (query % 7)
            answer, _ = run.ask(Fraction(1, 2), lambda held=held: held * FINE)  # type: ignore[misc]  # each its own
            far |= abs(answer - held / 1000) > bound
            if not run.left:
                break
        wrong += far
    assert wrong <= 0.1 * runs + 3 * (0.09 * runs) ** 0.5
    assert bound < own.sample_error(20, 0.99) < own.sample_error(2000, 0.99)


def test_the_bound_on_the_population_holds_on_null_data() -> None:
    """Coins: every query's mean over the population is ½, the analyst hunts for the largest, and no answer is further
    off than the bound; where the bound says nothing it is 1."""
    own = Thresholdout(size=2_000_000, threshold="0.01", sigma="0.0004", budget=10)
    bound = own.error(200)
    assert 0.01 < bound < 0.1
    rng = np.random.default_rng(5)
    run = own.start(FixedRng(2))
    for train, held in rng.binomial(own.size, 0.5, (200, 2)):
        answer, _ = run.ask(Fraction(int(train), own.size), lambda held=held: int(held) * FINE)  # type: ignore[misc]
        assert abs(answer - 0.5) <= bound
    assert settings().error(1000) == 1.0


def test_a_unit_counts_once_and_what_is_no_number_counts_as_nothing() -> None:
    rows = RowSum.over(7, ["a", "a", "a", "b", "c", "c", "d"])
    assert rows.units == 4
    full = rows.of(np.ones(7))
    assert 4 * FINE - 7 <= full <= 4 * FINE
    for person in ("a", "b", "c", "d"):
        mine = np.array([each == person for each in ["a", "a", "a", "b", "c", "c", "d"]], dtype=float)
        assert rows.of(mine) <= FINE
        assert rows.of(np.where(mine > 0, inf, 0)) == rows.of(mine) == rows.of(mine * 5)
    assert rows.of([np.nan] * 7) == rows.of([-3] * 7) == 0
    for nothing in (3, [1, 2], "text", [[1] * 7], ["x"] * 7):
        assert rows.of(nothing) == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threshold": 0}, "threshold"),
        ({"threshold": 2}, "between 0 and 1"),
        ({"sigma": 0}, "sigma"),
        ({"budget": 0}, "budget"),
        ({"size": 0}, "size"),
        ({"sigma": float("nan")}, "sigma"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        settings(**change)
    assert Thresholdout.least_threshold(10_000, 2000) == pytest.approx(2 * (log(2000) / 10_000) ** 0.5)
