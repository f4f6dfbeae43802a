"""`tacit pufferfish`: what it prints is what the package says; mistakes name themselves."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.pufferfish import Chain, quilt


def ran(*words: str) -> Any:
    return CliRunner().invoke(app, ["pufferfish", *words])


def test_the_noise_of_a_quilt() -> None:
    told = json.loads(ran("quilt", "0.9", "--length", "100", "--json").stdout)
    assert told["scale"] == quilt(Chain([["0.9", "0.1"], ["0.1", "0.9"]], 100), epsilon=1).scale
    assert "31.7378" in ran("quilt", "0.9 0.1; 0.1 0.9", "--length", "100").stdout
    assert "24 in a row of 168" in ran("quilt", "0.9", "--length", "168", "--group", "24").stdout
    assert "49.22" in ran("quilt", "0.9", "--length", "100", "--approximate").stdout


def test_all_ways_and_a_picture(tmp_path: Path) -> None:
    drawn = tmp_path / "noise.svg"
    done = ran("compare", "0.8", "--length", "12", "--plot", str(drawn))
    assert "it really keeps" in done.stdout
    assert "Noise against dependence" in drawn.read_text()
    assert "moves by at most" in " ".join(ran("wasserstein", "0.9", "--length", "20").stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["quilt", "0.9 0.2; 0.1 0.9", "--length", "9"], "add up to 1"),
        (["quilt", "2", "--length", "9"], "between 0 and 1"),
        (["quilt", "0.9", "--length", "1"], "length"),
        (["quilt", "0.9", "--length", "9", "--epsilon", "-1"], "epsilon"),
        (["compare", "0.9", "--length", "9", "--state", "5"], "state must be"),
        (["wasserstein", "0.9", "--length", "5000"], "use quilts"),
    ],
)
def test_mistakes(words: list[str], said: str) -> None:
    done = ran(*words)
    assert done.exit_code
    assert said in f"{done.output} {done.exception}"
