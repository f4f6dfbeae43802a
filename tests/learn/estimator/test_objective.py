"""Logistic regression by a perturbed objective: what it hands to its mechanism, its price, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from support.hospital import hospital
from support.learning import policy_of
from tacit.base import InputError
from tacit.desk.certificate.check import check
from tacit.learn.estimator import PerturbedLogisticRegression
from tacit.mechanism import PerturbedObjective
from tacit.session import Session

SETTINGS: dict[str, Any] = {"bounds": (-3, 3), "classes": ("no", "yes")}


def clinic(count: int) -> tuple[Any, Any]:
    source = np.random.default_rng(5)
    x = source.normal(size=(count, 3))
    return x, np.where(x[:, 0] - x[:, 1] > 0.2, "yes", "no")


numbers = st.sampled_from([0.0, 0.5, 3.0, 1e9, float("nan"), float("inf")])


@given(extreme=numbers, weight=st.sampled_from([0.0, 0.5, 1.0, 9.0]), label=st.sampled_from(["no", "yes", "other"]))
def test_every_row_is_at_most_one_long_and_follows_from_itself(extreme: float, weight: float, label: str) -> None:
    """What the claim rests on, of the very rows that the mechanism is given."""
    x, y = clinic(12)
    x[0, :2], y[0] = extreme, label
    seen: list[Any] = []

    def sample(self: PerturbedObjective, value: Any, rng: Any = None) -> Any:
        seen.append(value)
        return np.zeros(4)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PerturbedObjective, "sample", sample)
        PerturbedLogisticRegression(8, **SETTINGS).fit(x, y, sample_weight=[weight] * 12)
    rows, labels, shares = seen[0]
    assert (rows**2).sum(axis=1).max() <= 1
    assert 0 <= shares.min() <= shares.max() <= 1
    assert set(labels) <= {0, 1}
    counts = np.isfinite(extreme) and label != "other"
    assert shares[0] == (min(weight, 1) if counts else 0)


def test_it_learns_within_its_price() -> None:
    x, y = clinic(4000)
    model = PerturbedLogisticRegression(1, 1e-5, **SETTINGS).fit(x, y)
    assert model.score(x, y) > 0.9
    assert 0.99 < model.loss_.epsilon(1e-5).upper <= 1
    assert model.coef_[0, 0] > 0 > model.coef_[0, 1]
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(1)
    assert clone(model).get_params() == model.get_params()
    assert "max_iter" not in model.get_params()


def test_it_is_charged_and_certified(tmp_path: Path) -> None:
    x, y = clinic(200)
    with Session(policy_of(tmp_path, flat=True), "cora") as session:
        model = PerturbedLogisticRegression(2, 1e-4, session=session, table="flat", **SETTINGS)
        before, quote = session.left(), model.quote(x, y)
        model.fit(x, y)
        assert session.left() == quote.left != before
        assert not [each for each in check(model.certificate(ledger=session.ledger)) if each.ok is False]


def test_what_it_does_not_protect_is_refused_before_the_charge(tmp_path: Path) -> None:
    x, y = clinic(20)
    with pytest.raises(InputError, match="two classes"):
        PerturbedLogisticRegression(bounds=(-3, 3), classes=(0, 1, 2)).fit(x, y)
    with pytest.raises(InputError, match="leave units out"):
        PerturbedLogisticRegression(**SETTINGS).fit(x, y, units=np.arange(20))
    with pytest.raises(InputError, match="add_remove"):
        PerturbedLogisticRegression(relation="replace", **SETTINGS).fit(x, y)
    with Session(hospital(tmp_path), "ana") as session:
        before = session.left()
        for source, label in (("visits", "urgent"), (x, y)):
            model = PerturbedLogisticRegression(0.5, bounds=(0, 1), classes=(0, 1), session=session, table="visits")
            with pytest.raises(InputError, match="several rows of one unit"):
                model.fit(source, label)
        assert session.left() == before
