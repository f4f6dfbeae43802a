"""Is this ledger whole? Every chain is walked from its first entry, and every balance is worked out again.

What it proves: nobody altered, removed, inserted or reordered entries without rewriting everything after them, and
the balances that limits are held to are the sums of the entries. What it cannot see by itself: a ledger rewritten
from some entry on, hashes and all, or its newest entries cut off together with the file of marks. Against that, keep
a signed checkpoint where whoever can write the ledger cannot (`checkpoint.py`). Stored answers and claims of data are
tables beside the chains, and must be what the chains say of them, no more and no less.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from json import loads
from pathlib import Path
from typing import Any

from tacit.base import CorruptLedger, InputError, TacitError
from tacit.ledger.chain import REGISTRY, Chain, Findings, Head, LedgerFinding
from tacit.ledger.reader import EntryRow, Reader, reading
from tacit.ledger.replay import ChargeRecord, read_charge
from tacit.ledger.verified import VerifiedLedger
from tacit.policy.account import analyst_holder

__all__ = [
    "TICK",
    "KnownEntry",
    "Tick",
    "VerificationReport",
    "check_registry",
    "concluded",
    "silent",
    "verify",
    "watch_for",
]

Tick = Callable[[int], None]
TICK = 5000  # entries between two signs of life
NONE = (2**63, "")  # after the last entry


def silent(_: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, kw_only=True)
class KnownEntry:
    """An entry that a chain is known to have: from a checkpoint. `opening` is b"" for the list of accounts."""

    people: str
    opening: bytes
    seq: int
    digest: bytes


@dataclass(frozen=True, kw_only=True)
class VerificationReport:
    """What was found. `more` counts findings beyond the ones listed."""

    ledger: str
    where: str
    findings: tuple[LedgerFinding, ...]
    more: int
    entries: int
    charges: int
    answers: int
    heads: tuple[Head, ...]
    redacted: bool = False
    verified: VerifiedLedger | None = field(default=None, repr=False, compare=False)  # to go on from, if it is whole

    @property
    def ok(self) -> bool:
        return not self.findings

    def json(self) -> dict[str, Any]:
        names = ("people", "seq", "digest", "spent")
        return {
            "ok": self.ok,
            "ledger": self.ledger,
            "entries": self.entries,
            "charges": self.charges,
            "answers": self.answers,
            "redacted": self.redacted,
            "findings": [vars(finding) for finding in self.findings],
            "more_findings": self.more,
            "heads": [{name: head.json()[name] for name in names} for head in self.heads],
        }


def verify(
    where: str | Path,
    *,
    known: tuple[KnownEntry, ...] = (),
    since: VerifiedLedger | None = None,
    begin: Tick = silent,
    tick: Tick = silent,
) -> VerificationReport:
    """Check all of a ledger, at a path or a `postgresql://` address, without writing, while others may charge.

    With `since` only what came after it is walked, and the balances are held against both; a checkpoint needs all of
    it. `begin` is told about how many entries there are, `tick` how many more were read. Raises LedgerError if there is
    no ledger or it cannot be read at all.
    """
    with reading(where) as reader:
        try:
            begin(reader.count() - (0 if since is None else sum(map(since.last, since.accounts))))
            return _Walk(reader, known, since or VerifiedLedger(reader.ledger, {})).run(tick)
        except (TypeError, ValueError, LookupError, AttributeError) as problem:
            if isinstance(problem, TacitError):
                raise
            # SQLite keeps values of any type in any column, so damage may put text where numbers are counted on
            raise CorruptLedger(
                f"{reader.where} has rows that no ledger wrote: it is damaged; put the newest copy of it back"
            ) from problem


class _Walk:
    """One verification under way."""

    def __init__(self, reader: Reader, known: tuple[KnownEntry, ...], since: VerifiedLedger) -> None:
        if since.ledger != reader.ledger:
            raise InputError("this note is of a verification of another ledger: choose another name for a new one")
        self.reader, self.known, self.since = reader, known, since
        self.findings = Findings()
        self.rows = {row.id: row for row in reader.accounts()}
        self.chains: dict[int, Chain] = {}
        lists = [number for number, row in self.rows.items() if row.people == REGISTRY]
        self.from_list = since.last(lists[0]) if lists else 0
        self.answers: Iterator[tuple[int, int, str, str]] = reader.answers(self.from_list)
        self.answered = self.read = 0

    def run(self, tick: Tick) -> VerificationReport:
        self._next_answer()
        chain, account = None, None
        for row in self._entries():
            if row[0] != account or chain is None:
                self._close(account, chain)
                account, chain = row[0], self._start(row[0])
            charge = chain.take(*row[1:])
            if self.answer_at <= (account, row[1]):
                self._answers(account, row[1], charge, chain)
            self.read += 1
            if not self.read % TICK:
                tick(TICK)
        self._close(account, chain)
        tick(self.read % TICK)
        self._answers_before((float("inf"), 0))
        for number in (*self.rows, *self.since.accounts):
            if number not in self.chains:
                self._close(number, self._start(number))
        chains = list(self.chains.values())
        check_registry(chains, self.findings)
        lists = [number for number, chain in self.chains.items() if chain.people == REGISTRY]
        self._releases(lists[0] if lists else 0)
        self._claims()
        self._marks()
        place = self.reader.ledger, self.reader.where
        report = concluded(chains, self.known, self.findings, place, entries=self.read, answers=self.answered)
        return replace(report, verified=VerifiedLedger.of(self.reader.ledger, self.chains) if report.ok else None)

    def _entries(self) -> Iterator[EntryRow]:
        """All of them, or of each account those that were not seen."""
        if not self.since.accounts:
            yield from self.reader.entries()
            return
        for account in sorted({*self.rows, *self.since.accounts}):
            yield from self.reader.entries(account, self.since.last(account))

    def _resume(self, account: int, chain: Chain) -> None:
        """Go on from what was seen, which must be there still."""
        last = self.since.last(account)
        self.since.restore(account, chain)
        anchor = self.reader.entry(account, last)
        if anchor is None or bytes(anchor.digest) != self.since.digest(account):
            chain.found(last, "is not the entry that was there when this ledger was verified before")
        for about in self.reader.mentioned(account, last):
            entry = self.reader.entry(account, about) if about <= last else None
            if entry is not None and entry.kind == "charge":
                chain.history.recall(about, read_charge(entry.body), self.reader.fate(account, about, last))

    def _start(self, account: int) -> Chain:
        people = self._people(account)
        watch = watch_for(self.known, people)
        if self.reader.mark is not None and account in self.reader.mark.heads:
            watch.add(self.reader.mark.heads[account][0])
        self.chains[account] = Chain(
            self.reader.ledger,
            people,
            self.findings,
            first_name=REGISTRY if people == REGISTRY else None,
            mentioned=self.reader.mentioned(account, self.since.last(account)),
            watch=watch,
        )
        if account in self.since.accounts:
            self._resume(account, self.chains[account])
        return self.chains[account]

    def _people(self, account: int) -> str:
        return str(self.rows[account].people) if account in self.rows else f"account {account}"

    def _opening(self, account: int) -> str:
        chain = self.chains.get(account)
        return "" if chain is None else chain.opening.hex()

    def _close(self, account: int | None, chain: Chain | None) -> None:
        """The account's own rows must say what its entries do."""
        if account is None or chain is None:
            return
        row = self.rows.get(account)
        if row is None:
            chain.found(None, "its entries are there, but the account is not")
            return
        if (row.seq, bytes(row.head)) != (chain.seq, chain.digest):
            chain.found(
                None, f"should end with entry {row.seq}, and ends with {chain.seq} or another hash: cut or altered"
            )
        if chain.seq and row.time != chain.time:
            chain.found(None, "has another time than its newest entry")
        if chain.people == REGISTRY:
            return
        for name, value in chain.history.columns().items():
            if getattr(row, name) != value:
                chain.found(None, f"its {name} is not the one that follows from its entries")
        self._balances(account, chain)

    def _balances(self, account: int, chain: Chain) -> None:
        tallies = dict(chain.history.tallies)
        for row in self.reader.balances(account):
            tally = tallies.pop(row.holder, None)
            if tally is None:
                chain.found(None, f"{row.holder} has a balance without a limit entry")
                continue
            for name, value in tally.columns().items():
                if getattr(row, name) != value:
                    chain.found(None, f"{name} of {row.holder} is not the one that follows from its entries")
        for holder in tallies:
            chain.found(None, f"the balance of {holder} is missing")

    # --- answers, which come in the order of the entries

    def _next_answer(self) -> None:
        self.answer = next(self.answers, None)
        self.answer_at: tuple[float, int] = (float("inf"), 0) if self.answer is None else self.answer[:2]

    def _answers_before(self, place: tuple[float, int]) -> None:
        while self.answer is not None and self.answer_at < place:
            account, seq = self.answer[:2]
            entry = self.reader.entry(account, seq) if seq <= self.since.last(account) else None
            if entry is None:
                self.findings.add(self._people(account), seq, "has a stored answer, and is not there")
            elif entry.kind != "charge":
                self.findings.add(self._people(account), seq, "has a stored answer, and is no charge")
            else:
                self._answer_to(read_charge(entry.body), self._people(account), seq)
            self._next_answer()

    def _answers(self, account: int, seq: int, charge: ChargeRecord | None, chain: Chain) -> None:
        self._answers_before((account, seq))
        if self.answer is None or self.answer_at != (account, seq):
            return
        if charge is None:
            chain.found(seq, "has a stored answer, and is no charge")
        else:
            chain.history.answered(seq)
            self._answer_to(charge, chain.people, seq)
        self._next_answer()

    def _answer_to(self, charge: ChargeRecord, people: str, seq: int) -> None:
        assert self.answer is not None
        self.answered += 1
        _, _, scope, program = self.answer
        if scope not in ("shared", analyst_holder(charge.analyst)):
            self.findings.add(people, seq, "has a stored answer that is kept for somebody else")
        if program != sha256(charge.program.encode()).hexdigest():
            self.findings.add(people, seq, "has a stored answer to another program")

    # --- what lies beside the chains

    def _releases(self, registry: int) -> None:
        """Every answer is the one that an entry says was kept, and every one that was kept is there."""
        keeps = self.reader.keeps(registry, self.from_list)
        seq, body = next(keeps, NONE)
        for row in self.reader.releases(self.from_list):
            while seq < (row.entry or 0):
                self._gone(seq, body)
                seq, body = next(keeps, NONE)
            people = self._people(row.account)
            if seq != row.entry:
                self.findings.add(people, row.seq, "has a stored answer that no entry speaks of: it was added")
                continue
            stored = row.seq, row.scope, row.program, row.version, row.kind, _hash(row.release)
            if _kept(body) != (self._opening(row.account), *stored):
                self.findings.add(people, row.seq, "has a stored answer that is not the one that was kept")
            seq, body = next(keeps, NONE)
        while body:
            self._gone(seq, body)
            seq, body = next(keeps, NONE)

    def _gone(self, seq: int, body: str) -> None:
        opening, charge, *_ = _kept(body)
        people = next((chain.people for chain in self.chains.values() if chain.opening.hex() == opening), "?")
        self.findings.add(people, charge, f"had an answer, as entry {seq} of the list of accounts says: it is gone")

    def _claims(self) -> None:
        lists = [chain for chain in self.chains.values() if chain.people == REGISTRY]
        left = lists[0].claims.holdings() if lists else {}
        for row in self.reader.claims():
            if left.pop((self._opening(row.account), row.place, row.part), None) != (row.unit, row.state):
                people = self._people(row.account)
                self.findings.add(people, None, f"its claim of {row.place} is not the one that the entries say")
        names = {chain.opening.hex(): chain.people for chain in self.chains.values()}
        for opening, place, _ in left:
            self.findings.add(names.get(opening, "?"), None, f"its claim of {place} is gone")

    def _marks(self) -> None:
        mark = self.reader.mark
        if mark is None:
            return
        if mark.problem is not None and self.read:
            self.findings.add(REGISTRY, None, mark.problem)
        for account, (seq, digest) in mark.heads.items():
            chain = self.chains.get(account)
            if seq and (chain is None or chain.watched.get(seq) != digest):
                what = "was written, as the file of marks knows, and is gone or another now"
                self.findings.add(self._people(account), seq, what)


def _kept(body: str) -> tuple[Any, ...]:
    """What an entry says of an answer."""
    names = ("account", "charge", "scope", "program", "version", "outcome", "release")
    try:
        data = dict(loads(body))
    except (ValueError, TypeError):
        data = {}  # said when the chain was walked
    return tuple(data.get(name) for name in names)


def _hash(release: Any) -> str:
    """Of what was released; SQLite keeps text where bytes should be."""
    return sha256(release.encode() if isinstance(release, str) else bytes(release)).hexdigest()


def watch_for(known: tuple[KnownEntry, ...], people: str) -> set[int]:
    """The numbers at which digests are kept; which chain they are of is known only by its first entry."""
    return {entry.seq for entry in known if (entry.opening == b"") == (people == REGISTRY)}


def check_registry(chains: list[Chain], findings: Findings) -> None:
    """Each account is in the list of accounts, by the hash of its first entry, and the other way round."""
    lists = [chain for chain in chains if chain.people == REGISTRY]
    if not lists:
        findings.add(REGISTRY, None, "the list of accounts is gone")
        return
    opens = dict(lists[0].opens)
    for chain in chains:
        if chain.people == REGISTRY:
            continue
        if opens.pop(chain.opening.hex(), None) != chain.history.first_name:
            findings.add(chain.people, None, "is not in the list of accounts as it is")
    closed = {chain.opening.hex() for chain in chains if chain.history.sealed}
    for opening, seq in lists[0].claims.beside.items():
        if opening not in closed:
            findings.add(REGISTRY, seq, "claims data of an account that was not closed")
    for people in opens.values():
        findings.add(people, None, "is in the list of accounts, and the account is gone or begins otherwise")


def concluded(
    chains: list[Chain],
    known: tuple[KnownEntry, ...],
    findings: Findings,
    place: tuple[str, str],
    *,
    entries: int,
    answers: int = 0,
    redacted: bool = False,
) -> VerificationReport:
    """The report, once each chain was held against the entries that a checkpoint says it had.

    `place` is which ledger it is, and where.
    """
    found = {b"" if chain.people == REGISTRY else chain.opening: chain for chain in chains}
    for entry in known:
        chain = found.get(entry.opening)
        if chain is None:
            findings.add(entry.people, None, "is in the checkpoint, and the account is gone or begins otherwise")
        elif entry.seq and chain.watched.get(entry.seq) != entry.digest:
            findings.add(chain.people, entry.seq, "is not the entry that the checkpoint was signed over")
    return VerificationReport(
        ledger=place[0],
        where=place[1],
        findings=tuple(findings.kept),
        more=findings.more,
        entries=entries,
        charges=sum(chain.history.charges for chain in chains),
        answers=answers,
        heads=tuple(chain.head(bodies=not redacted) for chain in chains),
        redacted=redacted,
    )
