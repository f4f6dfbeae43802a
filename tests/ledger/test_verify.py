"""Verification finds what was done to a ledger behind its back, and nothing where nothing was done."""

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import NullPool

from support.books import account, amount, cost, opened, program, terms
from support.busy import DAY, alter, busy
from support.forged import rewrite, said
from support.markdown import blocks
from support.postgres import Server
from support.tree import ROOT
from tacit.base import CorruptLedger, LedgerError
from tacit.ledger import Ledger
from tacit.ledger.verify import verify
from tacit.policy.account import DATASET


def test_a_busy_ledger_is_whole(where: str) -> None:
    busy(where)
    report = verify(where)
    assert said(report) == ""
    assert report.ok
    assert (report.charges, report.answers) == (7, 1)
    heads = {head.people: head for head in report.heads}
    assert set(heads) == {"", "patients", "guests", "visitors"}
    with Ledger.open(where, create=False) as ledger:
        for people in ("patients", "guests"):
            standing = ledger.standing(people)
            found = heads[people]
            assert (found.seq, found.digest) == (standing.seq, standing.head)
            whole = standing.balance(DATASET)
            assert whole is not None
            assert found.spent == whole.spent
        assert report.entries == sum(head.seq for head in report.heads)


def test_windows_are_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 10**15
    monkeypatch.setattr("tacit.ledger.sqlite.store.time_ns", lambda: now * 1000)
    path = tmp_path / "a.ledger"
    with opened(path, terms(period=DAY, lifetime=amount(400))) as ledger:
        held = ledger.charge(account(), cost(60), program(), "1")
        now += DAY
        ledger.charge(account(), cost(70), program(), "2")
        ledger.void(held)  # of the window before: given back to the lifetime alone
        assert said(verify(path)) == ""
        now += 5 * DAY + 7
        ledger.charge(account(), cost(80), program(), "3")
        ledger.apply(terms(period=3 * DAY, lifetime=amount(400)))
        now -= 100 * DAY  # the clock goes back: nothing is dated before what stands above it
        ledger.charge(account(), cost(10), program(), "4")
        ledger.apply(terms(total=300, lifetime=None))
        ledger.void(ledger.charge(account(total=300), cost(2), program(), "5"))
    report = verify(path)
    assert said(report) == ""
    assert report.heads[1].spent == amount(160)


ONE = "WHERE account = 2 AND key = 'one'"
CHEAPER = """replace(body, '"spend":"1000000000000"', '"spend":"1"')"""
NEWEST = "(SELECT seq FROM tacit_accounts WHERE id = 3)"


def held(change: str, holder: str) -> str:
    return f"UPDATE tacit_balances SET {change} WHERE account = 2 AND holder = '{holder}'"


def owned(change: str, people: str) -> str:
    return f"UPDATE tacit_accounts SET {change} WHERE people = '{people}'"


ALTERED: dict[str, tuple[str, ...]] = {  # what is done, and last what is found
    "a charge made cheaper": (f"UPDATE tacit_entries SET body = {CHEAPER} {ONE}", "was altered"),
    "a charge removed": ("DELETE FROM tacit_answers", f"DELETE FROM tacit_entries {ONE}", "is missing"),
    "a balance lowered": (held("spent_spend = '0'", "dataset"), "spent_spend of dataset"),
    "a window lowered": (held("window_spend = '0'", "analyst:alice"), "window_spend of analyst:alice"),
    "a limit raised": (held("limit_spend = '999999999999999999'", "dataset"), "limit_spend of dataset"),
    "a balance removed": (
        "DELETE FROM tacit_balances WHERE account = 2 AND holder = 'analyst:bob'",
        "balance of analyst:bob is missing",
    ),
    "a balance invented": (held("holder = 'analyst:eve'", "analyst:bob"), "analyst:eve has a balance without"),
    "an account unsealed": (owned("sealed = 0", "guests"), "its sealed is not"),
    "an account renamed": (owned("people = 'others'", "guests"), "its people is not"),
    "a lifetime put in": (owned("lifetime_spend = '5', lifetime_delta = '5'", "patients"), "its lifetime_spend is not"),
    "a currency changed": (owned("currency = 'rho'", "patients"), "its currency is not"),
    "a time changed": (f"UPDATE tacit_entries SET time = time - 1 {ONE}", "was altered"),
    "a key freed": (f"UPDATE tacit_entries SET key = 'x' {ONE}", "another analyst or key in the index"),
    "an analyst swapped": (f"UPDATE tacit_entries SET analyst = 'eve' {ONE}", "another analyst or key in the index"),
    "a void hidden": (
        "UPDATE tacit_entries SET kind = 'adopt', key = NULL WHERE kind = 'void'",
        "in the index than in its text",
    ),
    "a kind changed": (
        f"UPDATE tacit_entries SET kind = 'adopt', analyst = NULL {ONE}",
        "in the index than in its text",
    ),
    "an account deleted": (
        "DELETE FROM tacit_claims WHERE account = 3",
        "DELETE FROM tacit_balances WHERE account = 3",
        "DELETE FROM tacit_entries WHERE account = 3",
        "DELETE FROM tacit_accounts WHERE id = 3",
        "is in the list of accounts, and the account is gone",
    ),
    "the list of accounts emptied": (
        "DELETE FROM tacit_entries WHERE account = 1",
        "UPDATE tacit_accounts SET seq = 0 WHERE id = 1",
        "is not in the list of accounts",
    ),
    "the newest entry cut": (f"DELETE FROM tacit_entries WHERE account = 3 AND seq = {NEWEST}", "cut or altered"),
    "an answer without a charge": ("UPDATE tacit_answers SET seq = 1", "is no charge"),
    "an answer far away": ("UPDATE tacit_answers SET seq = 10000", "is not there"),
    "an answer to another program": ("UPDATE tacit_answers SET program = 'x'", "not the one that was kept"),
    "an answer for somebody else": ("UPDATE tacit_answers SET scope = 'analyst:eve'", "not the one that was kept"),
    "an answer of another version": ("UPDATE tacit_answers SET version = 'x'", "not the one that was kept"),
    "an answer called a failure": ("UPDATE tacit_answers SET kind = 'failure'", "not the one that was kept"),
    "other noise": ("UPDATE tacit_answers SET release = 'x'", "not the one that was kept"),
    "an answer moved": ("UPDATE tacit_answers SET seq = seq + 1", "not the one that was kept"),
    "an answer deleted": ("DELETE FROM tacit_answers", "had an answer, as entry 2 of the list of accounts says"),
    "an answer added": (
        "INSERT INTO tacit_answers "
        "SELECT account, seq + 1, scope, program, version, kind, release, entry FROM tacit_answers",
        "that no entry speaks of: it was added",
    ),
    "an answer added without an entry": (
        "INSERT INTO tacit_answers "
        "SELECT account, seq + 1, scope, program, version, kind, release, NULL FROM tacit_answers",
        "that no entry speaks of: it was added",
    ),
    "the index of an answer altered": (
        "UPDATE tacit_entries SET key = 'x' WHERE kind = 'keep'",
        "in the index than in its text",
    ),
    "the entry of an answer deleted": ("DELETE FROM tacit_entries WHERE kind = 'keep'", "is missing"),
    "a claim deleted": ("DELETE FROM tacit_claims WHERE place = 'file:/srv/b'", "claim of file:/srv/b is gone"),
    "a claim moved": ("UPDATE tacit_claims SET account = 3 WHERE place = 'file:/srv/a'", "is not the one that"),
    "a claim added": (
        "INSERT INTO tacit_claims VALUES ('file:/x', '', 2, 'each row', 'held')",
        "claim of file:/x is not the one",
    ),
    "a unit changed": ("UPDATE tacit_claims SET unit = 'each row'", "is not the one that the entries say"),
    "a claim given up": ("UPDATE tacit_claims SET state = 'waived'", "is not the one that the entries say"),
}


@pytest.mark.parametrize("case", ALTERED)
def test_what_was_altered_is_found(where: str, case: str) -> None:
    *statements, expected = ALTERED[case]
    busy(where)
    alter(where, *statements)
    report = verify(where)
    assert not report.ok
    assert expected in said(report), said(report)


def test_a_forged_history_is_known_by_its_mark_and_by_what_it_adds_up_to(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    busy(path)
    rewrite(path, lambda seq, body: body.replace('"spend":"1000000000000"', '"spend":"1"'))
    report = verify(path)
    assert "the file of marks knows" in said(report)
    assert "spent_spend of dataset" in said(report)
    assert "was altered" not in said(report)


def test_charges_above_a_limit_are_found(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms(total=10, lifetime=amount(10), period=DAY)) as ledger:
        ledger.charge(account(total=10), cost(4), program(), "1")
        ledger.charge(account(total=10), cost(5), program(), "2")
    rewrite(path, lambda seq, body: body.replace('"spend":"5000000000000"', '"spend":"7000000000000"'))
    text_ = said(verify(path))
    assert "entry 5: took dataset above its limit at that time" in text_
    assert "entry 5: took the dataset above its lifetime limit" in text_
    assert "took analyst:alice above its limit" in text_


def test_a_missing_or_foreign_file_of_marks_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    busy(path)
    mark = tmp_path / "a.ledger.mark"
    kept = mark.read_bytes()
    mark.unlink()
    assert "is missing" in said(verify(path))
    assert not mark.exists()  # nothing is written
    mark.write_bytes(bytes(len(kept)))
    assert "is damaged or another's" in said(verify(path))
    mark.write_bytes(kept)
    assert verify(path).ok


def test_nothing_is_written_and_others_may_charge_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        for n in range(20):
            ledger.charge(account(), cost("1/100"), program(), f"{n}")
        before = sha256(path.read_bytes()).digest()
        seen: list[int] = []

        def charge(_: int) -> None:
            seen.append(ledger.charge(account(), cost("1/100"), program(), f"later {len(seen)}").seq)

        report = verify(path, begin=charge)
        assert sha256(path.read_bytes()).digest() == before
        assert seen == [24]
        assert said(report) == ""
        assert report.heads[1].seq == 23  # as it was when the verification began
        assert verify(path).heads[1].seq == 24


def test_what_is_not_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger at"):
        verify(tmp_path / "nothing")
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 100)
    with pytest.raises(CorruptLedger, match="damaged, or not a ledger"):
        verify(tmp_path / "text")
    sqlite3.connect(tmp_path / "empty").execute("CREATE TABLE x (y)").connection.close()
    with pytest.raises(LedgerError, match="without a ledger in it"):
        verify(tmp_path / "empty")
    with pytest.raises(LedgerError, match="not the address of a database"):
        verify("postgresql://a:b:c:d")
    with pytest.raises(LedgerError, match="cannot be read"):
        verify("postgresql://nobody@127.0.0.1:1/x")


def test_rows_that_hold_anything_do_not_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    busy(path)
    raw = sqlite3.connect(path)
    with raw:
        raw.execute("UPDATE tacit_entries SET time = 'noon' WHERE account = 2 AND seq = 3")
        raw.execute("UPDATE tacit_entries SET body = x'ff' WHERE account = 2 AND seq = 4")
        raw.execute("UPDATE tacit_entries SET body = '[]' WHERE account = 2 AND seq = 5")
        raw.execute("UPDATE tacit_entries SET time = -1 WHERE account = 3 AND seq = 2")
    raw.close()
    found = said(verify(path))
    for seq in (3, 4, 5):
        assert f'"patients", entry {seq}: cannot be read' in found
    assert '"guests", entry 2: cannot be read' in found


def test_the_grants_of_the_page_are_enough_to_charge_and_not_to_alter(postgres: Server) -> None:
    (grants,) = blocks(ROOT / "docs" / "how-to" / "keep-the-ledger.md", "sql")
    with postgres.database() as name:
        owner = postgres.url(name)
        with opened(owner, terms()):
            pass
        role, watcher = f"app_{name}", f"watcher_{name}"
        statements = [f"CREATE ROLE {role} LOGIN", f"CREATE ROLE {watcher} LOGIN"]
        statements += [part.replace("tacit_app", role) for part in grants.text.split(";") if part.strip()]
        statements += [f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {watcher}"]
        engine = create_engine(owner, poolclass=NullPool)
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))
        own = owner.replace("postgres@", f"{role}@")
        try:
            with opened(own) as ledger:
                receipt = ledger.charge(account("new", total=100), cost(1), program(), "one")
                ledger.keep(receipt, b"answer", version="1")
                ledger.void(ledger.charge(account(), cost(1), program(), "two"))
                ledger.apply(terms(total=50))
            assert verify(owner.replace("postgres@", f"{watcher}@")).ok
            for change in ("DELETE FROM tacit_entries", "UPDATE tacit_entries SET body = ''"):
                with pytest.raises(ProgrammingError, match="permission denied"):
                    alter(own, change)
        finally:
            with engine.begin() as connection:
                for gone in (role, watcher):
                    connection.execute(text(f"DROP OWNED BY {gone}"))
                    connection.execute(text(f"DROP ROLE {gone}"))
            engine.dispose()
