"""Inversion: the tables enclose the true law, and every stage decides as exact inversion of U would.

The truth is summed in mpmath from the definition of each law; the samplers' recurrences are not used.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import accumulate

import mpmath
import numpy as np
import pytest

from support.fixed_rng import FixedRng
from support.statistics import number
from tacit.noise import Rng
from tacit.noise.bounds import Enclosure
from tacit.noise.gaussian import gaussian_cells
from tacit.noise.laplace import _tables
from tacit.noise.table import CHUNK, UNDECIDED, InversionTable, in_chunks

PRECISION = 700  # bits of the true boundaries, about 210 digits
HUGE, NEAR_ONE = Fraction(10**40 + 1, 10**35 + 3), Fraction(10**40 + 1, 10**40 - 7)
SCALES = [Fraction(s) for s in ("1/1000", "1/3", "1", "7/3", "64", "65", "1000", "1000000", str(2**40))]
SCALES += [HUGE, NEAR_ONE]
VARIANCES = [Fraction(v) for v in ("1/1000", "1/9", "1", "49/9", "10000", "1050625", str(2**79))] + [NEAR_ONE]

Case = tuple[InversionTable, list[Fraction], Callable[[int], int]]


def exactly(value: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)


def cumulate(masses: list[mpmath.mpf]) -> list[Fraction]:
    """Boundaries between the cells, good to about 2^−650."""
    return [exactly(c) for c in accumulate(masses)]


def alternate(cell: int, shift: int) -> int:
    """Values of the cells (+, 0), (−, 0), (+, 1), … : z and −1 − z."""
    return -1 - (cell // 2 << shift) if cell % 2 else cell // 2 << shift


@cache
def laplace(scale: Fraction, signed: bool) -> list[Case]:
    """The true boundaries of each of the tables of a scale, far beyond what 64 bits show."""
    tables = _tables(scale, signed)
    digits = len(tables) - 1
    shift, found = 10 * digits, []
    with mpmath.workprec(PRECISION):
        r = mpmath.exp(-1 / number(scale))
        ratio = r ** (1 << shift)
        count = min(12_000, int(300 / -mpmath.log(ratio, 2)) + 2)
        if signed:  # Pr[z] = (1 − r)/(1 + r)·r^|z| summed over [qB, (q+1)B) and over −1 − that
            lead = [ratio**q * (1 - ratio) / (1 + r) * side for q in range(count) for side in (1, r)]
            found.append((tables[0], cumulate(lead), lambda cell: alternate(cell, shift)))
        else:
            lead = [ratio**q * (1 - ratio) for q in range(count)]
            found.append((tables[0], cumulate(lead), lambda cell: cell << shift))
        for place, table in enumerate(tables[1:]):
            rho = r ** (1 << 10 * place)
            total = mpmath.fsum(rho**j for j in range(1024))
            masses = [rho**j / total for j in range(1023)]
            found.append((table, cumulate(masses), (1 << 10 * place).__mul__))
    return found


@cache
def gaussian(variance: Fraction) -> list[Case]:
    shift = max(0, int(mpmath.floor(mpmath.log(mpmath.sqrt(number(variance)), 2))) - 9)
    width = 1 << shift
    with mpmath.workprec(PRECISION):
        step = 1 / (2 * number(variance))
        masses: list[mpmath.mpf] = []
        q = 0
        while q < 2 or -mpmath.log(masses[-2], 2) < 300:
            least = q * width
            masses += [mpmath.exp(-step * least * least), mpmath.exp(-step * (least + 1) ** 2)]
            q += 1
        total = mpmath.fsum(masses)
        boundaries = cumulate([m / total for m in masses])
    return [(gaussian_cells(variance, shift), boundaries, lambda cell: alternate(cell, shift))]


def cases() -> Iterator[tuple[str, Callable[[], list[Case]]]]:
    for scale in SCALES:
        for signed in (True, False):
            name = f"{'laplace' if signed else 'geometric'} {float(scale):.4g}"
            yield name, partial(laplace, scale, signed)
    for variance in VARIANCES:
        yield f"gaussian {float(variance):.4g}", partial(gaussian, variance)


LONG = ("gaussian 6.045e+23", "laplace 1e+06", "geometric 1e+06")
ALL = [pytest.param(build, id=name, marks=[pytest.mark.slow] * (name in LONG)) for name, build in cases()]


def scaled(boundary: Fraction, bits: int) -> tuple[int, bool]:
    """floor(boundary·2^bits), and whether the boundary is that integer."""
    product = boundary * (1 << bits)
    return product.numerator // product.denominator, product.denominator == 1


@pytest.mark.parametrize("build", ALL)
def test_bounds_enclose_the_true_cumulative_probabilities(build: Callable[[], list[Case]]) -> None:
    for table, truth, _ in build():
        for bits in (96, 160):
            bounds = list(table._cumulative(bits))
            assert bounds
            for (low, high), boundary in zip(bounds, truth, strict=False):
                floor, whole = scaled(boundary, bits)
                assert low <= floor
                assert high >= floor + (not whole)
                assert high - low <= 1 << 16  # close enough for 64 of the 96 bits


@pytest.mark.parametrize("build", ALL)
def test_the_64_bit_bounds_are_sorted_and_enclose(build: Callable[[], list[Case]]) -> None:
    for table, truth, value in build():
        low, high = table._low.tolist(), table._high.tolist()
        assert low == sorted(low)
        assert high == sorted(high)
        for cell, (a, b, boundary) in enumerate(zip(low, high, truth, strict=False)):
            floor, _ = scaled(boundary, 64)
            assert a <= min(floor, 2**64 - 1) <= b
            assert b - a <= 1
            assert table._values[cell] == value(cell)


class Digits(Rng):
    """Hands a table the bits of one number U: sixteen, then forty-eight, then sixty-four at a time."""

    def __init__(self, known: int, bits: int) -> None:
        super().__init__()
        self._known, self._left, self.used = known, bits, 0

    def _take(self, count: int) -> int:
        if count > self._left:
            raise AssertionError("the table asked for more bits than were needed")
        self._left, self.used = self._left - count, self.used + count
        return self._known >> self._left & (1 << count) - 1

    def read(self, count: int) -> bytes:
        return (self._take(16) if count == 2 else self._take(48) << 16 | 0xBEEF).to_bytes(count, "little")

    def bits(self, count: int) -> int:
        return self._take(count)


def check(case: Case, known: int, bits: int) -> int:
    """Draw with U = known/2^bits + …, compare with exact inversion, and return how many bits were read."""
    table, truth, value = case
    rng = Digits(known, bits)
    drawn = int(table.draw(1, rng)[0])
    unit = Fraction(1, 1 << rng.used)
    start = Fraction(known >> bits - rng.used) * unit
    first, last = bisect_right(truth, start), bisect_right(truth, start + unit * Fraction(1023, 1024))
    assert first == last, "the table decided before the bits it read could tell"
    assert drawn == value(first)
    return rng.used


@pytest.mark.parametrize("build", ALL)
def test_every_stage_inverts_exactly_at_boundaries(build: Callable[[], list[Case]]) -> None:
    """Words that agree with a boundary in 16, 64, 128 and 192 bits, one below, on it, and one above."""
    seen = set()
    for case in build():
        truth = [b for b in case[1] if b < 1 - Fraction(1, 1 << 250)]
        picked = {0, 1, 2, 3, len(truth) // 3, len(truth) // 2, len(truth) - 2, len(truth) - 1}
        if len(truth) > 3000:  # refining walks over the cells: fewer of the last ones
            picked = {0, len(truth) // 50}
        for boundary in (truth[i] for i in picked if 0 <= i < len(truth)):
            for agree in (16, 64, 128, 192):
                floor, _ = scaled(boundary, agree)
                for offset in (-1, 0, 1):
                    for rest in (0, 1, (1 << 192) - 1, (1 << 191) + 12345):
                        known = (floor + offset << 192) | rest
                        if 0 <= known >> 192 < (1 << agree) - (agree > 64):  # the truth is listed to 1 − 2^−300
                            seen.add(check(case, known << 512 - agree, 704))
    assert seen >= {16, 64, 128, 192} or len(truth) <= 1


@pytest.mark.parametrize("build", ALL)
def test_the_ends_of_the_table_and_beyond(build: Callable[[], list[Case]]) -> None:
    for case in build():
        assert check(case, 0, 512) <= 128
        assert check(case, 1, 512) <= 128
        for ones in (64, 96, 128, 160, 200, 240):  # U = 1 − 2^−ones: cells that no 64-bit table lists
            check(case, ((1 << ones) - 1) << (512 - ones), 512)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1)])
def test_every_boundary_of_a_small_table(scale: Fraction) -> None:
    (case,) = laplace(scale, True)
    for boundary in case[1]:
        if boundary >= 1 - Fraction(1, 1 << 250):
            break
        floor, _ = scaled(boundary, 128)
        for offset in (-1, 0, 1):
            if 0 <= floor + offset < 1 << 128:
                check(case, (floor + offset << 512) | (1 << 511), 640)


@pytest.mark.parametrize(
    "build", [p for p in ALL if p.id in ("laplace 7", "laplace 2.333", "laplace 65", "gaussian 1")]
)
def test_random_numbers_invert_exactly(build: Callable[[], list[Case]]) -> None:
    rng = FixedRng(5)
    for case in build():
        for _ in range(2000):
            check(case, rng.bits(704), 704)


def test_the_guide_decides_only_what_sixteen_bits_decide() -> None:
    for case in (laplace(Fraction(7, 3), True)[0], laplace(Fraction(65), False)[1], gaussian(Fraction(10000))[0]):
        table, truth, value = case
        floors = [scaled(b, 64)[0] for b in truth]
        ceilings = [floor + (not scaled(b, 64)[1]) for floor, b in zip(floors, truth, strict=True)]
        decided = 0
        for prefix, entry in enumerate(table._guide.tolist()):
            if entry != UNDECIDED:
                first = bisect_right(ceilings, prefix << 48)  # boundaries at or below all these numbers
                last = bisect_right(floors, (prefix + 1 << 48) - 1)  # boundaries that some of them reach
                decided += 1
                assert first == last
                assert entry == value(first)
        assert decided > 0.6 * 65536


def test_a_wrong_table_is_caught() -> None:
    """Power: a boundary moved by 2^−60 is seen by the checks above."""
    table, truth, value = laplace(Fraction(1), True)[0]
    moved = [b + Fraction(1, 1 << 60) for b in truth]
    above = scaled(truth[3], 64)[0] + 1
    check((table, truth, value), above << 192, 256)
    with pytest.raises(AssertionError):
        check((table, moved, value), above << 192, 256)


def test_exact_boundaries_on_a_word() -> None:
    """A boundary that is a dyadic number: U equal to it belongs to the upper cell."""
    boundary = 5 << 60

    def cumulative(bits: int) -> Iterator[Enclosure]:
        yield boundary << bits - 64, boundary << bits - 64

    case = InversionTable(cumulative, lambda cell: 10 + cell, finite=True), [Fraction(5, 16)], lambda cell: 10 + cell
    for offset in (-2, -1, 0, 1, 2):
        check(case, boundary + offset << 128, 192)
        check(case, (boundary << 64) + offset << 64, 192)


def test_loose_bounds_still_sample_exactly() -> None:
    """Bounds need not be tight: with a gap of 2^−70 the table reads on, and ends in the right cell."""
    third = Fraction(1, 3)

    def cumulative(bits: int) -> Iterator[Enclosure]:
        slack = 1 << max(0, bits - 70) if bits < 200 else 1
        floor = (1 << bits) // 3
        yield floor - slack, floor + 1 + slack

    case = InversionTable(cumulative, lambda cell: cell, finite=True), [third], lambda cell: cell
    floor, _ = scaled(third, 192)
    for offset in (-1, 0, 1):
        assert check(case, floor + offset << 192, 384) > 192


def test_chunks_cover_every_size() -> None:
    sizes = []

    def record(size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        sizes.append(size)
        return np.arange(size)

    out = in_chunks(record, 2 * CHUNK + 5)
    assert sizes == [CHUNK, CHUNK, 5]
    assert out.tolist() == [*range(CHUNK), *range(CHUNK), *range(5)]
    assert in_chunks(record, 3).tolist() == [0, 1, 2]
