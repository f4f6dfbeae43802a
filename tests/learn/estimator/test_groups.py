"""The report by group: counts, intervals, who is refused, and how budgets are split."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Plain

from support.fixed_rng import FixedRng, drawing_from
from support.hospital import hospital
from support.replayed import moved
from tacit.base import InputError
from tacit.learn.estimator import LogisticRegression, by_group, group_shares, group_weights
from tacit.session import Session


def rows(count: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    source = np.random.default_rng(8)
    x, groups = source.normal(size=(count, 2)), source.choice(["many", "few"], count, p=[0.9, 0.1])
    return x, (x[:, 0] * np.where(groups == "few", -1, 1) > 0).astype(int), groups


X, Y, GROUPS = rows()
MODEL = LogisticRegression(8, bounds=(-3, 3), classes=(0, 1)).fit(X, Y)
NAMES = ["many", "few"]


class Frame(np.ndarray):
    """Rows with names, as a data frame has them."""

    columns: list[str]


def frame(rows: np.ndarray, names: list[str]) -> Frame:
    found = rows.view(Frame)
    found.columns = names
    return found


NAMED = LogisticRegression(8, bounds=(-3, 3), classes=(0, 1)).fit(frame(X, ["a", "b"]), Y)


def test_intervals_hold_the_truth_for_all_groups_at_once() -> None:
    right, held = MODEL.predict(X) == Y, 0
    for seed in range(60):
        with drawing_from(FixedRng(seed)):
            report = by_group(MODEL, X, Y, groups=GROUPS, names=NAMES, epsilon=0.5, confidence=0.9)
        held += all(line.low <= right[line.group == GROUPS].mean() <= line.high for line in report.lines)
    assert held >= 48  # of 60 at 90 % or more: fewer than one false alarm in ten thousand


def test_it_shows_who_pays() -> None:
    strong = LogisticRegression(50, bounds=(-3, 3), classes=(0, 1)).fit(X, Y)
    report = by_group(MODEL, X, Y, groups=GROUPS, names=NAMES, epsilon=2, reference=strong)
    many, few = report.lines
    assert many.accuracy > 0.9 > 0.3 > few.accuracy
    assert many.reference is not None
    assert "many" in repr(report)
    assert report.loss.epsilon(1e-6).upper <= 2
    assert len(report.plot().to_dict()["layer"]) == 2


def test_one_row_moves_the_counts_by_one_at_most() -> None:
    def report(start: int) -> object:
        return by_group(MODEL, X[start:9], Y[start:9], groups=GROUPS[start:9], names=NAMES, epsilon=1, reference=MODEL)

    (off,) = moved(lambda: report(0), lambda: report(1)).values()
    assert 0.98 < off <= 1


def test_a_model_without_a_loss_is_refused_as_a_reference() -> None:
    plain = Plain().fit(X, Y)
    with pytest.raises(InputError, match="reference has no loss_"):
        by_group(MODEL, X, Y, groups=GROUPS, names=NAMES, epsilon=1, reference=plain)
    report = by_group(MODEL, X, Y, groups=GROUPS, names=NAMES, epsilon=1, reference=plain, reference_rows="public")
    assert "public" in report.notes[0]


def test_groups_are_declared() -> None:
    with pytest.raises(InputError, match="declared"):
        by_group(MODEL, X, Y, groups=GROUPS, epsilon=1)


def test_shares_give_the_same_relative_error() -> None:
    sizes = {"many": 1000, "few": 50}
    shares = group_shares(sizes)
    assert sum(shares.values()) == 1
    errors = {name: 1 / (float(share) ** 0.5 * sizes[name]) for name, share in shares.items()}
    assert errors["many"] == pytest.approx(errors["few"])
    assert group_shares(sizes, squared=False)["few"] == Fraction(20, 21)
    with pytest.raises(InputError, match="positive"):
        group_shares({"none": 0})


def test_weights_make_small_groups_count() -> None:
    weights = group_weights(GROUPS, {"many": 3600, "few": 400})
    assert weights[GROUPS == "few"].sum() == pytest.approx(weights[GROUPS == "many"].sum(), rel=0.1)
    assert weights.max() == 1
    before = MODEL.score(X[GROUPS == "few"], Y[GROUPS == "few"])
    fair = LogisticRegression(8, bounds=(-3, 3), classes=(0, 1)).fit(X, Y, sample_weight=weights**0.9)
    assert fair.score(X[GROUPS == "few"], Y[GROUPS == "few"]) > before


def test_answers_to_sql_are_off_by_the_same_share_of_their_groups(tmp_path: Path) -> None:
    """Asked apart, each for its share of ρ; and an error can be bought by itself."""
    sizes = {"a": 1000, "b": 100}
    with Session(hospital(tmp_path, currency="rho"), "ana") as session:
        off = {}
        for name, share in group_shares(sizes).items():
            quote = session.quote(f"SELECT COUNT(*) FROM visits WHERE ward = '{name}'", rho=share / 10)
            off[name] = float(quote.expected[0].error or 0) / sizes[name]
        assert off["a"] == pytest.approx(off["b"], rel=0.02)
        bought = session.quote("SELECT COUNT(*) FROM visits WHERE ward = 'b'", error=60)
        assert float(bought.expected[0].error or 0) <= 60


@pytest.mark.parametrize(
    ("model", "given", "wrong"),
    [
        (NAMED, frame(X[:, ::-1], ["b", "a"]), "in their order: a, b, not b, a"),
        (NAMED, X[:, :1], "is expecting 2"),
        (MODEL, X[:, :1], "is expecting 2"),
    ],
)
def test_columns_are_those_of_the_models(model: object, given: object, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        by_group(model, given, Y, groups=GROUPS, names=NAMES, epsilon=1)


def test_a_wrong_confidence_is_known_before_a_charge() -> None:
    with pytest.raises(InputError, match="strictly between"):
        by_group(MODEL, X, Y, groups=GROUPS, names=NAMES, epsilon=1, confidence=95)
