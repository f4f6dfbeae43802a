"""A look beside the line tells what the whole standing tells, of some holders, and never less than was committed."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from support.books import account, amount, cost, limit, opened, program, terms
from tacit.base import CorruptLedger, LedgerError
from tacit.ledger import Ledger, Standing
from tacit.ledger.sqlite.store import SqliteStore
from tacit.policy.source import Claim

HOLDERS = ("analyst:alice", "dataset")
HOUR = 3_600_000_000


def cut(whole: Standing) -> Standing:
    """What a look should tell."""
    kept = tuple(replace(balance, last=None) for balance in whole.balances if balance.holder in HOLDERS)
    return replace(whole, balances=kept, claims=())


def looked(ledger: Ledger) -> Standing:
    """By the short way alone."""
    found = ledger.store.glance("patients", HOLDERS)
    assert found is not None
    return found


def test_it_is_the_standing_of_some_holders(tmp_path: Path) -> None:
    others = tuple(limit(f"analyst:other {n}", 3, each=1, delta=10**20) for n in range(5))
    given = terms(limits=(limit("analyst:alice", 40, each=2), *others), lifetime=amount(90))
    with opened(tmp_path / "ledger", given) as ledger:
        ledger.claim("patients", [Claim("a")])
        assert looked(ledger) == cut(ledger.standing("patients"))
        ledger.charge(account(limit=40), cost("1/3"), program(), "k")
        ledger.charge(account("other 1", limit=3), cost("1/7"), program(), "k")
        assert looked(ledger) == cut(ledger.standing("patients")) == ledger.glance("patients", HOLDERS)
        assert [balance.holder for balance in looked(ledger).balances] == list(HOLDERS)


def test_it_knows_windows(tmp_path: Path) -> None:
    now = [10**15]
    store = SqliteStore(tmp_path / "ledger", clock=lambda: now[0])
    with Ledger(store) as ledger:
        ledger.apply(terms(period=HOUR))
        ledger.charge(account(), cost(), program(), "k")
        for step in (0, HOUR - 1, 1, 3 * HOUR, -(10**12)):
            now[0] += step
            assert looked(ledger) == cut(ledger.standing("patients"))
        now[0] += 10**12
        assert looked(ledger).balances[0].window_spent == amount(0)
        assert looked(ledger).balances[0].spent == amount(1)


def test_a_commit_is_seen_at_once_by_every_process(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger", terms()) as one, opened(tmp_path / "ledger") as other:
        for number in range(5):
            one.charge(account(), cost(), program(), str(number))
            assert looked(other).seq == looked(one).seq == one.standing("patients").seq


def test_it_does_not_wait_for_a_transaction(tmp_path: Path) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow(_: object) -> None:
        inside.set()
        assert go_on.wait(60)

    with opened(tmp_path / "ledger", terms()) as ledger:
        before = looked(ledger)
        writer = threading.Thread(target=lambda: ledger.store.write(slow))
        writer.start()
        assert inside.wait(60)
        assert ledger.glance("patients", HOLDERS) == before
        go_on.set()
        writer.join()


def test_an_account_that_is_not_there_is_told_the_long_way(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger", terms()) as ledger:
        assert ledger.store.glance("nobody", HOLDERS) is None
        with pytest.raises(LedgerError, match="no account"):
            ledger.glance("nobody", HOLDERS)


def test_a_ledger_that_was_replaced_is_not_looked_at(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger", terms()) as ledger:
        looked(ledger)
        (tmp_path / "ledger").rename(tmp_path / "gone")
        with pytest.raises(CorruptLedger, match="removed or replaced"):
            ledger.glance("patients", HOLDERS)


def test_a_ledger_that_was_closed_is_not_looked_at(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger", terms()) as ledger:
        looked(ledger)
    assert ledger.store.glance("patients", HOLDERS) is None
    with pytest.raises(LedgerError, match="closed"):
        ledger.glance("patients", HOLDERS)


def test_after_a_fork_both_go_on(tmp_path: Path) -> None:
    with opened(tmp_path / "ledger", terms()) as ledger:
        before = looked(ledger)
        child = os.fork()
        if not child:  # pragma: no cover - in the child
            good = False
            try:
                same = ledger.glance("patients", HOLDERS) == before
                ledger.charge(account(), cost(), program(), "child")
                good = same and looked(ledger).seq == before.seq + 1
            finally:
                os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ledger.glance("patients", HOLDERS).seq == before.seq + 1
