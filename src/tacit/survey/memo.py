"""Permanent answers: a device that is asked again repeats its report instead of tossing new coins.

Reports of new coins on the same answer add up, and their average is the truth. A `Memo` derives the coins of a report
from a secret of the device and the answer, by HMAC-SHA-256, so it keeps nothing but the secret, and the same answer has
the same report for ever. That the coins are as good as random rests on HMAC being a pseudorandom function.
"""

import hmac
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.base import InputError, whole
from tacit.loss import Loss
from tacit.noise import Rng, SecureRng
from tacit.survey.coin import below
from tacit.survey.one_bit_mean import OneBitMean
from tacit.survey.protocol import Protocol

__all__ = ["KeyedRng", "MeanMemo", "Memo", "device_secret"]

SECRET = 32
BLOCK = 32


class KeyedRng(Rng):
    """The stream HMAC(secret, label, 0), HMAC(secret, label, 1), …: the same for the same secret and label."""

    def __init__(self, secret: bytes, label: bytes) -> None:
        super().__init__()
        if len(secret) < SECRET:
            raise InputError(f"a device's secret has at least {SECRET} bytes: take device_secret()")
        self._key = hmac.digest(secret, b"tacit memo: " + label, "sha256")
        self._block, self._left = 0, b""

    def read(self, count: int) -> bytes:
        parts, have = [self._left], len(self._left)
        while have < count:
            parts.append(hmac.digest(self._key, self._block.to_bytes(8, "big"), "sha256"))
            self._block, have = self._block + 1, have + BLOCK
        stream = b"".join(parts)
        self._left = stream[count:]
        return stream[:count]


def device_secret() -> bytes:
    """A new secret, to be kept on the device and nowhere else: with it, permanent reports can be undone."""
    return bytes(SecureRng().read(SECRET))


@dataclass(frozen=True)
class Memo:
    """One question on one device. `report` is the permanent report on an answer.

    Guarantee: all reports ever sent on one answer are one report, so together they have the protocol's ε. Answers that
    change have a report each: `loss(answers=d)` is d·ε for d different answers. When the answer changes is not hidden.
    """

    protocol: Protocol
    question: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        KeyedRng(self.secret, b"")  # refuses a short secret

    def report(self, answer: Any) -> bytes:
        place = self.protocol._checked(np.asarray(answer)).item()
        label = b"\0".join([self.question.encode(), self.protocol.kind.encode(), repr(place).encode()])
        report: bytes = self.protocol._one(place, KeyedRng(self.secret, label))
        return report

    def loss(self, *, answers: int = 1) -> Loss:
        """What all reports together cost, if the respondent's answer took so many different values."""
        return whole(answers, "answers", least=1) * self.protocol.loss()


@dataclass(frozen=True)
class MeanMemo:
    """One number that is asked for again and again, and changes: α-point rounding (Ding, Kulkarni and Yekhanin 2017).

    The device keeps its point α for ever and reports on whether its number is above it: a bit, which has two permanent
    reports at most, however often the number moves. The mean over all devices stays unbiased, since the points are
    spread evenly.

    Guarantee: ε while the number stays on one side of α; `loss(crossed=True)`, 2·ε, if it was on both.
    """

    protocol: OneBitMean
    question: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        KeyedRng(self.secret, b"")

    def _source(self, what: str) -> KeyedRng:
        return KeyedRng(self.secret, b"\0".join([self.question.encode(), b"mean", what.encode()]))

    @cached_property
    def _point(self) -> int:
        return below(self.protocol.steps, self._source("point"))

    def report(self, answer: float) -> bytes:
        bit = self._point < self.protocol._checked(np.asarray(answer)).item()
        return bytes([bit if self.protocol._keep.toss(self._source(f"bit {int(bit)}")) else not bit])

    def loss(self, *, crossed: bool = False) -> Loss:
        return (2 if crossed else 1) * self.protocol.loss()
