"""What a service says when it says no: `application/problem+json`, back to the error that it was there."""

import json
from dataclasses import dataclass

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
from tacit.client.door import PROBLEM, Reply

__all__ = ["KINDS", "Problem"]

PREFIX = "urn:tacit:problem:"
LONGEST = 10_000  # characters of a message

KINDS: dict[str, type[TacitError]] = {
    "no-dataset": Denied,
    "over-budget": OverBudget,
    "denied": Denied,
    "data": SourceError,
    "refused": Refused,
    "mistake": Mistake,
    "undeclared": PolicyError,
    "input": InputError,
    "cancelled": TacitError,
    "engine": EngineError,
    "key-used": KeyUsed,
    "outcome-unknown": OutcomeUnknown,
    "ledger-damaged": CorruptLedger,
    "ledger": LedgerError,
    "unavailable": TacitError,
    "randomness": RandomnessError,
    "internal": OutcomeUnknown,  # of a question; nothing else is charged for
    # the request itself
    "who": Denied,
    "role": Denied,
    "request": InputError,
    "body": InputError,
    "key-reused": InputError,
    "accept": TacitError,
    "rate": TacitError,
    "no-route": TacitError,
    "method": TacitError,
}

# after these, and any that is not known here, a charge may stand whose answer nobody saw: only its key finds it
OPEN = {"cancelled", "outcome-unknown", "ledger-damaged", "ledger", "unavailable", "randomness", "internal"}
# after these a key is of no more use: its charge has its end, or it is another question's
SPENT = {"engine", "input", "key-reused", "key-used"}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One refusal. `name` is the last part of its type."""

    name: str
    detail: str

    @classmethod
    def read(cls, reply: Reply) -> "Problem | None":
        """None if a service of ours does not speak like that."""
        if reply.kind != PROBLEM or reply.status < 400:
            return None
        try:
            said = json.loads(reply.body)
            kind, detail = said["type"], said["detail"]
        except (KeyError, TypeError, ValueError, RecursionError):
            return None
        if not isinstance(kind, str) or not isinstance(detail, str) or not kind.startswith(PREFIX):
            return None
        shown = "".join(sign for sign in detail[:LONGEST] if sign.isprintable() or sign == "\n")
        return cls(name=kind.removeprefix(PREFIX), detail=shown)

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
        if kind is EngineError:
            return EngineError()
        return kind(f"{self.detail}; {remark}" if remark else self.detail)
