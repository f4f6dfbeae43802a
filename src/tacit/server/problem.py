"""Every way in which the service says no, as one table: class of error, HTTP status, name, SQLSTATE.

Problems are RFC 9457's `application/problem+json`. What happened before the data was looked at may be told in full;
errors of the ledger and of the service's own database are told in one fixed sentence, since they can hold addresses.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi.responses import JSONResponse

from tacit.base import (
    CorruptLedger,
    Denied,
    EngineError,
    InputError,
    KeyUsed,
    LedgerError,
    Mistake,
    OutcomeUnknown,
    OverBudget,
    PolicyError,
    RandomnessError,
    Refused,
    SourceError,
    TacitError,
)
from tacit.server.ask.datasets import Cancelled, NoDataset
from tacit.server.db import Unavailable

__all__ = ["MEDIA", "TABLE", "ErrorKind", "HttpProblem", "kind_of", "problem_of", "response"]

MEDIA = "application/problem+json"
AGAIN = "ask again with the same Idempotency-Key, which is never charged twice"


class ErrorKind(NamedTuple):
    """How one class of error is told. `text` stands in for the error's own where that is not for everybody."""

    status: int
    name: str
    title: str
    sqlstate: str
    text: str = ""


TABLE: dict[type[TacitError], ErrorKind] = {
    NoDataset: ErrorKind(404, "no-dataset", "There is no such dataset", "3D000"),
    OverBudget: ErrorKind(403, "over-budget", "The budget does not allow it", "53400"),
    Denied: ErrorKind(403, "denied", "The policy does not allow it", "42501"),
    Mistake: ErrorKind(422, "mistake", "The question has a mistake", "42601"),
    Refused: ErrorKind(422, "refused", "This has no private answer", "0A000"),
    PolicyError: ErrorKind(422, "undeclared", "A declaration is missing", "42P17"),
    SourceError: ErrorKind(503, "data", "The data has to be looked at", "57P03"),
    InputError: ErrorKind(422, "input", "An argument is wrong", "22023"),
    Cancelled: ErrorKind(409, "cancelled", "The question was stopped", "57014"),
    EngineError: ErrorKind(500, "engine", "The engine could not answer", "XX000"),
    KeyUsed: ErrorKind(409, "key-used", "This key is another question's", "22023"),
    OutcomeUnknown: ErrorKind(
        503, "outcome-unknown", "Whether it was charged is not known", "08007", f"{AGAIN}: the ledger did not answer"
    ),
    CorruptLedger: ErrorKind(
        503, "ledger-damaged", "The ledger is damaged", "XX001", "nothing is answered until its curator has looked"
    ),
    LedgerError: ErrorKind(
        503, "ledger", "The ledger cannot be used now", "53000", f"{AGAIN}: the ledger cannot take this charge now"
    ),
    Unavailable: ErrorKind(503, "unavailable", "The service cannot do this now", "57P03"),
    RandomnessError: ErrorKind(
        500, "randomness", "There is no randomness to draw from", "XX000", "nothing was released"
    ),
    TacitError: ErrorKind(503, "unavailable", "The service cannot do this now", "57P03"),
}


def kind_of(error: TacitError) -> ErrorKind:
    """The line of the table for an error: the nearest class that has one."""
    return next(TABLE[kind] for kind in type(error).__mro__ if kind in TABLE)


class HttpProblem(TacitError):  # noqa: N818 - RFC 9457's own word
    """A problem of the request itself, which no class of the tree stands for."""

    def __init__(
        self, status: int, name: str, title: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.name, self.title, self.headers = status, name, title, dict(headers or {})


def problem_of(error: TacitError) -> dict[str, Any]:
    """An error as RFC 9457 writes it."""
    if isinstance(error, HttpProblem):
        return _body(error.status, error.name, error.title, str(error))
    kind = kind_of(error)
    return _body(kind.status, kind.name, kind.title, kind.text or str(error))


def _body(status: int, name: str, title: str, detail: str) -> dict[str, Any]:
    return {"type": f"urn:tacit:problem:{name}", "title": title, "status": status, "detail": detail}


def response(error: TacitError, *, key: str | None = None) -> JSONResponse:
    """The same as a response; `key` names the charge that may have been made."""
    body = {**problem_of(error), **({} if key is None else {"key": key})}
    headers = dict(error.headers) if isinstance(error, HttpProblem) else {}
    if body["status"] == 503:
        headers.setdefault("Retry-After", "2")
    return JSONResponse(body, status_code=body["status"], media_type=MEDIA, headers=headers)
