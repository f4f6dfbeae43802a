"""Test vectors: what a device must send for given bytes of its generator, so that every language can be held to it.

`python -m tacit.survey.vectors docs/reference/survey-vectors.json` writes the file that is published; it changes only
when a protocol does, and then old devices and new ones disagree. A case holds the bytes that the generator hands out
(more than are used), the answer, the report, and how many bytes were used.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from hashlib import shake_256
from pathlib import Path
from typing import Any

from tacit.base import InputError, RandomnessError, show
from tacit.noise import Rng
from tacit.survey.bit_flip import SeveralResponse
from tacit.survey.bits import OptimizedUnary, SubsetSelection, SymmetricUnary
from tacit.survey.coin import ONE, joined
from tacit.survey.direct import CoinFlip, DirectResponse, HadamardResponse
from tacit.survey.hash_family import bucket_of
from tacit.survey.local_hashing import LocalHashing
from tacit.survey.mean import OneBitMean
from tacit.survey.prefix import PrefixText
from tacit.survey.protocol import Protocol
from tacit.survey.square_wave import SquareWave

__all__ = ["FixedBytes", "vectors"]

SPARE = 4  # bytes after the last one used, so that reading too many is noticed
COINS = ("keep", "near", "other", "true", "truth")  # their heads are written as decimal strings
WORD = 1 << 32
PLAIN = 6  # cases of a protocol whose bytes are not chosen

SUBJECTS: Sequence[Protocol] = (
    CoinFlip(),
    CoinFlip(truth=Fraction(1, 3)),
    DirectResponse(epsilon=Fraction(1), categories=2),
    DirectResponse(epsilon=Fraction(1, 2), categories=6),
    DirectResponse(epsilon=Fraction(3), categories=300),
    DirectResponse(epsilon=Fraction(2), categories=70_000),
    SymmetricUnary(epsilon=Fraction(1), categories=5),
    SymmetricUnary(epsilon=Fraction(2), categories=12),
    OptimizedUnary(epsilon=Fraction(1), categories=8),
    OptimizedUnary(epsilon=Fraction(3, 2), categories=21),
    LocalHashing(epsilon=Fraction(1), categories=1024),
    LocalHashing(epsilon=Fraction(2), categories=131_072),
    LocalHashing(epsilon=Fraction(6), categories=5000),
    HadamardResponse(epsilon=Fraction(1), categories=3),
    HadamardResponse(epsilon=Fraction(1), categories=1024),
    HadamardResponse(epsilon=Fraction(1, 2), categories=100_000),
    SubsetSelection(epsilon=Fraction(1), categories=7),
    SubsetSelection(epsilon=Fraction(1, 2), categories=20),
    SubsetSelection(epsilon=Fraction(1), categories=300),
    SeveralResponse(epsilon=Fraction(1), options=5),
    SeveralResponse(epsilon=Fraction(2), options=31),
    OneBitMean(epsilon=Fraction(1), low=Fraction(0), high=Fraction(10)),
    OneBitMean(epsilon=Fraction(2), low=Fraction(-40), high=Fraction(60), steps=100),
    SquareWave(epsilon=Fraction(1), low=Fraction(-3), high=Fraction(9), bins=16),
    SquareWave(epsilon=Fraction(3), bins=300),
    PrefixText(epsilon=Fraction(1), longest=12, functions=300),
    PrefixText(epsilon=Fraction(3), longest=32, step=2, functions=200),
)


class FixedBytes(Rng):
    """A generator that hands out given bytes, and knows how many it has handed out and in what portions."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data
        self.used = 0
        self.portions: list[tuple[int, int]] = []

    def read(self, count: int) -> bytes:
        if self.used + count > len(self._data):
            raise RandomnessError("the bytes of this vector are used up")
        self.portions.append((self.used, count))
        self.used += count
        return self._data[self.used - count : self.used]


def vectors() -> dict[str, Any]:
    """Everything that is published: the hash functions, then every protocol that devices speak."""
    return {
        "coins": (
            "A toss reads 8 bytes, the first is the highest, and is heads if the number is below the coin's heads out "
            "of 2^64. A number below n reads as many bytes as n - 1 has, the first is the highest, keeps as many low "
            "bits as n - 1 has, and is drawn again while it is not below n. A report's bytes are little-endian."
        ),
        "hash": list(_hashes()),
        "protocols": [_subject(protocol) for protocol in SUBJECTS],
    }


def _hashes() -> Iterator[dict[str, int]]:
    for place, (answer, buckets) in enumerate(
        [(0, 2), (1, 3), (2, 4), (1023, 4), (65_535, 9), (65_536, 404), (131_071, 4096), (131_071, 3)]
    ):
        for extreme in (False, True):
            drawn = b"\xff" * 8 if extreme else _bytes(f"hash {place}", 8)
            a, b = int.from_bytes(drawn[:4], "little"), int.from_bytes(drawn[4:], "little")
            found = bucket_of(a, b, answer, buckets)
            yield {"a": a, "b": b, "answer": answer, "buckets": buckets, "bucket": found}


def _subject(protocol: Protocol) -> dict[str, Any]:
    return {
        "kind": protocol.kind,
        "epsilon": show(protocol.epsilon),
        "device": {name: str(value) if name in COINS else value for name, value in _device(protocol).items()},
        "report_bytes": protocol.dtype.itemsize,
        "cases": [_case(protocol, answer, data) for answer, data in _inputs(protocol)],
    }


def _device(protocol: Protocol) -> dict[str, Any]:
    """What a device is told, with numbers of two words put together again."""
    return {name: joined(value) for name, value in protocol.terms()["device"].items()}


def _inputs(protocol: Protocol) -> Iterator[tuple[Any, bytes]]:
    """Answers with bytes: some at random, then the first coin at its threshold, one below it, and in its upper half."""
    device, (first, last, between) = _device(protocol), protocol.probes
    name = f"{protocol.kind} {protocol.epsilon} {[value for value in device.values() if isinstance(value, int)]}"
    length = 64 + 16 * protocol.dtype.itemsize * 8
    for place in range(PLAIN):
        yield (first, last, between)[place % 3], _bytes(f"{name} {place}", length)
    for heads in sorted(value for coin, value in device.items() if coin in COINS):
        at_and_below = ((answer, heads - less) for less in (0, 1) for answer in (first, last))
        for answer, number in (*at_and_below, (between, heads ^ WORD)):
            data = _bytes(f"{name} {heads} {answer} {number}", length)
            stream = FixedBytes(data)
            protocol.sample(answer, stream)
            at = next(start for start, count in stream.portions if count == 8)  # the first toss
            yield answer, data[:at] + (number % ONE).to_bytes(8, "big") + data[at + 8 :]


def _case(protocol: Protocol, answer: Any, data: bytes) -> dict[str, Any]:
    stream = FixedBytes(data)
    report = protocol.sample(answer, stream)
    return {"answer": answer, "bytes": data[: stream.used + SPARE].hex(), "report": report.hex(), "used": stream.used}


def _bytes(name: str, count: int) -> bytes:
    return shake_256(f"tacit survey vectors: {name}".encode()).digest(count)


def main(arguments: list[str]) -> None:
    """Write the file whose path is given."""
    if len(arguments) != 1:
        raise InputError("say where to write the vectors: python -m tacit.survey.vectors FILE")
    Path(arguments[0]).write_text(json.dumps(vectors(), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
