"""`tacit census`: from a file to a release that is checked."""

import json
import sys
from pathlib import Path

import pytest

from support.census import country, people, policy_of
from tacit.cli import main

FILE = """\
kind = "census"
table = "people"
levels = ["state", "county", "tract", "block"]
places = "places.csv"
rho = 1.5
invariants = ["state.total"]
queries = ["total = 2", "race", "tract.detail = 1", "block.detail = 3", "colour"]
recodes = ["colour of race = white: white, other: black|asian|native|other"]
"""
QUOTE = ("quote", "census.toml", "--policy", "country.toml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    spine = country()
    policy_of(tmp_path, people(spine), invariants=["state.total"])
    columns = {name: column.to_pylist() for name, column in spine.columns().items()}
    lines = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "places.csv").write_text("\n".join(lines))
    (tmp_path / "census.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_ANALYST", "ana")
    return tmp_path


def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["tacit", "census", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out + told.err


def test_quote_make_check(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = called(monkeypatch, capsys, *QUOTE, "--json")
    assert code == 0
    quote = json.loads(told)
    assert quote["cost"]["rho"].startswith("1.5") or float(quote["cost"]["rho"]) == pytest.approx(1.5)
    assert {"level": "county", "query": "detail"}.items() <= next(
        each for each in quote["errors"] if (each["level"], each["query"]) == ("county", "detail")
    ).items()
    assert called(monkeypatch, capsys, *QUOTE)[0] == 0
    words = (
        "make",
        "census.toml",
        "--policy",
        "country.toml",
        "--out",
        "made.census",
        "--csv",
        "made.csv",
        "--certificate",
        "made.json",
    )
    code, told = called(monkeypatch, capsys, *words, "--plot", "made.svg")
    assert code == 0, told
    assert "NOT protected" in told
    assert "paid; rho 998.5" in told
    assert all((folder / name).stat().st_size for name in ("made.census", "made.csv", "made.json", "made.svg"))
    assert "made before: free" in called(monkeypatch, capsys, *words)[1]
    code, told = called(monkeypatch, capsys, "check", "made.census", "--level", "county", "--query", "colour", "--json")
    assert code == 0
    found = json.loads(told)
    assert [row["colour"] for row in found["table"]] == ["white", "other"] * 2
    assert sum(row["count"] for row in found["table"]) == found["people"]
    assert "c01" in called(monkeypatch, capsys, "check", "made.census", "--level", "county")[1]
    code, told = called(monkeypatch, capsys, "check", "made.csv")
    assert code == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("table = ", "tabel = "), 'did you mean "table"?'),
        (('table = "people"', ""), "table is missing"),
        (("places = ", "place = "), 'did you mean "places"?'),
        (("places.csv", "nowhere.csv"), "nowhere.csv cannot be read"),
        (('["state"', '[["state"'), "census.toml: "),
        (('"census"', '"synth"'), 'is not "census": `tacit synth`?'),
        (("rho = 1.5", "rho = 1.5\nepsilon = 1"), "say what it may cost"),
        (('"race"', '"block.total = 1"'), 'query "total" has a weight of its own and one of a level'),
        (("white: white,", "white = white,"), 'colour of race: "white = white"'),
        (('"state.total"', '"county.total"'), "would be released exactly"),
    ],
)
def test_mistakes_in_the_file(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str],
    told: str,
) -> None:
    (folder / "census.toml").write_text(FILE.replace(*change))
    code, said = called(monkeypatch, capsys, *QUOTE)
    assert code == 2
    assert told in " ".join(said.split())


def test_a_first_file(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(monkeypatch, capsys, "new", "first.toml")[0] == 0
    assert "queries = " in (folder / "first.toml").read_text()
    assert called(monkeypatch, capsys, "new", "first.toml")[0] == 2  # is not written over
    code, told = called(monkeypatch, capsys, "make", "census.toml", "--out", "no/where.census")
    assert code == 2
    assert 'there is no folder "no"' in told
    assert called(monkeypatch, capsys, "check", "census.toml")[0] == 2
