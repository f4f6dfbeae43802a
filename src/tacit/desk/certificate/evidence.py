"""Where a charge stands in the ledger: its own entry and the digests round it, enough to work out its hash again.

Nothing of other entries is in it but the digest of the one before, which stands on a random number and so tells
nothing about what was asked.
"""

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
from tacit.policy import Currency
from tacit.program import canonical

__all__ = ["Charged", "chain_of", "charge_body", "file_hash", "software"]

ENTRY_FIELDS = {"analyst", "delta", "holders", "key", "kind", "policy", "process", "program", "spend"}


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
            if entries[1].kind != "charge" or set(loads(entries[1].body)) != ENTRY_FIELDS:
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
        if path.suffix == ".parquet":
            return _table_hash(TableRelease(table=read_table(BytesIO(data)), intervals={}))
        return _table_hash(TableRelease.from_bytes(data))
    except (pa.ArrowException, ValueError, LookupError, TypeError):
        raise InputError(f"{path} is not an answer as tacit writes one") from None


def _table_hash(release: TableRelease) -> str:
    return str(release.description()["csv_sha256"])


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
