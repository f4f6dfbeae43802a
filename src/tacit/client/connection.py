"""A desk that is somewhere else: `tacit.connect(url, token)` asks a service as a session asks its own engine.

The service charges before it looks. A question whose answer is lost on the way may have been paid for, so each one
has a key that names its charge, and is sent again under the same one.
"""

import re
import threading
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import sleep
from typing import Any, Self, Unpack
from urllib.parse import quote as quoted

from tacit.base import Denied, InputError, OutcomeUnknown
from tacit.base.former import former_names
from tacit.client.door import ARROW, Address, HttpDoor, Lost, Reply, Unreachable
from tacit.client.read import ServiceProblem, certificate_of, plain, question_of, quote_of, read, release_of
from tacit.desk.certificate.certificate import Certificate
from tacit.loss import Cost
from tacit.noise import rng_or_default
from tacit.session import Quote, TableRelease
from tacit.sql.offer import OfferTerms

__all__ = ["Connection", "connect"]

TIMEOUT = 120.0
PAUSE = 0.5  # seconds before the second try
KEY = re.compile(r"[\x21-\x7e]{1,200}")


class Connection:
    """One dataset of a service, for whoever the token is of. Thread safe; nothing is open between two questions.

    `quote`, `ask` and `left` are a session's. Errors are the same too; beside them `Unreachable` (nothing was sent) and
    `OutcomeUnknown` (sent twice and no answer: ask again, here or with the key that it names, and nothing is paid
    twice).
    """

    def __init__(self, door: HttpDoor, dataset: str | None = None) -> None:
        self._door = door
        self._lock, self._keys = threading.Lock(), dict[bytes, str]()
        self.analyst: str = read(lambda reply: str(plain(reply)["name"]), self._free("GET", "/v1/me"))
        self.dataset = self._chosen(dataset)
        self._path = f"/v1/datasets/{quoted(self.dataset, safe='')}"

    def _chosen(self, dataset: str | None) -> str:
        """The dataset that was named, or the only one there is."""
        reply = self._free("GET", "/v1/datasets")
        names = read(lambda reply: [str(item["name"]) for item in plain(reply)["items"]], reply)
        listed = ", ".join(names) or "none"
        if dataset is None and len(names) != 1:
            raise InputError(f"say which dataset, as dataset=…: there is not exactly one for you, but {listed}")
        if dataset is not None and dataset not in names:
            raise Denied(f'there is no dataset "{dataset}" that you may ask: those you may are {listed}')
        return names[0] if dataset is None else dataset

    def close(self) -> None:
        """Nothing to do: it is here so that a connection can stand where a session does."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Connection({str(self._door.address)!r}, {self.dataset!r}, analyst={self.analyst!r})"

    # --- what is free

    def quote(self, sql: Any, **terms: Unpack[OfferTerms]) -> Quote:
        """What `ask` with the same arguments would cost, the error to expect, and what would be left. Free."""
        return read(quote_of, self._free("POST", f"{self._path}/quote", question_of(sql, **terms)))

    def left(self) -> Cost:
        """What this analyst may still spend: the least that any limit leaves."""
        found = self.budget()["left"]
        if found is None:
            raise Denied(f'analyst "{self.analyst}" may spend nothing of "{self.dataset}"')
        return Cost.from_json(found)

    def budget(self) -> dict[str, Any]:
        """What was spent and what is left under every limit that binds, as plain data with exact decimals as text."""
        return read(_budget, self._free("GET", f"{self._path}/budget"))

    def certificate(self, release: TableRelease) -> Certificate:
        """How an answer of this service was made and what it promises, signed by the service."""
        if not release.name:
            raise InputError("this release has no name that a service gave it: take one that came from `ask` here")
        path = f"/v1/releases/{quoted(release.name, safe='')}/certificate"
        return read(certificate_of, self._free("GET", path))

    def _free(self, method: str, path: str, body: bytes | None = None) -> Reply:
        """A request that costs nothing, so that it may be sent again without a key."""
        try:
            reply = self._sent(method, path, body=body)
        except Lost:
            sleep(PAUSE)
            reply = self._sent(method, path, body=body)
        problem = self._problem(reply)
        if problem is not None:
            raise problem.error()
        return reply

    def _sent(self, method: str, path: str, **more: Any) -> Reply:
        """An answer or a refusal; `Lost` if it is neither, as from a gateway whose service is gone."""
        reply = self._door.call(method, path, **more)
        if reply.status != 200 and ServiceProblem.read(reply) is None:
            raise Lost(f"{self._door.address} answered {reply.status}, and not as a tacit service does")
        return reply

    def _problem(self, reply: Reply) -> ServiceProblem | None:
        """A refusal, without the token if the other side wrote it in."""
        found = ServiceProblem.read(reply)
        return None if found is None else replace(found, detail=self._door.hidden(found.detail))

    # --- what is paid for

    @former_names(key="idempotency_key")
    def ask(self, sql: Any, *, idempotency_key: str | None = None, **terms: Unpack[OfferTerms]) -> TableRelease:
        """The answer, after it is paid for. The same question about the same data again is free.

        `idempotency_key` names the charge: the same key never pays twice. Left out it is a new one for each question;
        one that is on its way, or was never answered, keeps the key that it has.
        """
        body = question_of(sql, **terms)
        if idempotency_key is not None and not KEY.fullmatch(idempotency_key):
            raise InputError("idempotency_key must be 1 to 200 signs, without spaces, of ASCII")
        name = self._named(body) if idempotency_key is None else idempotency_key
        reply, lost = self._paid(body, name)
        problem = self._problem(reply)
        if problem is None:
            try:
                found = read(release_of, reply)
            except Lost as unread:
                raise _unknown(name, str(unread)) from None
            self._forget(body, name)
            return found
        if problem.spent:
            self._forget(body, name)
        elif lost or problem.open:
            before = "an earlier try was lost on the way: " if lost else ""
            raise problem.error(f"{before}ask again with idempotency_key={name!r}, which never pays twice")
        raise problem.error()

    def _paid(self, body: bytes, key: str) -> tuple[Reply, bool]:
        """An answer or a refusal, and whether a try before it was lost."""
        path, lost = f"{self._path}/ask", False
        for last in (False, True):
            try:
                return self._sent("POST", path, accept=ARROW, body=body, key=key), lost
            except Unreachable:
                if not lost:
                    raise
            except Lost:
                lost = True
            if not last:
                sleep(PAUSE)
        raise _unknown(key, f"{self._door.address} was sent this twice, and no answer came back")

    def _named(self, body: bytes) -> str:
        """The key of a question: the one under which it is on its way or was never answered, or a new one."""
        fresh = bytes(rng_or_default(None).read(16)).hex()
        with self._lock:
            return self._keys.setdefault(sha256(body).digest(), fresh)

    def _forget(self, body: bytes, key: str) -> None:
        """Asked again, this question is a new one: what the key stands for has its end."""
        question = sha256(body).digest()
        with self._lock:
            if self._keys.get(question) == key:
                del self._keys[question]


def _unknown(key: str, why: str) -> OutcomeUnknown:
    again = f"ask again with idempotency_key={key!r}, which never pays twice"
    return OutcomeUnknown(f"whether it was charged is not known: {why}; {again}")


def _budget(reply: Reply) -> dict[str, Any]:
    found = plain(reply)
    if found["left"] is not None:
        Cost.from_json(found["left"])
    return found


def connect(
    url: str,
    token: str,
    *,
    dataset: str | None = None,
    timeout: float = TIMEOUT,
    authority: Path | str | None = None,
    insecure: bool = False,
) -> Connection:
    """A dataset of the service at `url`, for whoever `token` is of; without a name, the only one there is.

    TLS certificates are always checked, against the system's authorities or the PEM file `authority`. Plain http is for
    this machine alone, unless `insecure`. `timeout` is how many seconds of silence are waited through.
    """
    address = Address.read(url, insecure=insecure)
    return Connection(HttpDoor(address, token, timeout=timeout, authority=authority), dataset)
