"""Pictures as files: the extension decides, and what cannot be written is said in words."""

from pathlib import Path

import altair as alt
import pytest

from tacit.base import InputError
from tacit.plot import picture_path, write

CHART = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")


def test_svg_and_png(tmp_path: Path) -> None:
    write(CHART, tmp_path / "a.svg")
    write(CHART, tmp_path / "a.png")
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["a.pdf", "a", ".svg"])
def test_other_extensions_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        picture_path(tmp_path / name)


def test_a_directory_in_the_way_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write(CHART, tmp_path / "a.svg")
