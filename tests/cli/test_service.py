"""`tacit people` and `tacit service`: what is printed, that secrets are printed once, and exit codes.

`tacit serve` itself is in tests/server.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import pytest
from typer.testing import CliRunner

from tacit.base import InputError
from tacit.cli import app
from tacit.cli.demo.clinic import build
from tacit.engine import Watch
from tacit.ledger import Ledger
from tacit.policy import load
from tacit.server.ask import running as module
from tacit.server.ask.running import RunningQuestions
from tacit.server.auth.people import Identity, People
from tacit.server.db import State

Run = Callable[..., str]
Backup = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def told(*words: str) -> str:
        result = CliRunner().invoke(app, ["people", *words, "--state", str(tmp_path)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output.strip()

    return told


def by_token(folder: Path, token: str) -> Identity | None:
    state = State(folder / "server.db")
    try:
        return People(state).by_token(token)
    finally:
        state.close()


def test_somebody_is_added_given_a_token_and_it_is_revoked(run: Run, tmp_path: Path) -> None:
    assert "Added ben as analyst" in run("add", "ben")
    token = run("token", "ben", "--days", "3", "--label", "notebook")
    assert by_token(tmp_path, token) == Identity("ben", "analyst")
    listed = json.loads(run("list", "--json"))["people"]
    prefix = token.split("_")[1]
    assert listed == [{"name": "ben", "role": "analyst", "may_come_in": True, "tokens": [prefix]}]
    assert token not in run("list")
    assert prefix in run("revoke", prefix)
    assert by_token(tmp_path, token) is None
    assert "tokens: none" in run("list")


def test_roles_bars_and_links(run: Run) -> None:
    run("add", "otto", "--role", "auditor")
    assert run("link", "otto").startswith("/signin?link=")
    assert "no longer" in run("bar", "otto")
    assert "barred" in run("list")
    for words in (("link", "otto"), ("token", "otto"), ("add", "otto"), ("bar", "nobody"), ("add", "x", "--role", "y")):
        with pytest.raises(InputError):
            run(*words)


def test_days_out_of_reach(run: Run) -> None:
    run("add", "ben")
    for days in ("0", "100000000000"):
        with pytest.raises(InputError, match="--days"):
            run("token", "ben", "--days", days)


# --- questions that run


def test_a_question_is_listed_and_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OFTEN", 0.05)

    def tacit(*words: str, code: int = 0) -> str:
        found = CliRunner().invoke(app, ["service", *words, "--state", str(tmp_path)])
        assert found.exit_code == code, found.output
        return found.output

    assert tacit("running") == "Nothing runs.\n"
    state = State(tmp_path / "server.db")
    service, watch = RunningQuestions(state), Watch()
    with service.question("ana", "clinic", "SELECT COUNT(*) FROM visits -- \x1b[2J", watch):
        end = monotonic() + 60
        while not (items := json.loads(tacit("running", "--json"))["running"]):
            assert monotonic() < end
            sleep(0.05)
        assert (items[0]["owner"], items[0]["dataset"]) == ("ana", "clinic")
        assert "ana: SELECT COUNT(*) FROM visits -- \\x1b[2J\n" in tacit("running")  # a terminal is not to obey it
        assert tacit("running", "--dataset", "other") == "Nothing runs.\n"
        assert "ends in a moment" in tacit("cancel", items[0]["id"])
        while not watch.stopped:
            assert monotonic() < end
            sleep(0.05)
        found = CliRunner().invoke(app, ["service", "cancel", "none", "--state", str(tmp_path)])
        assert found.exit_code != 0
    service.close()
    state.close()


# --- copies


@pytest.fixture
def backup() -> Backup:
    def said(*words: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["service", "backup", *map(str, words)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return said


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A folder with a policy, a ledger and a state."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    build(folder)
    policy = load(folder / "tacit.toml")
    with Ledger.open(policy.ledger()) as book:
        book.apply(policy.terms())
    state = State(folder / "server.db")
    People(state).add("ana", "analyst")
    state.close()
    return folder


def test_made_checked_and_unpacked(backup: Backup, clinic: Path, tmp_path: Path) -> None:
    file = tmp_path / "monday.tar"
    code, said = backup(file, "--policy", clinic / "tacit.toml", "--state", clinic)
    assert code == 0, said
    assert "as secret as the answers" in said
    code, said = backup("--check", file)
    assert (code, said.count("whole; ")) == (0, 3)
    code, said = backup("--check", file, "--json")
    assert json.loads(said)["ok"] is True
    code, said = backup("--restore", file, "--into", tmp_path / "back")
    assert code == 0
    assert "tacit ledger adopt" in said
    assert "All tokens are revoked" in said
    assert (tmp_path / "back" / "state" / "server.db").is_file()


def test_a_ledger_that_is_not_whole_is_copied_and_told(backup: Backup, clinic: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(load(clinic / "tacit.toml").ledger())) as base, base:
        base.execute("UPDATE tacit_balances SET limit_spend = '999'")
    code, said = backup(tmp_path / "x.tar", "--policy", clinic / "tacit.toml", "--state", clinic, "--json")
    assert code == 1
    assert json.loads(said)["findings"]
    assert backup("--check", tmp_path / "x.tar")[0] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("x.tar", "--check", "x.tar"),
        ("--restore", "x.tar"),
        ("--into", "y"),
        ("x.tar", "--keep-tokens"),
        ("--check", "nothing.tar"),
    ],
)
def test_what_does_not_go_together(backup: Backup, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        backup(*words)
