"""`tacit people`: what is printed, and that secrets are printed once. `tacit serve` itself is in tests/server."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tacit.base import InputError
from tacit.cli.served import register
from tacit.server.auth.people import Identity, People
from tacit.server.db import State

app = typer.Typer()
register(app)
Run = Callable[..., str]


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
