"""RAPPOR: what one report tells, what all tell, that a set bit can be cleared, and which texts are decoded."""

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng, ScriptedRng, drawing_from
from support.reports import check_forms, check_impossible, check_refused, check_tally, within
from tacit.base import InputError
from tacit.survey.protocol import Array, Law
from tacit.survey.rappor import Rappor, RapporDevice, _lasso, decode

TEXTS = [chr(97 + i) for i in range(16)]


def rappor(**declared: Any) -> Rappor:
    return Rappor(**{"bits": 8, "cohorts": 2, **declared})


def ratio(laws: list[Law]) -> Fraction:
    assert all(sum(law.values()) == 1 for law in laws)
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])


@pytest.mark.parametrize("hashes", [1, 2])
@pytest.mark.parametrize("f", ["1/4", "3/4"])
def test_both_epsilons_are_exact(hashes: int, f: str) -> None:
    """16 texts, all reports listed: the largest ratio keeps the claim, and attains it, for one report and for all."""
    protocol = rappor(hashes=hashes, f=Fraction(f))
    for laws, claim in (
        ([protocol.law(text) for text in TEXTS], protocol.once().bound),
        ([protocol.permanent_law(text) for text in TEXTS], protocol.epsilon),
    ):
        found = ratio(laws)
        assert within(found, claim)
        assert not within(found, claim * Fraction(99, 100))
        assert not within(found, claim * Fraction(95, 100)), "a claim 5 % too small is caught"


def test_two_hashes_double_epsilon() -> None:
    one, two = rappor(hashes=1), rappor(hashes=2)
    assert float(two.epsilon) == pytest.approx(2 * float(one.epsilon))
    assert float(two.once().bound) == pytest.approx(2 * float(one.once().bound))
    worst = ratio([two.permanent_law(text) for text in TEXTS])
    assert not within(worst, one.epsilon * Fraction(3, 2)), "and the second one's cost is real"


def test_the_numbers_of_the_paper() -> None:
    """h = 2, f = 1/2, p = 1/2, q = 3/4: ε∞ = 4 log 3 and ε₁ = 1.0743."""
    protocol = Rappor(hashes=2, f=Fraction(1, 2), p=Fraction(1, 2), q=Fraction(3, 4))
    assert float(protocol.epsilon) == pytest.approx(4 * log(3), rel=1e-12)
    assert float(protocol.once().bound) == pytest.approx(1.0743, abs=5e-5)
    assert protocol.loss().bound == protocol.epsilon
    assert [float(rate) for rate in protocol.rates] == [0.6875, 0.5625]


@pytest.mark.parametrize("value", ["a", "é"])
def test_both_forms_have_the_law(value: str) -> None:
    check_forms(rappor(cohorts=1, hashes=1), value, few=1_500, many=20_000)


def test_a_set_bit_can_be_cleared() -> None:
    """The permanent bit follows f/2, 1 − f, f/2 in both directions: bits that are never cleared would tell."""
    protocol = rappor(cohorts=1, f=Fraction(1, 2))
    at = int(np.flatnonzero(protocol.bloom(b"a", 0))[0])
    bits = [bool(RapporDevice(protocol, i.to_bytes(32, "big")).permanent("a")[at]) for i in range(3_000)]
    assert p_value({True: 0.75, False: 0.25}, bits) > 1e-6
    off = int(np.flatnonzero(~protocol.bloom(b"a", 0))[0])
    bits = [bool(RapporDevice(protocol, i.to_bytes(32, "big")).permanent("a")[off]) for i in range(3_000)]
    assert p_value({True: 0.25, False: 0.75}, bits) > 1e-6


def test_the_order_of_coins_is_the_published_one() -> None:
    protocol = rappor(cohorts=2, hashes=1, f=Fraction(1, 2))
    half = (1 << 62).to_bytes(8, "big")
    one, zero, stays = bytes(8), half, b"\xff" * 8
    bloom = protocol.bloom(b"a", 1)
    heads, tails = bytes(8), b"\xff" * 8
    told = protocol.sample("a", ScriptedRng([b"\x01", *[stays] * 8, *[heads if bit else tails for bit in bloom]]))
    assert told == b"\x01" + np.packbits(bloom, bitorder="little").tobytes()
    three_fifths = (6 * (1 << 64) // 10).to_bytes(8, "big")  # heads of q = 3/4, tails of p = 1/2
    told = protocol.sample("a", ScriptedRng([b"\x00", *[one] * 8, *[three_fifths] * 8]))
    assert told == b"\x00\xff"
    told = protocol.sample("a", ScriptedRng([b"\x00", *[zero] * 8, *[three_fifths] * 8]))
    assert told == b"\x00\x00"


def test_a_device_repeats_its_permanent_answer_and_not_its_report() -> None:
    protocol = Rappor()
    device = RapporDevice(protocol, bytes(range(32)))
    assert np.array_equal(device.permanent("a.org"), RapporDevice(protocol, bytes(range(32))).permanent("a.org"))
    assert not np.array_equal(device.permanent("a.org"), device.permanent("b.org"))
    with drawing_from(FixedRng(3)):
        reports = [device.report("a.org") for _ in range(300)]
    assert len(set(reports)) == 300
    assert len({report[0] for report in reports}) == 1, "the cohort is permanent too"
    told = protocol.tally(protocol.read(b"".join(reports))).counts[device.cohort, :-1] / 300
    assert np.array_equal(told > 0.625, device.permanent("a.org")), "all that many reports tell is the permanent answer"
    assert "0x" not in repr(device)
    assert "secret" not in repr(device)


def test_domain_reports_and_tallies() -> None:
    protocol = rappor(cohorts=3)
    check_refused(protocol, ["", "x" * 257, 3, None, b"a", "\ud800"])
    check_tally(protocol, np.array(["a", "b", "c"] * 10))
    check_impossible(protocol, [b"\x03\x00"])
    with pytest.raises(InputError, match="no report yet"):
        protocol.estimate(protocol.tally(protocol.sample(["a"], FixedRng(1))))
    for wrong in (
        {"bits": 12},
        {"bits": 2048},
        {"hashes": 5},
        {"f": 0},
        {"f": 1},
        {"p": "3/4", "q": "1/2"},
        {"p": "1/2", "q": "1/2"},
        {"p": Fraction(1, 2), "q": Fraction(1, 2) + Fraction(1, 10**30)},
    ):
        with pytest.raises(InputError):
            rappor(**wrong)


def test_shares_of_bits_are_unbiased_with_their_error() -> None:
    protocol, source = rappor(cohorts=1, hashes=1), FixedRng(6)
    true = 0.3 * protocol.bloom(b"a", 0) + 0.7 * protocol.bloom(b"b", 0)
    pick = np.random.default_rng(1)
    found = []
    for _ in range(400):
        answers = np.where(pick.random(500) < 0.3, "a", "b")
        found.append(protocol.estimate(protocol.tally(protocol.sample(answers, source))))
    errors = np.array([one.value[0] - true for one in found])
    rate = float(protocol.rates[1]) + float(protocol.rates[0] - protocol.rates[1]) * true
    theory = rate * (1 - rate) / 500 / float(protocol.rates[0] - protocol.rates[1]) ** 2
    assert np.all(np.abs(errors.mean(axis=0)) < 5 * np.sqrt(theory / 400))
    assert np.mean(errors**2 / theory) == pytest.approx(1, abs=0.12)


CANDIDATES = [f"site{i}.org" for i in range(60)]
SHARES = [0.4, 0.25, 0.15]
PROTOCOL = Rappor(bits=64, cohorts=16)


def crowd(size: int, seed: int) -> Array:
    """Three candidates have most of the respondents; a fifth have texts that are no candidates."""
    pick = np.random.default_rng(seed)
    which = pick.choice(4, size, p=[*SHARES, 1 - sum(SHARES)])
    others = np.array([f"other{i}" for i in range(50)])[pick.integers(0, 50, size)]
    return np.where(which < 3, np.array([*CANDIDATES[:3], ""])[which], others)


def test_what_is_there_is_found_with_its_share() -> None:
    tally = PROTOCOL.tally(PROTOCOL.sample(crowd(20_000, 1), FixedRng(1)))
    found = decode(PROTOCOL, tally, CANDIDATES, risk=1e-4, confidence=0.9999)
    assert [one.text for one in found] == CANDIDATES[:3]
    for one, share in zip(found, SHARES, strict=True):
        assert one.lower <= share <= one.upper
        assert one.standard_error < 0.03


def test_what_is_not_there_is_not_found() -> None:
    tally = PROTOCOL.tally(PROTOCOL.sample(crowd(20_000, 2), FixedRng(2)))
    assert decode(PROTOCOL, tally, CANDIDATES[10:]) == []


def test_shares_are_not_shrunk_and_intervals_hold() -> None:
    """The lasso chooses; what it chose is estimated without its penalty."""
    errors, held, false = [], 0, 0
    for seed in range(60):
        tally = PROTOCOL.tally(PROTOCOL.sample(crowd(4_000, seed), FixedRng(seed)))
        found = {one.text: one for one in decode(PROTOCOL, tally, CANDIDATES)}
        false += bool(set(found) - set(CANDIDATES[:3]))
        one = found[CANDIDATES[0]]
        errors.append((one.share - SHARES[0]) / one.standard_error)
        held += one.lower <= SHARES[0] <= one.upper
    assert abs(np.mean(errors)) < 5 / 60**0.5
    assert 0.7 < np.std(errors) < 1.3
    assert held >= 50, "of 60 at 95 %"
    assert false <= 9, "of 60 at 5 %"


def test_the_penalty_keeps_noise_out() -> None:
    """More candidates than cells: without a penalty the fit would take up many of them."""
    pick = np.random.default_rng(4)
    design = np.append(pick.random((120, 200)) < 0.2, np.full((120, 1), 0.2), axis=1).astype(float)
    noise = 0.01 * pick.standard_normal(120)
    taken = _lasso(design, 0.2 + noise, 0.01, 200)
    assert np.count_nonzero(taken[:-1]) <= 3
    assert taken[-1] == pytest.approx(1, abs=0.05)
    seen = 0.5 * design[:, 7] + 0.3 * design[:, 11] + 0.2 * 0.2 + noise
    assert {7, 11} <= set(np.flatnonzero(_lasso(design, seen, 0.01, 200) > 0.1)) <= {7, 11, 200}
    free = _lasso(design, 0.2 + noise, 0.0, 200)
    assert np.count_nonzero(free[:-1] > 0) > 10, "the check is not empty"


def test_candidates_must_be_texts_each_once() -> None:
    tally = PROTOCOL.tally(PROTOCOL.sample(crowd(500, 1), FixedRng(1)))
    for wrong in ([], ["a", "a"], [""]):
        with pytest.raises(InputError):
            decode(PROTOCOL, tally, wrong)
