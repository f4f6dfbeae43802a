"""The door: options, exit codes, and errors in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.tree import ROOT
from tacit import __version__
from tacit.cli import app, main
from tacit.cli.app import COMMANDS, FORMER, FORMER_OPTIONS, GROUPS


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"tacit {__version__}\n"


def test_help_names_every_command_and_no_former_one() -> None:
    for group in ("", *GROUPS):
        output = CliRunner().invoke(app, [*group.split(), "--help"]).output
        shown = {line.split()[1] for line in output.splitlines() if line.startswith("│ ") and line[2] not in " -"}
        above = f"{group} ".lstrip()
        below = {path.removeprefix(above).split()[0] for path in (*COMMANDS, *GROUPS) if path.startswith(above)}
        assert shown == below - {""}, group


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_a_help_of_its_own(path: str) -> None:
    result = CliRunner().invoke(app, [*path.split(), "--help"])
    assert result.exit_code == 0, result.output
    assert f"Usage: tacit {path} " in result.output


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_is_in_the_reference(path: str) -> None:
    group, _, name = path.rpartition(" ")
    rows = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8").splitlines()
    assert any(
        row.startswith(f"| `tacit {path}") or (row.startswith(f"| `tacit {group} ") and f"`{name}`" in row)
        for row in rows
    )


@pytest.mark.parametrize(
    "words",
    [
        "epsilon laplace --scale 10 --steps 7",
        "calibrate laplace --epsilon 1 --json",
        "compare pure --epsilon 0.1 --steps 100 --delta 1e-6",
        "explain --epsilon 1",
        "mechanisms --markdown",
        "lab --html lab.txt",
        "import",
        "forget nothing.toml",
        "running list --state state",
        "running stop none --state state",
        "backup --check nothing.tar",
    ],
)
def test_former_spellings_do_the_same(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    former = next(path for path in FORMER if f"{words} ".startswith(f"{path} "))
    now = words.replace(former, FORMER[former], 1)
    old, new = (CliRunner().invoke(app, line.split()) for line in (words, now))
    same = (new.exit_code, new.stdout, type(new.exception), str(new.exception))
    assert (old.exit_code, old.stdout, type(old.exception), str(old.exception)) == same
    assert old.stderr == f"tacit: this is now spelled `tacit {FORMER[former]}`\n{new.stderr}"


def test_every_former_spelling_is_known() -> None:
    assert set(FORMER.values()) <= set(COMMANDS)
    for path in FORMER:
        assert CliRunner().invoke(app, [*path.split(), "--help"]).exit_code == 0


HEAVY = {"numpy", "scipy", "duckdb", "sqlglot", "fastapi", "sqlalchemy", "pyarrow", "cryptography", "altair"}


@pytest.mark.parametrize(
    ("words", "unused"),
    [
        ("--help", HEAVY),
        ("account --help", HEAVY),
        ("nonsense", HEAVY),
        ("--version", HEAVY - {"numpy"}),
        ("account epsilon pure --epsilon 1", HEAVY - {"numpy", "scipy", "cryptography"}),
        ("check --reference", {"duckdb", "fastapi", "altair"}),
        ("people list --state state", {"altair", "scipy.stats"}),
    ],
)
def test_a_command_imports_only_what_it_needs(words: str, unused: set[str], tmp_path: Path) -> None:
    look = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=open('modules', 'w')))"
    program = f"{look}; from tacit.cli import main; sys.argv[0] = 'tacit'; main()"
    subprocess.run([sys.executable, "-c", program, *words.split()], cwd=tmp_path, capture_output=True, check=False)
    assert not unused & set((tmp_path / "modules").read_text().split())


def test_no_command_shows_the_help() -> None:
    assert "Usage" in CliRunner().invoke(app, []).output


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


@pytest.mark.parametrize(("path", "old"), [(path, old) for path, names in FORMER_OPTIONS.items() for old in names])
def test_former_names_of_options_do_the_same(
    path: str, old: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new = FORMER_OPTIONS[path][old]
    subject = {"ask": ["SELECT 1"], "quote": ["SELECT 1"], "init": ["nothing.csv"], "verify": ["nothing.json"]}
    words = [*path.split(), *subject.get(path, [])]
    first, second = (CliRunner().invoke(app, [*words, *option]) for option in ([old, "x=1"], [new, "x=1"]))
    same = (second.exit_code, second.stdout, type(second.exception), str(second.exception))
    assert (first.exit_code, first.stdout, type(first.exception), str(first.exception)) == same
    assert first.stderr == f"tacit: {old} is now spelled {new}\n{second.stderr}"
    assert CliRunner().invoke(app, [*words, f"{old}=x=1"]).stderr == first.stderr
    assert old not in CliRunner().invoke(app, [*path.split(), "--help"]).output.replace(new, "").split()
