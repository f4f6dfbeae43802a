"""Where a charge stands in the ledger: its own entry and the digests round it, enough to work out its hash again.

Nothing of other entries is in it but the digest of the one before, which stands on a random number and so tells
nothing about what was asked.
"""

from dataclasses import dataclass
from fractions import Fraction
from json import loads
from pathlib import Path
from typing import Any

from tacit.base import CorruptLedger, InputError, LedgerError
from tacit.ledger import Entry, Ledger
from tacit.ledger.entry import digest
from tacit.plan.program import canonical
from tacit.policy import Currency

__all__ = ["Charged", "chain_of", "charge_body"]

FIELDS = {"analyst", "delta", "holders", "key", "kind", "policy", "process", "program", "spend"}


@dataclass(frozen=True, kw_only=True)
class Charged:
    """A charge that was found in its ledger: the proof as plain data, the program it was for, and how it was paid."""

    proof: dict[str, Any]
    program: dict[str, Any]
    currency: Currency
    delta: Fraction


def charge_body(entry: dict[str, Any], program: dict[str, Any]) -> bytes:
    """The text of a charge that its hash is over."""
    return canonical({**entry, "program": program}).encode()


def chain_of(where: Ledger | Path | str, facts: dict[str, Any]) -> Charged:
    """The charge that paid for an answer, in the ledger it was paid from."""
    if isinstance(where, Ledger):
        return _found(where, facts)
    with Ledger.open(where, create=False) as ledger:
        return _found(ledger, facts)


def _found(ledger: Ledger, facts: dict[str, Any]) -> Charged:
    place = facts["ledger"]
    if place["id"] != ledger.store.ledger:
        raise InputError("this answer was paid for from another ledger than the one that was named")
    seq, known = int(place["entry"]), ledger.people()
    named = [name for name in known if name == facts["people"]]
    for people in [*named, *(name for name in known if name not in named)]:  # an account may have been renamed
        entries = list(ledger.log(people, after=seq - 2, limit=2)) if seq > 1 else []
        if [entry.seq for entry in entries] == [seq - 1, seq] and entries[1].digest.hex() == place["digest"]:
            if entries[1].kind != "charge" or set(loads(entries[1].body)) != FIELDS:
                break
            return _charged(ledger, people, *entries)
    raise LedgerError("the ledger has no such charge: run `tacit ledger verify`, and tell whoever watches over it")


def _charged(ledger: Ledger, people: str, before: Entry, own: Entry) -> Charged:
    standing, opening = ledger.standing(people), next(ledger.log(people, limit=1))
    body = loads(own.body)
    program = body.pop("program")
    if digest(before.digest, own.seq, own.time, charge_body(body, program)) != own.digest:
        raise CorruptLedger("the entry of this charge was altered: run `tacit ledger verify`")
    proof = {
        "id": ledger.store.ledger,
        "people": people,
        "opening": opening.digest.hex(),
        "before": {"seq": before.seq, "digest": before.digest.hex()},
        "time": own.time,
        "entry": body,
        "after": {"seq": own.seq, "digest": own.digest.hex()},
    }
    return Charged(proof=proof, program=program, currency=standing.currency, delta=standing.delta)
