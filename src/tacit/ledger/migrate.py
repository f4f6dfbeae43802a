"""The book is created, or brought from an older version to this one; a newer one is refused."""

from collections.abc import Callable

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, insert, inspect, select, text, update

from tacit.base import CorruptLedger, LedgerError
from tacit.ledger.answers import keep_line
from tacit.ledger.chain import REGISTRY, genesis
from tacit.ledger.claims import HELD, claim_body, opening_of
from tacit.ledger.receipt import StoredRelease
from tacit.ledger.schema import VERSION, accounts, answers, book, claims, metadata
from tacit.ledger.store import EntryDraft, Page
from tacit.noise import SecureRng
from tacit.policy.source import Claim

__all__ = ["MIGRATIONS", "claims_and_answers", "migrate"]

CHUNK = 200  # answers in memory at once

sources = Table("tacit_sources", MetaData(), Column("source", Text), Column("account", Integer))


def claims_and_answers(page: Page) -> None:
    """From version 1 to version 2."""
    claims.create(page.connection)
    page.connection.execute(text("ALTER TABLE tacit_answers ADD COLUMN entry BIGINT"))
    names = select(accounts.c.people).where(accounts.c.people != REGISTRY).order_by(accounts.c.id)
    for people in page.connection.execute(names).scalars().all():
        _claims(page, people)
        _answers(page, people)
    sources.drop(page.connection)
    if page.connection.dialect.name == "postgresql":  # so that a process of the older release cannot charge any more
        page.connection.execute(text("DROP FUNCTION IF EXISTS tacit_charge_1"))


def _claims(page: Page, people: str) -> None:
    """A whole place each, since nothing finer was known, and no unit: the account says both when it is opened next."""
    registry, row = page.registry(), page.account(people)
    query = select(sources.c.source).where(sources.c.account == row.id).order_by(sources.c.source)
    found = [Claim(name) for name in page.connection.execute(query).scalars()]
    if not found:
        return
    rows = [{"place": each.place, "part": each.part, "account": row.id, "state": HELD} for each in found]
    page.connection.execute(insert(claims), rows)
    page.append(registry, [EntryDraft("claim", claim_body(opening_of(page, row.id), people, found, upgraded=True))])


def _answers(page: Page, people: str) -> None:
    after = 0
    while True:
        registry, row = page.registry(), page.account(people)
        query = select(*answers.c).where(answers.c.account == row.id, answers.c.seq > after)
        found = page.connection.execute(query.order_by(answers.c.seq).limit(CHUNK)).all()
        if not found:
            return
        lines = []
        for one in found:
            facts = {"program": one.program, "version": one.version, "kind": one.kind, "release": bytes(one.release)}
            lines.append(
                keep_line(page, row.id, StoredRelease(people=people, seq=one.seq, **facts), one.scope, upgraded=True)
            )
        for one, made in zip(found, page.append(registry, lines), strict=True):
            place = (answers.c.account == row.id) & (answers.c.seq == one.seq)
            page.connection.execute(update(answers).where(place).values(entry=made.seq))
        after = found[-1].seq


# what turns a book of that version into one of the next
MIGRATIONS: dict[int, Callable[[Page], None]] = {1: claims_and_answers}


def migrate(connection: Connection, *, now: int, create: bool) -> str:
    """Make the tables current inside the caller's transaction and return the book's name."""
    if not inspect(connection).has_table(book.name):
        if not create:
            raise LedgerError("there is no ledger here: check the place, or create one with `tacit ledger apply`")
        return _create(connection, now)
    found = connection.execute(select(book)).all()
    if len(found) != 1:
        raise CorruptLedger("this ledger does not say which one it is: restore the newest copy of it")
    version, name = found[0].version, found[0].ledger
    if version > VERSION:
        raise LedgerError(f"this ledger has version {version}, and this release knows {VERSION}: install a newer one")
    page = Page(connection, ledger=name, clock=lambda _: now)
    for step in range(version, VERSION):
        if step not in MIGRATIONS:
            raise LedgerError(f"this ledger has version {version}, which this release cannot bring up to date")
        MIGRATIONS[step](page)
    if version < VERSION:
        connection.execute(update(book).values(version=VERSION))
    return str(name)


def _create(connection: Connection, now: int) -> str:
    name = bytes(SecureRng().read(16)).hex()
    metadata.create_all(connection)
    connection.execute(insert(book).values(version=VERSION, ledger=name, created=now))
    first = {"people": REGISTRY, "window": 0, "sealed": 0, "seq": 0, "time": now, "head": genesis(name, REGISTRY)}
    connection.execute(insert(accounts).values(**first))
    return name
