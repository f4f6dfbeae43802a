"""`tacit backup` as a command: what it says, what it refuses, and its exit codes."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tacit.base import InputError
from tacit.cli.backup import register
from tacit.cli.story import built
from tacit.ledger import Ledger
from tacit.policy import load
from tacit.server.auth.people import People
from tacit.server.db import State

app = typer.Typer()
register(app)
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run() -> Run:
    def told(*words: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return told


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A folder with a policy, a ledger and a state."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    built(folder)
    policy = load(folder / "tacit.toml")
    with Ledger.open(policy.ledger()) as book:
        book.apply(policy.terms())
    state = State(folder / "server.db")
    People(state).add("ana", "analyst")
    state.close()
    return folder


def test_made_checked_and_unpacked(run: Run, clinic: Path, tmp_path: Path) -> None:
    file = tmp_path / "monday.tar"
    code, said = run(file, "--policy", clinic / "tacit.toml", "--state", clinic)
    assert code == 0, said
    assert "as secret as the answers" in said
    code, said = run("--check", file)
    assert (code, said.count("whole; ")) == (0, 3)
    code, said = run("--check", file, "--json")
    assert json.loads(said)["ok"] is True
    code, said = run("--restore", file, "--into", tmp_path / "back")
    assert code == 0
    assert "tacit ledger adopt" in said
    assert "All tokens are revoked" in said
    assert (tmp_path / "back" / "state" / "server.db").is_file()


def test_a_ledger_that_is_not_whole_is_copied_and_told(run: Run, clinic: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(load(clinic / "tacit.toml").ledger())) as base, base:
        base.execute("UPDATE tacit_balances SET limit_spend = '999'")
    code, said = run(tmp_path / "x.tar", "--policy", clinic / "tacit.toml", "--state", clinic, "--json")
    assert code == 1
    assert json.loads(said)["findings"]
    assert run("--check", tmp_path / "x.tar")[0] == 1


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
def test_what_does_not_go_together(run: Run, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        run(*words)
