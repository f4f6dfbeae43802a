"""The coins of a device: how bytes become tosses and numbers is frozen, and many at once have the same law."""

from fractions import Fraction

import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError
from tacit.mechanism import Pmf
from tacit.survey.coin import ONE, Coin, below, keeping


@pytest.mark.parametrize("heads", [1, 12345 << 40, ONE // 2, ONE - 1])
def test_a_toss_compares_eight_bytes_first_byte_first(heads: int) -> None:
    coin = Coin(heads)
    assert coin.toss(ScriptedRng([(heads - 1).to_bytes(8, "big")]))
    assert not coin.toss(ScriptedRng([heads.to_bytes(8, "big")]))


@pytest.mark.parametrize("heads", [0, 3, (200 << 56) + 5, 200 << 56, ONE - 1, ONE])
def test_many_tosses_decide_at_the_same_threshold(heads: int) -> None:
    """The first byte, and if that is the threshold's own seven more: of a word of eight the upper ones."""
    coin = Coin(heads)
    first, rest = divmod(heads, 1 << 56)
    around = [max(0, first - 1), min(first, 255), min(first + 1, 255)]
    expected = [byte < first for byte in around]
    script = [bytes(around)]
    doubtful = [i for i, byte in enumerate(around) if byte == first]
    if rest and doubtful:
        script.append(b"".join(((rest - 1) << 8).to_bytes(8, "little") for _ in doubtful))
        expected = [True if i in doubtful else each for i, each in enumerate(expected)]
    assert coin.tosses(3, ScriptedRng(script)).tolist() == expected
    if rest and doubtful:
        script = [bytes(around), b"".join((rest << 8).to_bytes(8, "little") for _ in doubtful)]
        assert not coin.tosses(3, ScriptedRng(script))[doubtful].any()


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(1, 256), Fraction(1, 300), Fraction(299, 300)])
def test_many_tosses_have_the_probability(probability: Fraction) -> None:
    coin = Coin(int(probability * ONE))
    law: Pmf = {True: float(probability), False: float(1 - probability)}
    assert p_value(law, coin.tosses(300_000, FixedRng(4)).tolist()) > 1e-6


@pytest.mark.parametrize("heads", [-1, ONE + 1])
def test_no_such_coin(heads: int) -> None:
    with pytest.raises(InputError, match="heads"):
        Coin(heads)


@pytest.mark.parametrize(
    ("bound", "script", "drawn"),
    [
        (1, [b""], 0),
        (2, [b"\xfe"], 0),
        (2, [b"\x03"], 1),
        (3, [b"\xff", b"\xfe"], 2),
        (256, [b"\xff"], 255),
        (257, [b"\xff\xff", b"\xff\x00"], 256),
        (1000, [b"\xff\xe8", b"\x03\xe7"], 999),
        (1 << 24, [b"\x01\x02\x03"], 0x010203),
    ],
)
def test_a_number_keeps_low_bits_and_is_drawn_again(bound: int, script: list[bytes], drawn: int) -> None:
    source = ScriptedRng([part for part in script if part])
    assert below(bound, source) == drawn


def test_keeping_is_rounded_down() -> None:
    for epsilon in (Fraction(1, 100), Fraction(1), Fraction(10)):
        for others in (1, 5, 1000, Fraction(3, 7)):
            heads = keeping(epsilon, others).heads
            exact = np.exp(float(epsilon)) / (np.exp(float(epsilon)) + float(others))
            assert heads / ONE == pytest.approx(exact, rel=1e-12)
            assert float(Fraction(heads, ONE)) <= exact * (1 + 1e-15)
