"""The ledger in PostgreSQL, on a real server: forks, kills, lost connections, wrong settings, damage and rights."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from support.postgres import Server
from support.visitors import (
    ONE,
    PROGRAM,
    account,
    blocked,
    charges,
    connect,
    spent,
    terms,
    until,
    verify,
)
from tacit.base import CorruptLedger, LedgerError, OutcomeUnknown
from tacit.ledger import Ledger
from tacit.ledger import postgres as module
from tacit.ledger.charge import ChargeEntry, ChargeOrder
from tacit.ledger.postgres import PostgresStore
from tacit.policy.source import Claim


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    with Ledger.open(database) as opened:
        opened.apply(terms())
        yield opened


def test_many_open_an_empty_database_at_once(database: str) -> None:
    def opened(_: int) -> str:
        with Ledger.open(database) as ledger:
            ledger.apply(terms())
            return ledger.store.ledger

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(opened, range(6)))) == 1
    with Ledger.open(database) as ledger:
        assert ledger.people() == ["visitors"]
        verify(ledger)


def test_a_forked_child_goes_on_by_itself(ledger: Ledger) -> None:
    ledger.charge(account(), ONE, PROGRAM, "a")
    child = os.fork()
    if child == 0:
        try:
            ledger.charge(account(), ONE, PROGRAM, "b")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    ledger.charge(account(), ONE, PROGRAM, "c")
    assert spent(ledger) == 3


# --- things that break


def test_a_killed_server_loses_nothing(ledger: Ledger, postgres: Server) -> None:
    for number in range(3):
        ledger.charge(account(), ONE, PROGRAM, f"key {number}")
        postgres.crash()
    ledger.charge(account(), ONE, PROGRAM, "last")
    assert (spent(ledger), charges(ledger)) == (4, 4)
    verify(ledger)


def test_killed_in_the_middle_the_key_is_asked_again(ledger: Ledger, database: str, postgres: Server) -> None:
    direct = connect(database)
    direct.execute("BEGIN")
    direct.execute("SELECT 1 FROM tacit_accounts FOR UPDATE")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(ledger.charge, account(), ONE, PROGRAM, "a")
        until(lambda: blocked(database) == 1)
        postgres.crash()
        waiting.result()
    direct.close()
    assert (spent(ledger), charges(ledger)) == (1, 1)


def test_an_acknowledged_charge_is_not_charged_again_by_the_retry(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit happened and the reply was lost."""
    store = ledger.store
    assert isinstance(store, PostgresStore)
    once, calls = store._charge_once, []

    def lost(order: ChargeOrder) -> ChargeEntry:
        answer = once(order)
        calls.append(answer)
        if len(calls) == 1:
            raise OutcomeUnknown("the reply was lost")
        return answer

    monkeypatch.setattr(store, "_charge_once", lost)
    receipt = ledger.charge(account(), ONE, PROGRAM, "a")
    assert receipt.replayed
    assert (len(calls), spent(ledger)) == (2, 1)


def test_after_a_lost_reply_no_failure_claims_that_nothing_was_charged(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ledger.store
    failures = [OutcomeUnknown("the reply was lost"), LedgerError("locked, and nothing was charged")] * 2

    def failing(*_: object) -> bytes:
        raise failures.pop(0)

    monkeypatch.setattr(store, "_charge_once", failing)
    with pytest.raises(OutcomeUnknown, match="not known whether"):
        ledger.charge(account(), ONE, PROGRAM, "a")


def test_connections_that_were_ended_are_replaced(ledger: Ledger, database: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: ledger.charge(account(), ONE, PROGRAM, f"key {n}"), range(8)))
    with connect(database) as direct:
        others = "pid <> pg_backend_pid() AND datname = current_database()"
        direct.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}".encode())
    ledger.charge(account(), ONE, PROGRAM, "again")
    ledger.seal("visitors", "done")
    assert spent(ledger) == 9


def test_a_server_that_is_gone(ledger: Ledger, postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETURN", 0.2)
    ledger.charge(account(), ONE, PROGRAM, "a")
    postgres.kill()
    try:
        with pytest.raises(LedgerError, match="same key"):
            ledger.charge(account(), ONE, PROGRAM, "b")
        with pytest.raises(LedgerError, match="cannot be reached"):
            ledger.standing("visitors")
    finally:
        postgres.start()
    assert not ledger.charge(account(), ONE, PROGRAM, "b").replayed
    assert spent(ledger) == 2


def test_a_lock_held_too_long(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTINGS", module.SETTINGS.replace(module.PATIENCE, "50ms"))
    with Ledger.open(database) as ledger, connect(database) as direct:
        ledger.apply(terms())
        direct.execute("BEGIN")
        direct.execute("SELECT 1 FROM tacit_accounts FOR UPDATE")
        with pytest.raises(LedgerError, match="nothing was charged: the account was locked"):
            ledger.charge(account(), ONE, PROGRAM, "a")
        with pytest.raises(LedgerError, match="locked"):
            ledger.seal("visitors", "done")
        direct.execute("ROLLBACK")
        assert not ledger.charge(account(), ONE, PROGRAM, "a").replayed


def test_commits_wait_for_the_disk_whatever_the_default(database: str) -> None:
    name = make_url(database).database
    with connect(database) as direct:
        direct.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
        direct.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'".encode())
    with Ledger.open(database) as ledger, connect(database) as direct:
        ledger.apply(terms())
        ledger.charge(account(), ONE, PROGRAM, "a")
        store = ledger.store
        assert isinstance(store, PostgresStore)
        assert store.write(lambda page: page.connection.exec_driver_sql("SHOW synchronous_commit").scalar()) == "on"
        assert (
            store.write(lambda page: page.connection.exec_driver_sql("SHOW transaction_isolation").scalar())
            == "read committed"
        )
        shown = store.read(lambda page: page.connection.exec_driver_sql("SHOW transaction_isolation").scalar())
        assert shown == "repeatable read"


def test_a_server_without_fsync_is_refused(ledger: Ledger, database: str) -> None:
    with connect(database) as direct:
        direct.execute("ALTER SYSTEM SET fsync = off")
        try:
            direct.execute("SELECT pg_reload_conf()")
            until(lambda: setting(database, "fsync") == "off")
            with pytest.raises(LedgerError, match="fsync = off"):
                Ledger.open(database)
            with pytest.raises(LedgerError, match="fsync = off"):
                ledger.charge(account(), ONE, PROGRAM, "a")
        finally:
            direct.execute("ALTER SYSTEM RESET fsync")
            direct.execute("SELECT pg_reload_conf()")
            until(lambda: setting(database, "fsync") == "on")
    assert spent(ledger) == 0


def setting(database: str, name: str) -> object:
    with connect(database) as direct:
        return (direct.execute(f"SHOW {name}".encode()).fetchone() or ("",))[0]


def test_a_database_of_another_encoding_is_refused(postgres: Server) -> None:
    with postgres.database() as name:
        url = postgres.url(name)
        with connect(url) as direct:
            direct.execute("DROP DATABASE IF EXISTS latin")
            direct.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
            with pytest.raises(LedgerError, match="UTF8"):
                Ledger.open(postgres.url("latin"))
            direct.execute("DROP DATABASE latin")


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM tacit_entries WHERE kind = 'charge'",
        "UPDATE tacit_accounts SET head = sha256(head) WHERE people <> ''",
        "UPDATE tacit_accounts SET seq = seq - 1 WHERE people <> ''",
        "DELETE FROM tacit_entries WHERE kind = 'open' AND account = 1",
    ],
)
def test_an_altered_ledger_does_not_open(ledger: Ledger, database: str, damage: str) -> None:
    ledger.charge(account(), ONE, PROGRAM, "a")
    with connect(database) as direct:
        direct.execute(damage.encode())
    with pytest.raises(CorruptLedger, match="Restore the newest backup"):
        Ledger.open(database)


def test_there_must_be_a_ledger_unless_it_may_be_created(database: str) -> None:
    with pytest.raises(LedgerError, match="no ledger here"):
        Ledger.open(database, create=False)


def test_passwords_stay_out_of_messages(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        Ledger.open(f"postgresql://ann:hunter2@/book?host={tmp_path}")
    assert "hunter2" not in str(caught.value)


def test_the_rights_that_a_role_needs(ledger: Ledger, database: str) -> None:
    with connect(database) as direct:
        direct.execute("DROP ROLE IF EXISTS clerk")
        direct.execute("CREATE ROLE clerk LOGIN")
        for right in RIGHTS:
            direct.execute(right.encode())
    try:
        with Ledger.open(database.replace("postgres@", "clerk@"), create=False) as clerk:
            receipt = clerk.charge(account(), ONE, PROGRAM, "a")
            clerk.void(receipt)
            clerk.keep(clerk.charge(account("bob"), ONE, PROGRAM, "a"), b"42", version="1")
            clerk.apply(terms(total=50))
            clerk.apply(terms(people="staff"), [Claim("file:staff.csv")])
            clerk.claim("staff", [Claim("file:staff.csv", unit="each row")])
            clerk.unclaim("staff", "file:staff.csv", "a test")
            assert clerk.people() == ["staff", "visitors"]
        with psycopg.connect(
            host=str(make_url(database).query["host"]), user="clerk", dbname=make_url(database).database
        ) as raw:
            for forbidden in (
                "DELETE FROM tacit_entries",
                "UPDATE tacit_entries SET body = ''",
                "DROP TABLE tacit_answers",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    raw.execute(forbidden.encode())
                raw.rollback()
    finally:
        with connect(database) as direct:
            direct.execute("DROP OWNED BY clerk")
            direct.execute("DROP ROLE clerk")
    verify(ledger)


RIGHTS = (
    "GRANT SELECT ON tacit_book TO clerk",
    "GRANT SELECT, INSERT, UPDATE ON tacit_accounts, tacit_balances, tacit_claims TO clerk",
    "GRANT SELECT, INSERT ON tacit_entries, tacit_answers TO clerk",
    "GRANT USAGE ON SEQUENCE tacit_accounts_id_seq TO clerk",
)
