"""Stored releases: an answer is kept before anybody sees it, and the first one kept is the one that everybody sees."""

from typing import Any

from sqlalchemy import Row, bindparam, insert, select

from tacit.base import InputError, LedgerError
from tacit.ledger.names import checked
from tacit.ledger.page import Page
from tacit.ledger.receipt import Kept, Receipt
from tacit.ledger.schema import accounts, answers
from tacit.policy.account import analyst_holder

__all__ = ["find", "keep", "recall"]

SHARED = "shared"
KINDS = ("answer", "failure")

# written once: putting a statement together costs more than SQLite takes to run it
OF_CHARGE = select(answers).where(answers.c.account == bindparam("account"), answers.c.seq == bindparam("seq"))
FIRST = (
    select(answers)
    .join(accounts)
    .where(
        accounts.c.people == bindparam("people"),
        answers.c.scope.in_([bindparam("shared"), bindparam("own")]),
        answers.c.program == bindparam("program"),
        answers.c.version == bindparam("version"),
    )
    .order_by(answers.c.seq)
    .limit(1)
)


def keep(page: Page, receipt: Receipt, release: bytes, *, version: str, kind: str, shared: bool) -> Kept:
    """Store a release for its charge unless one is stored already; what is stored."""
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    checked(version, "a version of the data")
    row = page.account(receipt.people)
    charged(page, row, receipt)
    if (stored := _of(page, row, receipt.seq)) is not None:
        return stored
    if page.fate(row.id, receipt.seq) == "void":
        raise LedgerError("this charge was voided, so nothing may be released under it: charge again with a new key")
    scope = SHARED if shared else analyst_holder(receipt.analyst)
    values = {"scope": scope, "program": receipt.program, "version": version, "kind": kind, "release": bytes(release)}
    page.connection.execute(insert(answers).values(account=row.id, seq=receipt.seq, **values))
    return Kept(
        people=row.people, seq=receipt.seq, program=receipt.program, version=version, kind=kind, release=bytes(release)
    )


def charged(page: Page, row: "Row[Any]", receipt: Receipt) -> None:
    """A receipt must be of this account's chain, as it stands in the book."""
    entry = page.entry(row, receipt.seq)
    if entry is None or entry.kind != "charge" or entry.digest != receipt.digest or receipt.ledger != page.ledger:
        raise LedgerError(f'this receipt is of no charge that the ledger has for "{receipt.people}"')


def find(page: Page, receipt: Receipt) -> Kept | None:
    """What is stored for this charge."""
    row = page.account(receipt.people)
    charged(page, row, receipt)
    return _of(page, row, receipt.seq)


def _of(page: Page, row: "Row[Any]", seq: int) -> Kept | None:
    return _kept(page.connection.execute(OF_CHARGE, {"account": row.id, "seq": seq}).one_or_none(), row.people)


def recall(page: Page, people: str, analyst: str, program: str, version: str) -> Kept | None:
    """The first release of this program on this version of the data that this analyst may see again."""
    scopes = {"shared": SHARED, "own": analyst_holder(analyst)}
    wanted = {"people": people, "program": program, "version": version} | scopes
    return _kept(page.connection.execute(FIRST, wanted).one_or_none(), people)


def _kept(row: "Row[Any] | None", people: str) -> Kept | None:
    if row is None:
        return None
    return Kept(
        people=people,
        seq=row.seq,
        program=row.program,
        version=row.version,
        kind=row.kind,
        release=bytes(row.release),
    )
