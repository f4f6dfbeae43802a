"""A backup of a service that runs: whole, checked, put back without giving anything back, and never half there."""

import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from support.postgres import Server
from support.service import Running, asked, running
from tacit.base import CorruptLedger, InputError, TacitError
from tacit.ledger import Ledger
from tacit.ledger.verify import verify
from tacit.server.auth.people import People
from tacit.server.db import State
from tacit.server.ops.backup import back_up
from tacit.server.ops.config import Config
from tacit.server.ops.restore import check, restore

PEOPLE = "patients of a made-up clinic"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


@pytest.fixture(scope="module")
def made(clinic: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup that was made while two people asked."""
    file = tmp_path_factory.mktemp("backup") / "monday.tar"
    stop = threading.Event()

    def asking(who: str) -> None:
        for number in range(200):
            if stop.is_set():
                return
            sql = f"SELECT COUNT(*) AS n FROM visits WHERE age >= {number}"
            assert clinic.ask(who, sql, epsilon=0.001).status_code == 200

    threads = [threading.Thread(target=asking, args=(who,)) for who in ("ana", "ben")]
    assert clinic.ask("ana", epsilon=0.5).status_code == 200
    clinic.service.people.sign_in(clinic.service.people.link("ana"))
    for thread in threads:
        thread.start()
    try:
        assert not back_up(clinic.service.config, file).findings
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return file


def fresh(folder: Path) -> Path:
    (folder / "clinic").mkdir()
    return folder / "clinic"


def ledger_in(folder: Path) -> Path:
    return next((folder / "ledgers").rglob("*.ledger"))


def spent(path: Path) -> Fraction:
    with Ledger.open(path, create=False) as book:
        balance = book.standing(PEOPLE).balance("dataset")
        assert balance is not None
        return Fraction(balance.spent.spend, 10**12)


def test_a_copy_made_while_people_ask_is_whole_and_private(made: Path, tmp_path: Path) -> None:
    found = check(made)
    assert found.ok, found.findings
    assert {part.kind for part in found.parts} == {"state", "ledger", "policy"}
    assert made.stat().st_mode & 0o077 == 0
    assert list(made.parent.iterdir()) == [made]
    with tarfile.open(made) as archive:
        assert not [name for name in archive.getnames() if name.endswith((".mark", ".lock", "-wal"))]
    restore(made, tmp_path / "back")
    with closing(sqlite3.connect(tmp_path / "back/state/server.db")) as state:
        newest = state.execute("SELECT max(entry) FROM tacit_releases").fetchone()[0]
    with closing(sqlite3.connect(ledger_in(tmp_path / "back"))) as book:
        assert newest <= book.execute("SELECT max(seq) FROM tacit_entries").fetchone()[0]


def test_a_copy_gives_no_budget_back_by_itself(clinic: Running, made: Path, tmp_path: Path) -> None:
    restore(made, tmp_path / "back")
    copy = ledger_in(tmp_path / "back")
    with pytest.raises(CorruptLedger, match="adopt"):
        Ledger.open(copy, create=False)
    copy.with_name(copy.name + ".mark").unlink(missing_ok=True)
    original = next(Path(part.origin) for part in check(made).parts if part.kind == "ledger")
    assert clinic.ask("ana", "SELECT COUNT(*) AS n FROM visits WHERE age > 90", epsilon=0.2).status_code == 200
    there = tmp_path / "there" / original.name  # the place it was lost from, where only the marks are left
    there.parent.mkdir()
    shutil.copy(copy, there)
    shutil.copy(original.with_name(original.name + ".mark"), there.with_name(there.name + ".mark"))
    with pytest.raises(CorruptLedger, match="lost or changed"):
        Ledger.open(there, create=False)
    with Ledger.open(there, create=False, adopt="the disk failed") as book:
        assert any("the disk failed" in entry.body for entry in book.log(PEOPLE))
    assert verify(there).ok
    assert spent(there) < spent(original)


def test_a_copy_that_nothing_was_charged_since_opens_beside_the_marks(tmp_path: Path) -> None:
    with running(fresh(tmp_path)) as service:
        assert service.ask("ana", epsilon=0.5).status_code == 200
        back_up(service.service.config, tmp_path / "copy.tar")
        original = Path(service.service.datasets._opened["clinic"].ledger.store.where)
    restore(tmp_path / "copy.tar", tmp_path / "back")
    for ending in ("", "-wal", "-shm"):
        original.with_name(original.name + ending).unlink(missing_ok=True)
    shutil.copy(ledger_in(tmp_path / "back"), original)
    assert spent(original) == Fraction(1, 2)


@pytest.mark.parametrize("keep", [False, True])
def test_nobody_is_inside_what_was_put_back(clinic: Running, made: Path, tmp_path: Path, keep: bool) -> None:
    restore(made, tmp_path / "back", keep_tokens=keep)
    state = State(tmp_path / "back/state/server.db")
    try:
        people = People(state)
        assert (people.by_token(clinic.tokens["ana"]) is not None) is keep
        with state.reading() as connection:
            for table in ("browsers", "links"):
                assert connection.exec_driver_sql(f"SELECT count(*) FROM tacit_{table}").scalar_one() == 0
    finally:
        state.close()
    assert clinic.service.people.by_token(clinic.tokens["ana"]) is not None  # the original is not touched


def changed(file: Path, to: Path, change: Callable[[str, bytes], bytes | None], *more: tarfile.TarInfo) -> Path:
    """The archive with other contents; None leaves one out."""
    with tarfile.open(file) as old, tarfile.open(to, "w") as new:
        for entry in old.getmembers():
            source = old.extractfile(entry)
            assert source is not None
            content = change(entry.name, source.read())
            if content is not None:
                entry.size = len(content)
                new.addfile(entry, io.BytesIO(content))
        for entry in more:
            new.addfile(entry)
    return to


def test_what_was_changed_or_lost_is_found(made: Path, tmp_path: Path) -> None:
    for number, part in enumerate(check(made).parts):
        for how in ("flipped", "lost"):

            def change(name: str, content: bytes, part: Any = part, how: str = how) -> bytes | None:
                if name != part.name:
                    return content
                middle = len(content) // 2
                return (
                    None if how == "lost" else content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
                )

            bad = changed(made, tmp_path / f"{number}-{how}.tar", change)
            assert [name for name, _ in check(bad).findings] == [part.name]
            assert not restore(bad, tmp_path / "never").ok
            assert not (tmp_path / "never").exists()


def rewritten(made: Path, to: Path, edit: Callable[[dict[str, Any]], None]) -> Path:
    def change(name: str, content: bytes) -> bytes:
        if name != "manifest.json":
            return content
        manifest = json.loads(content)
        edit(manifest)
        return json.dumps(manifest).encode()

    return changed(made, to, change)


def test_a_ledger_that_was_swapped_with_its_hash_is_found_by_its_entries(made: Path, tmp_path: Path) -> None:
    """Somebody who writes the manifest too still cannot alter an entry, or cut some off that were noted."""
    restore(made, tmp_path / "back")
    copy = ledger_in(tmp_path / "back")
    name = next(part.name for part in check(made).parts if part.kind == "ledger")
    for order in (
        "UPDATE tacit_balances SET spent_spend = '0'",
        "UPDATE tacit_entries SET body = body || ' ' WHERE seq = 3",
        "DELETE FROM tacit_entries WHERE seq = (SELECT max(seq) FROM tacit_entries)",
    ):
        forged = tmp_path / "forged.ledger"
        shutil.copy(copy, forged)
        with closing(sqlite3.connect(forged)) as base, base:
            base.execute(order)
        content = forged.read_bytes()

        def edit(manifest: dict[str, Any], content: bytes = content) -> None:
            part = next(part for part in manifest["parts"] if part["name"] == name)
            part.update(size=len(content), sha256=sha256(content).hexdigest())

        def swap(part: str, old: bytes, content: bytes = content) -> bytes:
            return content if part == name else old

        first = changed(made, tmp_path / "x.tar", swap)
        found = check(rewritten(first, tmp_path / "y.tar", edit))
        assert {part for part, _ in found.findings} == {name}, order


def test_what_is_no_backup(made: Path, tmp_path: Path) -> None:
    (tmp_path / "short.tar").write_bytes(made.read_bytes()[: made.stat().st_size // 2])
    (tmp_path / "text.tar").write_text("hello")
    with tarfile.open(tmp_path / "empty.tar", "w"):
        pass
    for name in ("short.tar", "text.tar", "empty.tar", "none.tar"):
        with pytest.raises(InputError):
            check(tmp_path / name)
    for edit in (
        lambda manifest: manifest.update(tacit_backup=2),
        lambda manifest: manifest.update(made="x"),
        lambda manifest: manifest["parts"].append(manifest["parts"][0]),
        lambda manifest: manifest["parts"][0].pop("sha256"),
        lambda manifest: manifest["parts"][0].update(name="../../evil"),
        lambda manifest: manifest["parts"][0].update(name="state/.."),
        lambda manifest: manifest["parts"][0].update(name="/etc/passwd"),
        lambda manifest: manifest.update(parts=7),
    ):
        with pytest.raises(InputError):
            check(rewritten(made, tmp_path / "edited.tar", edit))
    no_ledger = rewritten(
        made, tmp_path / "l.tar", lambda m: m.update(parts=[p for p in m["parts"] if p["kind"] != "ledger"])
    )
    assert "names no ledger" in check(no_ledger).findings[0][1]


def test_a_link_in_an_archive_is_not_followed(made: Path, tmp_path: Path) -> None:
    name = next(part.name for part in check(made).parts if part.kind == "state")
    link = tarfile.TarInfo(name)
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    bad = changed(made, tmp_path / "link.tar", lambda n, c: None if n == name else c, link)
    assert check(bad).findings == ((name, "is missing"),)


def test_nothing_is_overwritten_and_nothing_half_is_left(clinic: Running, tmp_path: Path) -> None:
    (tmp_path / "there.tar").write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        back_up(clinic.service.config, tmp_path / "there.tar")
    assert (tmp_path / "there.tar").read_text() == "precious"
    policy = tmp_path / "tacit.toml"
    policy.write_text(clinic.service.config.datasets[0].read_text())
    with pytest.raises(TacitError, match="no ledger"):
        back_up(Config(datasets=(policy,), state=tmp_path / "none"), tmp_path / "new.tar")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tacit.toml", "there.tar"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(InputError, match="not empty"):
        restore(tmp_path / "there.tar", tmp_path / "full")


def test_keys_only_if_they_are_asked_for(clinic: Running, tmp_path: Path) -> None:
    back_up(clinic.service.config, tmp_path / "without.tar")
    back_up(clinic.service.config, tmp_path / "with.tar", keys=True)
    assert not [part for part in check(tmp_path / "without.tar").parts if part.kind == "key"]
    kept = {Path(part.origin).name for part in check(tmp_path / "with.tar").parts if part.kind == "key"}
    assert kept == {"signing.key", "signing.key.pub"}


def test_a_damaged_ledger_is_told(tmp_path: Path) -> None:
    with running(fresh(tmp_path)) as service:
        assert service.ask("ana").status_code == 200
        config = service.service.config
        ledger = Path(service.service.datasets._opened["clinic"].ledger.store.where)
    with closing(sqlite3.connect(ledger)) as base, base:
        base.execute("UPDATE tacit_balances SET spent_spend = '0'")
    assert back_up(config, tmp_path / "copy.tar").findings
    assert not check(tmp_path / "copy.tar").ok
    ledger.with_name(ledger.name + ".mark").unlink()
    assert any("missing" in finding.what for _, finding in back_up(config, tmp_path / "more.tar").findings)


# --- PostgreSQL


@pytest.fixture
def programs(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """pg_dump of the server's own version comes first."""
    monkeypatch.setenv("PATH", f"{postgres.binaries}{os.pathsep}{os.environ['PATH']}")
    return postgres.binaries


@pytest.mark.usefixtures("programs")
def test_postgresql_by_its_own_tool(postgres: Server, database: str, tmp_path: Path) -> None:
    with running(fresh(tmp_path), database=database) as service:
        policy = service.service.config.datasets[0]
        text = policy.read_text()
        start = text.index("ledger = ")
        policy.write_text(text[:start] + f'ledger = "{database}"' + text[text.index("\n", start) :])
        for who in ("ana", "ben"):
            assert service.ask(who, 'SELECT COUNT(*) AS "a\tb\\c" FROM visits', epsilon=0.25).status_code == 200
        assert not back_up(service.service.config, tmp_path / "copy.tar").findings
        token = service.tokens["ana"]
    found = check(tmp_path / "copy.tar")
    assert found.ok, found.findings
    assert [part.name for part in found.parts if part.kind == "ledger"] == ["ledgers/1/ledger.sql"]
    restore(tmp_path / "copy.tar", tmp_path / "back")
    with postgres.database() as name:
        for part in ("state/state.sql", "ledgers/1/ledger.sql"):
            command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", postgres.dsn(name), "-f"]
            done = subprocess.run([*command, tmp_path / "back" / part], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        assert verify(postgres.url(name)).ok
        policy.write_text(policy.read_text().replace(database, postgres.url(name)))
        config = Config(datasets=(policy,), listen="127.0.0.1:0", state=tmp_path / "state", database=postgres.url(name))
        _serves_again(config, token)


def _serves_again(config: Config, token: str) -> None:
    from tacit.server.ask.datasets import Datasets
    from tacit.server.auth.people import Identity

    state, desk = State(config.store), Datasets(config.datasets)
    try:
        assert People(state).by_token(token) is None
        ana = Identity("ana", "analyst")
        assert desk.left(ana, "clinic").epsilon == Fraction(7, 4)
        asked(desk, ana, "clinic", "SELECT COUNT(*) AS n FROM visits WHERE age > 3", epsilon=Fraction(1, 4))
        assert desk.left(ana, "clinic").epsilon == Fraction(3, 2)
    finally:
        desk.close()
        state.close()


def test_without_pg_dump_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config = Config(database="postgresql://somebody:word@127.0.0.1:1/x", state=tmp_path)
    with pytest.raises(TacitError, match="install pg_dump"):
        back_up(config, tmp_path / "copy.tar")
    assert list(tmp_path.iterdir()) == []


PLACES = ["postgresql://somebody:pass-word@127.0.0.1:1/x", "postgresql://somebody@127.0.0.1:1/x?password=pass-word"]


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("place", PLACES)
def test_a_password_is_in_no_message_and_no_command(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    run = subprocess.run

    def noted(command: list[str], **more: Any) -> Any:
        commands.append(command)
        return run(command, **more)

    monkeypatch.setattr(subprocess, "run", noted)
    config = Config(database=place, state=tmp_path)
    with pytest.raises(TacitError, match=r"pg_dump could not copy") as caught:
        back_up(config, tmp_path / "copy.tar")
    assert "pass-word" not in str(caught.value)
    assert commands
    assert "pass-word" not in str(commands)
