"""Digits whose every pixel is randomised: read at ε = 1 for a pixel, not at ε = 1 for the picture."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from tacit.attack.pixels import DOT, HIGH, WIDE, dots, drawn, recognised, stage, templates
from tacit.attack.population import chance
from tacit.base import InputError


def test_every_digit_is_read_as_itself_wherever_it_is() -> None:
    shapes, of = templates()
    assert len(of) == 10 * (HIGH - 7 * DOT + 1) * (WIDE - 5 * DOT + 1)
    assert recognised(shapes).tolist() == of.tolist()
    assert shapes[0].reshape(HIGH, WIDE)[: 7 * DOT : DOT, : 5 * DOT : DOT].tolist() == dots(0).tolist()


def test_most_agreements_are_the_greatest_likelihood() -> None:
    pictures, _ = drawn(20, chance(2))
    noisy = np.where(chance(3).random(pictures.shape) < 0.8, pictures, 1 - pictures)
    shapes, of = templates()
    kept = np.log(0.8) * (noisy[:, None] == shapes) + np.log(0.2) * (noisy[:, None] != shapes)
    assert recognised(noisy).tolist() == of[kept.sum(axis=2).argmax(axis=1)].tolist()


def test_the_stage() -> None:
    outcome = stage(pictures=200)
    assert outcome.undefended.success > 0.98
    assert outcome.defended.success < 1 / (1 + 9 * exp(-1)) + 0.1
    assert outcome.facts["pixels"] * Fraction(1, HIGH * WIDE) == 1
    read = list(outcome.facts["read"].values())
    assert read == sorted(read, reverse=True) or read[2] < 0.4
    assert outcome.plot().to_dict()["spec"]
    # it was the noise: at a large ε for the whole picture everything is read
    assert stage(pictures=50, epsilon=2.0 * HIGH * WIDE).defended.success == 1


def test_wrong_inputs_are_named() -> None:
    with pytest.raises(InputError, match="768 pixels"):
        recognised([[0, 1]])
    with pytest.raises(InputError, match="each 0 or 1"):
        recognised(np.full((1, HIGH * WIDE), 2))
    with pytest.raises(InputError, match="pictures"):
        stage(pictures=0)
    with pytest.raises(InputError, match="at least one epsilon"):
        stage(epsilons=())
