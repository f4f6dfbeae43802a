"""The hash functions of numbers and texts: frozen values, uniform pairs, and counts that agree with single hashes."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.channel import p_value
from support.fixed_rng import FixedRng
from tacit.base import InputError
from tacit.mechanism import Pmf
from tacit.survey.hash_family import (
    BLOCK,
    absorbed,
    bucket_at,
    bucket_of,
    bucket_of_text,
    bucket_weights,
    finished,
    started,
    supported,
)


def functions(count: int, seed: int = 0) -> tuple[Any, Any]:
    words = FixedRng(seed).words(2 * count, np.uint32).astype(np.int64)
    return words[:count], words[count:]


def test_values_are_what_they_were() -> None:
    assert bucket_of(1, 0, 0x1_FFFF, 4) == 0  # 0x1FFFF >> 16 is 1
    assert bucket_of(0x8000_0000, 0, 1, 4) == 2
    assert bucket_of(0x8000_0001, 0x4000_0000, 1, 4096) == 3072
    assert bucket_of(0xFFFF_FFFF, 0xFFFF_FFFF, 0x1_FFFF, 3) == 2
    assert bucket_of(2654435769, 40503, 1000, 10) == (2654435769 * 1000 + 40503) % 2**32 // 2**16 * 10 // 2**16


def test_pairs_are_uniform_in_the_same_family_of_smaller_words() -> None:
    """Words of 6 bits, answers of 4, values of 3: 4 + 3 − 1 bits are enough, and for answers of 5 they are not."""

    def joint(v: int, w: int) -> Counter[tuple[int, int]]:
        return Counter(((a * v + b) % 64 >> 3, (a * w + b) % 64 >> 3) for a in range(64) for b in range(64))

    for v in range(16):
        for w in range(v):
            assert set(joint(v, w).values()) == {64}
            assert len(joint(v, w)) == 64
    assert len(joint(0, 16)) < 64


@pytest.mark.parametrize("pair", [(0, 1), (3, 4), (0, 65_536), (65_535, 131_071), (7, 131_071)])
@pytest.mark.parametrize("buckets", [3, 4, 37])
def test_two_answers_fall_independently(pair: tuple[int, int], buckets: int) -> None:
    a, b = functions(200_000)
    found = [bucket_of(a, b, np.full(len(a), answer), buckets).tolist() for answer in pair]
    weights = [float(w) for w in bucket_weights(buckets)]
    law: Pmf = {(i, j): u * v for i, u in enumerate(weights) for j, v in enumerate(weights)}
    assert p_value(law, zip(*found, strict=True)) > 1e-6


@pytest.mark.parametrize("buckets", [2, 3, 4, 390, 4096])
def test_weights_are_those_of_the_buckets(buckets: int) -> None:
    counts = Counter(h * buckets >> 16 for h in range(1 << 16))
    assert bucket_weights(buckets) == [Fraction(counts[j], 1 << 16) for j in range(buckets)]
    assert sum(bucket_weights(buckets)) == 1


@pytest.mark.parametrize("buckets", [2, 3, 390, 4096])
@pytest.mark.parametrize(("count", "answers"), [(300, 20), (20, 300), (BLOCK + 50, 7), (0, 5)])
def test_supported_counts_as_hashing_one_by_one_does(buckets: int, count: int, answers: int) -> None:
    a, b = functions(count, 3)
    reported = bucket_of(a, b, np.arange(count) % answers, buckets)
    reported[::3] = buckets - 1
    found = supported(a, b, reported, buckets=buckets, answers=answers)
    few = min(count, 400)
    naive = [
        sum(bucket_of(int(a[i]), int(b[i]), v, buckets) == reported[i] for i in range(few)) for v in range(answers)
    ]
    rest = supported(a[few:], b[few:], reported[few:], buckets=buckets, answers=answers)
    assert (found - rest).tolist() == naive
    direct = [int(np.sum(bucket_of(a, b, np.full(count, v), buckets) == reported)) for v in range(answers)]
    assert found.tolist() == direct


def test_too_many_answers_are_refused() -> None:
    a, b = functions(2)
    with pytest.raises(InputError, match="131072"):
        supported(a, b, a % 2, buckets=2, answers=(1 << 17) + 1)


FROZEN = {
    (0, b""): 0x11FD02EB,
    (0, b"a"): 0x501158FA,
    (1, b"a"): 0x3EEB7544,
    (1023, b"london"): 0x5668E2EA,
    (65535, b"z\xc3\xbcrich"): 0x53900C31,
    (
        7,
        b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    ): 0x9AA3F5C5,
}


@pytest.mark.parametrize(("function", "text"), FROZEN)
def test_the_functions_are_frozen(function: int, text: bytes) -> None:
    state = started(function)
    for byte in text:
        state = absorbed(state, byte)
    assert finished(state) == FROZEN[function, text]


def test_many_at_once_is_the_same() -> None:
    functions = np.array([0, 1, 1023, 65_535])
    for text in (b"", b"a", b"london\0\0", "zürich".encode(), bytes(range(32))):
        for buckets in (2, 3, 256):
            single = [bucket_of_text(int(f), text, buckets) for f in functions]
            assert bucket_of_text(functions, text, buckets).tolist() == single
            states = started(functions)
            for byte in text:
                states = absorbed(states, np.full(4, byte, dtype=np.uint8))
            assert bucket_at(states, buckets).tolist() == single


@pytest.mark.parametrize(
    "pair", [(b"a", b"b"), (b"ab", b"ba"), (b"a", b"a\0"), (b"london", b"londoo"), (b"\0", b"\x80")]
)
def test_two_texts_meet_as_often_as_chance_has_it(pair: tuple[bytes, bytes]) -> None:
    functions, buckets = 1 << 14, 7
    first, second = ([bucket_of_text(f, text, buckets) for f in range(functions)] for text in pair)
    table = np.zeros((buckets, buckets))
    np.add.at(table, (first, second), 1)
    statistic = float(((table - functions / buckets**2) ** 2).sum() / (functions / buckets**2))
    assert statistic < 48 + 6 * 96**0.5, "chi-square with 48 degrees of freedom"
