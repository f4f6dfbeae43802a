"""Pictures from gradients: all of them without noise, none with."""

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from tacit.attack.gradients import digit, stage
from tacit.attack.population import chance
from tacit.base import InputError
from tacit.loss import Approx
from tacit.mechanism import Gaussian


def test_pictures_are_recovered_only_without_noise() -> None:
    told: list[float] = []
    outcome = stage(pictures=6, epsilons=(8.0, 1e6), rng=FixedRng(1), progress=told.append)
    assert told[-1] == 1
    assert outcome.undefended.success == 1
    assert outcome.defended.success == 0
    assert outcome.facts["recovered"] == {"8": 0.0, "1e+06": 1.0}, "noise that is no protection does not count as one"
    errors = outcome.facts["mean squared error"]
    assert errors["none"] < 1e-6
    assert errors["8"] > 0.8 * outcome.facts["mean squared error of grey"]
    priced = Gaussian.from_loss(Approx(8, 1e-5), sensitivity=2)  # a gradient of length 1 may turn into its opposite
    assert outcome.facts["sigma"]["8"] > float(priced.sigma)
    assert outcome.plot() is not None


def test_digits_are_pictures() -> None:
    one = digit(1, chance(1))
    assert one.shape == (100,)
    assert 0 <= one.min() <= one.max() <= 1
    assert not np.array_equal(one, digit(1, chance(2)))


def test_bad_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="at least one picture"):
        stage(epsilons=())
