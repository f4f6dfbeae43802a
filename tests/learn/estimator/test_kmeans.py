"""k-means: a start that knows no row, and centres near the groups."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import InputError
from tacit.learn.estimator import KMeans
from tacit.learn.estimator.kmeans import far_apart


def test_a_start_is_spread_out() -> None:
    with drawing_from(FixedRng(1)):
        places = far_apart(4, 2)
    distances = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))[np.triu_indices(4, 1)]
    assert distances.min() > 0.8
    assert far_apart(2, 1).shape == (2, 1)


def test_groups_are_found() -> None:
    source = np.random.default_rng(1)
    truth = np.array([[-5.0, -5], [5, -5], [0, 6]])
    x = np.vstack([source.normal(each, 0.7, size=(2000, 2)) for each in truth])
    with drawing_from(FixedRng(1)):
        model = KMeans(3, 2, bounds=(-10, 10)).fit(x)
    found = model.cluster_centers_
    nearest = np.sqrt(((truth[:, None] - found[None]) ** 2).sum(axis=2)).min(axis=1)
    assert nearest.max() < 1
    assert len(set(model.predict(truth))) == 3
    assert model.fit_predict(x).shape == (6000,)


def test_steps_are_few() -> None:
    with pytest.raises(InputError, match="max_iter must be from 1 to 10"):
        KMeans(max_iter=300, bounds=(0, 1)).fit([[0.5]])
    with pytest.raises(InputError, match="n_clusters"):
        KMeans(0, bounds=(0, 1)).fit([[0.5]])
