"""What a service sends, as the values that a local session gives."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar, Unpack

from tacit.base import InputError, RefusalKind, TacitError, errors
from tacit.client.door import JSON, PROBLEM, Lost, Reply
from tacit.desk.certificate.certificate import Certificate
from tacit.desk.quote import Expected, Hint
from tacit.loss import Cost
from tacit.session import Quote, TableRelease
from tacit.sql.offer import Offer, OfferTerms
from tacit.sql.parse import sql_text

__all__ = ["KINDS", "ServiceProblem", "certificate_of", "plain", "question_of", "quote_of", "read", "release_of"]

T = TypeVar("T")
NAME = re.compile(r"[0-9A-Za-z_-]{1,100}")


def read(made: Callable[[Reply], T], reply: Reply) -> T:
    """What `made` makes of an answer; `Lost` if it is none that a service of ours gives."""
    try:
        return made(reply)
    except Exception:  # whatever unfit bytes lead to: Arrow, JSON and our own types each have errors of their own
        pass
    raise Lost("what came back cannot be read: it is no answer of a tacit service, or of one that is newer than this")


def plain(reply: Reply) -> dict[str, Any]:
    """An answer in JSON."""
    found = json.loads(reply.body)
    if reply.status != 200 or reply.kind != JSON or not isinstance(found, dict):
        raise ValueError("not ours")
    return found


def quote_of(reply: Reply) -> Quote:
    """A quote."""
    said = plain(reply)
    return Quote(
        cost=Cost.from_json(said["cost"]),
        expected=tuple(
            Expected(
                column=str(line["column"]),
                error=None if line["error"] is None else float(line["error"]),
                words=str(line["words"]),
            )
            for line in said["expected"]
        ),
        left=Cost.from_json(said["left"]),
        enough=said["enough"] is True,
        notes=tuple(str(note) for note in said["notes"]),
        hints=tuple(Hint.from_json(hint) for hint in said["hints"]),
        columns=tuple((str(column["name"]), str(column["type"])) for column in said["columns"]),
    )


def release_of(reply: Reply) -> TableRelease:
    """An answer from its Arrow stream: the types of its columns, intervals, notes and facts are the service's own."""
    found = TableRelease.from_bytes(reply.body)
    found.table.validate(full=True)  # bytes from elsewhere may lie about what they hold
    return replace(found, cached=reply.cached, name=reply.release if NAME.fullmatch(reply.release) else "")


def certificate_of(reply: Reply) -> Certificate:
    """A certificate. Whether it is true is for `tacit verify` to say."""
    return Certificate.of(plain(reply))


PREFIX = "urn:tacit:problem:"
LONGEST = 10_000  # characters of a message

KINDS: dict[str, type[TacitError]] = {
    "over-budget": errors.OverBudget,
    "data": errors.SourceError,
    "refused": errors.Refused,
    "unpriced": errors.Unpriced,
    "mistake": errors.Mistake,
    "undeclared": errors.PolicyError,
    "settings": errors.SettingsError,
    "engine": errors.EngineError,
    "key-used": errors.KeyUsed,
    "ledger-damaged": errors.CorruptLedger,
    "ledger": errors.LedgerError,
    "randomness": errors.RandomnessError,
    **dict.fromkeys(("no-dataset", "denied", "who", "role"), errors.Denied),
    **dict.fromkeys(("input", "request", "body", "key-reused"), InputError),
    **dict.fromkeys(("cancelled", "unavailable", "accept", "rate", "no-route", "method"), TacitError),
    **dict.fromkeys(
        ("outcome-unknown", "internal"), errors.OutcomeUnknown
    ),  # internal: of a question, which is charged
}

# after these, and any that is not known here, a charge may stand whose answer nobody saw: only its key finds it
OPEN = {"cancelled", "outcome-unknown", "ledger-damaged", "ledger", "unavailable", "randomness", "internal"}
# after these a key is of no more use: its charge has its end, or it is another question's
SPENT = {"engine", "input", "key-reused", "key-used"}


@dataclass(frozen=True, kw_only=True)
class ServiceProblem:
    """One refusal. `name` is the last part of its type."""

    name: str
    detail: str
    refusal: RefusalKind | None = None

    @classmethod
    def read(cls, reply: Reply) -> "ServiceProblem | None":
        """None if a service of ours does not speak like that."""
        if reply.kind != PROBLEM or reply.status < 400:
            return None
        try:
            said = json.loads(reply.body)
            kind, detail, refusal = said["type"], said["detail"], said.get("refusal")
        except (KeyError, TypeError, ValueError, RecursionError):
            return None
        if not isinstance(kind, str) or not isinstance(detail, str) or not kind.startswith(PREFIX):
            return None
        shown = "".join(sign for sign in detail[:LONGEST] if sign.isprintable() or sign == "\n")
        known = next((each for each in RefusalKind if each.value == refusal), None)
        return cls(name=kind.removeprefix(PREFIX), detail=shown, refusal=known)

    @property
    def open(self) -> bool:
        """Whether something may have been charged for which there is still an answer to come."""
        return self.name in OPEN or self.name not in KINDS

    @property
    def spent(self) -> bool:
        """Whether the key that this was asked under is of no more use."""
        return self.name in SPENT

    def error(self, remark: str = "") -> TacitError:
        """The error as a local session would have raised it; one that is not known here is a plain one."""
        kind = KINDS.get(self.name, TacitError)
        if kind is errors.EngineError:
            return errors.EngineError()
        told = f"{self.detail}; {remark}" if remark else self.detail
        return errors.Refused(told, kind=self.refusal) if kind is errors.Refused else kind(told)


DIGITS = 30  # after the point, which is what a service reads


def question_of(sql: Any, **terms: Unpack[OfferTerms]) -> bytes:
    """The body of a request, the same for the same arguments; the same errors as a local session's.

    What does not end within thirty digits is rounded down: never more is spent, and no larger error taken, than said.
    """
    offer = Offer.of(**terms)
    given = {name: getattr(offer, name) for name in ("epsilon", "rho", "mu_squared", "error")}
    numbers = {name: _decimal(value, name) for name, value in given.items() if value is not None}
    sure = format(Decimal(repr(offer.confidence)), "f")
    return json.dumps({"sql": sql_text(sql), **numbers, "confidence": sure}, sort_keys=True).encode()


def _decimal(value: Fraction, name: str) -> str:
    scaled = value.numerator * 10**DIGITS // value.denominator
    if not scaled:
        raise InputError(f"{name} is too small to be sent: it has no digit among the first {DIGITS} after the point")
    whole, rest = divmod(scaled, 10**DIGITS)
    return f"{whole}.{rest:0{DIGITS}d}".rstrip("0").rstrip(".")
