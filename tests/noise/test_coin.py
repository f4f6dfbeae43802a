"""Coins: every decision is the exact one, also on the word where sixty-four bits do not suffice."""

from fractions import Fraction
from math import exp, nextafter
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from support.fixed_rng import FixedRng, ScriptedRng
from support.statistics import ALARM, mean_test, number
from tacit.base import InputError
from tacit.noise import bernoulli, bernoulli_exp, coins, coins_exp_each, logistic, logistics
from tacit.noise.coin import (
    CUT,
    MARGIN,
    below_exp,
    bernoulli_exp_ratio,
    estimate_exp,
    exp_steps,
    logistic_bounds,
    words_below_exp,
)
from tacit.noise.table import CHUNK

Array = np.ndarray[Any, np.dtype[Any]]
ONES, ZEROS = b"\xff" * 8, bytes(8)


def word(value: int, bytes_: int = 8) -> bytes:
    return value.to_bytes(bytes_, "little")


def fair(heads: Array, p: float) -> bool:
    return mean_test(heads, p, p) >= ALARM


# --- Bernoulli(p) ---------------------------------------------------------------------------------------------------


def test_bernoulli_is_a_comparison_of_integers() -> None:
    assert [bernoulli(Fraction(3, 7), ScriptedRng([bytes([k])])) for k in range(7)] == [True] * 3 + [False] * 4
    assert bernoulli(Fraction(1), ScriptedRng([b""]))
    assert not bernoulli(Fraction(0), ScriptedRng([b""]))


@pytest.mark.parametrize("p", [Fraction(-1, 10), Fraction(11, 10)])
def test_a_probability_outside_the_unit_interval_is_refused(p: Fraction) -> None:
    with pytest.raises(InputError, match="probability"):
        bernoulli(p, FixedRng())
    with pytest.raises(InputError, match="probability"):
        coins(p, 3, FixedRng())


@pytest.mark.parametrize(
    "p", ["0", "1", "1/2", "3/8", "1/65536", "65535/65536", "1/3", f"{10**60 + 1}/{3 * 10**60}", f"1/{2**70}"]
)
def test_coins_have_their_probability(p: str) -> None:
    bias = Fraction(p)
    many = coins(bias, 200_000, FixedRng(1))
    single = np.array([bernoulli(bias, FixedRng(i)) for i in range(2000)])
    assert many.dtype == bool
    assert fair(many, float(bias))
    assert fair(single, float(bias))
    if 0 < bias < 1 and bias > Fraction(1, 100):
        assert not fair(many, float(bias) * 0.95)  # power


def test_sure_coins_stay_sure_on_the_last_word() -> None:
    for p, sure in ((Fraction(1), True), (Fraction(0), False)):
        for prefix in (b"\x00\x00", b"\xff\xff"):
            for rest in (ZEROS, ONES):
                assert coins(p, 1, Script(prefix, rest, rest, rest)).tolist() == [sure]


class Script(ScriptedRng):
    """A script whose last part need not be used."""

    def __init__(self, *parts: bytes) -> None:
        super().__init__(parts)


def test_dyadic_coins_change_exactly_at_their_boundary() -> None:
    assert coins(Fraction(3, 8), 1, Script(word(0x5FFF, 2), ONES, ONES)).tolist() == [True]
    assert coins(Fraction(3, 8), 1, Script(word(0x6000, 2), ZEROS, ZEROS)).tolist() == [False]
    # 1/3 = 0x5555…: equal in 16, 64 and 128 bits, and decided after that
    third = word(0x5555, 2), word(0x5555555555555555)
    assert coins(Fraction(1, 3), 1, Script(*third, word(0x5555555555555554))).tolist() == [True]
    assert coins(Fraction(1, 3), 1, Script(*third, word(0x5555555555555556))).tolist() == [False]
    assert coins(Fraction(1, 3), 1, Script(*third, word(0x5555555555555555), ZEROS)).tolist() == [True]
    assert coins(Fraction(1, 3), 1, Script(*third, word(0x5555555555555555), ONES)).tolist() == [False]


@given(st.integers(1, 10**80), st.integers(1, 10**80), st.integers(-1, 1))
def test_coins_with_huge_terms_decide_like_fractions(a: int, b: int, offset: int) -> None:
    p = Fraction(min(a, b), max(a, b))
    known = min(max((p.numerator << 192) // p.denominator + offset, 0), (1 << 192) - 1)
    parts = [word(known >> 176, 2), word((known >> 128 & (1 << 48) - 1) << 16)]
    parts += [word(known >> shift & (1 << 64) - 1) for shift in (64, 0)]
    tail = word(1 << 63)
    decided = coins(p, 1, Script(*parts, tail)).tolist()
    assert decided == [Fraction(2 * known + 1, 1 << 193) < p]


# --- Bernoulli(exp(−γ)) ---------------------------------------------------------------------------------------------

GAMMAS = [Fraction(g) for g in ("0", "1/1000", "1/2", "1", "5/2", "10", f"{10**40 + 1}/{10**40}")]


@pytest.mark.parametrize("gamma", GAMMAS, ids=lambda g: f"{float(g):.4g}")
def test_exponential_coins_have_their_probability(gamma: Fraction) -> None:
    p, rng = exp(-float(gamma)), FixedRng(2)
    assert fair(np.array([bernoulli_exp(gamma, rng) for _ in range(20_000)]), p)
    assert fair(coins_exp_each(np.full(100_000, 3), gamma / 3, FixedRng(3)), p)
    if Fraction(1, 10) < gamma < 3:
        assert not fair(coins_exp_each(np.full(200_000, 3), gamma * Fraction(7, 20), FixedRng(1)), p)  # power


def test_a_ratio_need_not_be_in_lowest_terms() -> None:
    rng = FixedRng(4)
    assert fair(np.array([bernoulli_exp_ratio(6, 4, rng) for _ in range(20_000)]), exp(-1.5))


def test_negative_gamma_is_refused() -> None:
    for attempt in (
        lambda: bernoulli_exp(Fraction(-1, 2), FixedRng()),
        lambda: coins_exp_each(np.array([1, -1]), Fraction(1), FixedRng()),
        lambda: coins_exp_each(np.array([1, 1]), Fraction(-1), FixedRng()),
    ):
        with pytest.raises(InputError, match="negative"):
            attempt()


def relative_error(gamma: float, truth: Fraction) -> float:
    with mpmath.workprec(200):
        value = mpmath.exp(-number(truth))
        return float(abs(mpmath.mpf(float(estimate_exp(np.array([gamma]))[0])) / value - 1))


def test_the_steps_are_correctly_rounded() -> None:
    with mpmath.workprec(300):
        for i, step in enumerate(exp_steps()):
            truth = mpmath.exp(-mpmath.mpf(i) / 32)
            assert abs(mpmath.mpf(float(step)) / truth - 1) <= mpmath.mpf(2) ** -53 * (1 + mpmath.mpf(2) ** -10)


def test_the_estimate_is_within_its_margin() -> None:
    """Dense, at random, and around every edge i/32 up to 64, for exact doubles."""
    edges = [i / 32 for i in range(32 * CUT + 1)]
    points = [x for e in edges for x in (e, nextafter(e, 0), nextafter(e, 100)) if x <= CUT]
    points += [2.0**-k for k in range(1, 1074, 37)] + [0.0, 5e-324, CUT - 2.0**-47]
    points += (FixedRng(6).words(4000) * (CUT * 2.0**-64)).tolist()
    estimates = estimate_exp(np.array(points))
    with mpmath.workprec(160):
        worst = max(
            abs(mpmath.mpf(e) / mpmath.exp(-mpmath.mpf(x)) - 1) for x, e in zip(points, estimates.tolist(), strict=True)
        )
    assert worst < 2.0**-50  # for an exact γ; the rest of the margin is for the rounding of γ itself


@given(st.fractions(0, CUT), st.sampled_from([-1, 0, 1]))
def test_the_estimate_bears_a_gamma_off_by_the_promised_error(gamma: Fraction, side: int) -> None:
    shifted = float(gamma * (1 + side * Fraction(9, 10) / 2**50))
    assert relative_error(min(shifted, float(CUT)), gamma) < 2.0**-43


def test_the_margin_covers_twice_the_error() -> None:
    assert MARGIN == 2 * 2.0**-43


def decide(known: int, gamma: Fraction, *more: bytes) -> bool:
    return bool(
        words_below_exp(np.array([known], np.uint64), np.array([float(gamma)]), lambda _: gamma, Script(*more))[0]
    )


WORD_GAMMAS = ["1/1000000007", "1/3", "1", "7/3", "31/32", "1/32", "10", "40", "43", "44", "44361/1000"]


@pytest.mark.parametrize("gamma", [Fraction(g) for g in WORD_GAMMAS], ids=WORD_GAMMAS)
def test_words_beside_the_threshold_are_decided_exactly(gamma: Fraction) -> None:
    """Also all over the margin, where the floating-point estimate hands over to integers."""
    with mpmath.workprec(400):
        threshold = int(mpmath.floor(mpmath.ldexp(mpmath.exp(-number(gamma)), 64)))
        next_word = int(mpmath.floor(mpmath.ldexp(mpmath.exp(-number(gamma)), 128))) & (1 << 64) - 1
    margin = int(threshold * MARGIN) + 2
    near = {sign * margin * eighths // 8 for sign in (1, -1) for eighths in range(17)} | {1, 2, 3, -1, -2, -3}
    for offset in near - {0}:
        if 0 <= threshold + offset < 1 << 64:
            assert decide(threshold + offset, gamma) == (offset < 0), offset
    assert decide(threshold, gamma, word(next_word - 1))
    assert not decide(threshold, gamma, word(next_word + 1))
    assert decide(threshold, gamma, word(next_word), ZEROS)
    assert not decide(threshold, gamma, word(next_word), ONES)


def test_gamma_zero_is_always_true() -> None:
    for known in (0, 1, 2**63, 2**64 - 2):
        assert decide(known, Fraction(0))
    assert decide(2**64 - 1, Fraction(0), ONES, ZEROS)
    assert coins_exp_each(np.zeros(50_000, np.int64), Fraction(1), FixedRng(7)).all()


@pytest.mark.parametrize("gamma", [Fraction(64), Fraction(641, 10), Fraction(70), Fraction(88)])
def test_beyond_the_cut_only_a_zero_word_is_looked_at_further(gamma: Fraction) -> None:
    with mpmath.workprec(400):
        second = int(mpmath.floor(mpmath.ldexp(mpmath.exp(-number(gamma)), 128)))
    assert not decide(1, gamma)
    assert not decide(2**64 - 1, gamma)
    assert decide(0, gamma, word(second - 1))
    assert not decide(0, gamma, word(second + 1))


def test_an_enormous_gamma_is_false_unless_hundreds_of_bits_are_zero() -> None:
    assert not decide(0, Fraction(10**6), ZEROS, ZEROS, word(1))
    assert not coins_exp_each(np.full(1000, 2**40), Fraction(10**6), FixedRng(8)).any()


@given(st.integers(0, (1 << 64) - 1), st.fractions(0, 70))
def test_any_word_is_decided_as_with_integers(known: int, gamma: Fraction) -> None:
    assert decide(known, gamma, ONES, ZEROS, ONES) == below_exp(known, 64, gamma, Script(ONES, ZEROS, ONES))


def test_each_coin_has_its_own_gamma_across_chunks() -> None:
    """Every coin meets its own γ, also beyond the first chunk, where doubtful words ask for it by index."""
    size = 2 * CHUNK + 7
    gammas = [Fraction(1 + i % 5) for i in range(size)]
    with mpmath.workprec(200):
        thresholds = {g: int(mpmath.floor(mpmath.ldexp(mpmath.exp(-number(g)), 64))) for g in set(gammas)}
    offset = np.where(np.arange(size) % 2, 1, -1)
    words = np.array([thresholds[g] + int(d) for g, d in zip(gammas, offset, strict=True)], np.uint64)
    asked = []

    def exact(i: int) -> Fraction:
        asked.append(i)
        return gammas[i]

    result = words_below_exp(words, np.array([float(g) for g in gammas]), exact, Script())
    assert (result == (offset < 0)).all()
    assert asked == list(range(size))  # all of these words are doubtful


def test_each_coin_by_integers_where_doubles_do_not_reach() -> None:
    huge = np.array([0, 1, 10**30], dtype=object)
    drawn = np.array([coins_exp_each(huge, Fraction(1), FixedRng(i)) for i in range(3000)])
    assert drawn[:, 0].all()
    assert fair(drawn[:, 1], exp(-1))
    assert not drawn[:, 2].any()
    tiny = coins_exp_each(np.full(2000, 2**52), Fraction(1, 2**952), FixedRng(9))
    assert tiny.all()
    halves: Any = np.array([0.5])
    with pytest.raises(TypeError):  # never truncated
        coins_exp_each(halves, Fraction(1), FixedRng())
    assert coins_exp_each(np.array([], np.int64), Fraction(1), FixedRng()).shape == (0,)


# --- Bernoulli(1/(1 + m·exp(−γ))) -----------------------------------------------------------------------------------

LOGISTIC = [
    (Fraction(1), Fraction(1)),
    (Fraction(1, 10), Fraction(9)),
    (Fraction(5), Fraction(1, 3)),
    (Fraction(0), Fraction(1)),
]


@pytest.mark.parametrize(
    ("gamma", "weight"), [*LOGISTIC, (Fraction(30), Fraction(10**12)), (Fraction(0), Fraction(2**70))]
)
@pytest.mark.parametrize("bits", [16, 64, 300])
def test_logistic_bounds_enclose_and_are_narrow(gamma: Fraction, weight: Fraction, bits: int) -> None:
    low, high = logistic_bounds(gamma, weight, bits)
    assert high - low <= 4
    truth = 1 / (1 + float(weight) * exp(-gamma))
    assert low / 2**bits <= truth * (1 + 1e-12) + 2.0**-bits
    assert high / 2**bits >= truth * (1 - 1e-12) - 2.0**-bits
    finer = logistic_bounds(gamma, weight, bits + 64)
    assert low << 64 <= finer[0] <= finer[1] <= high << 64


def test_a_logistic_weight_of_zero_is_certain() -> None:
    assert logistic_bounds(Fraction(3), Fraction(0), 64) == (2**64, 2**64)
    assert logistics(Fraction(3), Fraction(0), 1000, FixedRng()).all()


@pytest.mark.parametrize(("gamma", "weight"), LOGISTIC)
def test_logistic_coins_have_their_probability(gamma: Fraction, weight: Fraction) -> None:
    p = 1 / (1 + float(weight) * exp(-gamma))
    many = int(logistics(gamma, weight, 200_000, FixedRng(1)).sum())
    single = sum(logistic(gamma, weight, rng) for rng in [FixedRng(2)] for _ in range(20_000))
    assert binomtest(many, 200_000, p).pvalue > 1e-6
    assert binomtest(single, 20_000, p).pvalue > 1e-6


def test_a_doubtful_logistic_word_reads_on_until_the_bounds_decide() -> None:
    gamma, weight = Fraction(1), Fraction(1)
    low, high = logistic_bounds(gamma, weight, 64)
    doubtful = low  # inside [low, high): 64 bits cannot decide
    assert low < high
    finer = logistic_bounds(gamma, weight, 128)
    cut = finer[0] - (doubtful << 64)  # the next 64 bits that decide
    assert 0 < cut < 2**64
    assert logistic(gamma, weight, ScriptedRng([word(doubtful), word(cut - 1)])) is True
    assert logistic(gamma, weight, ScriptedRng([word(doubtful), word(cut + 8)])) is False


def test_negative_arguments_of_logistic_coins_are_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        logistic_bounds(Fraction(-1), Fraction(1), 64)
    with pytest.raises(InputError, match="negative"):
        logistics(Fraction(1), Fraction(-1), 10, FixedRng())


def test_no_logistic_coins() -> None:
    assert logistics(Fraction(1), Fraction(1), 0, FixedRng()).dtype == np.bool_
