"""A respondent's device in Python: answers go in, a submission comes out, and the same one ever after.

What a browser does with `tacit-survey.js`, for programs: telemetry, field devices, tests.
"""

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tacit.base import InputError, cached_property, whole
from tacit.loss import Loss
from tacit.mechanism import mechanism_to_json
from tacit.noise import Rng, SecureRng, rng_or_default
from tacit.survey.coin import below
from tacit.survey.mean import OneBitMean
from tacit.survey.protocol import Protocol
from tacit.survey.survey import Survey

__all__ = ["Device", "KeyedRng", "MeanMemo", "Memo", "Submission", "device_secret"]

NAME = 16


@dataclass(frozen=True)
class Submission:
    """All that leaves a device: a random name, so that it is counted once, and a report on every question."""

    survey: str
    version: str
    id: bytes
    reports: Mapping[str, bytes]

    def json(self, *, invitation: str | None = None) -> str:
        """The body of `POST /v1/surveys/NAME/reports`; with the code or token that admits it, if one is needed."""
        reports = {name: report.hex() for name, report in self.reports.items()}
        admits = {} if invitation is None else {"invitation": invitation}
        return json.dumps({"id": self.id.hex(), "version": self.version, "reports": reports, **admits})


class Device:
    """One respondent of one survey.

    The first answers are randomised; from then on the device repeats that submission, whatever it is asked. Reports
    drawn anew from the same answer would give it away little by little. `memory` is where it is kept: a mapping that
    outlives the program, if the device does.
    """

    def __init__(self, survey: Survey, *, memory: dict[str, str] | None = None) -> None:
        self.survey = survey
        self._memory: dict[str, str] = {} if memory is None else memory

    def answer(self, answers: Mapping[str, Any]) -> Submission:
        """The submission on these answers, or the one that was made before. All questions have to be answered."""
        kept = self._memory.get(self.survey.name)
        if kept is not None:
            return self._again(kept)
        strange = set(answers) ^ set(self.survey.questions)
        if strange:
            raise InputError(f'answer every question and no other: "{min(strange)}" is missing or is none of them')
        values = {name: question.encoded(answers[name]) for name, question in self.survey.questions.items()}
        source = rng_or_default(None)
        reports = {name: self.survey.protocols[name].sample(value, source) for name, value in values.items()}
        name = bytes(source.read(NAME))
        made = Submission(self.survey.name, self.survey.version, name, MappingProxyType(reports))
        self._memory[self.survey.name] = made.json()
        return made

    def _again(self, kept: str) -> Submission:
        found = json.loads(kept)
        if found["version"] != self.survey.version:
            raise InputError(
                f'this device answered other questions under the name "{self.survey.name}", and answers once'
            )
        reports = {name: bytes.fromhex(report) for name, report in found["reports"].items()}
        return Submission(self.survey.name, found["version"], bytes.fromhex(found["id"]), MappingProxyType(reports))


SECRET = 32


class KeyedRng(Rng):
    """The stream HMAC(secret, label, 0), HMAC(secret, label, 1), …: the same for the same secret and label."""

    def __init__(self, secret: bytes, label: bytes) -> None:
        super().__init__()
        if len(secret) < SECRET:
            raise InputError(f"a device's secret has at least {SECRET} bytes: take device_secret()")
        self._key = hmac.digest(secret, b"tacit memo: " + label, "sha256")
        self._block, self._left = 0, b""

    @classmethod
    def of(cls, secret: bytes, protocol: Protocol, *parts: str) -> "KeyedRng":
        """The coins of one protocol with these parameters: the same coins under another ε would tell more than both."""
        stored = json.dumps(mechanism_to_json(protocol), sort_keys=True, separators=(",", ":"))
        return cls(secret, json.dumps([stored, *parts]).encode())

    def read(self, count: int) -> bytes:
        while len(self._left) < count:
            self._left += hmac.digest(self._key, self._block.to_bytes(8, "big"), "sha256")
            self._block += 1
        stream, self._left = self._left[:count], self._left[count:]
        return stream


def device_secret() -> bytes:
    """A new secret, to be kept on the device and nowhere else: with it, permanent reports can be undone."""
    return bytes(SecureRng().read(SECRET))


@dataclass(frozen=True)
class Memo:
    """One question on one device. `report` is the permanent report on an answer.

    Guarantee: all reports ever sent on one answer are one report, so together they have the protocol's ε. Answers that
    change have a report each: `loss(answers=d)` is d·ε for d different answers. When the answer changes is not hidden.

    The coins follow from secret, protocol with its parameters, question and answer. So a question that is asked again
    with another ε has coins of its own, and the two reports cost their ε together.
    """

    protocol: Protocol
    question: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        KeyedRng(self.secret, b"")  # refuses a short secret

    def report(self, answer: Any) -> bytes:
        place = self.protocol._answer(answer)
        coins = KeyedRng.of(self.secret, self.protocol, self.question, repr(place))
        report: bytes = self.protocol._one(place, coins)
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
        return KeyedRng.of(self.secret, self.protocol, self.question, "mean", what)

    @cached_property
    def _point(self) -> int:
        return below(self.protocol.steps, self._source("point"))

    def report(self, answer: float) -> bytes:
        bit = int(self._point < self.protocol._answer(answer))
        return bytes([self.protocol._coin.told(bit, self._source(f"bit {bit}"))])

    def loss(self, *, crossed: bool = False) -> Loss:
        return (2 if crossed else 1) * self.protocol.loss()
