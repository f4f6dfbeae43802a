"""The hash functions of texts are frozen, the same one by one and many at once, and spread texts evenly."""

import numpy as np
import pytest

from tacit.survey.hash_family import absorbed, bucket_of_text, buckets_at, finished, hash_of_text, started

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
    assert hash_of_text(function, text) == FROZEN[function, text]


def test_many_at_once_is_the_same() -> None:
    functions = np.array([0, 1, 1023, 65_535])
    for text in (b"", b"a", b"london\0\0", "zürich".encode(), bytes(range(32))):
        states = started(functions)
        for byte in text:
            states = absorbed(states, np.full(4, byte, dtype=np.uint8))
        assert finished(states).tolist() == [hash_of_text(int(f), text) for f in functions]
        for buckets in (2, 3, 256):
            assert buckets_at(states, buckets).tolist() == [bucket_of_text(int(f), text, buckets) for f in functions]


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
