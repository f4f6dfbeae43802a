"""Every way in which the service says no, as one table: class of error, HTTP status, name, SQLSTATE.

Problems are RFC 9457's `application/problem+json`. What happened before the data was looked at may be told in full;
errors of the ledger and of the service's own database are told in one fixed sentence, since they can hold addresses.
PostgreSQL's clients get a SQLSTATE, a sentence, and a hint.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi.responses import JSONResponse

from tacit import base
from tacit.base import TacitError
from tacit.server.ask.datasets import Cancelled, NoDataset
from tacit.server.db import Unavailable

__all__ = [
    "FAULT",
    "MEDIA",
    "Fault",
    "HttpProblem",
    "fault_of",
    "keyed",
    "kind_of",
    "named_charge",
    "problem_of",
    "response",
]

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
    base.OverBudget: ErrorKind(403, "over-budget", "The budget does not allow it", "53400"),
    base.Denied: ErrorKind(403, "denied", "The policy does not allow it", "42501"),
    base.Mistake: ErrorKind(422, "mistake", "The question has a mistake", "42601"),
    base.Unpriced: ErrorKind(422, "unpriced", "The question has no price yet", "22023"),
    base.Refused: ErrorKind(422, "refused", "This has no private answer", "0A000"),
    base.PolicyError: ErrorKind(422, "undeclared", "A declaration is missing", "42P17"),
    base.SettingsError: ErrorKind(422, "settings", "The settings are wrong", "22023"),
    base.SourceError: ErrorKind(503, "data", "The data has to be looked at", "57P03"),
    base.InputError: ErrorKind(422, "input", "An argument is wrong", "22023"),
    Cancelled: ErrorKind(409, "cancelled", "The question was stopped", "57014"),
    base.EngineError: ErrorKind(500, "engine", "The engine could not answer", "XX000"),
    base.KeyUsed: ErrorKind(409, "key-used", "This key is another question's", "22023"),
    base.OutcomeUnknown: ErrorKind(
        503, "outcome-unknown", "Whether it was charged is not known", "08007", f"{AGAIN}: the ledger did not answer"
    ),
    base.CorruptLedger: ErrorKind(
        503, "ledger-damaged", "The ledger is damaged", "XX001", "nothing is answered until its curator has looked"
    ),
    base.LedgerError: ErrorKind(
        503, "ledger", "The ledger cannot be used now", "53000", f"{AGAIN}: the ledger cannot take this charge now"
    ),
    Unavailable: ErrorKind(503, "unavailable", "The service cannot do this now", "57P03"),
    base.RandomnessError: ErrorKind(
        500, "randomness", "There is no randomness to draw from", "XX000", "nothing was released"
    ),
    TacitError: ErrorKind(503, "unavailable", "The service cannot do this now", "57P03"),
}


def kind_of(error: TacitError) -> ErrorKind:
    """The line of the table for an error: the nearest class that has one."""
    return next(TABLE[kind] for kind in type(error).__mro__ if kind in TABLE)


class HttpProblem(TacitError):  # noqa: N818 - RFC 9457's own word
    """A problem of the request itself, which no class of the tree stands for."""

    text = ""

    def __init__(
        self, status: int, name: str, title: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.name, self.title, self.headers = status, name, title, dict(headers or {})


FAULT = HttpProblem(500, "internal", "The service failed", f"{AGAIN}: this is a fault of the service")


def problem_of(error: TacitError) -> dict[str, Any]:
    """An error as RFC 9457 writes it; of a question that is refused `refusal` says whether it is a danger, and of wrong
    settings `problems` name each key."""
    kind = error if isinstance(error, HttpProblem) else kind_of(error)
    found = {"type": f"urn:tacit:problem:{kind.name}", "title": kind.title, "status": kind.status}
    more: dict[str, Any] = {"refusal": error.kind.value} if isinstance(error, base.Refused) else {}
    if type(error) is base.SettingsError:
        more["problems"] = [
            {"path": list(each.path), "text": each.text, "short": each.short} for each in error.problems
        ]
    if type(error) is base.Refused:
        found["title"] = error.kind.words[:1].upper() + error.kind.words[1:]
    return {**found, "detail": kind.text or str(error), **more}


def named_charge(key: str) -> dict[str, str]:
    """The idempotency key of a charge, in what is answered; clients may know it by its former name."""
    return {"idempotency_key": key, "key": key}


def response(error: TacitError, *, key: str | None = None) -> JSONResponse:
    """The same as a response; `key` names the charge that may have been made."""
    body = {**problem_of(error), **({} if key is None else named_charge(key))}
    headers = dict(error.headers) if isinstance(error, HttpProblem) else {}
    if body["status"] == 503:
        headers.setdefault("Retry-After", "2")
    return JSONResponse(body, status_code=body["status"], media_type=MEDIA, headers=headers)


# --- as PostgreSQL's clients understand it


class Fault(Exception):  # noqa: N818 - the tree of our own errors is another one
    """An ErrorResponse. `fatal` ends the connection; `status` is how HTTP would say it, for the metrics; `detail` is
    its second line."""

    def __init__(
        self, state: str, message: str, hint: str = "", *, fatal: bool = False, status: int = 400, detail: str = ""
    ) -> None:
        super().__init__(message)
        self.state, self.message, self.hint, self.fatal, self.status = state, message, hint, fatal, status
        self.detail = detail


STATES = {
    base.RefusalKind.DANGER: "42501",  # insufficient privilege: nobody has it
    base.RefusalKind.DECLARATION: "42P17",
    base.RefusalKind.LIMIT: "54000",
    base.RefusalKind.MISTAKE: "42601",
    base.RefusalKind.OFFER: "22023",
}
"""The SQLSTATE of a refusal that is more than 0A000, a feature that is missing."""

HINTS: dict[type[TacitError], str] = {
    base.OverBudget: "nothing was charged; SHOW tacit.budget says what is left, and EXPLAIN what a question costs",
    base.PolicyError: "nothing was charged; the curator has to declare what is missing",
    base.EngineError: "why is not said, since it may depend on the data",
    base.Unpriced: "SET tacit.epsilon = 0.5, or SET tacit.rho = 0.01; then EXPLAIN a question to see its price",
}


def fault_of(error: BaseException) -> Fault:
    """The ErrorResponse for an error. Of what is not raised on purpose nothing is said: it might hold data."""
    if isinstance(error, Fault):
        return error
    if not isinstance(error, TacitError):
        return Fault("XX000", "something went wrong inside the server; if a question was running, its charge stands")
    kind = kind_of(error)
    hint = next((HINTS[each] for each in type(error).__mro__ if each in HINTS), "")
    if isinstance(error, base.Refused):
        state = STATES.get(error.kind, kind.sqlstate) if type(error) is base.Refused else kind.sqlstate
        return Fault(state, str(error), hint, detail=f"{error.kind}: {error.kind.words}")
    return Fault(kind.sqlstate, kind.text or str(error), hint)


def keyed(error: TacitError, key: str) -> Fault:
    """The same for a question that may have been charged and has no answer yet, with the way to it."""
    found = fault_of(error)
    quoted = key.replace("'", "''")
    hint = f"SET tacit.key = '{quoted}' and ask the same again: it is not paid for twice; then RESET tacit.key"
    return Fault(found.state, found.message, found.hint or hint, status=kind_of(error).status, detail=found.detail)
