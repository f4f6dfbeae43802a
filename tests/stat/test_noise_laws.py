"""The samplers' laws, tested at a false-alarm rate of 1e-7, each test beside proof that it has power."""

from collections.abc import Callable
from fractions import Fraction
from math import exp
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng
from support.statistics import (
    ALARM,
    Law,
    chi_square,
    equal_laws,
    gaussian_law,
    geometric_law,
    kolmogorov,
    laplace_law,
    mean_test,
)
from tacit.noise import (
    Rng,
    discrete_gaussian,
    discrete_gaussians,
    discrete_laplace,
    discrete_laplaces,
    geometric,
    geometrics,
)

Array = np.ndarray[Any, np.dtype[Any]]
Sampler = Callable[[Fraction, int, Rng], Array]

HUGE, NEAR_ONE = Fraction(10**40 + 1, 3), Fraction(10**40 + 1, 10**40 - 7)
SCALES = [Fraction(s) for s in ("1/1000", "1/3", "1", "7/3", "65", "1000", "1000000", str(2**40))] + [HUGE, NEAR_ONE]
VARIANCES = [Fraction(v) for v in ("1/1000", "1/9", "1", "49/9", "10000", "1050625", str(10**12), str(2**79))]
VARIANCES += [Fraction(10**40 + 1, 10**40 - 7), Fraction(10**50 + 1, 3)]
MANY, SINGLE, OFF = 150_000, 25_000, Fraction(21, 20)


def single(draw: Callable[[Fraction, Rng], int]) -> Sampler:
    """The scalar sampler, called again and again."""

    def many(parameter: Fraction, size: int, rng: Rng) -> Array:
        values = [draw(parameter, rng) for _ in range(size)]
        return np.array(values, dtype=object if max(map(abs, values)) >= 2**62 else np.int64)

    return many


def name(parameter: Fraction) -> str:
    return str(parameter) if len(str(parameter)) < 16 else f"{float(parameter):.3g}, huge terms"


KINDS = {
    "laplace": (discrete_laplaces, single(discrete_laplace), laplace_law, SCALES),
    "geometric": (geometrics, single(geometric), geometric_law, SCALES),
    "gaussian": (discrete_gaussians, single(discrete_gaussian), gaussian_law, VARIANCES),
}
CASES = [pytest.param(kind, p, id=f"{kind} {name(p)}") for kind, (*_, ps) in KINDS.items() for p in ps]


def draw(kind: str, parameter: Fraction, size: int | None = None) -> tuple[Array, Array, Law]:
    vector, scalar, law, _ = KINDS[kind]
    slow = parameter > 2**80 if kind == "gaussian" else parameter > 2**48  # these arrays are drawn one by one
    many = vector(parameter, size or (SINGLE if slow else MANY), FixedRng(1))
    return many, scalar(parameter, size or SINGLE, FixedRng(2)), law(parameter)


def p_values(sample: Array, law: Law) -> dict[str, float]:
    """The whole procedure: shape, distance, first and second moment."""
    return {
        "chi-square": chi_square(sample, law),
        "kolmogorov": kolmogorov(sample, law),
        "mean": mean_test(sample, law.mean, law.second),
        "second moment": mean_test(sample.astype(float) ** 2, law.second, law.fourth),
    }


def check(sample: Array, law: Law) -> None:
    found = p_values(sample, law)
    assert min(found.values()) >= ALARM, found


@pytest.mark.parametrize(("kind", "parameter"), CASES)
def test_arrays_and_single_draws_have_the_law_and_agree(kind: str, parameter: Fraction) -> None:
    many, singles, law = draw(kind, parameter)
    check(many, law)
    check(singles, law)
    same = object if many.dtype == object else np.int64
    assert equal_laws(many.astype(same), singles.astype(same), law) >= ALARM


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "parameter"), CASES)
def test_the_same_with_more_samples(kind: str, parameter: Fraction) -> None:
    many, singles, law = draw(kind, parameter, 400_000)
    check(many, law)
    check(singles, law)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["laplace", "geometric"])
def test_ten_million_samples(kind: str) -> None:
    vector, _, law, _ = KINDS[kind]
    for scale in (Fraction(1), Fraction(7, 3), Fraction(1000)):
        check(vector(scale, 10_000_000, FixedRng(3)), law(scale))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [MANY, SINGLE])
def test_a_law_five_percent_off_is_rejected(kind: str, size: int) -> None:
    """Power: a sample of scale 1.05 is refused as one of scale 1, at the sizes used above, by the same procedure."""
    vector, _, law, parameters = KINDS[kind]
    off = OFF**2 if kind == "gaussian" else OFF
    for parameter in (p for p in parameters if Fraction(1, 10) < p < 2**40):
        wrong = vector(parameter * off, size, FixedRng(4))
        found = p_values(wrong, law(parameter))
        assert min(found.values()) < ALARM, (parameter, found)
        assert size == SINGLE or found["chi-square"] < ALARM, (parameter, found)


@pytest.mark.parametrize("kind", KINDS)
def test_moments_and_kolmogorov_have_power_too(kind: str) -> None:
    vector, _, law, _ = KINDS[kind]
    right, wrong = law(Fraction(10**6)), vector(Fraction(10**6) * OFF**2, MANY, FixedRng(5))
    assert mean_test(wrong.astype(float) ** 2, right.second, right.fourth) < ALARM
    assert kolmogorov(wrong, right) < ALARM
    assert kolmogorov(vector(Fraction(10**6), MANY, FixedRng(5)) + 40_000, right) < ALARM
    assert equal_laws(wrong, vector(Fraction(10**6), MANY, FixedRng(6)), right) < ALARM


@pytest.mark.parametrize("size", [MANY, SINGLE])
def test_zero_is_counted_once_and_signs_are_alike(size: int) -> None:
    r = exp(-1)
    for sample in (
        discrete_laplaces(Fraction(1), size, FixedRng(7)),
        single(discrete_laplace)(Fraction(1), size, FixedRng(8)),
    ):
        assert mean_test(sample == 0, (1 - r) / (1 + r), (1 - r) / (1 + r)) >= ALARM
        assert mean_test(np.sign(sample), 0.0, 2 * r / (1 + r)) >= ALARM
        # a sampler that forgot to reject −0 would show zero with probability 1 − r
        assert mean_test(sample == 0, 1 - r, 1 - r) < ALARM
        # one that drew its sign with bias 0.53 would be seen
        assert mean_test(np.sign(sample) + 0.06 * (sample != 0), 0.0, 2 * r / (1 + r)) < ALARM


def test_a_shift_by_one_is_rejected() -> None:
    """`~` in place of a minus sign would move every negative value by one."""
    sample, law = discrete_laplaces(Fraction(20), MANY, FixedRng(9)), laplace_law(Fraction(20))
    assert chi_square(sample, law) >= ALARM
    assert chi_square(np.where(sample < 0, sample + 1, sample), law) < ALARM


def test_tiny_scales_are_zero_and_never_raise() -> None:
    for vector, _, _, _ in KINDS.values():
        assert not vector(Fraction(1, 10**9), 10_000, FixedRng(10)).any()
        assert vector(Fraction(1), 0, FixedRng(10)).shape == (0,)


def test_digits_are_independent_of_each_other() -> None:
    """Scale 10^6 is drawn in digits: low, middle and leading part must not be correlated."""
    sample = geometrics(Fraction(10**6), MANY, FixedRng(11))
    low, middle, lead = sample & 1023, sample >> 10 & 1023, sample >> 20
    for a, b in ((low, middle), (low, lead), (middle, lead)):
        x, y = (v - v.mean() for v in (a, b))
        product = x * y
        assert mean_test(product, 0.0, float(np.mean(product**2))) >= ALARM
        dependent = x * (y + 0.05 * x)
        assert mean_test(dependent, 0.0, float(np.mean(dependent**2))) < ALARM
