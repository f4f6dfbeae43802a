"""A primary and a synchronous standby: what was acknowledged outlives the primary, and nothing is told before both
have it.

The decision is docs/decisions/0021-failover.md; each test here is one of its claims.
"""

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from support.hammer import FULL, Nursery, Told, begin_book, nursery, whole
from support.postgres import Server, either, pair, postgres
from support.visitors import ONE, PROGRAM, account, charges, connect, spent, terms, until
from tacit.base import CorruptLedger, LedgerError, OutcomeUnknown
from tacit.ledger import Ledger
from tacit.ledger import postgres as module

__all__ = ["nursery", "pair", "postgres"]

WAITS = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STANDBY", 0.5)
    monkeypatch.setattr(module, "RETURN", 0.2)
    monkeypatch.setattr(module, "SETTINGS", module.SETTINGS.replace(module.PATIENCE, "300ms"))


def test_a_charge_that_its_standby_lacks_is_not_acknowledged(pair: tuple[Server, Server], impatient: None) -> None:
    """Neither at first, nor to those who ask again; once the standby is back, it was charged once."""
    primary, standby = pair
    with Ledger.open(either(*pair)) as ledger:
        ledger.apply(terms())
        standby.signal(signal.SIGSTOP)
        with pytest.raises(OutcomeUnknown, match="not known whether anything was charged"):
            ledger.charge(account(), ONE, PROGRAM, "a")
        for key in "ab":
            with pytest.raises(LedgerError, match=r"standby has not confirmed.*with the same key, later"):
                ledger.charge(account(), ONE, PROGRAM, key)
        standby.signal(signal.SIGCONT)
        until(lambda: primary.ask(WAITS) is None)
        assert ledger.charge(account(), ONE, PROGRAM, "a").replayed
        assert (spent(ledger), charges(ledger)) == (1, 1)


def test_a_wait_that_somebody_cancels_is_no_success(pair: tuple[Server, Server], impatient: None) -> None:
    """PostgreSQL says "COMMIT", and a warning: the charge stands here, and not there."""
    primary, standby = pair
    with Ledger.open(either(*pair)) as ledger, ThreadPoolExecutor(1) as threads:
        ledger.apply(terms())
        standby.signal(signal.SIGSTOP)
        asked = threads.submit(ledger.charge, account(), ONE, PROGRAM, "a")
        until(lambda: primary.ask(WAITS) is not None)
        assert primary.ask(f"SELECT pg_cancel_backend(pid) FROM ({WAITS}) waits")
        with pytest.raises(OutcomeUnknown):
            asked.result()  # the same key, asked again at once, waits too
        assert primary.ask("SELECT count(*) FROM tacit_entries WHERE kind = 'charge'") == (1,)
        standby.signal(signal.SIGCONT)
        until(lambda: primary.ask(WAITS) is None)
        assert ledger.charge(account(), ONE, PROGRAM, "a").replayed
        assert spent(ledger) == 1


def test_a_timeout_of_the_server_does_not_end_the_wait(
    pair: tuple[Server, Server], impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL takes its alarms away before it waits: only an operator can cancel that."""
    primary, standby = pair
    monkeypatch.setattr(module, "STANDBY", 2.0)
    primary.setting("statement_timeout", "1s")
    if primary.ask("SELECT 1 FROM pg_settings WHERE name = 'transaction_timeout'"):
        primary.setting("transaction_timeout", "1s")
    with Ledger.open(either(*pair)) as ledger:
        ledger.apply(terms())
        standby.signal(signal.SIGSTOP)
        with pytest.raises(OutcomeUnknown):
            ledger.charge(account(), ONE, PROGRAM, "a")
        assert primary.ask("SELECT count(*) FROM tacit_entries WHERE kind = 'charge'") == (0,)  # nobody sees it yet


def test_what_a_crash_left_on_the_primary_alone_is_not_read(pair: tuple[Server, Server], impatient: None) -> None:
    """A crash makes a commit visible that the standby lacks: a new connection waits until it has that, too."""
    primary, standby = pair
    with Ledger.open(either(*pair)) as ledger:
        ledger.apply(terms())
        standby.signal(signal.SIGSTOP)
        with pytest.raises(OutcomeUnknown):
            ledger.charge(account(), ONE, PROGRAM, "a")
        primary.crash()
        assert primary.ask("SELECT count(*) FROM tacit_entries WHERE kind = 'charge'") == (1,)
        reads: tuple[Callable[[], object], ...] = (
            lambda: ledger.standing("visitors"),
            lambda: Ledger.open(either(*pair)),
            lambda: ledger.charge(account(), ONE, PROGRAM, "a"),
        )
        for read in reads:
            with pytest.raises(LedgerError, match="standby has not confirmed"):
                read()
        standby.signal(signal.SIGCONT)
        until(lambda: primary.ask("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'") is not None)
        assert ledger.charge(account(), ONE, PROGRAM, "a").replayed
        assert spent(ledger) == 1


def test_an_old_primary_that_comes_back_cannot_be_used(pair: tuple[Server, Server], impatient: None) -> None:
    primary, standby = pair
    with Ledger.open(either(*pair)) as ledger:
        ledger.apply(terms())
        ledger.charge(account(), ONE, PROGRAM, "a")
        primary.kill()
        standby.promote()
        ledger.charge(account(), ONE, PROGRAM, "b")
        primary.start()  # nobody fenced it
        with pytest.raises(LedgerError, match="standby has not confirmed"):
            Ledger.open(either(primary))
        standby.kill()
        for key in "bc":  # a worker that finds it is not answered either
            with pytest.raises(LedgerError, match=r"standby has not confirmed|cannot be reached"):
                ledger.charge(account(), ONE, PROGRAM, key)
        standby.start()
    with Ledger.open(either(standby)) as ledger:
        assert spent(ledger) == 2


def test_without_a_synchronous_standby_a_lost_charge_is_noticed_by_whoever_made_it(postgres: Server) -> None:
    """Why it has to be synchronous: this one was acknowledged, and is gone."""
    primary = Server(postgres.binaries)
    standby = primary.standby(synchronous=False)
    try:
        with Ledger.open(either(primary, standby)) as ledger:
            ledger.apply(terms())
            until(lambda: standby.ask("SELECT to_regclass('tacit_entries')") != (None,))
            until(lambda: standby.ask("SELECT count(*) FROM tacit_accounts") == (2,))
            standby.kill()
            ledger.charge(account(), ONE, PROGRAM, "a")
            primary.kill()
            standby.start()
            standby.promote()
            with pytest.raises(CorruptLedger, match="gone from the ledger"):
                ledger.charge(account(), ONE, PROGRAM, "b")
            with connect(standby.url()) as direct:
                assert direct.execute("SELECT count(*) FROM tacit_entries WHERE kind = 'charge'").fetchone() == (0,)
    finally:
        standby.close()
        primary.close()


def test_the_primary_dies_and_the_standby_takes_over(nursery: Nursery, postgres: Server) -> None:
    """Clients in processes of their own charge on; the pair goes on as primary and a new standby, and dies again."""
    chance = Random(22)
    primary = Server(postgres.binaries)
    standby = primary.standby()
    told = Told()
    begin_book(either(primary, standby))
    try:
        for number in range(15 if FULL else 2):
            where = either(primary, standby)
            for place, client in enumerate(clients := nursery.clients(3, where)):
                client.ask("stream", name=f"{number} {place}")
            for client in clients:
                told.hear(client.until("got"))
            time.sleep(chance.uniform(0, 0.2))
            primary.kill()
            time.sleep(chance.uniform(0, 0.2))
            standby.promote()
            for client in clients:
                client.ask("stop")
            for client in clients:
                told.hear(client.until("stopped"))
            assert not told.in_flight  # they asked again until they knew
            with Ledger.open(where) as ledger:
                told.check(ledger)
            nursery.dismiss()
            primary.close()
            primary, standby = standby, standby.standby()
        assert len(told.got) > 6
        whole(either(primary, standby))
    finally:
        standby.close()
        primary.close()
