"""The book is created, or brought from an older version to this one; a newer one is refused."""

from collections.abc import Callable

from sqlalchemy import Connection, insert, inspect, select, update

from tacit.base import CorruptLedger, LedgerError
from tacit.ledger.entry import REGISTRY, genesis
from tacit.ledger.page import Page
from tacit.ledger.schema import VERSION, accounts, book, metadata
from tacit.ledger.upgrade import claims_and_answers
from tacit.noise import SecureRng

__all__ = ["MIGRATIONS", "migrate"]

# what turns a book of that version into one of the next
MIGRATIONS: dict[int, Callable[[Page], None]] = {1: claims_and_answers}


def migrate(
    connection: Connection, *, now: int, create: bool, extra: Callable[[Connection], None] | None = None
) -> str:
    """Make the tables current inside the caller's transaction and return the book's name.

    `extra` adds what one store has beside the tables (functions of a server), whenever the version changed.
    """
    if not inspect(connection).has_table(book.name):
        if not create:
            raise LedgerError("there is no ledger here: check the place, or create one with `tacit ledger apply`")
        return _create(connection, now, extra)
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
        if extra is not None:
            extra(connection)
    return str(name)


def _create(connection: Connection, now: int, extra: Callable[[Connection], None] | None) -> str:
    name = bytes(SecureRng().read(16)).hex()
    metadata.create_all(connection)
    connection.execute(insert(book).values(version=VERSION, ledger=name, created=now))
    first = {"people": REGISTRY, "window": 0, "sealed": 0, "seq": 0, "time": now, "head": genesis(name, REGISTRY)}
    connection.execute(insert(accounts).values(**first))
    if extra is not None:
        extra(connection)
    return name
