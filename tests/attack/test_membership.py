"""Membership inference: it works on models that overfit, any library's, and not on the private stand-in."""

from functools import partial
from math import exp, inf
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.attack.membership import (
    Roc,
    Shadows,
    advantage_at_most,
    confidence,
    found_at_most,
    likelihood_ratio,
    loss_threshold,
    shadows,
    stage,
)
from tacit.attack.population import Array, chance
from tacit.attack.registry import interval
from tacit.attack.trained import Trained, Trainer, classifier
from tacit.base import InputError
from tacit.loss import GDP, Approx, Pure


class Told:
    """A model that says what it is told to."""

    def __init__(self, given: list[list[float]], classes: list[str] | None = None) -> None:
        self.given = np.array(given)
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict_proba(self, x: Any) -> Array:
        return self.given


def test_confidence_by_hand() -> None:
    model = Told([[0.8, 0.2], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    found = confidence(model, np.zeros(4), np.array([0, 1, 0, 0]))
    assert found[:2] == pytest.approx([np.log(4), 0.0])
    assert np.isfinite(found).all()
    assert found[2] == -found[3] > 30


def test_classes_go_by_their_names() -> None:
    model = Told([[0.9, 0.1]] * 3, ["b", "a"])
    found = confidence(model, np.zeros(3), np.array(["a", "b", "c"]))
    assert found[:2] == pytest.approx([-np.log(9), np.log(9)])
    assert found[2] < -30, "a class that the model never saw"


def noisy_labels(records: int, seed: int) -> tuple[Array, Array]:
    source = chance(seed)
    y = source.integers(2, size=records)
    x = (source.normal(size=(records, 200)) + np.where(y == 1, 1.0, -1.0)[:, None]) / np.sqrt(200)
    return x, np.where(source.random(records) < 0.3, 1 - y, y)


def plain(steps: int) -> Trainer:
    torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
    descent = partial(torch.optim.SGD, lr=3.0, momentum=0.9)
    return Trainer(classifier(200, 2), classes=2, steps=steps, optimise=descent)


def test_loss_threshold_on_the_networks_here() -> None:
    (x, y), others = noisy_labels(100, 1), noisy_labels(400, 2)
    roc = loss_threshold(plain(120).fit(x, y), members=(x, y), others=others)
    assert roc.auc > 0.75
    blank = loss_threshold(Trained(classifier(200, 2)), members=(x, y), others=others)
    assert blank.auc == 0.5


def test_loss_threshold_on_scikit_learn() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed: pip install scikit-learn")
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    (x, y), (other_x, other_y) = noisy_labels(100, 1), noisy_labels(400, 2)
    named = np.array(["no", "yes"])  # labels that are no numbers
    for model, least in [
        (ensemble.RandomForestClassifier(n_estimators=30, random_state=1), 0.9),
        (linear.LogisticRegression(C=1e4, max_iter=2000), 0.75),
    ]:
        model.fit(x, named[y])
        roc = loss_threshold(model, members=(x, named[y]), others=(other_x, named[other_y]))
        assert roc.auc > least
        assert roc.advantage > 0.4


def test_likelihood_ratio_by_hand() -> None:
    inside = np.array([[True, False], [True, False], [False, True], [False, True]])
    scores = np.array([[3.0, 0.0], [5.0, 2.0], [0.0, 9.0], [2.0, 11.0]])  # in: 4 and 10, out: 1 and 1; variance 2
    known = Shadows(scores, inside)
    assert likelihood_ratio(np.array([4.0, 1.0]), known) == pytest.approx([9 / 4, -81 / 4])
    assert likelihood_ratio(np.array([1.0, 3.0]), known, online=False) == pytest.approx([0.0, np.sqrt(2)])


def test_lira_finds_more_than_the_threshold_where_few_are_accused() -> None:
    source = chance(8)
    x, y = noisy_labels(300, 3)

    fit = plain(80).fit
    known = shadows(fit, x, y, count=24)
    members = source.random((6, 300)) < 0.5
    seen = np.array([confidence(fit(x[m], y[m]), x, y) for m in members])
    online = np.array([likelihood_ratio(row, known) for row in seen])
    offline = np.array([likelihood_ratio(row, known, online=False) for row in seen])
    threshold, with_both, without = (Roc(s[members], s[~members]) for s in (seen, online, offline))
    assert with_both.found(0.01) > 3 * threshold.found(0.01)
    assert with_both.auc > without.auc > threshold.auc


def test_the_private_model_keeps_members_hidden() -> None:
    told: list[float] = []
    outcome = stage(records=600, shadow_models=24, targets=4, rng=FixedRng(3), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1
    facts = outcome.facts
    assert 0.99 < facts["epsilon"] <= 1
    assert outcome.undefended.success > 0.1
    assert outcome.undefended.low > 5 * facts["found at most, 1 %"], "no private model could be attacked like this"
    assert outcome.defended.low <= facts["found at most, 1 %"] < 0.021
    private = facts["attacks"]["private, LiRA, online"]
    assert private["advantage"] <= facts["advantage at most"] < facts["advantage at most by (ε, δ)"]
    assert private["auc"] == pytest.approx(0.5, abs=0.05)
    assert facts["accuracy"]["private"] > 0.6, "the private model is of use"
    assert outcome.plot() is not None


@pytest.mark.slow
def test_on_many_targets_the_attack_stays_below_the_bound() -> None:
    outcome = stage(records=800, shadow_models=64, targets=40, rng=FixedRng(5))
    members = 16_000
    for name in ("LiRA, online", "LiRA, offline", "loss threshold"):
        for alarms, key in ((0.01, "1 %"), (0.001, "0.1 %")):
            found = outcome.facts["attacks"][f"private, {name}"][f"found at {key} false alarms"]
            # false alarms are counted too, so the threshold is a little off: the interval is that of both
            low, _ = interval(round(found * members), members, 0.999)
            assert low <= 1.3 * outcome.facts[f"found at most, {key}"], (name, alarms)


def test_bad_shadows_are_refused() -> None:
    inside = np.array([[True], [True], [False]])
    with pytest.raises(InputError, match="two shadow models with it and two without"):
        Shadows(np.zeros((3, 1)), inside)
    with pytest.raises(InputError, match="of one shape"):
        Shadows(np.zeros((3, 2)), inside)
    known = Shadows(np.zeros((4, 1)), np.array([[True], [True], [False], [False]]))
    with pytest.raises(InputError, match="know 1 records"):
        likelihood_ratio(np.zeros(2), known)
    with pytest.raises(InputError, match="a row for each record"):
        confidence(Told([[0.5, 0.5]]), np.zeros(2), np.array([0, 1]))


SMALL = Roc(np.array([5.0, 3.0, 3.0, 1.0]), np.array([4.0, 3.0, 2.0, 0.0]))


def test_shares_by_hand() -> None:
    assert [SMALL.found(a) for a in (0.0, 0.25, 0.49, 0.5, 0.75, 1.0)] == [0.25, 0.25, 0.25, 0.75, 1.0, 1.0]
    assert SMALL.count(0.5) == 3
    assert SMALL.threshold(0.25) == 3.0
    assert SMALL.threshold(1.0) == -inf


def test_auc_and_advantage_by_hand() -> None:
    # of 16 pairs the members win 4 + 2 + 2 + 1, and tie 1 + 1
    assert SMALL.auc == pytest.approx(10 / 16)
    assert SMALL.advantage == pytest.approx(0.25)


def test_ties_are_no_success() -> None:
    same = Roc(np.ones(10), np.ones(10))
    assert (same.found(0.5), same.auc, same.advantage) == (0.0, 0.5, 0.0)
    apart = Roc(np.ones(10), np.zeros(10))
    assert (apart.found(0.0), apart.auc, apart.advantage) == (1.0, 1.0, 1.0)


def test_the_bound_is_that_of_the_guarantee() -> None:
    for alarms in (0.0, 0.001, 0.01, 0.3, 0.9, 1.0):
        ours = found_at_most(alarms, epsilon=1, delta=1e-3)
        assert ours == pytest.approx(Approx(1, 1e-3).tradeoff().power(alarms), abs=1e-9)
    assert found_at_most(0.01, epsilon=1, delta=0) == pytest.approx(exp(1) / 100)
    assert found_at_most(1.0, epsilon=0, delta=0) == 1.0


def test_the_advantage_is_bounded() -> None:
    best, plain = advantage_at_most(Pure(1), delta=1e-9)
    assert best == pytest.approx((exp(1) - 1) / (exp(1) + 1))
    assert plain == pytest.approx(best, abs=1e-8)
    _, plain = advantage_at_most(Approx(1, 0.1), delta=0.1)
    assert plain == pytest.approx((exp(1) - 1 + 0.2) / (exp(1) + 1))
    best, plain = advantage_at_most(GDP(0.5), delta=1e-5)
    assert best == pytest.approx(0.1974, abs=1e-4)  # 2Φ(1/4) − 1
    assert best < plain < 1


def test_what_is_not_a_score_is_refused() -> None:
    with pytest.raises(InputError, match="scores of members"):
        Roc(np.array([]), np.ones(2))
    with pytest.raises(InputError, match="scores of others"):
        Roc(np.ones(2), np.array([np.nan]))
    with pytest.raises(InputError, match="between 0 and 1"):
        SMALL.found(1.5)
