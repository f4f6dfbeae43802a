"""The coin-flip survey with exact coins."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from support.fixed_rng import ScriptedRng
from tacit.base import InputError
from tacit.survey import CoinFlip


def test_two_fair_coins_cost_log_three() -> None:
    protocol = CoinFlip()
    assert (protocol.p, protocol.q) == (Fraction(3, 4), Fraction(1, 4))
    assert float(protocol.loss().bound) == pytest.approx(log(3), rel=1e-15)
    tally = protocol.tally(np.array([1] * 400 + [0] * 600, dtype=protocol.dtype))
    assert protocol.estimate(tally).value[1] == pytest.approx(0.3)


def test_the_coins_in_their_order() -> None:
    heads, tails = bytes(8), b"\x80" + bytes(7)
    for answer in (0, 1):
        assert CoinFlip().sample(answer, ScriptedRng([heads])) == bytes([answer])
        assert CoinFlip().sample(answer, ScriptedRng([tails, b"\x02"])) == b"\x00"
        assert CoinFlip().sample(answer, ScriptedRng([tails, b"\x03"])) == b"\x01"


def test_truth_is_rounded_down_and_cannot_vanish() -> None:
    assert CoinFlip(truth=Fraction(1, 3)).truth < Fraction(1, 3)
    for wrong in (0, 1, Fraction(1, 1 << 65)):
        with pytest.raises(InputError, match="truth"):
            CoinFlip(truth=Fraction(wrong))
