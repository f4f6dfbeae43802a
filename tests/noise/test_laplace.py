"""Discrete Laplace and geometric noise: the tables together make exactly the law, single draws follow the algorithm;
planar noise has exactly its law, in the rare branches too."""

from fractions import Fraction
from itertools import pairwise, product
from math import exp, hypot

import mpmath
import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng, ScriptedRng
from support.statistics import number
from tacit.base import InputError
from tacit.mechanism import Pmf
from tacit.noise import discrete_laplace, discrete_laplaces, geometric, geometrics, planar_laplace, planar_laplaces
from tacit.noise.laplace import DIGIT, FEW, LEAD, SLANT, WIDEST, _accepted, _coins, _tables
from tacit.noise.table import InversionTable

BITS = 400
HUGE = Fraction(10**40 + 1, 10**35 + 3)


def masses(table: InversionTable, cells: int) -> dict[int, mpmath.mpf]:
    """Probability of each value, from the middles of the table's own bounds at 400 bits."""
    middles = [mpmath.mpf(0)]
    for low, high in table._cumulative(BITS):
        middles.append(mpmath.ldexp(mpmath.mpf(low + high) / 2, -BITS))
        if len(middles) > cells:
            break
    if table._finite and len(middles) <= cells:
        middles.append(mpmath.mpf(1))
    return {table._value(cell): b - a for cell, (a, b) in enumerate(pairwise(middles))}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 3), Fraction(64), Fraction(65), Fraction(10**6), HUGE])
@pytest.mark.parametrize("signed", [True, False])
def test_the_product_of_the_tables_is_the_law(scale: Fraction, signed: bool) -> None:
    """Pr[Z = lead ^ digits] multiplied out of the tables equals r^|z|·(1 − r)/(1 + r), to a hundred digits."""
    with mpmath.workprec(BITS + 100):
        lead, *digits = (masses(table, 1024) for table in _tables(scale, signed))
        r = mpmath.exp(-1 / number(scale))
        parts = [list(lead.items())[:7], *([(v, d[v]) for v in list(d)[::341]] for d in digits)]
        checked = 0
        for choice in product(*parts):
            z, probability = 0, mpmath.mpf(1)
            for value, mass in choice:
                z, probability = z ^ value, probability * mass
            true = (1 - r) / (1 + r) * r ** abs(z) if signed else (1 - r) * r**z
            assert abs(probability / true - 1) < mpmath.mpf(10) ** -60
            checked += 1
        assert checked >= 2 * 4 ** len(digits)


def test_digits_split_every_integer_once() -> None:
    """Each z is exactly one combination of a lead cell and digits."""
    lead, digit = _tables(Fraction(65), True)
    with mpmath.workprec(100):
        seen = [a ^ b for a in masses(lead, 6) for b in masses(digit, 1024)]
    assert sorted(seen) == list(range(-3 * 1024, 3 * 1024))


@pytest.mark.parametrize("scale", [Fraction(LEAD), Fraction(LEAD) + Fraction(1, 10**9), Fraction(LEAD << DIGIT)])
def test_the_lead_is_never_wider_than_its_limit(scale: Fraction) -> None:
    tables = _tables(scale, True)
    assert len(tables) == (1 if scale <= LEAD else 2)
    assert all(len(table._values) < 12_000 for table in tables)


@pytest.mark.parametrize("scale", [Fraction(WIDEST), Fraction(2**46), Fraction(2**46 + 1)])
def test_the_widest_scales_fit_int64(scale: Fraction) -> None:
    sample = discrete_laplaces(scale, 50_000, FixedRng(1))
    assert sample.dtype == np.int64
    assert np.abs(sample).max() < 2**60
    listed = max(abs(int(v)) for table in _tables(scale, True) for v in table._values[:-1])
    assert listed < 2**61


def test_beyond_the_widest_values_are_python_integers() -> None:
    sample = discrete_laplaces(Fraction(WIDEST + 1), 300, FixedRng(2))
    assert sample.dtype == object
    assert {type(v) for v in sample} == {int}
    assert geometrics(Fraction(10**30), 10, FixedRng(2)).dtype == object
    assert discrete_laplaces(Fraction(1), FEW - 1, FixedRng(2)).dtype == np.int64
    assert geometrics(Fraction(1), FEW, FixedRng(2)).dtype == np.int64


def test_single_geometric_draws_follow_algorithm_two() -> None:
    """With scale 3/2: remainder U below 3 kept by exp(−U/3), then quotients, then (U + 3V) // 2."""
    # U = 2; exp(−2/3): the coin of 2/3 fails at once (below(3) = 2), so it is kept;
    # exp(−1): the coin of 1/1 succeeds, that of 1/2 fails: k = 2, V = 0
    script = [bytes([2]), bytes([2]), b"", bytes([1])]
    assert geometric(Fraction(3, 2), ScriptedRng(script)) == 1
    # the same U, then V = 1 (k = 3: three comparisons), then stop: (2 + 3)//2 = 2
    script = [bytes([2]), bytes([2]), b"", bytes([0]), bytes([1]), b"", bytes([1])]
    assert geometric(Fraction(3, 2), ScriptedRng(script)) == 2


def test_minus_zero_is_drawn_again() -> None:
    zero = [b"", b"", b"", bytes([1])]  # scale 1: U = 0, kept (below(1) = 0 is not below 0), V = 0
    one = [b"", b"", b"", bytes([0]), bytes([2]), b"", bytes([1])]
    assert discrete_laplace(Fraction(1), ScriptedRng([*zero, bytes([0])])) == 0
    assert discrete_laplace(Fraction(1), ScriptedRng([*zero, bytes([1]), *one, bytes([1])])) == -1


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_is_not_positive_is_refused(scale: Fraction) -> None:
    for attempt in (
        lambda: geometric(scale, FixedRng()),
        lambda: discrete_laplace(scale, FixedRng()),
        lambda: geometrics(scale, 500, FixedRng()),
        lambda: discrete_laplaces(scale, 500, FixedRng()),
    ):
        with pytest.raises(InputError, match="scale"):
            attempt()


@pytest.mark.parametrize("scale", [Fraction(1, 70), Fraction(1, 1000)])
def test_tiny_scales_do_not_fall_back_to_refining(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    for tables in (_tables(scale, True), _tables(scale, False)):
        for table in tables:
            monkeypatch.setattr(table, "refine", None)
    assert not geometrics(scale, 20_000, FixedRng(3)).any()
    assert not discrete_laplaces(scale, 20_000, FixedRng(3)).any()


@pytest.mark.parametrize("size", [0, 1, FEW, (1 << 14) - 1, (1 << 14) + 1])
def test_sizes(size: int) -> None:
    assert discrete_laplaces(Fraction(1000), size, FixedRng(4)).shape == (size,)


# --- in the plane -----------------------------------------------------------------------------------------------------

SCALE = Fraction(3, 2)


def planar_law(scale: Fraction, reach: int = 60) -> Pmf:
    weights = {(x, y): exp(-hypot(x, y) / scale) for x in range(-reach, reach + 1) for y in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def test_one_by_one_and_many_at_once_have_the_law() -> None:
    single = [planar_laplace(SCALE, FixedRng(1)) for _ in range(1)]
    rng = FixedRng(2)
    single += [planar_laplace(SCALE, rng) for _ in range(4000)]
    assert p_value(planar_law(SCALE), single) > 1e-6
    many = planar_laplaces(SCALE, 40_000, FixedRng(3))
    assert many.shape == (40_000, 2)
    assert p_value(planar_law(SCALE), map(tuple, many.tolist())) > 1e-6


def test_half_the_scale_is_noticed() -> None:
    many = planar_laplaces(SCALE * Fraction(19, 20), 40_000, FixedRng(4))
    assert p_value(planar_law(SCALE), map(tuple, many.tolist())) < 1e-6


def test_wide_noise_spreads_by_root_three() -> None:
    many = planar_laplaces(Fraction(10**9), 100_000, FixedRng(5)) / 1e9
    assert np.allclose(many.std(axis=0), 3**0.5, rtol=0.02)
    assert np.hypot(*many.T).mean() == pytest.approx(2, rel=0.02)
    assert abs(np.corrcoef(np.abs(many).T)[0, 1]) > 0.02  # the two are not independent, as two Laplaces would be


def test_the_proposal_is_never_too_light() -> None:
    assert 2 * SLANT**2 < 1


@pytest.mark.parametrize("offset", [(1, 1), (7, -7), (3, 4), (0, 5), (-12, 1)])
def test_floats_and_integers_decide_alike(offset: tuple[int, int]) -> None:
    """Words all over the range, and those next to the boundary, which only integers can decide."""
    east, north = offset
    gamma = (hypot(east, north) - float(SLANT) * (abs(east) + abs(north))) / float(SCALE)
    edge = int(exp(-gamma) * 2**64)
    words = [0, 2**64 - 1, *(min(max(edge + step, 0), 2**64 - 1) for step in (-(2**40), -(2**13), 2**13, 2**40))]
    words += [int(word) for word in FixedRng(6).words(50)]

    class Given(FixedRng):
        def words(self, count: int, kind: type[np.unsignedinteger] = np.uint64) -> np.ndarray:
            return np.array(words, dtype=np.uint64)

    found = _coins(np.tile(offset, (len(words), 1)), SCALE, Given())
    assert [bool(each) for each in found] == [_accepted(word, east, north, SCALE, FixedRng(7)) for word in words]


def test_a_word_on_the_boundary_is_decided_by_more_bits() -> None:
    gamma_at_zero = _accepted(2**64 - 1, 0, 0, SCALE, FixedRng(8))
    assert gamma_at_zero  # exp(0) = 1: the first word says nothing else


def test_enormous_planar_scales_are_python_integers() -> None:
    drawn = planar_laplaces(Fraction(2**70), 3, FixedRng(9))
    assert drawn.dtype == object
    assert drawn.shape == (3, 2)


def test_a_planar_scale_must_be_positive() -> None:
    with pytest.raises(InputError, match="scale"):
        planar_laplaces(Fraction(0), 3, FixedRng())
