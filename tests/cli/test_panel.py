"""`tacit panel`: a line is a sum; a wrong line spends nothing; it rests, goes on and ends."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from support.learning import POLICY, policy_of
from tacit.base import InputError
from tacit.cli import app

PLAN = ("--analyst", "cora", "--table", "points", "--rho", "1/2", "--sigma", "4", "--sums", "3")


def run(*words: str, lines: str = "") -> Result:
    result = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["panel", *words], input=lines)
    if result.exception:
        raise result.exception
    return result


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    policy_of(tmp_path).write_text(POLICY.replace('"epsilon"', '"rho"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_answers_rests_goes_on_and_ends() -> None:
    assert "may bring at most 4" in run(*PLAN, "--quote").stdout
    lines = "SELECT COUNT(*) FROM points\n\nSELECT SUM(c) FROM points WHERE (kind = 'yes' AND c = 2)\n"
    first = run(*PLAN, lines=lines).stdout.splitlines()
    assert first[0].startswith("COUNT(*): ")
    assert first[1].startswith("SUM(c) WHERE kind = 'yes' AND c = 2: ")
    assert "2 of 3 sums" in first[2]
    rest = run(*PLAN, lines="SELECT SUM(a) AS total FROM points WHERE c = -1\nSELECT COUNT(*) FROM points\n").stdout
    assert rest.splitlines()[:2] == first[:2]  # what was told stays
    assert "3 of 3 sums" in rest
    with pytest.raises(InputError, match="is over"):
        run(*PLAN)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("SELECT AVG(c) FROM points", "a line is SELECT"),
        ("SELECT SUM(c), COUNT(*) FROM points", "a line is SELECT"),
        ("SELECT SUM(c) FROM points GROUP BY kind", "a line is SELECT"),
        ("SELECT SUM(c) FROM points LIMIT 1", "a line is SELECT"),
        ("SELECT SUM(c + 1) FROM points", "a line is SELECT"),
        ("SELECT SUM(c) FROM points WHERE c > 1", "a line is SELECT"),
        ("SELECT SUM(c) FROM points WHERE kind = a", "a line is SELECT"),
        ("SELECT SUM(c) FROM points WHERE a = 1 AND a = 2", "compared once"),
        ("SELECT SUM(c) FROM pints", "and not of"),
        ("SELECT SUM(d) FROM points", "no such column"),
        ("SELECT COUNT(*) FROM (SELECT * FROM points WHERE c = 4) p", "a line is"),
        ("SELECT COUNT(*) FROM points TABLESAMPLE (10 PERCENT)", "a line is"),
        ("SELECT COUNT(*) FROM other.points", "a line is"),
        ("SELECT COUNT(*) FROM points WHERE p.c = 4", "is not the table"),
        ("SELECT COUNT(*) FROM points WHERE c = 'four'", "is compared with"),
        ("SELECT SUM(person) FROM points", "names the unit"),
        ("DROP TABLE points", "is refused"),
    ],
)
def test_a_wrong_line_is_told_and_spends_nothing(wrong: str, message: str) -> None:
    found = run(*PLAN, "--json", lines=f"{wrong}\nSELECT COUNT(*) FROM points\n")
    assert message in found.stderr
    (told,) = map(json.loads, found.stdout.splitlines())
    assert told["asked"] == "COUNT(*)"


@pytest.mark.parametrize(
    ("change", "message"),
    [({"--rho": "x"}, "rho"), ({"--sums": "0"}, "sums"), ({"--table": "pints"}, "table"), ({"--step": "1e-9"}, "step")],
)
def test_what_is_wrong_is_said_before_anything_is_paid(change: dict[str, str], message: str, folder: Path) -> None:
    words = dict(zip(PLAN[::2], PLAN[1::2], strict=True)) | change
    with pytest.raises(InputError, match=message):
        run(*(word for pair in words.items() for word in pair), lines="SELECT COUNT(*) FROM points\n")
    assert not list(folder.glob("**/*.panel"))
