"""The collector: many submissions become one transaction, and nobody is thanked before it is on disk.

Requests put what was sent on a heap and wait. One thread takes the whole heap, writes it, and wakes them all; meanwhile
the next heap grows. So the disk is waited for once for many, and a heap has no order that is worth knowing.
"""

import asyncio
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from tacit.base import InputError, TacitError
from tacit.server.db import Unavailable
from tacit.server.problem import HttpProblem
from tacit.server.survey.invited import Refusal
from tacit.server.survey.store import Delivery, ReportStore
from tacit.survey.invitation import BITS, Invitations, code_digest
from tacit.survey.protocol import Protocol
from tacit.survey.survey import Survey

__all__ = [
    "EXCHANGE",
    "SCHEMA",
    "Collector",
    "Genuine",
    "delivery_of",
    "exchange_of",
    "impossible",
    "uninvited",
    "used_up",
]

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
    """A body as a delivery, or a `HttpProblem`. Whether a device can have made its reports is asked of many at once."""
    asks = survey.invitations is not Invitations.NONE
    found = _object(body, {"id", "version", "reports"}, {"invitation"} if asks else set())
    name, reports = found["id"], found["reports"]
    if not isinstance(name, str) or not ID.fullmatch(name):
        raise _malformed("id is 32 hexadecimal digits")
    if found["version"] != survey.version:
        raise HttpProblem(
            409, "version", "The survey has changed", "load the survey again: its questions are others now"
        )
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


def uninvited() -> HttpProblem:
    return HttpProblem(
        403,
        "not-invited",
        "This survey is by invitation",
        "there is no such invitation code: open the link that you were sent, or type the code as it stands there",
    )


def used_up() -> HttpProblem:
    return HttpProblem(
        403, "invitation-used", "This invitation was used", "somebody has answered with this code, and it works once"
    )


def _report(survey: Survey, question: str, text: Any) -> bytes:
    size = survey.sizes[question]
    if not isinstance(text, str) or len(text) != 2 * size or not HEX.fullmatch(text):
        raise _malformed(f"the report on {question} is {2 * size} hexadecimal digits")
    return bytes.fromhex(text)


def impossible(survey: Survey, deliveries: Sequence[Delivery]) -> dict[int, HttpProblem]:
    """Which of these hold a report that no device can make. All are looked at together, since that is much faster."""
    found: dict[int, HttpProblem] = {}
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


def _malformed(detail: str) -> HttpProblem:
    return HttpProblem(422, "report", "This is no report of the survey", detail)


LARGEST = 4096  # of a heap that is written at once
MOST = 50_000  # that may wait


@dataclass(frozen=True)
class _Waiting:
    survey: Survey
    delivery: Delivery
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[bool | Refusal]"


class Collector:
    """Takes submissions for a store. `close` writes what is waiting."""

    def __init__(self, store: ReportStore) -> None:
        self.store = store
        self._heap: list[_Waiting] = []
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="tacit-collector", daemon=True)
        self._thread.start()

    async def submit(self, survey: Survey, delivery: Delivery) -> bool | Refusal:
        """Wait until this is on disk; whether it was new, or why it is not admitted."""
        loop = asyncio.get_running_loop()
        sent = _Waiting(survey, delivery, loop, loop.create_future())
        with self._wake:
            if self._closed:
                raise Unavailable("the service is ending: send the same again later")
            if len(self._heap) >= MOST:
                raise HttpProblem(
                    503, "busy", "Too many at once", "send the same again in a few seconds", {"Retry-After": "5"}
                )
            self._heap.append(sent)
            self._wake.notify()
        return await sent.done

    def close(self) -> None:
        """Write what is waiting, and end."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._heap or self._closed)
                heap, self._heap = self._heap[:LARGEST], self._heap[LARGEST:]
            if not heap:
                return
            by_survey: dict[str, list[_Waiting]] = defaultdict(list)
            for sent in heap:
                by_survey[sent.survey.name].append(sent)
            for some in by_survey.values():
                self._write(some)

    def _write(self, some: list[_Waiting]) -> None:
        survey = some[0].survey
        bad = impossible(survey, [sent.delivery for sent in some])
        for place, problem in bad.items():
            _tell([some[place]], problem)
        some = [sent for place, sent in enumerate(some) if place not in bad]
        try:
            new = self.store.add(survey, [sent.delivery for sent in some])
        except TacitError as error:
            _tell(some, error)
        except Exception:
            # whatever it is, those who wait are told that nothing was kept
            _tell(some, Unavailable("the store of reports failed: send the same again later"))
        else:
            _tell(some, new)


def _tell(some: list[_Waiting], outcome: list[bool | Refusal] | TacitError) -> None:
    """Wake each loop once for all of its waiters."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Waiting, bool | Refusal | TacitError]]] = defaultdict(list)
    for place, sent in enumerate(some):
        by_loop[sent.loop].append((sent, outcome if isinstance(outcome, TacitError) else outcome[place]))
    for loop, told in by_loop.items():
        with suppress(RuntimeError):  # that loop has ended, and nobody waits any more
            loop.call_soon_threadsafe(_wake, told)


def _wake(told: list[tuple[_Waiting, bool | Refusal | TacitError]]) -> None:
    for sent, result in told:
        if sent.done.done():
            continue  # the caller went away; the report stays
        if isinstance(result, TacitError):
            sent.done.set_exception(result)
        else:
            sent.done.set_result(result)
