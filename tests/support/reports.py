"""What every protocol of a survey must hold: checked exactly where laws can be listed, by chi-square elsewhere."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng, ScriptedRng
from tacit.base import InputError
from tacit.noise.bounds import exp_minus
from tacit.survey.protocol import Protocol

BITS = 300


def within(ratio: Fraction, epsilon: Fraction) -> bool:
    """Whether ratio ≤ e^ε, decided by rational bounds on e^−ε: no rounding is on our side."""
    return ratio * Fraction(exp_minus(epsilon, BITS)[1], 1 << BITS) <= 1


def largest_ratio(protocol: Protocol, values: Iterable[Any]) -> Fraction:
    """The largest ratio of two answers' probabilities of one report."""
    laws = [protocol.law(value) for value in values]
    assert all(sum(law.values()) == 1 for law in laws)
    assert all(law.keys() == laws[0].keys() for law in laws), "every report is possible with every answer"
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])


def check_private(protocol: Protocol, values: Iterable[Any], *, epsilon: Fraction | None = None) -> None:
    """The exact channel keeps ε, and attains it within 1 %."""
    claim = protocol.bound if epsilon is None else epsilon
    ratio = largest_ratio(protocol, values)
    assert within(ratio, claim)
    assert not within(ratio, claim * Fraction(99, 100)), "the claim is not attained within 1 %"


def check_forms(protocol: Protocol, value: Any, *, few: int = 2_000, many: int = 60_000, seed: int = 5) -> None:
    """The device's form and the vectorised form both have the law, and reports are bytes of one length."""
    law, source = protocol.pmf(value), FixedRng(seed)
    single = [protocol.sample(value, source) for _ in range(few)]
    assert {(type(report), len(report)) for report in single} == {(bytes, protocol.dtype.itemsize)}
    assert p_value(law, single) > 1e-7
    array = protocol.sample(np.full(many, value) if np.isscalar(value) else [value] * many, source)
    assert array.dtype == protocol.dtype
    assert p_value(law, pieces(array)) > 1e-7


def pieces(reports: Any) -> list[bytes]:
    """The bytes of each report of an array."""
    data, size = reports.tobytes(), reports.dtype.itemsize
    return [data[i : i + size] for i in range(0, len(data), size)]


def check_refused(protocol: Protocol, wrong: Sequence[Any]) -> None:
    """What is outside the domain is refused before a coin is tossed, alone and among others."""
    for value in wrong:
        with pytest.raises(InputError):
            protocol.sample(value, ScriptedRng([]))
        with pytest.raises(InputError):
            protocol.sample([value, value], ScriptedRng([]))


def check_tally(protocol: Protocol, values: Any) -> None:
    """Tallies add up in any order to that of all reports, from arrays and from bytes alike."""
    reports = protocol.sample(values, FixedRng(9))
    parts = [protocol.tally(part) for part in np.array_split(reports, 3)]
    whole = protocol.tally(protocol.read(reports.tobytes()))
    for order in permutations(parts):
        assert order[0] + order[1] + order[2] == whole
    assert whole.reports == len(reports)
    assert protocol.tally(reports[:0]) + whole == whole


def check_impossible(protocol: Protocol, wrong: Sequence[bytes]) -> None:
    """Bytes that no device can have sent are refused."""
    for data in (b"", bytes(protocol.dtype.itemsize + 1) if protocol.dtype.itemsize > 1 else b"", *wrong):
        with pytest.raises(InputError):
            protocol.read(data)
