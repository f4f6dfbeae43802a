"""What a device sends, read strictly: its name, the version it answered, and one report on every question."""

import json
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from tacit.base import InputError
from tacit.server.collect_store import Delivery
from tacit.server.problem import Problem
from tacit.survey.blind import BITS
from tacit.survey.invitation import Invitations, code_digest
from tacit.survey.protocol import Protocol
from tacit.survey.survey import Survey

__all__ = ["EXCHANGE", "SCHEMA", "Genuine", "delivery_of", "exchange_of", "impossible", "uninvited", "used_up"]

ID = re.compile(r"[0-9a-f]{32}")
HEX = re.compile(r"(?:[0-9a-f]{2})+")
MESSAGE, SIGNATURE = 64, BITS // 4  # hexadecimal digits
TOKEN = re.compile(rf"[0-9a-f]{{{MESSAGE + SIGNATURE}}}")
HIDDEN = re.compile(rf"[0-9a-f]{{{SIGNATURE}}}")
Genuine = Callable[[bytes, bytes], bool]
"""Whether a message has this signature of the survey's."""
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
        "invitation": {
            "type": "string",
            "description": "Only for a survey by invitation: the code, or the token it was exchanged for.",
        },
    },
    "example": {"id": "00112233445566778899aabbccddeeff", "version": "5f2c…", "reports": {"slept": "01"}},
}

EXCHANGE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["code", "hidden"],
    "properties": {
        "code": {"type": "string", "description": "An invitation code."},
        "hidden": {
            "type": "string",
            "pattern": f"^[0-9a-f]{{{SIGNATURE}}}$",
            "description": "A message of the device's, hidden as RFC 9474 says.",
        },
    },
}


def delivery_of(survey: Survey, body: bytes, genuine: Genuine) -> Delivery:
    """A body as a delivery, or a `Problem`. Whether a device can have made its reports is asked of many at once."""
    asks = survey.invitations is not Invitations.NONE
    found = _object(body, {"id", "version", "reports"}, {"invitation"} if asks else set())
    name, reports = found["id"], found["reports"]
    if not isinstance(name, str) or not ID.fullmatch(name):
        raise _malformed("id is 32 hexadecimal digits")
    if found["version"] != survey.version:
        raise Problem(409, "version", "The survey has changed", "load the survey again: its questions are others now")
    if not isinstance(reports, dict) or reports.keys() != survey.questions.keys():
        raise _malformed("reports has one entry for each question, and no other")
    admits = _admitting(survey, found.get("invitation"), genuine) if asks else None
    return Delivery(
        bytes.fromhex(name), {name: _report(survey, name, reports[name]) for name in survey.questions}, admits
    )


def _object(body: bytes, names: set[str], may: set[str] | None = None) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise _malformed("the body is not JSON") from None
    if not isinstance(found, dict) or not names <= found.keys() <= names | (may or set()):
        listed = sorted(names | (may or set()), key=["id", "version", "reports", "invitation", "code", "hidden"].index)
        raise _malformed(f"the body is an object with {', '.join(listed[:-1])} and {listed[-1]}, and nothing else")
    return found


def _admitting(survey: Survey, text: Any, genuine: Genuine) -> bytes:
    """The digest of what admits a report; whether it was used is for the store to say."""
    if survey.invitations is Invitations.TOKEN:
        if not isinstance(text, str) or not TOKEN.fullmatch(text):
            raise uninvited()
        message = bytes.fromhex(text[:MESSAGE])
        if not genuine(message, bytes.fromhex(text[MESSAGE:])):
            raise uninvited()
        return sha256(message).digest()
    return _code(survey, text)


def _code(survey: Survey, text: Any) -> bytes:
    digest = code_digest(survey.name, text) if isinstance(text, str) else None
    if digest is None:
        raise uninvited()
    return digest


def exchange_of(survey: Survey, body: bytes) -> tuple[bytes, str]:
    """What asks for a token: the digest of a code, and the hidden form to be signed."""
    found = _object(body, {"code", "hidden"})
    if not isinstance(found["hidden"], str) or not HIDDEN.fullmatch(found["hidden"]):
        raise _malformed(f"hidden is {SIGNATURE} hexadecimal digits")
    return _code(survey, found["code"]), found["hidden"]


def uninvited() -> Problem:
    return Problem(
        403,
        "not-invited",
        "This survey is by invitation",
        "there is no such invitation code: open the link that you were sent, or type the code as it stands there",
    )


def used_up() -> Problem:
    return Problem(
        403, "invitation-used", "This invitation was used", "somebody has answered with this code, and it works once"
    )


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
