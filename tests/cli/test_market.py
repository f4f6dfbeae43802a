"""`tacit market`: a price and a choice from files of numbers; mistakes name themselves."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app


def ran(*words: str) -> Any:
    return CliRunner().invoke(app, ["market", *words])


def test_a_price_and_its_picture(tmp_path: Path) -> None:
    bids, drawn = tmp_path / "bids.txt", tmp_path / "price.svg"
    bids.write_text("\n".join(f"{bid / 100}" for bid in range(1, 101)))
    told = json.loads(ran("price", str(bids), "--json").stdout)
    assert 0 < Fraction(told["price"]) <= 1
    assert told["epsilon"] == 1
    done = ran("price", str(bids), "--plot", str(drawn))
    assert "of what any lie earns" in " ".join(done.stdout.split())
    assert "what each price earns" in drawn.read_text()


def test_a_choice(tmp_path: Path) -> None:
    costs = tmp_path / "costs.txt"
    costs.write_text("0 1 1\n" * 200)
    assert json.loads(ran("choose", str(costs), "--json").stdout)["option"] == 0
    costs.write_text("0 1 1 0.9\n1 0 1 0.9\n" * 200)
    assert json.loads(ran("choose", str(costs), "--count", "2", "--json").stdout)["options"] == [0, 1]
    assert "1 and 2 of 4" in ran("choose", str(costs), "--count", "2").stdout
    wrong = ran("match", str(costs), "--good", "seat = 9")
    assert "4 numbers in each row" in f"{wrong.output} {wrong.exception}"


def test_goods_and_what_each_is_told(tmp_path: Path) -> None:
    values, advice, drawn = tmp_path / "values.txt", tmp_path / "advice.txt", tmp_path / "rounds.svg"
    values.write_text("0.9 0.1\n" * 60 + "0.2 0.8\n" * 60)
    wanted = ["--good", "window = 55", "--good", "aisle = 50", "--rho", "5"]
    done = ran("match", str(values), *wanted, "--advice", str(advice), "--plot", str(drawn))
    assert done.exit_code == 0, done.output
    told = advice.read_text().splitlines()
    assert len(told) == 120
    assert 5 < told.count("window") <= 55
    assert 5 < told.count("aisle") <= 50
    assert not set(told[:60]) & {"aisle"}
    assert advice.stat().st_mode & 0o777 == 0o600
    assert "copies less the reserve" in drawn.read_text()
    shown = json.loads(ran("match", str(values), *wanted, "--json").stdout)
    assert (shown["goods"], len(shown["rounds"])) == (["window", "aisle"], 24)
    again = ran("match", str(values), *wanted, "--advice", str(advice))
    assert "is there already" in f"{again.output} {again.exception}"


def test_routes(tmp_path: Path) -> None:
    costs = tmp_path / "costs.txt"
    costs.write_text("0.1 0.2\n" * 300)
    roads = ["--link", "bridge = 0 + 1", "--link", "tunnel = 0.5", "--route", "bridge", "--route", "tunnel"]
    told = json.loads(ran("game", str(costs), *roads, "--rho", "1", "--json").stdout)
    assert told["shares"][0] == pytest.approx(0.6, abs=0.06)  # where both cost the same
    wrong = ran("game", str(costs), *roads[:-1], "ferry")
    assert "no link" in f"{wrong.output} {wrong.exception}"


@pytest.mark.parametrize(
    ("text", "said"),
    [("1 2\n3 4\n", "one bid in each row"), ("a\n", "numbers alone"), ("", "one row or more"), ("-1\n", "at least 0")],
)
def test_mistakes(tmp_path: Path, text: str, said: str) -> None:
    bids = tmp_path / "bids.txt"
    bids.write_text(text)
    done = ran("price", str(bids))
    assert done.exit_code
    assert said in f"{done.output} {done.exception}"
