"""Versions of the book."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, create_engine, insert, select, text, update

from tacit.base import CorruptLedger, LedgerError
from tacit.ledger import migrate as module
from tacit.ledger.chain import REGISTRY, genesis
from tacit.ledger.migrate import migrate
from tacit.ledger.schema import VERSION, accounts, book


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as found:
        yield found
    engine.dispose()


def test_a_new_book_has_a_name_and_a_list_of_accounts(connection: Connection) -> None:
    name = migrate(connection, now=5, create=True)
    assert len(name) == 32
    (registry,) = connection.execute(select(accounts)).all()
    assert (registry.people, registry.seq, registry.head) == (REGISTRY, 0, genesis(name, REGISTRY))
    assert migrate(connection, now=6, create=False) == name
    assert connection.execute(select(book)).one() == (VERSION, name, 5)


def test_no_two_books_have_one_name() -> None:
    names = set()
    for _ in range(3):
        engine = create_engine("sqlite://")
        with engine.connect() as connection:
            names.add(migrate(connection, now=0, create=True))
        engine.dispose()
    assert len(names) == 3


def test_nothing_is_created_unasked(connection: Connection) -> None:
    with pytest.raises(LedgerError, match="no ledger here"):
        migrate(connection, now=0, create=False)


def test_a_newer_version_is_refused(connection: Connection) -> None:
    migrate(connection, now=0, create=True)
    connection.execute(update(book).values(version=VERSION + 1))
    with pytest.raises(LedgerError, match=f"version {VERSION + 1}.*newer"):
        migrate(connection, now=0, create=True)


def test_an_unknown_older_version_is_refused(connection: Connection) -> None:
    migrate(connection, now=0, create=True)
    connection.execute(update(book).values(version=-3))
    with pytest.raises(LedgerError, match="cannot bring up to date"):
        migrate(connection, now=0, create=True)


def test_older_versions_are_brought_up_step_by_step(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    name = migrate(connection, now=0, create=True)
    steps = {
        VERSION: lambda page: page.connection.execute(text("CREATE TABLE one (x)")),
        VERSION + 1: lambda page: page.connection.execute(text("DROP TABLE one")),
    }
    monkeypatch.setattr(module, "VERSION", VERSION + 2)
    monkeypatch.setattr(module, "MIGRATIONS", steps)
    assert migrate(connection, now=0, create=False) == name
    assert connection.execute(select(book.c.version)).scalar_one() == VERSION + 2
    assert migrate(connection, now=0, create=False) == name


def test_two_names_are_none(connection: Connection) -> None:
    migrate(connection, now=0, create=True)
    connection.execute(insert(book).values(version=VERSION, ledger="second", created=0))
    with pytest.raises(CorruptLedger):
        migrate(connection, now=0, create=True)
