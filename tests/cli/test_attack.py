"""`tacit attack`: the list, an attack on made-up data, and attacks on files."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.csv as csv
import pytest
from typer.testing import CliRunner, Result

from tacit.attack import ATTACKS, Attack, Outcome, staged
from tacit.attack.population import chance
from tacit.attack.risk import people, shuffled
from tacit.base import InputError
from tacit.cli import app
from tacit.cli.attack import AUDITS, sections
from tacit.cli.screen import percent

RELEASED = "zip,age,sex,diagnosis\n1,20,F,flu\n1,20,F,flu\n2,30,M,cold\n2,30,M,flu\n"
VOTERS = "zip,age,sex,name\n1,20,F,Ann\n2,30,M,Bob\n2,30,M,Bill\n"
SMALL = {
    "homogeneity": {"people": 300},
    "composition": {"both": 40, "each": 300},
    "honest": {"samples": 20_000},
    "half": {"samples": 20_000},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "released.csv").write_text(RELEASED)
    (tmp_path / "voters.csv").write_text(VOTERS)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "none.csv").write_text("zip,age\n")
    (tmp_path / "not.parquet").write_text("hello")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["attack", *words])


def shown(*words: str) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.exception
    return result.stdout


def answer(*words: str) -> Any:
    return json.loads(shown(*words, "--json"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real stage, of fewer people."""

    def fewer(name: str, **options: Any) -> Outcome:
        return staged(name, people=300, **options)

    monkeypatch.setattr("tacit.cli.attack.staged", fewer)


def test_list() -> None:
    text = shown("list")
    assert all(attack.name in text for attack in ATTACKS)
    rows = answer("list")["attacks"]
    assert rows[0] == {"name": "homogeneity", "title": ATTACKS[0].title, "page": "docs/attacks/homogeneity.md"}
    assert len(rows) == len(ATTACKS)


def test_run_shows_both_releases_chance_and_remarks(small: None) -> None:
    text = shown("run", "homogeneity")
    for part in ("3-anonymous table", "tacit's counts at ε = 1", "chance", "95 % interval", "docs/attacks/homogeneity"):
        assert part in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_run_as_json_page_and_picture(small: None, folder: Path) -> None:
    found = answer("run", "homogeneity", "--seed", "3", "--html", "a.html", "--plot", "a.png")
    assert found == answer("run", "homogeneity", "--seed", "3") | {"defended": found["defended"]} | {
        name: found[name] for name in ("remarks", "facts")
    }, "the seed fixes the data, and tacit's noise is not the same twice"
    assert found["undefended"]["success"] > 0.2
    page = (folder / "a.html").read_text(encoding="utf-8")
    assert percent(found["undefended"]["success"]) in page
    assert "tacit&#x27;s counts" in page
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    assert found["undefended"] != answer("run", "homogeneity", "--seed", "4")["undefended"]


def test_where_the_page_and_the_picture_are(small: None) -> None:
    text = shown("run", "homogeneity", "--html", "a.html", "--plot", "a.svg")
    assert "The picture is in a.svg" in text
    assert "The report is in a.html" in text


def test_anonymity_of_a_file() -> None:
    found = answer("anonymity", "released.csv", "--quasi", "zip, age,sex", "--sensitive", "diagnosis")
    assert found["k"] == 2
    assert found["distinct"] == 1
    assert found["recursive"] is None, "no c is enough where a class has one value"
    assert found["certain"] == 0.5
    text = shown("anonymity", "released.csv", "--quasi", "zip,age,sex", "--sensitive", "diagnosis")
    assert "for no c" in text
    assert "50.0% of the rows" in text
    assert "entropy" not in shown("anonymity", "released.csv", "--quasi", "zip")
    line = answer("anonymity", "released.csv", "--quasi", "zip", "--sensitive", "age", "--ordered")
    assert line["t"] == 0.5


def test_link_two_files() -> None:
    assert answer("link", "released.csv", "voters.csv", "--on", "zip,age,sex") == {
        "rows": 4,
        "named": 2,
        "share": 0.5,
        "alone": 0.0,
    }
    assert "2 of 4 rows (50.0%)" in shown("link", "released.csv", "voters.csv", "--on", "zip,age,sex")


def test_risk_of_a_file_tells_a_copy_from_shuffled_columns(folder: Path) -> None:
    dice = chance(1)
    original = people(200, dice)
    csv.write_csv(original, folder / "original.csv")
    csv.write_csv(shuffled(original, dice), folder / "shuffled.csv")
    csv.write_csv(people(200, dice), folder / "others.csv")
    csv.write_csv(people(20, dice), folder / "few.csv")
    words = ("--control", "others.csv", "--attempts", "100", "--secrets", "diagnosis,job")
    copy = answer("risk", "original.csv", "original.csv", *words)
    mixed = answer("risk", "original.csv", "shuffled.csv", *words)
    for kind in ("singling_out", "linking", "inferring"):
        assert copy[kind]["low"] > mixed[kind]["high"], kind
    assert list(copy["secrets"]) == ["job", "diagnosis"] or list(copy["secrets"]) == ["diagnosis", "job"]
    text = shown("risk", "original.csv", "original.csv", *words)
    assert "inferring diagnosis" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    result = run("risk", "original.csv", "original.csv", "--control", "few.csv")
    assert "at least as many rows" in str(result.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run linkag", 'did you mean "linkage"'),
        ("run nothing-like-it", "there are homogeneity"),
        ("run risk --seed x", "--seed must be"),
        ("run risk --seed -1", "--seed must be a whole number of at least 0"),
        ("run risk --plot a.gif", "must end in .svg or .png"),
        ("run risk --html nowhere/a.html", 'there is no directory "nowhere"'),
        ("anonymity gone.csv --quasi zip", 'FILE: "gone.csv" is no Parquet or CSV file'),
        ("anonymity empty.csv --quasi zip", 'FILE: "empty.csv" cannot be read as a table'),
        ("anonymity not.parquet --quasi zip", "cannot be read"),
        ("anonymity none.csv --quasi zip", "has no rows"),
        ("anonymity released.csv --quasi zipp", 'there is no column "zipp"; there are zip, age'),
        ("anonymity released.csv --quasi zip,,age", "--quasi"),
        ("anonymity released.csv --quasi zip --ordered", "--sensitive"),
        ("anonymity released.csv --quasi zip --sensitive zip", "at once"),
        ("link released.csv voters.csv --on diagnosis", 'there is no column "diagnosis"'),
        ("link released.csv gone.csv --on zip", "REGISTER"),
        ("link released.csv voters.csv --on zip,", "--on"),
        ("risk released.csv voters.csv --control released.csv", "same columns"),
        ("risk released.csv released.csv --control released.csv --attempts 0", "--attempts"),
        ("risk released.csv released.csv --control released.csv --secrets name", 'no column "name"'),
    ],
)
def test_mistakes_are_named(words: str, message: str) -> None:
    result = run(*words.split())
    assert isinstance(result.exception, InputError), result.output
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


# --- the lab


def test_a_small_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = ATTACKS[:2]
    assert [attack.name for attack in two] == list(SMALL)[:2]
    monkeypatch.setattr("tacit.cli.attack.ATTACKS", two)
    monkeypatch.setattr("tacit.cli.attack.sections", lambda names, seed: sections(names, seed=seed, sizes=SMALL))
    monkeypatch.chdir(tmp_path)
    result = run("lab", "--seed", "2")
    assert result.exit_code == 0, result.exception
    assert result.stdout == "• The report is in tacit-lab.html\n"
    check_lab((tmp_path / "tacit-lab.html").read_text(encoding="utf-8"), [*(a.title for a in two), *AUDITS.values()])


def check_lab(page: str, titles: list[str]) -> None:
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
def test_mistakes_in_the_lab_are_named_before_anything_runs(words: str, message: str) -> None:
    result = run("lab", *words.split())
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_an_error_in_one_of_them_is_not_swallowed() -> None:
    with pytest.raises(InputError, match="needs at least 40 people"):
        dict(sections(["differencing"], seed=1, sizes={"differencing": {"people": 3}}))


@pytest.mark.slow
def test_the_whole_lab(tmp_path: Path) -> None:
    path = tmp_path / "lab.html"
    result = run("lab", "--html", str(path))
    assert result.exit_code == 0, result.exception
    page = path.read_text(encoding="utf-8")
    check_lab(page, [*(attack.title for attack in ATTACKS), *AUDITS.values()])
    assert len(page) < 3_000_000


def test_the_lab_says_in_one_line_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch is missing, attacks on models are not in the page."""
    absent = Attack("models", "Models remember", "tacit.attack.membership", "a_module_that_nobody_has")
    monkeypatch.setattr("tacit.cli.attack.ATTACKS", (absent,))
    monkeypatch.setattr("tacit.cli.attack.AUDITS", {})
    said = " ".join(shown("lab", "--html", "lab.html").split())
    assert "left out, since a_module_that_nobody_has is not installed: models" in said
