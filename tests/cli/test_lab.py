"""`tacit lab`: all attacks on one page."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tacit.attack import ATTACKS
from tacit.base import InputError
from tacit.cli import app
from tacit.cli.lab import AUDITS, sections

SMALL = {
    "homogeneity": {"people": 300},
    "composition": {"both": 40, "each": 300},
    "honest": {"samples": 20_000},
    "half": {"samples": 20_000},
}


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["lab", *words])


def test_a_small_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = ATTACKS[:2]
    assert [attack.name for attack in two] == list(SMALL)[:2]
    monkeypatch.setattr("tacit.cli.lab.ATTACKS", two)
    monkeypatch.setattr("tacit.cli.lab.sections", lambda names, seed: sections(names, seed=seed, sizes=SMALL))
    monkeypatch.chdir(tmp_path)
    result = run("--seed", "2")
    assert result.exit_code == 0, result.exception
    assert result.stdout == "• The report is in tacit-lab.html\n"
    check((tmp_path / "tacit-lab.html").read_text(encoding="utf-8"), [*(a.title for a in two), *AUDITS.values()])


def check(page: str, titles: list[str]) -> None:
    assert re.findall("<h2>(.*)</h2>", page) == titles
    assert page.count("<svg") == page.count('role="img" aria-label="') == len(titles)
    assert "://" not in page
    assert "<script" not in page
    contents = page[: page.index("<section")]
    assert all(f">{title}</a>" in contents for title in titles)
    assert re.search(r"<td></td><td>pass, ε ≥ 0\.\d+</td>", contents)
    assert re.search(r"<td>violated, ε ≥ 1\.\d+</td><td></td>", contents)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--html a.txt", "must end in .html"),
        ("--html nowhere/a.html", "there is no directory"),
        ("--seed x", "--seed must be"),
        ("--seed -1", "--seed must be a whole number of at least 0"),
        ("--html .", "must end in .html"),
    ],
)
def test_mistakes_are_named_before_anything_runs(words: str, message: str) -> None:
    result = run(*words.split())
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_an_error_in_one_of_them_is_not_swallowed() -> None:
    with pytest.raises(InputError, match="needs at least 40 people"):
        dict(sections(["differencing"], seed=1, sizes={"differencing": {"people": 3}}))


@pytest.mark.slow
def test_the_whole_lab(tmp_path: Path) -> None:
    path = tmp_path / "lab.html"
    result = run("--html", str(path))
    assert result.exit_code == 0, result.exception
    page = path.read_text(encoding="utf-8")
    check(page, [*(attack.title for attack in ATTACKS), *AUDITS.values()])
    assert len(page) < 3_000_000
