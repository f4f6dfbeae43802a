"""Versions of the book."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, create_engine, insert, select, text, update
from sqlalchemy.pool import NullPool

from support.books import account, amount, cost, opened, program, terms
from support.forged import said
from support.postgres import Server
from tacit.base import CorruptLedger, LedgerError, PolicyError
from tacit.ledger import REGISTRY, Ledger
from tacit.ledger import migrate as module
from tacit.ledger.chain import genesis
from tacit.ledger.checkpoint import check
from tacit.ledger.export import export, verify_export
from tacit.ledger.migrate import migrate
from tacit.ledger.schema import VERSION, accounts, book
from tacit.ledger.verify import verify
from tacit.policy.account import DATASET
from tacit.policy.source import Claim


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


# --- a ledger that an older release wrote is brought up to date in both stores, and loses nothing (version1/make.py)


OLD = Path(__file__).parent / "version1"
ALICE = account("alice", groups=("lab",))
UNIT = 'column "pid"'


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger of version 1 that nobody opened since."""
    if request.param == "sqlite":
        for name in ("tacit.ledger", "tacit.ledger.mark"):
            shutil.copy(OLD / name, tmp_path)
        return str(tmp_path / "tacit.ledger")
    server: Server = request.getfixturevalue("postgres")
    address: str = request.getfixturevalue("database")
    name = address.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(server.dsn(name), autocommit=True) as connection:
        connection.execute((OLD / "postgres.sql").read_bytes())
    return address


def run(where: str, *statements: str) -> None:
    engine = create_engine(where if "://" in where else f"sqlite:///{where}", poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def test_it_verifies_and_stands_as_it_stood(old: str) -> None:
    with pytest.raises(LedgerError, match="open it once"):
        verify(old)
    with Ledger.open(old) as ledger:
        assert ledger.people() == ["employees", "patients", "shoppers"]
        standing = ledger.standing("patients")
        whole = standing.balance(DATASET)
        assert whole is not None
        assert (whole.spent, whole.limit) == (amount(5), amount(90))
        places = ("file:/srv/clinic/visits.parquet", "postgresql://db.example:5432/clinic")
        assert standing.claims == tuple(Claim(place) for place in places)
        assert ledger.standing("employees").sealed
    report = verify(old)
    assert said(report) == ""
    assert (report.charges, report.answers) == (9, 3)
    Ledger.open(old).close()
    assert verify(old).entries == report.entries  # once


def test_stored_answers_are_found_and_nobody_pays_again(old: str) -> None:
    with Ledger.open(old) as ledger:
        first = ledger.recall(ALICE, program("first"), "v1")
        assert first is not None
        assert first.release == b"forty-two"
        shared = ledger.recall(ALICE, program("second"), "v1")
        assert shared is not None
        again = ledger.charge(ALICE, cost(1), program("third"), "k3")
        kept = ledger.kept(again)
        assert again.replayed
        assert kept is not None
        assert (kept.kind, kept.release) == ("failure", b"failed")
        unanswered = ledger.charge(ALICE, cost(1), program("begun, and no answer"), "k5")
        assert ledger.kept(unanswered) is None
        ledger.keep(unanswered, b"late", version="v1")
    assert said(verify(old)) == ""


def test_old_answers_are_in_the_chain_now(old: str) -> None:
    with Ledger.open(old) as ledger:
        keeps = [json.loads(entry.body) for entry in ledger.log(REGISTRY) if entry.kind == "keep"]
        assert [(keep["outcome"], keep["upgraded"]) for keep in keeps] == [
            ("answer", True),
            ("answer", True),
            ("failure", True),
        ]
        assert sum(entry.kind == "claim" for entry in ledger.log(REGISTRY)) == 2
    run(old, "DELETE FROM tacit_answers WHERE program = (SELECT min(program) FROM tacit_answers)")
    assert "of the list of accounts says: it is gone" in said(verify(old))


def test_an_old_claim_of_a_whole_place_holds_until_its_account_opens(old: str) -> None:
    place = "postgresql://db.example:5432/clinic"
    with opened(old, terms("staff")) as ledger:
        with pytest.raises(PolicyError, match='is the data of "patients" already'):
            ledger.claim("staff", [Claim(place, "public.staff", UNIT)])
        ledger.claim("patients", [Claim(place, "public.visits", UNIT)])
        ledger.claim("staff", [Claim(place, "public.staff", UNIT)])
        with pytest.raises(PolicyError, match="already"):
            ledger.claim("staff", [Claim(place, "public.visits", UNIT)])
    assert said(verify(old)) == ""


def test_the_unit_is_the_one_of_the_first_policy_that_opens_it(old: str) -> None:
    visits = Claim("file:/srv/clinic/visits.parquet", unit=UNIT)
    with Ledger.open(old) as ledger:
        (entry,) = ledger.claim("patients", [visits])
        assert json.loads(entry.body)["claims"] == [[visits.place, "", UNIT]]
        with pytest.raises(PolicyError, match="was counted by"):
            ledger.claim("patients", [Claim(visits.place, unit="each row")])
    assert said(verify(old)) == ""


def test_charges_go_on(old: str) -> None:
    with Ledger.open(old) as ledger:
        ledger.charge(account("alice", people="shoppers"), cost(1), program(), "new")
        receipt = ledger.charge(ALICE, cost(1), program("new"), "new")
        ledger.keep(receipt, b"x", version="v2")
    assert said(verify(old)) == ""


def test_what_was_added_behind_its_back_before_shows_afterwards(old: str) -> None:
    columns = "scope, program, version, kind, release"
    run(
        old,
        f"INSERT INTO tacit_answers (account, seq, {columns}) SELECT account, 1, {columns} FROM tacit_answers LIMIT 1",
    )
    Ledger.open(old).close()
    assert "entry 1: has a stored answer, and is no charge" in said(verify(old))


def test_processes_of_the_old_release_cannot_charge_in_postgresql(postgres: Server, database: str) -> None:
    name = database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
        connection.execute((OLD / "postgres.sql").read_bytes())
        Ledger.open(database).close()
        found = connection.execute("SELECT proname FROM pg_proc WHERE proname LIKE 'tacit%'").fetchall()
    assert found == []


def test_a_function_that_charged_for_an_earlier_release_is_left_alone(postgres: Server, database: str) -> None:
    """Ledgers of version 2 had one; it locks the account's row too, so those who still call it stand in line."""
    Ledger.open(database).close()
    name = database.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres.dsn(name), autocommit=True) as connection:
        connection.execute("CREATE FUNCTION tacit_charge_2(account_ integer) RETURNS text LANGUAGE sql RETURN NULL")
    with opened(database, terms()) as ledger:
        assert not ledger.charge(account(), cost(1), program(), "k").replayed
    assert said(verify(database)) == ""


def test_an_old_copy_cut_short_is_still_refused(tmp_path: Path) -> None:
    for name in ("tacit.ledger", "tacit.ledger.mark"):
        shutil.copy(OLD / name, tmp_path)
    path = tmp_path / "tacit.ledger"
    raw = sqlite3.connect(path)
    with raw:
        raw.execute(
            "DELETE FROM tacit_entries WHERE account = 4 AND seq = (SELECT seq FROM tacit_accounts WHERE id = 4)"
        )
        before = "(SELECT max(seq) FROM tacit_entries WHERE account = 4)"
        raw.execute(
            f"UPDATE tacit_accounts SET seq = {before}, head = (SELECT digest FROM tacit_entries WHERE account = 4 AND "
            f"seq = {before}) WHERE id = 4"
        )
    raw.close()
    with pytest.raises(CorruptLedger, match="lost or changed entries"):
        Ledger.open(path)
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT version FROM tacit_book").fetchone() == (1,)  # and left as it was
    raw.close()


def test_old_exports_and_checkpoints_hold_against_the_new_ledger(tmp_path: Path) -> None:
    for name in ("tacit.ledger", "tacit.ledger.mark"):
        shutil.copy(OLD / name, tmp_path)
    path, key = tmp_path / "tacit.ledger", OLD / "owner.key.pub"
    checkpoint = json.loads((OLD / "checkpoint.json").read_text())
    with Ledger.open(path) as ledger:
        ledger.claim("patients", [Claim("file:/srv/clinic/visits.parquet", unit=UNIT)])
    assert said(check(checkpoint, key, path)) == ""
    for name in ("export.jsonl", "redacted.jsonl"):
        assert said(verify_export(OLD / name)) == ""
        assert said(check(checkpoint, key, OLD / name)) == ""
    for redact in (False, True):
        out = tmp_path / f"{redact}.jsonl"
        with out.open("x") as file:
            export(path, file, redact=redact)
        assert said(check(checkpoint, key, out)) == ""
