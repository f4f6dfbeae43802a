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
