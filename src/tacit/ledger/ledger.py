"""The ledger: a privacy budget that is checked and written down, durably, before anything runs.

What is durable when: `charge`, `apply`, `void`, `keep` and the like have reached the disk when they return. A charge
that was acknowledged is in the book; one that was not may be, and the same key finds it. Nothing is given back once a
program began to run.
"""

import os
import socket
import threading
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from json import loads
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from weakref import WeakValueDictionary

from sqlalchemy import select

from tacit.base import CorruptLedger, InputError, KeyUsed, LedgerError, OutcomeUnknown, Relation, same_neighbours
from tacit.ledger import account as rules
from tacit.ledger import answers, claims
from tacit.ledger.chain import REGISTRY, Entry
from tacit.ledger.charge import AccountRenamedError, ChargeEntry, ChargeOrder
from tacit.ledger.reader import on_server
from tacit.ledger.receipt import Receipt, Standing, StoredRelease
from tacit.ledger.schema import accounts
from tacit.ledger.store import EntryDraft, Page, Store, checked, payable
from tacit.loss import Cost
from tacit.noise import SecureRng, rng_or_default
from tacit.policy.account import DATASET, Account, Amount, Currency, Terms, analyst_holder
from tacit.policy.source import Claim
from tacit.program import Program, canonical

__all__ = ["Ledger"]


class AccountFacts(NamedTuple):
    """What is fixed for the life of an account, and so may be remembered."""

    account: int
    currency: Currency
    relation: Relation
    unit: str


class Ledger:
    """One book of accounts. Safe to share between threads; after a fork each process goes on by itself."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._facts: dict[str, AccountFacts] = {}
        self._claimed: dict[str, frozenset[Claim]] = {}  # what was claimed last, so that it is not asked for again
        self._fresh_process()

    @classmethod
    def open(cls, where: str | Path, *, create: bool = True, adopt: str | None = None) -> Self:
        """The ledger at a path (SQLite) or a `postgresql://` address. It refuses to open when it is damaged.

        `adopt` says why a copy that is older than the newest known state is to be used all the same; that is recorded.
        """
        if on_server(where):
            from tacit.ledger.postgres import PostgresStore

            ledger = cls(PostgresStore(str(where), create=create))
        else:
            from tacit.ledger.sqlite.store import SqliteStore

            ledger = cls(SqliteStore(Path(where), create=create, trusting=adopt is not None))
        if adopt is not None:
            try:
                ledger.adopt(adopt)
            except BaseException:
                ledger.close()
                raise
        return ledger

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _fresh_process(self) -> None:
        """Start with no receipts of our own: a forked child did not make the ones its parent has."""
        self._pid, self._mine = os.getpid(), threading.Lock()
        self._voidable: WeakValueDictionary[tuple[str, int], Receipt] = WeakValueDictionary()
        self._begun: WeakValueDictionary[tuple[str, int], Receipt] = WeakValueDictionary()
        self.process = f"{socket.gethostname()}:{self._pid}:{bytes(SecureRng().read(6)).hex()}"

    # --- the policy is taken note of

    def apply(self, terms_: Terms, claims_: Collection[Claim] = ()) -> list[Entry]:
        """Open the account, or record how its limits changed; the entries made, none if nothing differs.

        `claims_` is the data that its people's budget is for; see `claim`.
        """
        return self.store.write(lambda page: rules.record(page, terms_, claims_))

    # --- data

    def claim(self, people: str, claims_: Collection[Claim]) -> list[Entry]:
        """Note that an account reads this data; the entries made, none if all of it was known.

        Raises PolicyError if any of it is another account's, or was counted by another unit before: then nothing is
        noted, and nothing may be read.
        """
        wanted = frozenset(claims_)
        if wanted <= self._claimed.get(people, frozenset()):
            return []
        made = self.store.write(lambda page: claims.claim(page, people, wanted))
        self._claimed[people] = wanted | self._claimed.get(people, frozenset())
        return made

    def unclaim(self, people: str, claim: str, why: str) -> Entry:
        """Record that this is not the account's data, whatever it looks like: it makes this claim no more."""
        return self.store.write(lambda page: claims.unclaim(page, people, claim, why))

    # --- charges

    def charge(self, account: Account, cost: Cost, program: Program, key: str) -> Receipt:
        """Check every limit and record, in one durable transaction, before anything runs.

        With a key that was used for the same program and cost: the same receipt, no second charge. Raises OverBudget,
        Denied, KeyUsed, or another LedgerError when the ledger cannot be used.
        """
        if os.getpid() != self._pid:
            self._fresh_process()
        try:
            order = self._order(account, cost, program, key)
            charged = self._charged(order)
        except AccountRenamedError:
            self._facts.pop(account.people, None)
            order = self._order(account, cost, program, key)
            charged = self._charged(order)
        receipt = Receipt(
            people=order.people,
            analyst=order.analyst,
            key=key,
            seq=charged.seq,
            time=charged.time,
            amount=order.amount,
            program=self._same_charge(order, charged, program) if charged.replayed else order.program,
            digest=charged.digest,
            ledger=self.store.ledger,
            replayed=charged.replayed,
        )
        if not charged.replayed:
            self._voidable[receipt.people, receipt.seq] = receipt
        return receipt

    def _charged(self, order: ChargeOrder) -> ChargeEntry:
        try:
            return self.store.charge(order)
        except OutcomeUnknown as unknown:
            try:
                return self.store.charge(order)  # the same key: finds the charge if it is there, and makes it if not
            except (AccountRenamedError, CorruptLedger, OutcomeUnknown):
                raise
            except LedgerError:
                raise unknown from None  # this time nothing was charged; the first time perhaps

    def _order(self, account: Account, cost: Cost, program: Program, key: str) -> ChargeOrder:
        facts = self._facts.get(account.people)
        if facts is None:
            facts = self._facts[account.people] = self.store.read(lambda page: _facts(page, account.people))
        checked(key, "a key")
        checked(account.analyst, "the analyst")
        holders = [checked(holder, "a holder") for holder in account.holders]
        if DATASET not in holders or analyst_holder(account.analyst) not in holders or len(set(holders)) < len(holders):
            raise InputError("an account to charge names the limits of the dataset and of the analyst, each once")
        mine = (facts.relation, facts.unit)
        same_neighbours(mine, (cost.relation, cost.unit))
        same_neighbours(mine, (program.relation, program.unit))
        amount = payable(Amount.of(cost, facts.currency), "this cost")
        body = self._body(account, amount, program, key)
        try:
            body.encode()
        except UnicodeEncodeError:
            raise InputError("a name or the program is not valid Unicode: it has half of a surrogate pair") from None
        return ChargeOrder(
            account=facts.account,
            people=account.people,
            currency=facts.currency,
            analyst=account.analyst,
            key=key,
            amount=amount,
            limits=account.limits,
            program=program.hash,
            policy=account.policy,
            body=body,
        )

    def _body(self, account: Account, amount: Amount, program: Program, key: str) -> str:
        """The canonical JSON of a charge, around the program's text, which is canonical already.

        It holds 128 random bits: analysts see hashes of their own entries and of what stands before them, and must not
        be able to try out what somebody else may have asked in between.
        """
        holders = ",".join(map(_quoted, account.holders))
        process = _quoted(f"{self.process}:{bytes(rng_or_default(None).read(16)).hex()}")
        return (
            f'{{"analyst":{_quoted(account.analyst)},"delta":"{amount.delta}","holders":[{holders}],"key":{_quoted(key)},'
            f'"kind":"charge","policy":{_quoted(account.policy)},"process":{process},"program":{program.text},'
            f'"spend":"{amount.spend}"}}'
        )

    def _same_charge(self, order: ChargeOrder, charged: ChargeEntry, program: Program) -> str:
        """The hash of the program that was charged before under this key, if it is the same, in whichever version."""
        wanted, name = loads(order.body), ""
        try:
            stored = loads(charged.body)
            name = sha256(canonical(stored["program"]).encode()).hexdigest()
            same = name in program.hashes and all(stored[each] == wanted[each] for each in ("spend", "delta"))
        except (ValueError, LookupError, TypeError):
            same = False  # damaged, as `verify` will say
        if not same:
            raise KeyUsed(
                f'the key "{order.key}" was used by {order.analyst} for another program or cost: nothing was charged '
                "now; use a new key for a new question"
            )
        if self.store.read(lambda page: page.fate(order.account, charged.seq)) == "void":
            raise KeyUsed(f'the charge with key "{order.key}" was voided: use a new key')
        return name

    # --- what becomes of a charge

    def begin(self, receipt: Receipt) -> None:
        """The program starts to run now: from here on nothing is given back.

        For a receipt that this Ledger did not make, or a replayed one, that is written into the book.
        """
        with self._own():
            place = (receipt.people, receipt.seq)
            if self._voidable.get(place) == receipt:
                self._begun[place] = self._voidable.pop(place)
            elif self._begun.get(place) != receipt:
                self.store.write(lambda page: _begin(page, receipt))

    def void(self, receipt: Receipt) -> None:
        """Take a charge back that this Ledger made and whose program has not begun to run, here or anywhere."""
        with self._own():
            place = (receipt.people, receipt.seq)
            if receipt.replayed or self._voidable.get(place) != receipt:
                raise LedgerError(
                    "this charge stays: only the process that made it can void it, before its program begins to run"
                )
            # first: whatever happens to the transaction, this Ledger will not begin it unseen
            del self._voidable[place]
            self.store.write(lambda page: rules.void(page, receipt))

    def _own(self) -> threading.Lock:
        if os.getpid() != self._pid:
            self._fresh_process()
        return self._mine

    # --- answers

    def keep(
        self, receipt: Receipt, release: bytes, *, version: str, kind: str = "answer", shared: bool = False
    ) -> StoredRelease:
        """Store a release before anybody sees it. The first one stored for a charge is the one returned, always."""
        self.begin(receipt)
        return self.store.write(
            lambda page: answers.keep(page, receipt, release, version=version, kind=kind, shared=shared)
        )

    def kept(self, receipt: Receipt) -> StoredRelease | None:
        """What is stored for this charge."""
        return self.store.read(lambda page: answers.find(page, receipt))

    def recall(self, account: Account, program: Program, version: str) -> StoredRelease | None:
        """The answer to this program on this version of the data, if the analyst was given it or it is shared."""

        def found(page: Page) -> StoredRelease | None:
            each = (answers.recall(page, account.people, account.analyst, name, version) for name in program.hashes)
            return next((stored for stored in each if stored is not None), None)

        return self.store.read(found)

    def newest(self, people: str, analyst: str, program: Program) -> StoredRelease | None:
        """The last release of this program that was made for this analyst, of whichever version of the data."""
        return self.store.read(lambda page: answers.newest(page, people, analyst, program.hash))

    def answered(self, account: Account, program: Program, version: str) -> bool:
        """Whether `recall` would find an answer: quick, and behind nobody who charges."""
        scopes = answers.scopes_of(account.analyst)
        found = [self.store.answered(account.people, scopes, name, version) for name in program.hashes]
        return self.recall(account, program, version) is not None if None in found else any(found)

    # --- looking

    def ready(self) -> None:
        """Raise LedgerError if a charge could not be written now."""
        self.store.ready()

    def people(self) -> list[str]:
        """Everybody who has an account here."""
        query = select(accounts.c.people).where(accounts.c.people != REGISTRY).order_by(accounts.c.people)
        return self.store.read(lambda page: list(page.connection.execute(query).scalars()))

    def standing(self, people: str) -> Standing:
        """An account and all its balances, as a charge would find them now."""
        return self.store.read(lambda page: rules.standing(page, people))

    def glance(self, people: str, holders: Sequence[str]) -> Standing:
        """The same with these holders' balances alone: quick, however many there are."""
        found = self.store.glance(people, holders)
        return found or self.store.read(lambda page: rules.standing(page, people, holders))

    def log(self, people: str, *, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries of an account in order; `REGISTRY` ("") is the list of accounts."""
        left = limit
        while left is None or left > 0:
            count = rules.CHUNK if left is None else min(left, rules.CHUNK)
            chunk = self.store.read(lambda page: rules.entries_of(page, people, after, count))  # noqa: B023 - run at once
            yield from chunk
            if len(chunk) < count:
                return
            after, left = chunk[-1].seq, None if left is None else left - count

    # --- rare and for good

    def seal(self, people: str, why: str) -> Entry:
        """Close an account for good: nothing can be charged to it any more."""
        return self.store.write(lambda page: rules.seal(page, people, why))

    def rename(self, people: str, to: str) -> Entry:
        """Give an account another name; what was spent stays spent."""
        return self.store.write(lambda page: rules.rename(page, people, checked(to, "people")))

    def adopt(self, why: str) -> list[Entry]:
        """Record that the book as it is now is to be used, although a newer state of it was known."""
        made = self.store.write(lambda page: rules.adopt(page, why, self.store.suspects(page)))
        self.store.trust()
        return made


def _facts(page: Page, people: str) -> AccountFacts:
    row = page.account(people)
    return AccountFacts(row.id, Currency(row.currency), Relation(row.relation), row.unit)


def _begin(page: Page, receipt: Receipt) -> None:
    row = page.account(receipt.people)
    answers.check_receipt(page, row, receipt)
    fate = page.fate(row.id, receipt.seq)
    if fate == "void":
        raise LedgerError("this charge was voided, so its program may not run: charge again with a new key")
    if fate is None:
        body = canonical({"kind": "begin", "charge": receipt.seq})
        page.append(row, [EntryDraft("begin", body, key=str(receipt.seq))])
