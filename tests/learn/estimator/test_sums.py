"""The price of a fit, and the noise that it draws."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from support.fixed_rng import FixedRng, drawing_from
from support.statistics import ALARM
from tacit.base import InputError, Relation
from tacit.learn.estimator.outer import STEPS, SumBlock, SumVector
from tacit.learn.estimator.sums import NON_NEGATIVE, NoisySums, SumStep, priced
from tacit.loss import GDP
from tacit.mechanism import Gaussian

STEPS_OF_A_FIT = (
    SumStep(name="look", vector=SumVector((SumBlock(left=4),)), share=Fraction(1, 20)),
    SumStep(name="gradient", vector=SumVector((SumBlock(left=40, right=5),)), share=Fraction(19, 20), times=30),
)


def sums(rows: int = 1) -> NoisySums:
    program = priced(STEPS_OF_A_FIT, epsilon=1, delta=1e-5)
    return NoisySums(STEPS_OF_A_FIT, program, np.ones(rows), None)


def test_a_fit_costs_what_was_offered_and_hardly_less() -> None:
    for relation in Relation:
        loss = priced(STEPS_OF_A_FIT, epsilon=1, delta=1e-5, relation=relation).loss
        assert 0.999 < loss.epsilon(1e-5).upper <= 1


def test_it_is_one_gaussian_mechanism() -> None:
    program = priced(STEPS_OF_A_FIT, epsilon=1, delta=1e-5)
    sigmas = [step.mechanism.sigma for step in program.steps if hasattr(step, "mechanism")]  # type: ignore[union-attr]
    mu = float(1 / sigmas[0] ** 2 + 30 / sigmas[1] ** 2) ** 0.5
    assert mu == pytest.approx(0.26805, rel=1e-3)  # of epsilon 1 at delta 1e-5, by the analytic Gaussian mechanism
    assert program.loss.delta(1).upper == pytest.approx(GDP(mu).delta(1).upper, rel=1e-3)
    assert float(1 / sigmas[0] ** 2) / mu**2 == pytest.approx(0.05, rel=1e-6)


def test_to_replace_a_row_costs_more_noise() -> None:
    def sigma(relation: Relation, moved: Fraction) -> float:
        step = SumStep(name="a", vector=SumVector((SumBlock(left=2),)), share=Fraction(1), replace=moved)
        (found,) = priced((step,), epsilon=1, delta=1e-5, relation=relation).steps
        return float(found.mechanism.sigma)  # type: ignore[union-attr]

    assert sigma(Relation.REPLACE, Fraction(2)) == pytest.approx(2 * sigma(Relation.ADD_REMOVE, Fraction(2)), rel=1e-3)
    assert NON_NEGATIVE**2 >= 2
    ratio = sigma(Relation.REPLACE, NON_NEGATIVE) / sigma(Relation.ADD_REMOVE, Fraction(2))
    assert ratio == pytest.approx(2**0.5, rel=1e-3)


def spread_of_noise(found: NoisySums) -> tuple[float, int]:
    """The sum of squared noises over their variance, and how many there were."""
    nothing = np.zeros((1, 1))
    total, count = 0.0, 0
    for _ in range(30):
        (block,) = found.release("gradient", (np.zeros((1, 40)), np.zeros((1, 5))))
        total += float(np.sum(block**2)) / found.noise("gradient") ** 2
        count += block.size
    (look,) = found.release("look", (np.zeros((1, 4)), nothing))
    return total + float(np.sum(look**2)) / found.noise("look") ** 2, count + look.size


def test_noise_is_as_large_as_the_program_says() -> None:
    with drawing_from(FixedRng(5)):
        total, count = spread_of_noise(sums())
    assert ALARM < chi2.cdf(total, count) < 1 - ALARM


def test_noise_that_is_five_percent_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Gaussian.draw
    monkeypatch.setattr(Gaussian, "draw", lambda self, size, rng: (draw(self, size, rng) * 0.95).astype(np.int64))
    with drawing_from(FixedRng(5)):
        total, count = spread_of_noise(sums())
    assert chi2.cdf(total, count) < ALARM


def test_no_noise_is_used_twice() -> None:
    found = sums()
    seen = [found.release("gradient", (np.zeros((1, 40)), np.zeros((1, 5))))[0].ravel() for _ in range(30)]
    assert len(np.unique(np.concatenate(seen))) == 30 * 200


def test_what_was_not_paid_for_is_not_released() -> None:
    found = sums()
    found.release("look", (np.zeros((1, 4)), np.zeros((1, 1))))
    with pytest.raises(InputError, match="all the sums"):
        found.release("look", (np.zeros((1, 4)), np.zeros((1, 1))))


def test_blocks_come_back_in_their_own_units() -> None:
    step = SumStep(
        name="a", vector=SumVector((SumBlock(left=1, weight=3), SumBlock(left=2, weight=4)), 5), share=Fraction(1)
    )
    found = NoisySums((step,), priced((step,), epsilon=1000, delta=1e-5), np.ones(10**4), None)
    one = np.full((10**4, 1), float(STEPS))
    first, second = found.release("a", (one, one), (np.hstack([one, -one]) / 2, one))
    assert first == pytest.approx(10**4, rel=1e-3)
    assert second[:, 0] == pytest.approx([5000, -5000], rel=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-6), (-1, 1e-6), (1, 0), (1, 1), (float("nan"), 1e-6)])
def test_prices_that_are_none_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InputError):
        priced(STEPS_OF_A_FIT, epsilon=epsilon, delta=delta)
