"""The door: options, exit codes, and errors in one line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit import MECHANISMS, __version__
from tacit.cli import app, main


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"tacit {__version__}\n"


def test_help_names_every_command() -> None:
    output = CliRunner().invoke(app, ["--help"]).output
    assert "demo" in output
    assert "mechanisms" in output


def test_no_command_shows_the_help() -> None:
    assert "Usage" in CliRunner().invoke(app, []).output


def test_mechanisms() -> None:
    listed = json.loads(CliRunner().invoke(app, ["mechanisms", "--json"]).output)
    assert [row["name"] for row in listed] == [mechanism.__name__ for mechanism in MECHANISMS]
    assert all(row["summary"] and row["theory"].startswith("docs/theory/") for row in listed)
    table = CliRunner().invoke(app, ["mechanisms"]).output
    assert all(mechanism.__name__ in table for mechanism in MECHANISMS)


def test_an_error_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    result = run("demo", "--plot", "tour.pdf", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == 'tacit: "tour.pdf" must end in .svg or .png: pictures are written as SVG or PNG\n'


def test_main_turns_errors_into_exit_codes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["tacit", "demo", "--plot", "nowhere/[red]x.png"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "[red]x.png" in capsys.readouterr().err, "what the user typed is not markup"
