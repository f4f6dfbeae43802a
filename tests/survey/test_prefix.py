"""Texts nobody listed are found when many share them, and nothing is found that nobody wrote."""

from collections.abc import Sequence
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
from tacit.survey.prefix import PrefixCounts, PrefixText, _longer
from tacit.survey.protocol import Array, normal

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5, 2), Fraction(5)]
LETTERS = "abcdefghijklmnopqrstuvwxyz "


def text(**declared: Any) -> PrefixText:
    return PrefixText(**{"epsilon": 1, **declared})


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("longest", "step", "functions"), [(1, 1, 1), (2, 1, 4), (4, 2, 8)])
def test_the_exact_channel(longest: int, step: int, functions: int, epsilon: Fraction) -> None:
    texts = [chr(97 + i) for i in range(16)]
    size = {"longest": longest, "step": step, "functions": functions, "buckets": 4}
    check_private(text(epsilon=epsilon, **size), texts)
    assert not within(largest_ratio(text(epsilon=epsilon * Fraction(105, 100), **size), texts), epsilon)


@pytest.mark.parametrize("value", ["a", "zé", "four"])
def test_both_forms_have_the_law(value: str) -> None:
    check_forms(text(longest=4, step=2, functions=3, buckets=3), value)


def test_the_order_of_coins_is_the_published_one() -> None:
    protocol = text(longest=4, functions=1024, buckets=4)
    own = bucket_of_text(0x2FF, b"ab\0", 4)
    kept, lost = bytes(8), b"\xff" * 8
    head = [b"\x02", b"\xfe\xff"]  # of 4 levels the third; of 1,024 functions, the low ten bits of two bytes
    assert protocol.sample("ab", ScriptedRng([*head, kept])) == bytes([2, 0xFF, 0x02, own])
    assert protocol.sample("ab", ScriptedRng([*head, lost, b"\x00"])) == bytes([2, 0xFF, 0x02, 0 if own else 1])


def test_what_is_no_text_of_the_declared_length_is_refused() -> None:
    check_refused(text(longest=4), ["", "abcde", "añañ", "a\0b", "\0a", 3, None, True, b"ab", "\ud800"])
    check_tally(text(longest=4), np.array(["a", "bb", "ccc", "dddd"] * 5))
    check_impossible(text(longest=4, buckets=4), [b"\x04\0\0\0", b"\0\0\x04\0", b"\0\0\0\x04"])
    for wrong in ({"longest": 33}, {"longest": 5, "step": 2}, {"buckets": 1}, {"buckets": 257}, {"functions": 2**17}):
        with pytest.raises(InputError):
            text(**wrong)
    with pytest.raises(InputError, match="too small"):
        text(epsilon="1e-20")


def crowd(size: int, frequent: dict[str, float], seed: int = 3) -> Array:
    """Respondents: some texts with the given shares, the others each alone with a text of six letters."""
    pick = np.random.default_rng(seed)
    rare = np.array(["".join(row) for row in np.array(list(LETTERS[:26]))[pick.integers(0, 26, (size, 6))]])
    which = pick.choice(len(frequent) + 1, size, p=[*frequent.values(), 1 - sum(frequent.values())])
    names = np.array([*frequent, "?"])
    return np.where(which < len(frequent), names[which], rare)


SHARES = {"london": 0.3, "paris": 0.2, "münchen": 0.12, "new york": 0.1}


def test_frequent_texts_are_found_with_their_shares() -> None:
    protocol = text(epsilon=3, longest=8)
    found = protocol.find(protocol.tally(protocol.sample(crowd(60_000, SHARES), FixedRng(1))))
    assert [one.text for one in found] == list(SHARES)
    for one in found:
        low, high = one.interval(0.9999)
        assert low <= SHARES[one.text] <= high
        assert 0 < one.standard_error < 0.02
    again = protocol.estimate(protocol.tally(protocol.sample(crowd(60_000, SHARES), FixedRng(1))))
    assert again.value.tolist() == [one.share for one in found]


def test_an_alphabet_and_longer_steps_find_them_too() -> None:
    protocol = text(epsilon=3, longest=8, step=2)
    tally = protocol.tally(protocol.sample(crowd(40_000, {"london": 0.3, "paris": 0.2}), FixedRng(1)))
    assert [one.text for one in protocol.find(tally, alphabet=LETTERS)] == ["london", "paris"]
    assert [one.text for one in protocol.find(tally, alphabet=LETTERS, most=1)] == ["london"]
    assert protocol.find(tally, alphabet="xyz") == []
    with pytest.raises(InputError, match="alphabet"):
        protocol.find(tally, alphabet="")


def test_nothing_is_found_where_nothing_is_shared() -> None:
    """Every text is different; the risk of one false beginning in a survey is 5 %, so 40 surveys have few."""
    protocol = text(epsilon=2, longest=2, functions=256)
    false = 0
    pick = np.random.default_rng(1)
    letters = np.array([chr(c) for c in range(0x100, 0x17F)])
    for seed in range(40):
        answers = letters[pick.integers(0, len(letters), 2_000)]
        found = protocol.find(protocol.tally(protocol.sample(answers, FixedRng(seed))), alphabet=LETTERS)
        false += bool(found)
    assert false <= 8, "Pr[Bin(40, 0.05) > 8] < 1e-3, and Bernstein leaves room"
    assert protocol.find(protocol.tally(protocol.sample(answers[:0], FixedRng(1)))) == []


def test_a_text_nobody_has_is_as_spread_as_the_search_thinks() -> None:
    """The noise of 20,000 texts that nobody wrote, beside one that nearly everybody wrote."""
    protocol = text(epsilon=2, longest=1, functions=512)
    answers = np.array(["a"] * 15_000 + ["b"] * 5_000)
    tally = protocol.tally(protocol.sample(answers, FixedRng(2)))
    data = PrefixCounts(tally.counts.reshape(1, 512, protocol.buckets), 1, (float(protocol.p), float(protocol.q)))
    nobody: Sequence[bytes] = [i.to_bytes(3, "big") for i in range(20_000)]
    support = data.support(0, nobody)
    mean, variance, _ = data.noise(0)
    assert support.mean() == pytest.approx(mean, rel=0.002)
    assert support.var() == pytest.approx(variance, rel=0.05)
    assert support.max() < data.threshold(0, 20_000, 0.001)
    assert variance > 2 * 20_000 / protocol.buckets, "most of it comes from the few functions, not from the coins"


def surveys(count: int) -> float:
    """How often the interval of a frequent text holds its share, over coins and respondents, with many functions."""
    protocol = text(epsilon=3, longest=2, step=2, functions=4096)
    pick, held = np.random.default_rng(5), 0
    for seed in range(count):
        answers = np.array(["ab", "cd", "ef", "gh"])[pick.choice(4, 2_000, p=[0.4, 0.3, 0.2, 0.1])]
        counts = protocol.tally(protocol.sample(answers, FixedRng(seed))).counts
        data = PrefixCounts(counts.reshape(1, 4096, -1), 2, (float(protocol.p), float(protocol.q)))
        share, error = data.share(0, b"ab")
        found = normal(np.array([share]), np.array([error]), 0.95)
        held += bool(found.lower[0] <= 0.4 <= found.upper[0])
    return held / count


def test_intervals_hold() -> None:
    assert 0.9 < surveys(200) <= 0.99


@pytest.mark.slow
def test_intervals_hold_over_many_surveys() -> None:
    assert 0.935 < surveys(2_000) < 0.97


def test_beginnings_grow_only_into_utf8() -> None:
    letters = bytes([0, 0x61, 0xC3, 0xA9])
    assert set(_longer(b"", letters, 1)) == {b"a", b"\xc3"}
    assert set(_longer(b"\xc3", letters, 1)) == {b"\xc3\xa9"}
    assert set(_longer(b"a\0", letters, 2)) == {b"a\0\0\0"}
    assert set(_longer(b"a", letters, 2)) == {b"a\0\0", b"aa\0", b"aaa", b"aa\xc3", b"a\xc3\xa9"}
