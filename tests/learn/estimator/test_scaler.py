"""Means and deviations of columns."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.learn.estimator import Bounds, StandardScaler


def test_columns_are_centred_and_scaled() -> None:
    source = np.random.default_rng(1)
    x = source.normal([3.0, 60.0], [1.0, 10.0], size=(20_000, 2))
    with drawing_from(FixedRng(1)):
        model = StandardScaler(1, bounds=([0, 0], [10, 100])).fit(x)
    assert model.mean_ == pytest.approx([3, 60], rel=0.02)
    assert model.scale_ == pytest.approx([1, 10], rel=0.1)
    assert model.count_ == pytest.approx(20_000, rel=0.01)
    assert model.inverse_transform(model.transform(x)) == pytest.approx(x)


def test_names_of_a_frame_are_kept() -> None:
    import pandas

    frame = pandas.DataFrame({"age": [1.0, 2.0], "hours": [3.0, 4.0]})
    model = StandardScaler(1, bounds=Bounds(hours=(0, 9), age=(0, 5))).fit(frame)
    assert model.feature_names_in_.tolist() == ["age", "hours"]
    assert model.range_.high.tolist() == [5, 9]
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame[["hours", "age"]])
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.transform([[1.0]])
