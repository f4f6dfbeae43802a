"""A respondent's device in Python: answers go in, a submission comes out, and the same one ever after.

What a browser does with `tacit-survey.js`, for programs: telemetry, field devices, tests.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tacit.base import InputError
from tacit.noise import rng_or_default
from tacit.survey.survey import Survey

__all__ = ["Device", "Submission"]

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
        made = Submission(
            survey=self.survey.name,
            version=self.survey.version,
            id=bytes(source.read(NAME)),
            reports=MappingProxyType(
                {name: self.survey.protocols[name].sample(value, source) for name, value in values.items()}
            ),
        )
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
