"""`tacit stream`: a line is a tick; it rests, goes on, ends, and says what is wrong before anything is paid."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.learning import POLICY, policy_of
from tacit.base import InputError
from tacit.cli import app

PLAN = ("--analyst", "cora", "--steps", "4", "--sigma", "3", "--times", "2", "--separation", "2", "--name", "visits")


def run(*words: str, lines: str = "") -> str:
    result = CliRunner(env={"COLUMNS": "160"}).invoke(app, ["stream", *words], input=lines)
    if result.exception:
        raise result.exception
    return result.output


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    policy_of(tmp_path).write_text(POLICY.replace('"epsilon"', '"rho"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_counts_rests_goes_on_and_ends(folder: Path) -> None:
    assert "a binary tree" in run(*PLAN, "--quote")
    first = run(*PLAN, lines="1 2 3\n\n")
    assert [line.split(":")[0] for line in first.splitlines()[:2]] == ["tick 0", "tick 1"]
    assert "rests after 2 of 4 ticks" in first
    pytest.importorskip("altair", reason="the page has a picture")
    rest = run(*PLAN, "--html", "live.html", lines="4\n5 6\n7\n")
    assert rest.splitlines()[:2] == first.splitlines()[:2]  # what was told stays
    assert "all 4 ticks are told" in rest
    page = (folder / "live.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "refresh" not in page  # it is over
    with pytest.raises(InputError, match="is over"):
        run(*PLAN, lines="8\n")


def test_json_and_a_price() -> None:
    words = ("--analyst", "cora", "--steps", "3", "--epsilon", "2", "--delta", "1e-6", "--json")
    told = [json.loads(line) for line in run(*words, lines="1\n2\n").splitlines()]
    assert [each["tick"] for each in told] == [0, 1]
    assert all(each["margin"] > 0 for each in told)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--steps", "3"), "say how much noise"),
        (("--steps", "3", "--epsilon", "1"), "needs --delta"),
        (("--steps", "3", "--sigma", "1", "--epsilon", "1"), "say how much noise"),
        (("--steps", "0", "--sigma", "1"), "--steps"),
        (("--steps", "3", "--sigma", "x"), "--sigma"),
        (("--steps", "3", "--sigma", "1", "--policy", "none.toml"), "there is no none.toml"),
        (("--steps", "3", "--sigma", "1", "--table", "pints"), "no table"),
        (("--steps", "3", "--sigma", "1", "--html", "a.pdf"), "html"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_paid(words: tuple[str, ...], message: str, folder: Path) -> None:
    with pytest.raises(InputError, match=message):
        run("--analyst", "cora", *words, lines="1\n")
    assert not list(folder.glob("**/*.stream"))
