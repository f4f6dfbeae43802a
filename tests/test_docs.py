"""The documentation runs: its code, its commands, its links, and the pages that are generated."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.markdown import anchors, blocks, links
from support.notebook import PAGES as GALLERY
from support.tree import ROOT, project_files
from tacit.attack import ATTACKS
from tacit.cli import main
from tacit.cli.account import as_markdown

PAGES = [path for path in project_files() if path.suffix == ".md"]
README = ROOT / "README.md"
OFFERED = {"run", "test", "check", "bench", "test-all", "docs", "dist", "lock", "clean"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands(page: Path) -> list[str]:
    """Lines after a `$` in console blocks."""
    lines = [line for block in blocks(page, "console") for line in block.text.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


RUN = [page for page in PAGES if blocks(page, "python") and page not in GALLERY]  # tests/test_gallery.py runs those


@pytest.mark.parametrize("page", RUN, ids=name)
def test_python_runs_from_top_to_bottom(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    if any("import torch" in block.text for block in blocks(page, "python")):
        pytest.importorskip("torch", reason="torch is not installed: this page trains a network")
    if missing := [attack.missing for attack in ATTACKS if attack.page == name(page) and attack.missing]:
        pytest.skip(f"{missing[0]} is not installed: this page attacks a network")
    for block in blocks(page, "python"):
        padded = "\n" * (block.line - 1) + block.text  # so that a traceback names the line of the page
        exec(compile(padded, str(page), "exec"), names)


COMMANDS = list(dict.fromkeys(line for page in (README, *PAGES) for line in commands(page) if line.startswith("tacit")))


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, where a warning is an error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert not ended.value.code, told.err
    assert told.out


@pytest.mark.parametrize(
    "command", [COMMANDS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in COMMANDS[1:])]
)
def test_commands_run_as_a_program(command: str, tmp_path: Path) -> None:
    """With an interpreter and imports of its own, which warn of nothing either."""
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    program = [sys.executable, "-m", *shlex.split(command)]
    result = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_make_targets_that_pages_mention_exist() -> None:
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if line[:1].isalpha()}
    assert targets >= OFFERED
    mentioned = {command.split()[1] for page in PAGES for command in commands(page) if command.startswith("make ")}
    assert mentioned
    assert mentioned <= OFFERED


def test_nobody_is_told_to_install_a_name_that_is_not_ours() -> None:
    """`tacit` on the package index is another project: pages name the file."""
    byname = re.compile(r"pip install[^`\n]*[ '\"]tacit(?![\w-])")
    told = [(name(page), line) for page in PAGES for line in byname.findall(page.read_text(encoding="utf-8"))]
    assert [page for page, _ in told] == ["README.md"]  # where it says so


def test_the_readme_offers_the_two_commands() -> None:
    assert {"make run", "make test"} <= set(commands(README))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        place, _, anchor = target.partition("#")
        there = (page.parent / place).resolve() if place else page
        assert there.exists(), f"{target} is not there"
        assert there.is_relative_to(ROOT), f"{target} leaves the repository"
        assert not anchor or anchor in anchors(there), f"{target} has no such heading"


def test_every_page_can_be_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    seen: set[Path] = set()
    ahead = [docs / "README.md"]
    while ahead:
        page = ahead.pop()
        if page.is_dir():  # shown as the list of its pages
            ahead += page.glob("*.md")
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        targets = [target.partition("#")[0] for target in links(page) if "://" not in target]
        ahead += [(page.parent / target).resolve() for target in targets if target]
    assert [name(page) for page in PAGES if page.is_relative_to(docs) and page not in seen] == []


def test_every_guide_has_its_place_on_the_site() -> None:
    """`make docs` would say so too, and takes a while."""
    tree = ast.parse((ROOT / "docs" / "site" / "hook.py").read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GUIDES"]
    listed = [name for names in ast.literal_eval(assigned[0].value).values() for name in names]
    assert len(set(listed)) == len(listed)
    assert {path.stem for path in (ROOT / "docs" / "how-to").glob("*.md")} <= set(listed), "docs/site/hook.py, GUIDES"


def test_the_list_of_mechanisms_is_current() -> None:
    page = ROOT / "docs" / "reference" / "mechanisms.md"
    assert page.read_text() == as_markdown(), "run `make docs`"
