"""One transaction over the book: accounts are locked, entries appended, and the chain grows by one rule.

How a transaction is run is all that differs between SQLite and PostgreSQL: a `Store` runs it, and every rule is written
once, against a `Page` (a charge, which is asked for most, against plain statements: `charge.py`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection, Row, insert, select, update

from tacit.base import CorruptLedger, InputError, LedgerError
from tacit.ledger.chain import REGISTRY, Entry, digest, lost
from tacit.ledger.charge import ChargeEntry, ChargeOrder
from tacit.ledger.receipt import Standing
from tacit.ledger.schema import accounts, entries
from tacit.policy.account import Amount

__all__ = ["LONGEST", "MOST", "EntryDraft", "Page", "Store", "checked", "payable"]

T = TypeVar("T")
Head = tuple[int, bytes]  # number and digest of an entry


class EntryDraft(NamedTuple):
    """An entry before it has a place in the chain."""

    kind: str
    body: str
    analyst: str | None = None
    key: str | None = None


class Page:
    """What all rules outside the hot path work with. `ledger` is the book's name, `clock` gives µs since 1970.

    `seen` is the newest entry of each account that this process knows of, by the account's number: if it is not there
    any more, an older copy of the book was put in its place, and the account cannot be used.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        ledger: str,
        clock: Callable[[Connection], int],
        locks: bool = True,
        seen: Mapping[int, Head] | None = None,
    ) -> None:
        self.connection, self.ledger, self.locks = connection, ledger, locks
        self._clock, self.seen = clock, seen or {}
        self.heads: dict[int, Head] = {}  # what this transaction appended, by the account's number

    def find(self, people: str) -> "Row[Any] | None":
        """The account's row; when this page `locks`, nobody else changes the account until the transaction ends."""
        query = select(accounts).where(accounts.c.people == people)
        row = self.connection.execute(query.with_for_update() if self.locks else query).one_or_none()
        if row is not None and not self._unbroken(row):
            raise lost(people)
        return row

    def _unbroken(self, row: "Row[Any]") -> bool:
        """Whether the account still has the newest entry that this process has seen of it."""
        at, mark = self.seen.get(row.id, (0, b""))
        if at in (0, row.seq):
            return not at or mark == bytes(row.head)
        place = (entries.c.account == row.id) & (entries.c.seq == at)
        found = self.connection.execute(select(entries.c.digest).where(place)).scalar()
        return row.seq > at and found is not None and bytes(found) == mark

    def account(self, people: str) -> "Row[Any]":
        """The same; an account that is not there is an error."""
        row = self.find(people) if people != REGISTRY else None
        if row is None:
            raise LedgerError(f'this ledger has no account for "{people}": apply its policy first')
        return row

    def registry(self) -> "Row[Any]":
        row = self.find(REGISTRY)
        if row is None:
            raise CorruptLedger("the list of accounts is gone from this ledger: restore the newest copy of it")
        return row

    def now(self, row: "Row[Any]") -> int:
        """The time of the next entry of this account: never before the last one."""
        return max(self._clock(self.connection), int(row.time))

    def append(
        self, row: "Row[Any]", lines: Sequence[EntryDraft], *, time: int | None = None, **changes: Any
    ) -> list[Entry]:
        """Add entries to an account's chain, and change its row with them. `row` is stale afterwards."""
        time = self.now(row) if time is None else time
        seq, head = self.heads.get(row.id, (row.seq, row.head))
        made = []
        for line in lines:
            seq += 1
            head = digest(head, seq, time, line.body.encode())
            made.append(Entry(people=row.people, seq=seq, kind=line.kind, time=time, body=line.body, digest=head))
        if made:
            rows = [
                {"account": row.id, "seq": entry.seq, "kind": entry.kind, "time": time, "analyst": line.analyst}
                | {"key": line.key, "body": entry.body, "digest": entry.digest}
                for line, entry in zip(lines, made, strict=True)
            ]
            self.connection.execute(insert(entries), rows)
            changes |= {"seq": seq, "time": time, "head": head}
            self.heads[row.id] = (seq, head)
        if changes:
            self.connection.execute(update(accounts).where(accounts.c.id == row.id).values(**changes))
        return made

    def entry(self, row: "Row[Any]", seq: int) -> Entry | None:
        """One entry of this account."""
        query = select(entries).where(entries.c.account == row.id, entries.c.seq == seq)
        found = self.connection.execute(query).one_or_none()
        return None if found is None else as_entry(found, row.people)

    def fate(self, account: int, seq: int) -> str | None:
        """ "void" or "begin" if such an entry was written about the charge `seq`; void is stronger."""
        about = entries.c.analyst.is_(None) & (entries.c.key == str(seq)) & entries.c.kind.in_(["void", "begin"])
        found = self.connection.execute(select(entries.c.kind).where(entries.c.account == account, about))
        return max((row.kind for row in found), default=None)


def as_entry(row: "Row[Any]", people: str) -> Entry:
    return Entry(people=people, seq=row.seq, kind=row.kind, time=row.time, body=row.body, digest=bytes(row.digest))


class Store(Protocol):
    """One book. Every method is atomic and durable when it returns; errors are LedgerErrors, and say what is known."""

    @property
    def ledger(self) -> str:
        """The book's random name, part of every first hash."""

    @property
    def where(self) -> str:
        """The book's place, for messages; without passwords."""

    def charge(self, order: ChargeOrder) -> ChargeEntry:
        """See `charge.py`. Raises Denied, OverBudget, LedgerError (nothing was charged), OutcomeUnknown."""

    def write(self, work: Callable[[Page], T]) -> T:
        """Run `work` in a transaction and commit, or leave no trace of it if it raises."""

    def read(self, work: Callable[[Page], T]) -> T:
        """Run `work`, which only reads, on one consistent state."""

    def glance(self, people: str, holders: Sequence[str]) -> Standing | None:
        """The account with these balances, without waiting for anybody; None where `read` is the only way."""

    def answered(self, people: str, scopes: tuple[str, str], program: str, version: str) -> bool | None:
        """Whether an answer is stored, without waiting for anybody; None where `read` is the only way."""

    def ready(self) -> None:
        """Raise LedgerError if a charge could not be written now. Writes nothing."""

    def suspects(self, page: Page) -> list[str]:
        """The people whose chains are not what this store last saw; a server keeps its own books whole: none."""

    def trust(self) -> None:
        """Take the book as it is for the newest."""

    def close(self) -> None:
        """Let go of connections and files; a second time does nothing."""


LONGEST = 1000  # bytes of a name or key in UTF-8: two of them fit into a row of PostgreSQL's indexes
UNFIT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
MOST = 10**45  # of the smallest units; far from the 60 digits a column holds, so sums cannot leave it


def checked(name: str, what: str) -> str:
    """A name as it is, if it is printable text of sensible length."""
    if UNFIT.search(name):
        raise InputError(f"{what} must not have control characters or halves of surrogate pairs")
    if not name or (len(name) > LONGEST // 4 and len(name.encode()) > LONGEST):
        raise InputError(f"{what} must be a text of 1 to {LONGEST} bytes (a letter takes one to four of them)")
    return name


def payable(amount: Amount, what: str) -> Amount:
    """An amount as it is, if it is within what a ledger holds."""
    if amount.spend > MOST or amount.delta > MOST:
        raise InputError(f"{what} is larger than any ledger can hold: it must be at most 10^45 of the smallest units")
    return amount
