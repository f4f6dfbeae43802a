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
from tacit.server.survey.store import Delivery, Refusal, ReportStore
from tacit.survey.invitation import BITS, Invitations, code_digest
from tacit.survey.protocol import Protocol
from tacit.survey.survey import Survey

__all__ = ["EXCHANGE", "SCHEMA", "Collector", "delivery_of", "exchange_of", "refused"]

ID = re.compile(r"[0-9a-f]{32}")
HEX = re.compile(r"(?:[0-9a-f]{2})+")
MESSAGE, SIGNATURE = 32, BITS // 4  # bytes; hexadecimal digits
TOKEN = re.compile(rf"[0-9a-f]{{{2 * MESSAGE + SIGNATURE}}}")
HIDDEN = re.compile(rf"[0-9a-f]{{{SIGNATURE}}}")
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


def delivery_of(survey: Survey, body: bytes, genuine: Callable[[bytes, bytes], bool] | None) -> Delivery:
    """A body as a delivery, or a `HttpProblem`. Whether a device can have made its reports is asked of many at once.

    `genuine` says whether a message has this signature of the survey's, where it has tokens.
    """
    asks = survey.invitations is not Invitations.NONE
    found = _object(body, ["id", "version", "reports"], ["invitation"] if asks else [])
    name, reports = found["id"], found["reports"]
    if not isinstance(name, str) or not ID.fullmatch(name):
        raise _malformed("id is 32 hexadecimal digits")
    if found["version"] != survey.version:
        detail = "load the survey again: its questions are others now"
        raise HttpProblem(409, "version", "The survey has changed", detail)
    if not isinstance(reports, dict) or reports.keys() != survey.questions.keys():
        raise _malformed("reports has one entry for each question, and no other")
    for question, size in survey.sizes.items():
        text = reports[question]
        if not isinstance(text, str) or len(text) != 2 * size or not HEX.fullmatch(text):
            raise _malformed(f"the report on {question} is {2 * size} hexadecimal digits")
    admits, text = None, found.get("invitation")
    if asks and survey.invitations is not Invitations.TOKEN:
        admits = _code(survey, text)
    elif asks:
        token = bytes.fromhex(text) if isinstance(text, str) and TOKEN.fullmatch(text) else b""
        if not token or genuine is None or not genuine(token[:MESSAGE], token[MESSAGE:]):
            raise refused(Refusal.UNKNOWN)
        admits = sha256(token[:MESSAGE]).digest()
    return Delivery(bytes.fromhex(name), {each: bytes.fromhex(reports[each]) for each in survey.questions}, admits)


def _object(body: bytes, names: list[str], may: list[str]) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise _malformed("the body is not JSON") from None
    if not isinstance(found, dict) or not {*names} <= found.keys() <= {*names, *may}:
        *first, last = *names, *may
        raise _malformed(f"the body is an object with {', '.join(first)} and {last}, and nothing else")
    return found


def _code(survey: Survey, text: Any) -> bytes:
    """The digest of a code; whether it is known and unused is for the store to say."""
    digest = code_digest(survey.name, text) if isinstance(text, str) else None
    if digest is None:
        raise refused(Refusal.UNKNOWN)
    return digest


def exchange_of(survey: Survey, body: bytes) -> tuple[bytes, str]:
    """What asks for a token: the digest of a code, and the hidden form to be signed."""
    found = _object(body, ["code", "hidden"], [])
    if not isinstance(found["hidden"], str) or not HIDDEN.fullmatch(found["hidden"]):
        raise _malformed(f"hidden is {SIGNATURE} hexadecimal digits")
    return _code(survey, found["code"]), found["hidden"]


UNINVITED = "there is no such invitation code: open the link that you were sent, or type the code as it stands there"
USED_UP = "somebody has answered with this code, and it works once"


def refused(why: Refusal) -> HttpProblem:
    """What somebody is told whose invitation does not admit them."""
    if why is Refusal.USED:
        return HttpProblem(403, "invitation-used", "This invitation was used", USED_UP)
    return HttpProblem(403, "not-invited", "This survey is by invitation", UNINVITED)


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


Outcome = bool | Refusal | TacitError
"""Whether a submission was new, or why it is not admitted, or what went wrong."""
LARGEST = 4096  # of a heap that is written at once
MOST = 50_000  # that may wait


@dataclass(frozen=True)
class _Waiting:
    survey: Survey
    delivery: Delivery
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
        sent = _Waiting(survey, delivery, asyncio.get_running_loop().create_future())
        with self._wake:
            if self._closed:
                raise Unavailable("the service is ending: send the same again later")
            if len(self._heap) >= MOST:
                detail = "send the same again in a few seconds"
                raise HttpProblem(503, "busy", "Too many at once", detail, {"Retry-After": "5"})
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
        """Write what is of one survey, and tell whoever waits. Nothing that goes wrong ends the thread."""
        survey, deliveries = some[0].survey, [sent.delivery for sent in some]
        outcomes: list[Outcome]
        try:
            wrong = impossible(survey, deliveries)
            good = [place for place in range(len(some)) if place not in wrong]
            added = dict(zip(good, self.store.add(survey, [deliveries[place] for place in good]), strict=True))
            outcomes = [wrong[place] if place in wrong else added[place] for place in range(len(some))]
        except TacitError as error:
            outcomes = [error] * len(some)
        except Exception:
            outcomes = [Unavailable("the store of reports failed: send the same again later")] * len(some)
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Waiting, Outcome]]] = defaultdict(list)
        for sent, outcome in zip(some, outcomes, strict=True):
            by_loop[sent.done.get_loop()].append((sent, outcome))
        for loop, told in by_loop.items():  # each loop is woken once for all of its waiters
            with suppress(RuntimeError):  # that loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(_wake, told)


def _wake(told: list[tuple[_Waiting, Outcome]]) -> None:
    for sent, result in told:
        if sent.done.done():
            continue  # the caller went away; the report stays
        if isinstance(result, TacitError):
            sent.done.set_exception(result)
        else:
            sent.done.set_result(result)
