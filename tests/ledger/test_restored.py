"""An older copy put in the place of a ledger that is in use is noticed at the next charge, before anything is lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text

from support.books import account, cost, opened, program, terms
from support.forged import said
from support.postgres import Server
from tacit.base import CorruptLedger
from tacit.ledger import Ledger
from tacit.ledger.verify import verify

FILES = ("", "-wal", "-shm", ".mark")
REPLACED = "gone from the ledger|removed or replaced|lost or changed entries|do not hang together|is damaged|malformed"


def charge(ledger: Ledger, key: object) -> int:
    return ledger.charge(account(total=10**6), cost(1), program(), str(key)).seq


def over(source: Path, to: Path) -> None:
    """Write one file over another in place, as `cp` does: the number of the file stays."""
    with source.open("rb") as content, to.open("r+b") as file:
        file.truncate(0)
        shutil.copyfileobj(content, file)


def saved(path: Path, folder: Path) -> Path:
    """All files of a ledger as they are."""
    folder.mkdir()
    for ending in FILES:
        shutil.copy(f"{path}{ending}", folder / f"{path.name}{ending}")
    return folder / path.name


def backed_up(path: Path, to: Path) -> Path:
    """One whole file, as SQLite's own backup makes it."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
    return to


def all_files_in_place(path: Path, copy: Path) -> None:
    for ending in FILES:
        over(Path(f"{copy}{ending}"), Path(f"{path}{ending}"))


def all_files_moved(path: Path, copy: Path) -> None:
    for ending in FILES:
        Path(f"{copy}{ending}").replace(f"{path}{ending}")


def all_files_removed_first(path: Path, copy: Path) -> None:
    for ending in FILES:
        Path(f"{path}{ending}").unlink()
    for ending in FILES:
        shutil.copy(f"{copy}{ending}", f"{path}{ending}")


@pytest.mark.parametrize("put_back", [all_files_in_place, all_files_moved, all_files_removed_first])
def test_a_copy_with_its_log(tmp_path: Path, put_back: object) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        charge(ledger, 1)
        copy = saved(path, tmp_path / "copy")
        for key in range(2, 6):
            charge(ledger, key)
        put_back(path, copy)  # type: ignore[operator]
        for key in (6, 7):
            with pytest.raises(CorruptLedger, match=REPLACED):
                charge(ledger, key)


@pytest.mark.parametrize("removed", [("-wal", "-shm"), ("-wal",), ()], ids=["log removed", "log alone", "log left"])
@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_backup_written_over_it(tmp_path: Path, removed: tuple[str, ...], checkpointed: bool) -> None:
    """Whatever becomes of the log: either the charge is refused, or nothing that was charged is lost."""
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        charge(ledger, 1)
        copy = backed_up(path, tmp_path / "copy")
        for key in range(2, 40):
            charge(ledger, key)
        if checkpointed:
            with closing(sqlite3.connect(path)) as raw:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for ending in removed:
            Path(f"{path}{ending}").unlink()
        over(copy, path)
        charged = 0
        for key in (40, 41, 42):
            with suppress(CorruptLedger):
                charge(ledger, key)
                charged += 1
        assert not (charged and checkpointed)
        assert charged < 3 or not removed
    if charged:  # the log had all of it, and was written into the file when it was closed
        report = verify(path)
        assert said(report) == ""
        assert report.charges == 39 + charged


@pytest.mark.parametrize("removed", [("-wal", "-shm"), ()], ids=["log removed", "log left"])
def test_an_older_file_under_a_log_that_goes_on(tmp_path: Path, removed: tuple[str, ...]) -> None:
    """The newest entries are in the log, and what was written between the copy and the log is in neither."""
    path = tmp_path / "a.ledger"
    with opened(path, terms(total=10**6)) as ledger:
        copy = backed_up(path, tmp_path / "copy")
        for key in range(300):
            ledger.charge(account(f"analyst {key % 50}", total=10**6), cost(1), program(), str(key))
        with closing(sqlite3.connect(path)) as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        charge(ledger, "newest")
        for ending in removed:
            Path(f"{path}{ending}").unlink()
        over(copy, path)
        for key in range(2):
            with pytest.raises(CorruptLedger):
                charge(ledger, f"later {key}")


def test_a_backup_written_into_it_by_sqlite_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        charge(ledger, 1)
        copy = backed_up(path, tmp_path / "copy")
        charge(ledger, 2)
        with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        with pytest.raises(CorruptLedger, match="gone from the ledger"):
            charge(ledger, 3)


def test_another_process_that_went_on_from_the_older_copy_does_not_hide_it(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        charge(ledger, 1)
        copy = backed_up(path, tmp_path / "copy")
        charge(ledger, 2)
        with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        with Ledger.open(path, adopt="a test") as other:
            for key in range(5):
                charge(other, f"other {key}")
        with pytest.raises(CorruptLedger, match="start this process again"):
            charge(ledger, 3)
    with opened(path) as ledger:
        charge(ledger, 3)


def test_answers_and_limits_notice_it_too(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()) as ledger:
        receipt = ledger.charge(account(), cost(1), program(), "1")
        copy = backed_up(path, tmp_path / "copy")
        charge(ledger, 2)
        with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        with pytest.raises(CorruptLedger, match="gone from the ledger"):
            ledger.keep(receipt, b"x", version="1")
        with pytest.raises(CorruptLedger, match="gone from the ledger"):
            ledger.apply(terms(total=50))


CHILD = """
import sys
from pathlib import Path
from support.books import account, cost, program
from tacit.ledger import Ledger

with Ledger.open(sys.argv[1]) as ledger:
    for line in sys.stdin:
        try:
            print(ledger.charge(account(), cost(1), program(), line.strip()).seq, flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
"""


def test_two_processes_and_a_copy_put_back_between_them(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"
    with opened(path, terms()):
        pass
    path_text = os.pathsep.join([*sys.path])
    environment = {**os.environ, "PYTHONPATH": path_text}
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdin=-1, stdout=-1, text=True, env=environment)
        for _ in range(2)
    ]

    def asked(number: int, key: str) -> str:
        child = children[number]
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(key + "\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    try:
        assert [asked(0, "a"), asked(1, "b"), asked(0, "c")] == ["4", "5", "6"]
        copy = saved(path, tmp_path / "copy")
        assert [asked(1, "d"), asked(0, "e")] == ["7", "8"]
        all_files_in_place(path, copy)
        assert [asked(0, "f"), asked(1, "g")] == ["CorruptLedger", "CorruptLedger"]
    finally:
        for child in children:
            child.communicate()


@pytest.fixture
def direct(postgres: Server, database: str) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(postgres.dsn(database.partition("?")[0].rpartition("/")[2]), autocommit=True)


TABLES = ("tacit_accounts", "tacit_balances", "tacit_entries")


def remember(direct: "psycopg.Connection[tuple[object, ...]]") -> None:
    for table in TABLES:
        direct.execute(f"CREATE TABLE old_{table} AS TABLE {table}".encode())


def put_back(direct: "psycopg.Connection[tuple[object, ...]]") -> None:
    with direct.transaction():
        for table in reversed(TABLES):
            direct.execute(f"DELETE FROM {table}".encode())
        for table in TABLES:
            direct.execute(f"INSERT INTO {table} SELECT * FROM old_{table}".encode())


def test_postgresql_put_back_from_a_dump(database: str, direct: "psycopg.Connection[tuple[object, ...]]") -> None:
    with direct, opened(database, terms()) as ledger:
        charge(ledger, 1)
        remember(direct)
        charge(ledger, 2)
        put_back(direct)
        with pytest.raises(CorruptLedger, match=r"gone from the ledger.*tacit ledger adopt"):
            charge(ledger, 3)
        with pytest.raises(CorruptLedger, match="gone from the ledger"):
            ledger.apply(terms(total=50))
        with opened(database) as other:  # which knows nothing of what was lost
            for key in range(5):
                charge(other, f"other {key}")
            with pytest.raises(CorruptLedger, match="gone from the ledger"):
                charge(ledger, 3)
        assert len([entry for entry in ledger.store.read(entries) if entry == "charge"]) == 6


def entries(page: object) -> list[str]:
    found = page.connection.exec_driver_sql("SELECT kind FROM tacit_entries WHERE account = 2")  # type: ignore[attr-defined]
    return list(found.scalars())


def test_postgresql_put_back_before_the_first_charge(
    database: str, direct: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    with opened(database, terms()):
        pass
    remember(direct)
    with opened(database) as other:
        charge(other, 1)
    with direct, opened(database) as ledger:
        put_back(direct)
        with pytest.raises(CorruptLedger, match="gone from the ledger"):
            charge(ledger, 2)


@pytest.mark.parametrize("where", ["sqlite", "postgres"], indirect=True)
def test_a_deleted_answer_is_not_drawn_again(where: str) -> None:
    with opened(where, terms()) as ledger:
        receipt = ledger.charge(account(), cost(1), program(), "1")
        ledger.keep(receipt, b"forty-two", version="v1")
        engine = create_engine(where if "://" in where else f"sqlite:///{where}")
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM tacit_answers"))
        again = ledger.charge(account(), cost(1), program(), "1")
        with pytest.raises(CorruptLedger, match="is gone from the ledger, and no other is drawn"):
            ledger.kept(again)
        with pytest.raises(CorruptLedger, match="no other is drawn"):
            ledger.keep(again, b"forty-three", version="v1")
        with engine.begin() as connection:
            connection.execute(
                text("INSERT INTO tacit_answers VALUES (2, 4, 'analyst:alice', :program, 'v1', 'answer', :release, 2)"),
                {"program": program().hash, "release": b"forty-four"},
            )
        engine.dispose()
        with pytest.raises(CorruptLedger, match="shown to nobody"):
            ledger.kept(again)
        with pytest.raises(CorruptLedger, match="shown to nobody"):
            ledger.recall(account(), program(), "v1")
