"""Individual budgets in training: nobody spends more than μ², nobody's part depends on another, and they buy steps."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from support.learning import POLICY, points, policy_of
from tacit.base import InputError, Relation
from tacit.learn import IndividualDescent, IndividualFilter
from tacit.learn.individual import SIGMA, descended, scores_of
from tacit.loss import GDP
from tacit.session import Session


def test_the_filter_holds_for_every_unit_on_every_path() -> None:
    """Contributions of random lengths, some far beyond the clip: Σ‖v‖²/σ² stays below μ², and comes near it."""
    rng, mu = np.random.default_rng(1), Fraction(3, 2)
    budget = IndividualFilter.gaussian(50, mu=mu, sigma_steps=1000)
    total = np.zeros(50)
    for _ in range(60):
        vectors = rng.normal(size=(50, 4)) * rng.lognormal(3, 2, size=(50, 1))
        taken = budget.take(vectors, clip=400.0)
        assert np.linalg.norm(taken, axis=1).max() <= 400
        assert (np.abs(taken) <= np.abs(vectors) + 1e-6).all()  # cut toward zero, never lengthened
        total += (taken.astype(float) ** 2).sum(axis=1)
    assert (total == budget.spent).all()
    assert total.max() / 1000**2 <= float(mu) ** 2
    assert total.max() / 1000**2 > 0.99 * float(mu) ** 2  # so a budget that is 5 % larger would be a breach


def test_no_units_part_depends_on_another() -> None:
    rng = np.random.default_rng(2)
    whole, without = (IndividualFilter.gaussian(n, mu=Fraction(1), sigma_steps=500) for n in (20, 19))
    for _ in range(30):
        vectors = rng.normal(size=(20, 3)) * 150
        both = whole.take(vectors, 200.0)
        assert (both[1:] == without.take(vectors[1:], 200.0)).all()
    assert (whole.spent[1:] == without.spent).all()


def test_a_unit_without_a_contribution_changes_no_sum() -> None:
    budget = IndividualFilter(2, cap=0)
    assert not budget.take(np.ones((2, 3)) * 1e6, 1e9).any()
    with pytest.raises(InputError, match="not finite"):
        budget.take(np.array([[np.nan], [1.0]]), 1.0)


def test_a_rows_slope_is_its_own_to_the_last_bit() -> None:
    """One row more in front, and the numbers of all others are the same bits: in blocks they would not have to be."""
    rng = np.random.default_rng(4)
    for size in (1, 2, 7, 64, 257, 1000):
        rows, weights = rng.normal(size=(size + 1, 65)), rng.normal(size=(65, 10))
        both, without = (np.exp(scores_of(each, weights)) for each in (rows, rows[1:].copy()))
        assert (both[1:] == without).all()
        assert (both[1:] / both[1:].sum(axis=1, keepdims=True) == without / without.sum(axis=1, keepdims=True)).all()
        assert (np.linalg.norm(both, axis=1)[1:] == np.linalg.norm(without, axis=1)).all()


def test_up_to_what_mu_pays_for_nobody_is_cut() -> None:
    """With steps_for steps the descent is the ordinary one; a fifth of a step more and the largest are cut."""
    mu, sigma = Fraction(1), Fraction(3)
    steps = IndividualDescent.steps_for(mu, sigma)
    assert steps == 9
    clip = SIGMA / 3
    budget = IndividualFilter.gaussian(1, mu=mu, sigma_steps=SIGMA)
    taken = [budget.take(np.array([[clip * 2]]), clip)[0, 0] for _ in range(steps + 2)]
    assert min(taken[:8]) >= clip * (1 - 1e-5)
    assert max(taken[9:]) < clip / 100


@pytest.fixture
def session(tmp_path: Path) -> Any:
    path = policy_of(tmp_path)
    text = POLICY.replace('"epsilon"', '"mu_squared"').replace('unit_column = "person"\nclip_rows = 5', "")
    path.write_text(text.replace('source = "points', 'each_row_is_a_unit = true\nsource = "points'), encoding="utf-8")
    with Session(path, "cora") as opened:
        yield opened


def arrays() -> tuple[Any, Any]:
    rows = points()
    return np.stack([rows["a"], rows["b"]], axis=1).astype(float), np.array(rows["kind"])


def test_it_learns_is_charged_the_worst_case_and_keeps_spends_out_of_the_release(session: Session) -> None:
    own = IndividualDescent(mu=1, steps=40, sigma=4, rate=2, size=600)
    assert own.loss().epsilon(1e-5).upper == pytest.approx(GDP(1).epsilon(1e-5).upper, rel=1e-9)
    assert own.loss(relation=Relation.REPLACE) == GDP(2, relation=Relation.REPLACE)
    inputs, labels = arrays()
    model = own.run(session, inputs, labels, classes=("no", "yes"))
    assert (model.predict(inputs) == labels).mean() > 0.85
    left = session.left().mu_squared
    assert left is not None
    assert 20 - float(left) == pytest.approx(1, rel=1e-6)
    assert model.spent is not None
    assert model.spent.max() <= 1
    assert len(np.unique(model.spent)) > 50
    assert "spent" not in str(model.release.value()) + repr(model)


def test_more_steps_than_the_worst_case_pays_for_leave_most_units_in() -> None:
    inputs, labels = arrays()
    own = IndividualDescent(mu="1/2", steps=30, sigma=8, rate=2, size=600)
    assert own.steps > IndividualDescent.steps_for("1/2", 8)
    weights, spent = descended(own, inputs, labels, ("no", "yes"), FixedRng(1))
    assert np.isfinite(weights).all()
    assert spent.max() <= 1
    assert (spent < 0.99).mean() > 0.05


@pytest.mark.parametrize("change", [{"mu": 0}, {"sigma": 0}, {"steps": 0}, {"rate": 0}, {"rate": -1}, {"size": 0}])
def test_bad_plans_are_refused(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"mu": 1, "steps": 5, "sigma": 4}
    with pytest.raises(InputError):
        IndividualDescent(**(given | change))


def test_bad_rows_are_refused_and_nothing_is_charged(session: Session) -> None:
    own = IndividualDescent(mu=1, steps=5, sigma=4)
    for inputs, labels, classes in (
        (np.ones(3), np.ones(3), (0, 1)),
        (np.ones((3, 2)), np.ones(4), (0, 1)),
        (np.ones((3, 2)), np.ones(3), (1,)),
    ):
        with pytest.raises(InputError, match="inputs must be"):
            own.run(session, inputs, labels, classes=classes)
    left = session.left().mu_squared
    assert left == 20
