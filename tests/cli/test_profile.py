"""`tacit profile`: what it costs, what it shows, and what is said when there is none."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.hospital import hospital
from tacit.base import InputError
from tacit.cli import app


def run(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["profile", *words])
    if result.exception:
        raise result.exception
    return result.output


def test_a_profile_is_quoted_made_once_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="there is no"):
        run()
    path = hospital(tmp_path).rename(tmp_path / "tacit.toml")
    with pytest.raises(InputError, match="declares a profile"):
        run()
    path.write_text(path.read_text().replace("[tables.visits]", "[tables.visits]\nprofile = 0.5"))
    assert "costs rho 0.5" in run("--quote")
    assert json.loads(run("--quote", "--json"))["visits"]["enough"]
    first, again = run("visits"), run()
    assert "visits: rows of one" in first
    assert "█" in first
    assert "cannot be told from noise" in first
    assert "paid" in first
    assert "made before: free" in again
    assert json.loads(run("--json"))["visits"]["cached"]
