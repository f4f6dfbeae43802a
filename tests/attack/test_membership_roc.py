"""Members found against false alarms: small cases by hand, and the bounds."""

from math import exp, inf

import numpy as np
import pytest

from tacit.attack.membership import Roc, advantage_at_most, found_at_most
from tacit.base import InputError
from tacit.loss import GDP, Approx, Pure

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
