"""What a caller may ask of any mechanism without knowing its class."""

from fractions import Fraction
from math import log, sqrt
from typing import Any

import pytest
from scipy.special import ndtri

from tacit.base import InputError
from tacit.loss import Pure
from tacit.mechanism import (
    MECHANISMS,
    BinnedQuantiles,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    KeySelection,
    Laplace,
    Mechanism,
    RandomizedResponse,
)

HALF = Fraction(1, 2)
MEDIAN = BinnedQuantiles(quantiles=(HALF,), scale=Fraction(3), cells=1200, margin=Fraction(5))


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (DiscreteGaussian(sigma=Fraction(16, 5)), "discrete Gaussian noise, standard deviation 3.2"),
        (Gaussian(sigma=Fraction(20_000)), "discrete Gaussian noise, standard deviation 20,000"),
        (DiscreteLaplace(scale=Fraction(1, 3)), "discrete Laplace noise, scale 0.3333"),
        (Laplace(scale=Fraction(2)), "discrete Laplace noise, scale 2"),
        (Exponential(scale=Fraction(4)), "the exponential mechanism, with a scale of 4 users"),
        (MEDIAN, "the exponential mechanism on ranks, over 1,200 cells, scale 3"),
        (RandomizedResponse(epsilon=Fraction(1)), "RandomizedResponse, with parameters as stated"),
    ],
)
def test_words(mechanism: Mechanism, words: str) -> None:
    assert mechanism.words("user") == words


def test_words_of_a_key_selection() -> None:
    m = KeySelection(scale=Fraction(64), delta=Fraction(1, 10**6), one=64)
    assert m.words("user") == (
        "discrete Gaussian noise of standard deviation 1 users on the number of users in a group; "
        f"a group is shown if that passes a threshold of {m.threshold() / 64:.4g}"
    )


def test_size_words_in_other_units() -> None:
    assert DiscreteGaussian(sigma=Fraction(3)).size_words(HALF) == "standard deviation 1.5"
    assert MEDIAN.size_words(2) == "scale 6"


def test_sizes_of_additive_noise() -> None:
    gaussian, laplace = DiscreteGaussian(sigma=Fraction(3)), DiscreteLaplace(scale=Fraction(3))
    assert (gaussian.family, gaussian.magnitude, gaussian.standard_deviation) == ("gaussian", Fraction(3), 3.0)
    assert (laplace.family, laplace.magnitude, laplace.standard_deviation) == ("laplace", Fraction(3), 3 * sqrt(2))
    assert gaussian.half_width(0.95) == pytest.approx(3 * float(ndtri(0.975)))
    assert laplace.half_width(0.95) == pytest.approx(3 * log(20))
    assert MEDIAN.half_width() == 5.0
    for mechanism in (gaussian, laplace):
        assert mechanism.half_width(1 - 2**-53) > mechanism.half_width(0.999)
        with pytest.raises(InputError, match="less than 1"):
            mechanism.half_width(1.0)
    assert BinnedQuantiles(quantiles=(HALF,), scale=Fraction(3), cells=9).half_width() > 3


@pytest.mark.parametrize("family", [DiscreteGaussian, Gaussian, DiscreteLaplace, Laplace])
def test_the_standard_deviation_bounds_that_of_the_lattice(family: Any) -> None:
    m = family(**{"sigma" if issubclass(family, DiscreteGaussian) else "scale": Fraction(2)})
    if hasattr(m, "granularity"):
        m = type(m)(**{("sigma" if m.family == "gaussian" else "scale"): Fraction(2), "granularity": Fraction(1, 4)})
    law = m.pmf(0)
    spread = sqrt(sum(float(x) ** 2 * p for x, p in law.items()))
    assert spread <= m.standard_deviation * (1 + 1e-12)
    assert spread == pytest.approx(m.standard_deviation, rel=0.02)


def test_scaled_is_the_same_mechanism_in_other_units() -> None:
    assert DiscreteGaussian(sigma=Fraction(3)).scaled(HALF) == DiscreteGaussian(sigma=Fraction(3, 2))
    assert Laplace(scale=Fraction(3), granularity=HALF).scaled(4) == Laplace(scale=Fraction(12), granularity=HALF)
    scaled = MEDIAN.scaled(7)
    assert (scaled.scale, scaled.margin, scaled.cells, scaled.covered()) == (
        Fraction(21),
        Fraction(35),
        1200,
        MEDIAN.covered(),
    )
    plain = DiscreteLaplace(scale=Fraction(3))
    loss, moved = plain.loss(2), plain.scaled(5).loss(10)
    assert isinstance(loss, Pure)
    assert moved.bound == loss.bound
    with pytest.raises(InputError, match="factor must be greater than 0"):
        plain.scaled(0)


def test_what_a_mechanism_has_not_is_an_error_that_names_it() -> None:
    response: Mechanism = RandomizedResponse(epsilon=Fraction(1))
    for ask in (
        lambda: response.family,
        lambda: response.magnitude,
        lambda: response.size_words(),
        lambda: response.standard_deviation,
        lambda: response.half_width(),
        lambda: response.scaled(2),
    ):
        with pytest.raises(InputError, match="RandomizedResponse has not"):
            ask()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.__name__)
def test_every_mechanism_has_words(mechanism: type[Mechanism]) -> None:
    example = mechanism.examples()[0].mechanism
    assert example.kind
    assert example.kind.split(",")[0] in example.words() or isinstance(example, KeySelection)
