"""What the tour in SQL prints, and the picture it writes."""

import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.fixed_rng import FixedRng, drawing_from
from tacit.base import InputError, TacitError
from tacit.cli import app
from tacit.cli.demo.clinic import Story, build
from tacit.policy import load


def shown(*words: object) -> str:
    """What `tacit demo` prints; its error is raised."""
    with drawing_from(FixedRng(1)):
        result = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["demo", *map(str, words)])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_the_story_fits_a_terminal_and_says_it_all() -> None:
    text = shown()
    assert all(len(line) <= 80 for line in text.splitlines())
    for expected in (
        "630,000",
        "40,000 visits",
        "lets ana spend ε = 2",
        "A quote is free",
        "(true visits)",
        "15,950",
        "so it is free",
        "be told the price",
        "aspirin",
        "nothing was charged",
    ):
        assert expected in " ".join(text.split())
    assert "thalidomide" not in text  # given to too few


def test_the_budget_goes_down_and_a_replay_is_free(tmp_path: Path) -> None:
    with drawing_from(FixedRng(2)):
        story = Story.ask(tmp_path)
    left = [turn.left.epsilon for turn in story.turns]
    assert left[0] == Fraction(3, 2)
    assert left[0] == left[1] > left[2] > left[3] == left[4]  # type: ignore[operator]  # numbers
    first, again, *_, last = story.turns
    assert first.answer is not None
    assert again.answer is not None
    assert again.answer.cached
    assert again.answer == first.answer
    assert last.answer is None
    assert "epsilon" in last.refused


def test_json_has_the_same_numbers() -> None:
    found = json.loads(shown("--json"))
    assert found["limit"]["epsilon"] == "2"
    assert [turn["answer"] is None for turn in found["turns"]] == [False, False, False, False, True]
    assert found["turns"][0]["answer"]["rows"][0][0] == "east"
    assert found["quote"]["cost"]["epsilon"] == "0.5"


def test_what_is_kept_can_be_asked(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    assert f"--policy {place}/tacit.toml" in " ".join(shown("--keep", place).split()).replace("/ ", "/")
    assert load(place / "tacit.toml").analysts.keys() == {"ana"}
    with pytest.raises(InputError, match="exists already"):
        build(place)


def test_a_picture_is_complete_in_itself(tmp_path: Path) -> None:
    svg = tmp_path / "tour.svg"
    assert "The picture is in" in shown("--plot", svg)
    text = svg.read_text()
    assert text.startswith("<svg")
    assert "href" not in text.replace("xmlns:xlink", "")


@pytest.mark.parametrize("name", ["tour.pdf", "tour", "tour.svg.gz"])
def test_other_formats_are_refused_before_anything_runs(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.svg or \.png"):
        shown("--plot", tmp_path / name)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no directory"):
        shown("--plot", tmp_path / "nowhere" / "tour.svg")


def test_without_altair_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "altair" or name.startswith("tacit.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(TacitError, match=r"pip install 'tacit\[plot\]'"):
        shown("--plot", tmp_path / "tour.svg")
