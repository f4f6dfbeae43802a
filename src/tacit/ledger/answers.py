"""Stored releases: an answer is kept before anybody sees it, and the first one kept is the one that everybody sees.

That it was kept is an entry with the answer's hash, in the list of accounts: analysts see the numbers of entries in
their account, and must not read off them when somebody's answer was ready. An answer that is not the one of its entry
is shown to nobody, and a charge whose answer is gone is never answered again: that would be a second draw of noise.
"""

from hashlib import sha256
from json import loads
from typing import Any

from sqlalchemy import Row, bindparam, insert, select

from tacit.base import CorruptLedger, InputError, LedgerError
from tacit.ledger.chain import REGISTRY
from tacit.ledger.claims import opening_of
from tacit.ledger.receipt import Receipt, StoredRelease
from tacit.ledger.schema import accounts, answers, entries
from tacit.ledger.store import EntryDraft, Page, checked
from tacit.noise import SecureRng
from tacit.policy.account import analyst_holder
from tacit.program import canonical

__all__ = ["check_receipt", "find", "keep", "keep_line", "newest", "recall", "scopes_of"]

SHARED = "shared"
KINDS = ("answer", "failure")
ADVICE = "put the newest copy of the ledger back, and look at both with `tacit ledger verify`"

# written once: putting a statement together costs more than SQLite takes to run it
OF_CHARGE = select(answers).where(answers.c.account == bindparam("account"), answers.c.seq == bindparam("seq"))
LIST = select(accounts.c.id).where(accounts.c.people == REGISTRY).scalar_subquery()
NOTED = select(entries.c.body).where(
    entries.c.account == LIST,
    entries.c.analyst.is_(None),
    entries.c.key == bindparam("key"),
    entries.c.kind == "keep",
)
FIRST = (
    select(answers, entries.c.body)
    .join(accounts)
    .outerjoin(entries, (entries.c.account == LIST) & (entries.c.seq == answers.c.entry) & (entries.c.kind == "keep"))
    .where(
        accounts.c.people == bindparam("people"),
        answers.c.scope.in_([bindparam("shared"), bindparam("own")]),
        answers.c.program == bindparam("program"),
        answers.c.version == bindparam("version"),
    )
    .order_by(answers.c.seq)
    .limit(1)
)
NEWEST = (
    select(answers, entries.c.body)
    .join(accounts)
    .outerjoin(entries, (entries.c.account == LIST) & (entries.c.seq == answers.c.entry) & (entries.c.kind == "keep"))
    .where(
        accounts.c.people == bindparam("people"),
        answers.c.program == bindparam("program"),
        answers.c.scope == bindparam("own"),
        answers.c.kind == "answer",
    )
    .order_by(answers.c.seq.desc())
    .limit(1)
)


def keep(page: Page, receipt: Receipt, release: bytes, *, version: str, kind: str, shared: bool) -> StoredRelease:
    """Store a release for its charge unless one is stored already; what is stored."""
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    checked(version, "a version of the data")
    registry = page.registry()  # locked before an account, always
    row = page.account(receipt.people)
    check_receipt(page, row, receipt)
    if (stored := _of(page, row, receipt.seq)) is not None:
        return stored
    if page.fate(row.id, receipt.seq) == "void":
        raise LedgerError("this charge was voided, so nothing may be released under it: charge again with a new key")
    scope = SHARED if shared else analyst_holder(receipt.analyst)
    kept = StoredRelease(
        people=row.people, seq=receipt.seq, program=receipt.program, version=version, kind=kind, release=bytes(release)
    )
    values = {"scope": scope, "program": kept.program, "version": version, "kind": kind, "release": kept.release}
    (made,) = page.append(registry, [keep_line(page, row.id, kept, scope)])
    page.connection.execute(insert(answers).values(account=row.id, seq=kept.seq, entry=made.seq, **values))
    return kept


def keep_line(page: Page, account: int, kept: StoredRelease, scope: str, **more: Any) -> EntryDraft:
    """The entry that an answer was kept. It holds 128 random bits, as the entry of a charge does, and why."""
    opening = opening_of(page, account)
    whose = {"kind": "keep", "account": opening, "nonce": bytes(SecureRng().read(16)).hex()}
    return EntryDraft("keep", canonical(whose | _facts(kept, scope) | more), key=f"{opening}/{kept.seq}")


def _facts(kept: StoredRelease, scope: str) -> dict[str, Any]:
    """What the entry says of an answer."""
    return {
        "charge": kept.seq,
        "scope": scope,
        "program": kept.program,
        "version": kept.version,
        "outcome": kept.kind,
        "release": sha256(kept.release).hexdigest(),
    }


def check_receipt(page: Page, row: "Row[Any]", receipt: Receipt) -> None:
    """A receipt must be of this account's chain, as it stands in the book."""
    entry = page.entry(row, receipt.seq)
    if entry is None or entry.kind != "charge" or entry.digest != receipt.digest or receipt.ledger != page.ledger:
        raise LedgerError(f'this receipt is of no charge that the ledger has for "{receipt.people}"')


def find(page: Page, receipt: Receipt) -> StoredRelease | None:
    """What is stored for this charge."""
    row = page.account(receipt.people)
    check_receipt(page, row, receipt)
    return _of(page, row, receipt.seq)


def _of(page: Page, row: "Row[Any]", seq: int) -> StoredRelease | None:
    found = page.connection.execute(OF_CHARGE, {"account": row.id, "seq": seq}).one_or_none()
    noted = page.connection.execute(NOTED, {"key": f"{opening_of(page, row.id)}/{seq}"}).scalar()
    if found is None and noted is not None:
        raise CorruptLedger(
            "the answer that was kept for this charge is gone from the ledger, and no other is drawn in its place: "
            f"{ADVICE}"
        )
    return None if found is None else _kept(found, row.people, noted)


def scopes_of(analyst: str) -> tuple[str, str]:
    """Whose answers this analyst is given again: shared ones, and their own."""
    return SHARED, analyst_holder(analyst)


def recall(page: Page, people: str, analyst: str, program: str, version: str) -> StoredRelease | None:
    """The first release of this program on this version of the data that this analyst may see again."""
    shared, own = scopes_of(analyst)
    wanted = {"people": people, "program": program, "version": version, "shared": shared, "own": own}
    found = page.connection.execute(FIRST, wanted).one_or_none()
    return None if found is None else _kept(found, people, found.body)


def newest(page: Page, people: str, analyst: str, program: str) -> StoredRelease | None:
    """The last release of this program that was made for this analyst, on whichever version of the data."""
    wanted = {"people": people, "program": program, "own": analyst_holder(analyst)}
    found = page.connection.execute(NEWEST, wanted).one_or_none()
    return None if found is None else _kept(found, people, found.body)


def _kept(row: "Row[Any]", people: str, noted: str | None) -> StoredRelease:
    """A stored answer, if it is the one that its entry speaks of."""
    kept = StoredRelease(
        people=people,
        seq=row.seq,
        program=row.program,
        version=row.version,
        kind=row.kind,
        release=bytes(row.release),
    )
    try:
        same = noted is not None and _facts(kept, row.scope).items() <= loads(noted).items()
    except (ValueError, TypeError, AttributeError):
        same = False
    if not same:
        raise CorruptLedger(f"a stored answer is not the one that was kept, so it is shown to nobody: {ADVICE}")
    return kept
