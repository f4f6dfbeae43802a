"""Where a charge stands in the ledger: its own entry and the digests round it, enough to work out its hash again.

Nothing of other entries is in it but the digest of the one before, which stands on a random number and so tells
nothing about what was asked.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import sha256
from io import BytesIO
from json import loads
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.parquet import read_table

from tacit.base import CorruptLedger, InputError, LedgerError
from tacit.base.version import VERSION
from tacit.desk.release import TableRelease
from tacit.ledger import Entry, Ledger
from tacit.ledger.chain import digest
from tacit.loss import Cost
from tacit.policy import Amount, Currency
from tacit.program import Program, canonical, step_from_json

__all__ = ["CertifiedCharge", "chain_of", "charge_body", "file_hash", "software"]

ENTRY_FIELDS = {"analyst", "delta", "holders", "key", "kind", "policy", "process", "program", "spend"}


@dataclass(frozen=True, kw_only=True)
class CertifiedCharge:
    """A charge: its place in the ledger as plain data (with its `entry` where the ledger was at hand), the stored
    program it was for, what was paid, and the δ of the account."""

    place: dict[str, Any]
    program: dict[str, Any]
    currency: Currency
    amount: Amount
    delta: Fraction

    @classmethod
    def stated(cls, facts: Mapping[str, Any]) -> "CertifiedCharge":
        """As a release's own facts have it, without the ledger: what was asked is not in them."""
        program = Program(
            steps=tuple(step_from_json(step) for step in facts["steps"]),
            tables=tuple(facts["tables"]),
            relation=facts["relation"],
            unit=facts["unit"],
            delta=None if facts["whole"] is None else Fraction(facts["whole"]),
        )
        place, currency = facts["ledger"], Currency(facts["currency"])
        after = {"seq": place["entry"], "digest": place["digest"]}
        return cls(
            place={"id": place["id"], "people": facts["people"], "after": after},
            program=program.json(),
            currency=currency,
            amount=Amount.of(Cost.from_json(facts["cost"]), currency),
            delta=Fraction(facts["delta"]),
        )


def charge_body(entry: dict[str, Any], program: dict[str, Any]) -> bytes:
    """The text of a charge that its hash is over."""
    return canonical({**entry, "program": program}).encode()


def chain_of(where: Ledger | Path | str, facts: Mapping[str, Any]) -> CertifiedCharge:
    """The charge that paid for an answer, in the ledger it was paid from."""
    place = facts["ledger"]
    with nullcontext(where) if isinstance(where, Ledger) else Ledger.open(where, create=False) as ledger:
        if place["id"] != ledger.store.ledger:
            raise InputError("this answer was paid for from another ledger than the one that was named")
        seq, known = int(place["entry"]), ledger.people()
        for people in sorted(known, key=lambda name: name != facts["people"]):  # first; it may have been renamed since
            entries = list(ledger.log(people, after=seq - 2, limit=2)) if seq > 1 else []
            if [entry.seq for entry in entries] == [seq - 1, seq] and entries[1].digest.hex() == place["digest"]:
                if entries[1].kind != "charge" or set(loads(entries[1].body)) != ENTRY_FIELDS:
                    break
                return _charged(ledger, people, *entries)
    raise LedgerError("the ledger has no such charge: run `tacit ledger verify`, and tell whoever watches over it")


def _charged(ledger: Ledger, people: str, before: Entry, own: Entry) -> CertifiedCharge:
    standing, opening = ledger.standing(people), next(ledger.log(people, limit=1))
    body = loads(own.body)
    program = body.pop("program")
    if digest(before.digest, own.seq, own.time, charge_body(body, program)) != own.digest:
        raise CorruptLedger("the entry of this charge was altered: run `tacit ledger verify`")
    place = {
        "id": ledger.store.ledger,
        "people": people,
        "opening": opening.digest.hex(),
        "before": {"seq": before.seq, "digest": before.digest.hex()},
        "time": own.time,
        "entry": body,
        "after": {"seq": own.seq, "digest": own.digest.hex()},
    }
    amount = Amount(int(body["spend"]), int(body["delta"]))
    return CertifiedCharge(
        place=place, program=program, currency=standing.currency, amount=amount, delta=standing.delta
    )


def file_hash(path: Path) -> str:
    """The hash by which a certificate knows a release, of one in a file: of a table, its CSV byte by byte, Parquet or
    an Arrow stream of ours as CSV would have it; of anything else, all of its bytes."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if path.suffix not in (".parquet", ".arrow"):
        return sha256(data).hexdigest()
    try:
        parquet = path.suffix == ".parquet"
        table = (
            TableRelease(table=read_table(BytesIO(data)), intervals={}) if parquet else TableRelease.from_bytes(data)
        )
        return str(table.description()["csv_sha256"])
    except (pa.ArrowException, ValueError, LookupError, TypeError):
        raise InputError(f"{path} is not an answer as tacit writes one") from None


@cache
def software() -> dict[str, str | None]:
    """Name, version, and SHA-256 over the names and hashes of all files of the package; None if they cannot be read.

    Worked out once in a process: it is about what runs, not about what was installed over it since. It never raises,
    since it is asked for when an answer was paid for already.
    """
    return {"name": "tacit", "version": VERSION, "source": _source(Path(__file__).parents[2])}


def _source(folder: Path) -> str | None:
    whole = sha256()
    try:
        files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in files):
            whole.update(f"{name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    except (OSError, ValueError):
        return None
    return whole.hexdigest()
