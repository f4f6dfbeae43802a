"""Pages: panels next to each other, pictures as files, and the script that draws in a browser."""

import sys
from pathlib import Path

import altair as alt
import pytest

from tacit.base import InputError, TacitError
from tacit.plot import picture_path, write
from tacit.plot.attacks import LabelledCurve, curves
from tacit.plot.page import _made, beside, script


def test_panels_stand_from_left_to_right_each_with_its_own_colours() -> None:
    panels = [
        curves([LabelledCurve(name, (1, 2), (0.5, 0.6))], title=(name,), axes=("x", "y"), width=100)
        for name in ("a", "b")
    ]
    whole = beside(panels).to_dict()
    assert [panel["title"]["text"] for panel in whole["hconcat"]] == ["a", "b"]
    assert whole["resolve"]["scale"]["color"] == "independent"


def test_it_is_made_once_and_is_whole() -> None:
    found = script()
    assert found is script()
    assert len(found) > 300_000
    assert b"window.vegaEmbed" in found


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    _made.cache_clear()
    with pytest.raises(TacitError, match=r"pip install 'tacit\[plot\]'"):
        script()


CHART = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")


def test_svg_and_png(tmp_path: Path) -> None:
    write(CHART, tmp_path / "a.svg")
    write(CHART, tmp_path / "A.PNG")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert (tmp_path / "A.PNG").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["a.pdf", "a", ".svg"])
def test_other_extensions_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        picture_path(tmp_path / name)


def test_a_directory_in_the_way_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        write(CHART, tmp_path / "a.svg")
