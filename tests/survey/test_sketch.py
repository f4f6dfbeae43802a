"""Count-mean sketches: shares of texts that are asked for afterwards."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.fixed_rng import FixedRng, ScriptedRng
from support.reports import (
    check_forms,
    check_impossible,
    check_private,
    check_refused,
    check_tally,
    largest_ratio,
    within,
)
from tacit.base import InputError
from tacit.survey.hash_family import bucket_of_text
from tacit.survey.sketch import CountMeanSketch, HadamardSketch, buckets_of_texts

KINDS: list[Any] = [CountMeanSketch, HadamardSketch]
TEXTS = [chr(97 + i) for i in range(16)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(6)])
@pytest.mark.parametrize(("rows", "width"), [(1, 2), (3, 4), (2, 8)])
def test_the_exact_channel(kind: Any, rows: int, width: int, epsilon: Fraction) -> None:
    check_private(kind(epsilon=epsilon, rows=rows, width=width), TEXTS)
    off = kind(epsilon=epsilon * Fraction(105, 100), rows=rows, width=width)
    assert not within(largest_ratio(off, TEXTS), epsilon)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "width", "value"), [(1, 2, "a"), (3, 4, "zürich")])
def test_both_forms_have_the_law(kind: Any, rows: int, width: int, value: str) -> None:
    check_forms(kind(epsilon=1, rows=rows, width=width), value)


@pytest.mark.parametrize("kind", KINDS)
def test_domain_and_tallies(kind: Any) -> None:
    protocol = kind(epsilon=1, rows=3, width=4)
    check_refused(protocol, ["", "x" * 257, 3, None, b"a", "\ud800"])
    check_tally(protocol, np.array(["a", "b", "c"] * 10))
    check_impossible(protocol, [b"\x03\x00", b"\x00\x10"])
    with pytest.raises(InputError, match="no reports yet"):
        protocol.shares_of(protocol.tally(protocol.sample(np.array([], dtype=str), FixedRng(1))), ["a"])
    with pytest.raises(InputError, match="no report yet"):
        protocol.estimate(protocol.tally(protocol.sample(["a"], FixedRng(1))))
    for wrong in ({"rows": 0}, {"rows": 2**17}, {"width": 1}, {"width": 2**17}, {"epsilon": "1e-20"}):
        with pytest.raises(InputError):
            kind(**{"epsilon": 1, **wrong})
    with pytest.raises(InputError, match="power of two"):
        HadamardSketch(epsilon=Fraction(1), width=12)


def test_the_order_of_coins_is_the_published_one() -> None:
    kept, lost = bytes(8), b"\xff" * 8
    own = bucket_of_text(2, b"a", 4)
    count = CountMeanSketch(epsilon=Fraction(1), rows=4, width=4)
    assert count.sample("a", ScriptedRng([b"\x02", *[kept] * 4])) == bytes([2, 1 << own])
    assert count.sample("a", ScriptedRng([b"\x02", lost, *[kept] * 3])) == bytes([2, (1 << own) ^ 1])
    signs = HadamardSketch(epsilon=Fraction(1), rows=4, width=4)
    bit = (3 & own).bit_count() & 1
    assert signs.sample("a", ScriptedRng([b"\x02", b"\x03", kept])) == bytes([2, 6 + bit])
    assert signs.sample("a", ScriptedRng([b"\x02", b"\x03", lost])) == bytes([2, 7 - bit])


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_buckets_are_unbiased_exactly(kind: Any) -> None:
    protocol = kind(epsilon=1, rows=1, width=4)
    expected = np.zeros(4)
    for report, p in protocol.law("a").items():
        expected += float(p) * protocol.estimate(protocol.tally(protocol.read(report))).value[0]
    assert expected == pytest.approx(np.eye(4)[bucket_of_text(0, b"a", 4)], abs=1e-9)


def surveys(kind: Any, count: int) -> tuple[float, float, float]:
    """Bias, squared error over what the standard error says, and coverage.

    Texts have new names every time, which stands for new hash functions: few rows, so these weigh as much as the coins.
    """
    protocol, source, pick = kind(epsilon=3, rows=32, width=16), FixedRng(5), np.random.default_rng(6)
    scaled, held = [], []
    true = np.array([0.4, 0.3, 0.2, 0.1])
    for trial in range(count):
        names = np.array([f"{trial} {i}" for i in range(4)])
        reports = protocol.sample(names[pick.choice(4, 3_000, p=true)], source)
        found = protocol.shares_of(protocol.tally(reports), names.tolist())
        scaled.append((found.value - true) / found.standard_error)
        held.append((found.lower <= true) & (true <= found.upper))
    each = np.array(scaled)
    return float(np.abs(each.mean(axis=0)).max() * count**0.5), float((each**2).mean()), float(np.mean(held))


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_texts_are_unbiased_with_the_error_they_state(kind: Any) -> None:
    bias, ratio, held = surveys(kind, 150)
    assert bias < 5
    assert 0.75 < ratio < 1.25
    assert 0.91 < held < 0.985


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_coverage_over_many_surveys(kind: Any) -> None:
    bias, ratio, held = surveys(kind, 1_000)
    assert bias < 5
    assert 0.9 < ratio < 1.1
    assert 0.935 < held < 0.965


def test_the_error_of_a_text_nobody_has_is_that_of_theory() -> None:
    """With many rows and many texts the functions hardly weigh: n·variance is q(1 − q)/(p − q)²."""
    protocol = HadamardSketch(epsilon=Fraction(2), rows=1024, width=32)
    source = FixedRng(3)
    crowd = np.array([f"somebody {i}" for i in range(200)] * 20)
    found = protocol.shares_of(protocol.tally(protocol.sample(crowd, source)), [f"nobody {i}" for i in range(600)])
    theory = (float(protocol.q * (1 - protocol.q)) / crowd.size) ** 0.5 / float(protocol.p - protocol.q)
    assert np.std(found.value) == pytest.approx(theory, rel=0.12)
    assert np.mean(found.standard_error) == pytest.approx(theory, rel=0.05)


def test_buckets_are_those_of_devices() -> None:
    texts = np.array([b"a", "zürich".encode()])
    for text, row in zip(texts.tolist(), buckets_of_texts(texts, 9, 16), strict=True):
        assert row.tolist() == [bucket_of_text(i, text, 16) for i in range(9)]
