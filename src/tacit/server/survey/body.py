"""What a device sends, read strictly: its name, the version it answered, and one report on every question."""

import json
import re
from collections.abc import Sequence
from typing import Any

from tacit.base import InputError
from tacit.server.collect_store import Delivery
from tacit.server.problem import Problem
from tacit.survey.protocol import Protocol
from tacit.survey.survey import Survey

__all__ = ["SCHEMA", "delivery_of", "impossible"]

ID = re.compile(r"[0-9a-f]{32}")
HEX = re.compile(r"(?:[0-9a-f]{2})+")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "version", "reports"],
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Drawn at random by the device, once."},
        "version": {"type": "string", "description": "`version` of the terms that were answered."},
        "reports": {
            "type": "object",
            "description": "For each question by name, the bytes of its report in hexadecimal digits.",
            "additionalProperties": {"type": "string", "pattern": "^([0-9a-f]{2})+$"},
        },
    },
    "example": {"id": "00112233445566778899aabbccddeeff", "version": "5f2c…", "reports": {"slept": "01"}},
}


def delivery_of(survey: Survey, body: bytes) -> Delivery:
    """A body as a delivery, or a `Problem`. Whether a device can have made its reports is asked of many at once."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise _malformed("the body is not JSON") from None
    if not isinstance(found, dict) or found.keys() != {"id", "version", "reports"}:
        raise _malformed("the body is an object with id, version and reports, and nothing else")
    name, reports = found["id"], found["reports"]
    if not isinstance(name, str) or not ID.fullmatch(name):
        raise _malformed("id is 32 hexadecimal digits")
    if found["version"] != survey.version:
        raise Problem(409, "version", "The survey has changed", "load the survey again: its questions are others now")
    if not isinstance(reports, dict) or reports.keys() != survey.questions.keys():
        raise _malformed("reports has one entry for each question, and no other")
    return Delivery(bytes.fromhex(name), {name: _report(survey, name, reports[name]) for name in survey.questions})


def _report(survey: Survey, question: str, text: Any) -> bytes:
    size = survey.sizes[question]
    if not isinstance(text, str) or len(text) != 2 * size or not HEX.fullmatch(text):
        raise _malformed(f"the report on {question} is {2 * size} hexadecimal digits")
    return bytes.fromhex(text)


def impossible(survey: Survey, deliveries: Sequence[Delivery]) -> dict[int, Problem]:
    """Which of these hold a report that no device can make. All are looked at together, since that is much faster."""
    found: dict[int, Problem] = {}
    for question, protocol in survey.protocols.items():
        if _readable(protocol, b"".join(each.reports[question] for each in deliveries)):
            continue
        for place, each in enumerate(deliveries):
            if not _readable(protocol, each.reports[question]):
                found[place] = _malformed(f"the report on {question} is none that a device can make")
    return found


def _readable(protocol: Protocol, data: bytes) -> bool:
    try:
        protocol.read(data)
    except InputError:
        return False
    return True


def _malformed(detail: str) -> Problem:
    return Problem(422, "report", "This is no report of the survey", detail)
