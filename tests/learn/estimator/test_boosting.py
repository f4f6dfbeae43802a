"""Explainable boosting: curves that can be read."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import InputError
from tacit.learn.estimator import ExplainableBoosting


def test_an_effect_that_is_no_straight_line_is_found_in_its_column() -> None:
    source = np.random.default_rng(1)
    x = source.uniform(-1, 1, size=(8000, 3))
    y = (np.abs(x[:, 1]) < 0.5).astype(int)
    with drawing_from(FixedRng(1)):
        model = ExplainableBoosting(2, bounds=(-1, 1), classes=(0, 1)).fit(x, y)
    assert model.score(x, y) > 0.9
    ahead = model.curves_[:, :, 1] - model.curves_[:, :, 0]
    assert ahead[1, 8] > 1 > -1 > ahead[1, 0]  # of the middle, and of the edge
    assert np.ptp(ahead[0]) < 0.3 * np.ptp(ahead[1])
    with pytest.raises(InputError, match="max_bins"):
        ExplainableBoosting(bounds=(0, 1), classes=(0, 1), max_bins=1).fit(x, y)
