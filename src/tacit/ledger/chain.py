"""One chain, link by link: numbers without gaps, times that never go back, and hashes that stand on one another."""

import struct
from dataclasses import dataclass, field
from hashlib import sha256
from json import loads
from typing import Any

from tacit.base import CorruptLedger
from tacit.ledger.receipt import money
from tacit.ledger.replay import ChargeRecord, ClaimHistory, History, read_charge
from tacit.policy.account import DATASET, Amount

__all__ = [
    "REGISTRY", "UNREADABLE", "Chain", "Entry", "Findings", "Head", "LedgerFinding", "digest", "genesis", "hashed",
    "lost",
]  # fmt: skip

REGISTRY = ""  # the chain that lists the accounts; its `people` is empty


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of one account's chain. `body` is canonical JSON, stored as it was hashed.

    Kinds: open, limit, charge, begin, void, reset, rename, adopt, seal; in the list of accounts also claim, unclaim and
    keep, which has the hash of the answer that was stored for a charge. `begin` is written only when somebody other
    than the one who charged starts to run the program; after it there is no void.
    """

    people: str
    seq: int
    kind: str
    time: int  # µs since 1970, never before the entry above it
    body: str
    digest: bytes

    def json(self) -> dict[str, Any]:
        own = {"people": self.people, "seq": self.seq, "time": self.time, "digest": self.digest.hex()}
        return own | {"body": loads(self.body)}


def genesis(ledger: str, people: str) -> bytes:
    """What the first entry of a chain stands on: no chain can be moved to another ledger or other people."""
    return sha256(b"tacit ledger 1\0" + ledger.encode() + b"\0" + people.encode()).digest()


def digest(before: bytes, seq: int, time: int, body: bytes) -> bytes:
    """SHA-256 over the digest before, the number, the time and the hash of the body.

    The body enters by its hash, so that a log with bodies left out can still be verified.
    """
    return sha256(before + seq.to_bytes(8, "big") + time.to_bytes(8, "big") + sha256(body).digest()).digest()


def lost(people: str) -> CorruptLedger:
    """What to say when entries are gone that this very process has seen."""
    whose = f'"{people}"' if people else "the list of accounts"
    return CorruptLedger(
        f"entries of {whose} that this process has seen are gone from the ledger: an older copy was put in its place, "
        "and nothing was charged. Put the newest copy back. If this copy is meant to be used: `tacit ledger adopt`, "
        "which records that, and then start this process again"
    )


PLACE = struct.Struct(">QQ")
KEPT = 100  # findings shown; a ledger that was rewritten has one an entry
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, struct.error)
CHARGE = '{"analyst":'  # how the text of a charge begins, and of no other kind
PLAIN = {"open", "limit", "reset", "rename", "adopt", "seal", "claim", "unclaim"}  # kinds without an analyst or a key


def hashed(body: str) -> bytes:
    return sha256(body.encode()).digest()


@dataclass(frozen=True, kw_only=True)
class LedgerFinding:
    """Something that is not as the ledger would have written it: whose account, which entry, what."""

    people: str
    seq: int | None
    what: str

    def __str__(self) -> str:
        whose = f'"{self.people}"' if self.people else "the list of accounts"
        return f"{whose}: {self.what}" if self.seq is None else f"{whose}, entry {self.seq}: {self.what}"


@dataclass
class Findings:
    """The first of them, and how many more there were."""

    kept: list[LedgerFinding] = field(default_factory=list)
    more: int = 0

    def add(self, people: str, seq: int | None, what: str) -> None:
        if len(self.kept) < KEPT:
            self.kept.append(LedgerFinding(people=people, seq=seq, what=what))
        else:
            self.more += 1


@dataclass(frozen=True, kw_only=True)
class Head:
    """How far a chain goes. `opening` is the digest of its first entry, which names it for good.

    `spent` is what its people have spent ever, from the entries; None for the list of accounts, and where bodies are
    left out.
    """

    people: str
    opening: bytes
    seq: int
    time: int
    digest: bytes
    spent: Amount | None

    def json(self) -> dict[str, Any]:
        own = {"people": self.people, "opening": self.opening.hex(), "seq": self.seq, "digest": self.digest.hex()}
        return own | {"spent": money(self.spent)}


class Chain:
    """Entries of one account, given in order. Whatever is wrong goes to `findings`, and the walk goes on."""

    def __init__(
        self,
        ledger: str,
        people: str,
        findings: Findings,
        *,
        first_name: str | None = None,
        mentioned: set[int] | None = None,
        watch: set[int] | None = None,
    ) -> None:
        self.people, self.seq, self.time, self.opening = people, 0, 0, b""
        self._ledger, self._findings = ledger, findings
        self.history = History(mentioned or set(), self.found)
        self.opens: dict[str, str] = {}  # of the list of accounts: first digest -> people
        self.claims = ClaimHistory(self.found)  # of the list of accounts
        self.watched: dict[int, bytes] = {}  # digests at the numbers that somebody asked for
        self._watch = watch or set()
        self.digest = b"" if first_name is None else genesis(ledger, first_name)

    def found(self, seq: int | None, what: str) -> None:
        self._findings.add(self.people, seq, what)

    def link(self, seq: int, time: int, digest: bytes, body_hash: bytes) -> None:
        """Check the place, the time and the hash of the next entry."""
        if seq != self.seq + 1:
            if seq <= self.seq:
                self.found(seq, f"stands after entry {self.seq}: two entries have one number")
            else:
                gone = f"entry {seq - 1} is" if seq == self.seq + 2 else f"entries {self.seq + 1} to {seq - 1} are"
                self.found(None, f"{gone} missing")
        elif sha256(self.digest + PLACE.pack(seq, time) + body_hash).digest() != digest:
            self.found(seq, "was altered, or what stands before it was: its hash is not the one of its content")
        if time < self.time:
            self.found(seq, "is dated before the entry above it")
        if seq in self._watch:
            self.watched[seq] = digest
        if not self.seq:
            self.opening = digest
        self.seq, self.time, self.digest = seq, time, digest

    def take(
        self, seq: int, kind: str | None, time: int, analyst: str | None, key: str | None, body: str, digest: bytes
    ) -> ChargeRecord | None:
        """An entry with its body: the link, the index, and what it does to the account. The charge, if it is one.

        `kind`, `analyst` and `key` are what the index says, compared with the body; without a `kind` there is none.
        """
        try:
            digest = bytes(digest)
            if kind == "charge" or (kind is None and body.startswith(CHARGE)):
                self.link(seq, time, digest, hashed(body))
                charge = read_charge(body)
                if kind is not None and (charge.analyst != analyst or charge.key != key):
                    self.found(seq, "has another analyst or key in the index than in its text")
                self.history.charge(seq, time, charge)
                return charge
            data = loads(body)
            if seq == 1 and not self.seq and self.people != REGISTRY:
                self.digest = genesis(self._ledger, str(data["people"]))
            self.link(seq, time, digest, hashed(body))
            if kind is not None:
                self._columns(seq, kind, analyst, key, data)
            if self.people == REGISTRY:
                self._register(seq, data)
            else:
                self.history.other(seq, time, data)
        except UNREADABLE as problem:
            self.found(seq, f"cannot be read: it {_said(problem)}")
        return None

    def _columns(self, seq: int, kind: str, analyst: str | None, key: str | None, data: Any) -> None:
        about = None if kind in PLAIN else str(data["charge"]) if kind in ("void", "begin") else ""
        if kind == "keep":
            about = f"{data['account']}/{data['charge']}"
        if data["kind"] != kind or analyst is not None or key != about:
            self.found(seq, "says something else in the index than in its text")

    def _register(self, seq: int, data: Any) -> None:
        if data["kind"] == "open":
            self.opens[str(data["genesis"])] = str(data["people"])
        elif data["kind"] == "claim":
            self.claims.claim(seq, data)
        elif data["kind"] == "unclaim":
            self.claims.unclaim(seq, data)
        elif data["kind"] not in ("adopt", "keep"):
            self.found(seq, "does not belong into the list of accounts")

    def head(self, *, bodies: bool = True) -> Head:
        spent = None
        if bodies and self.people != REGISTRY:
            tally = self.history.tallies.get(DATASET)
            spent = Amount(0) if tally is None else Amount(max(0, tally.spent), max(0, tally.spent_delta))
        return Head(
            people=self.people, opening=self.opening, seq=self.seq, time=self.time, digest=self.digest, spent=spent
        )


def _said(problem: BaseException) -> str:
    """In words, without what stands in the entry."""
    ours = isinstance(problem, ValueError) and str(problem).startswith(("is ", "has "))
    return str(problem) if ours else "is not written as it should"
