"""Principal components: the main direction, from symmetric noise of half the variance off the diagonal."""

from fractions import Fraction

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import InputError
from tacit.learn.estimator import PCA
from tacit.learn.estimator.outer import SumBlock, SumVector
from tacit.learn.estimator.sums import NoisySums, SumStep, priced


def test_the_main_direction_is_found() -> None:
    source = np.random.default_rng(1)
    x = source.normal(size=(5000, 1)) * [2.0, 2.0, 0.0] + source.normal(size=(5000, 3)) * 0.3
    with drawing_from(FixedRng(1)):
        model = PCA(1, 1, bounds=(-8, 8)).fit(x)
    assert model.components_[0] == pytest.approx([2**-0.5, 2**-0.5, 0], abs=0.1)
    assert model.explained_variance_ratio_[0] > 0.8
    back = model.inverse_transform(model.transform(x))
    assert np.abs(back - x).mean() < 0.5
    with pytest.raises(InputError, match="n_components"):
        PCA(4, bounds=(0, 1)).fit(x)


def test_noise_off_the_diagonal_has_half_the_variance() -> None:
    step = SumStep(
        name="a", vector=SumVector((SumBlock(left=60, right=60, symmetric=True),)), share=Fraction(1), times=5
    )
    with drawing_from(FixedRng(1)):
        sums = NoisySums((step,), priced((step,), epsilon=1, delta=1e-5), np.ones(1), None)
        found = [sums.release("a", (np.zeros((1, 60)), np.zeros((1, 60))))[0] for _ in range(5)]
    above = np.concatenate([each[np.triu_indices(60, 1)] for each in found]) / sums.noise("a")
    on = np.concatenate([np.diag(each) for each in found]) / sums.noise("a")
    assert above.std() == pytest.approx(29 / 41, rel=0.04)  # 8,850 numbers: 5 % would be six deviations
    assert on.std() == pytest.approx(1, rel=0.25)
    assert all((each == each.T).all() for each in found)
