"""The published vectors are those of the code, and a reading of the documents alone gives the same reports."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.tree import ROOT
from tacit.base import InputError, RandomnessError
from tacit.survey.registry import PROTOCOLS
from tacit.survey.vectors import FixedBytes, main, vectors

PUBLISHED = ROOT / "docs" / "reference" / "survey-vectors.json"
VECTORS: dict[str, Any] = json.loads(PUBLISHED.read_text())


def test_the_published_file_is_up_to_date() -> None:
    assert vectors() == VECTORS, "python -m tacit.survey.vectors docs/reference/survey-vectors.json"


class Device:
    """A device written from the documents only: the bytes of a vector, and whole numbers."""

    def __init__(self, data: bytes) -> None:
        self.data, self.used = data, 0

    def number(self, count: int) -> int:
        self.used += count
        assert self.used <= len(self.data)
        return int.from_bytes(self.data[self.used - count : self.used], "big")

    def toss(self, heads: str) -> bool:
        return self.number(8) < int(heads)

    def below(self, bound: int) -> int:
        bits = len(f"{bound - 1:b}") if bound > 1 else 0
        while True:
            drawn = self.number(-(-bits // 8)) % (1 << bits)
            if drawn < bound:
                return drawn

    def other(self, bound: int, own: int) -> int:
        drawn = self.below(bound - 1)
        return drawn + 1 if drawn >= own else drawn


def coin_flip(device: Device, terms: Any, answer: int) -> int:
    return answer if device.toss(terms["truth"]) else device.below(2)


def direct(device: Device, terms: Any, answer: int) -> int:
    return answer if device.toss(terms["keep"]) else device.other(terms["categories"], answer)


def unary(device: Device, terms: Any, answer: int) -> int:
    return sum(2**c for c in range(terms["categories"]) if device.toss(terms["true" if c == answer else "other"]))


def local_hashing(device: Device, terms: Any, answer: int) -> int:
    first, second = device.number(4).to_bytes(4, "big"), device.number(4).to_bytes(4, "big")
    a, b = int.from_bytes(first, "little"), int.from_bytes(second, "little")
    own = (a * answer + b) % 2**32 // 2**16 * terms["buckets"] // 2**16
    bucket = own if device.toss(terms["keep"]) else device.other(terms["buckets"], own)
    return a + (b << 32) + (bucket << 64)


def hadamard(device: Device, terms: Any, answer: int) -> int:
    place = device.below(terms["places"])
    minus = f"{place & (answer + 1):b}".count("1") % 2
    return 2 * place + (minus if device.toss(terms["keep"]) else 1 - minus)


def subset(device: Device, terms: Any, answer: int) -> int:
    members = [answer] if device.toss(terms["keep"]) else []
    others = [c for c in range(terms["categories"]) if c != answer]
    for at, c in enumerate(others):
        missing = terms["size"] - len(members)
        if device.below(len(others) - at) < missing:
            members.append(c)
    return sum(2**c for c in members)


def several(device: Device, terms: Any, answer: int) -> int:
    option = device.below(terms["options"])
    applies = answer >> option & 1
    return 2 * option + (applies if device.toss(terms["keep"]) else 1 - applies)


def one_bit_mean(device: Device, terms: Any, answer: float) -> int:
    share = (answer - terms["low"]) * (terms["steps"] / (terms["high"] - terms["low"]))
    bit = int(device.below(terms["steps"]) < int(share + 0.5))
    return bit if device.toss(terms["keep"]) else 1 - bit


def square_wave(device: Device, terms: Any, answer: float) -> int:
    bins = terms["steps"] + 1
    own: int = min(int((answer - terms["low"]) * (bins / (terms["high"] - terms["low"]))), bins - 1)
    if device.toss(terms["near"]):
        return own + device.below(terms["width"])
    far = device.below(terms["steps"])
    return far if far < own else far + int(terms["width"])


def prefix(device: Device, terms: Any, answer: str) -> int:
    level, function = device.below(terms["longest"] // terms["step"]), device.below(terms["functions"])
    text = answer.encode().ljust(terms["longest"], b"\0")[: (level + 1) * terms["step"]]
    own = (text_hash(function, text) >> 16) * terms["buckets"] >> 16
    bucket = own if device.toss(terms["keep"]) else device.other(terms["buckets"], own)
    size = 1 if terms["functions"] <= 256 else 2
    return level + (function << 8) + (bucket << 8 * (1 + size))


def text_hash(function: int, text: bytes) -> int:
    state = (function + 1) * 0x9E3779B1 % 2**32
    for byte in text:
        state = (state ^ byte) * 0x85EBCA6B % 2**32
        state ^= state >> 15
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> shift) * factor % 2**32
    return state ^ state >> 16


READ: dict[str, Callable[[Device, Any, Any], int]] = {
    "coin_flip": coin_flip,
    "direct": direct,
    "symmetric_unary": unary,
    "optimized_unary": unary,
    "local_hashing": local_hashing,
    "hadamard": hadamard,
    "subset": subset,
    "several": several,
    "one_bit_mean": one_bit_mean,
    "square_wave": square_wave,
    "prefix": prefix,
}


@pytest.mark.parametrize("subject", VECTORS["protocols"], ids=lambda s: f"{s['kind']}-{s['epsilon']}")
def test_a_device_written_from_the_documents_agrees(subject: dict[str, Any]) -> None:
    for case in subject["cases"]:
        device = Device(bytes.fromhex(case["bytes"]))
        report = READ[subject["kind"]](device, subject["device"], case["answer"])
        assert report.to_bytes(subject["report_bytes"], "little").hex() == case["report"]
        assert device.used == case["used"] < len(device.data)


def test_hashes() -> None:
    for case in VECTORS["hash"]:
        h = (case["a"] * case["answer"] + case["b"]) % 2**32 >> 16
        assert h * case["buckets"] >> 16 == case["bucket"]


def test_every_kind_is_there_with_every_turn_of_its_coins() -> None:
    assert {subject["kind"] for subject in VECTORS["protocols"]} == set(READ)
    assert set(READ) == {kind.kind for kind in PROTOCOLS if kind.in_browser}
    for subject in VECTORS["protocols"]:
        assert len({case["report"] for case in subject["cases"]}) > 1
        assert len({case["answer"] for case in subject["cases"]}) > 1
    again = [subject for subject in VECTORS["protocols"] if subject["kind"] == "direct"][1:]
    assert all(len({case["used"] for case in subject["cases"]}) > 2 for subject in again), "numbers drawn again"


def test_a_stream_ends_and_the_program_says_what_it_wants() -> None:
    with pytest.raises(RandomnessError, match="used up"):
        FixedBytes(b"abc").read(4)
    with pytest.raises(InputError, match="FILE"):
        main([])
