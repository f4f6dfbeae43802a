"""`tacit holdout`: a line is a query of each row alone; what overfits is answered by the held rows, and counted."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from support.learning import policy_of
from tacit.base import ExhaustedError, InputError
from tacit.cli import app

PLAN = ("--analyst", "cora", "--threshold", "0.1", "--sigma", "0.002", "--budget", "2", "--size", "1000")


def run(*words: str, lines: str = "", held: str = "held.parquet") -> Result:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["holdout", "train.csv", held, *words], input=lines)
    if result.exception:
        raise result.exception
    return result


def rows(*, by_heart: bool) -> pa.Table:
    number = np.arange(1000)
    label = number % 2
    return pa.table(
        {
            "person": number,
            "label": label,
            "good": np.where(number % 5 == 0, 1 - label, label),
            "bad": label if by_heart else number // 2 % 2,
            "word": np.where(label == 1, "yes", "no"),
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    policy_of(tmp_path)
    pc.write_csv(rows(by_heart=True), tmp_path / "train.csv")
    pq.write_table(rows(by_heart=False), tmp_path / "held.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_overfits_is_found_out_and_counted() -> None:
    assert "epsilon 2" in run(*PLAN, "--unit", "person", "--quote").stdout
    lines = "good = label\nbad = label\n1 - abs(good - label)\nword = 'yes' OR NOT (label = 0)\n"
    told = [json.loads(line) for line in run(*PLAN, "--unit", "person", "--json", lines=lines).stdout.splitlines()]
    assert [each["from"] for each in told] == ["training rows", "held rows", "training rows", "training rows"]
    assert told[0]["answer"] == told[2]["answer"] == 0.8
    assert abs(told[1]["answer"] - 0.5) < 0.05
    assert told[-1]["left"] == 1
    said = run(*PLAN, "--unit", "person", lines="good = label\n\nbad = label\n").stdout
    assert "the held ones agree" in said
    assert "1 of 2 queries that overfit are left" in said
    with pytest.raises(ExhaustedError, match="fresh held rows"):
        run(*PLAN, "--unit", "person", lines="bad = label\n" * 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("sum(good)", "nothing else is read"),
        ("good = (SELECT 1)", "nothing else is read"),
        ("good / 0", "nothing else is read"),
        ("godo = label", 'no column "godo"'),
        ("good = 'yes'", "numbers are compared with numbers"),
        ("person + 1", "of a training row it gave"),
        ("good = label WHERE good = 1", "nothing else is read"),
        ("good = label, good", "nothing else is read"),
        ("1", "one number from 0 to 1 for each row"),
        ("good = label; SELECT 1", "second statement"),
    ],
)
def test_a_wrong_line_is_told_and_costs_nothing(wrong: str, message: str) -> None:
    found = run(*PLAN, "--unit", "person", lines=f"{wrong}\n")
    assert message in found.stderr
    assert "2 of 2 queries" in found.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--unit", "who"), 'no column "who"'),
        ((), "--unit"),
        (("--unit", "person", "--threshold", "2"), "threshold"),
        (("--unit", "person", "--sigma", "x"), "sigma"),
        (("--unit", "person", "--table", "pints"), "no table"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_paid(words: tuple[str, ...], message: str, folder: Path) -> None:
    with pytest.raises(InputError, match=message):
        run(*PLAN, *words, lines="good = label\n")
    pq.write_table(pa.table({"person": [1], "label": ["x"]}), folder / "other.parquet")
    with pytest.raises(InputError, match="same columns"):
        run(*PLAN, "--unit", "person", held="other.parquet")
    with pytest.raises(InputError, match="Parquet or CSV"):
        run(*PLAN, "--unit", "person", held="none.parquet")
