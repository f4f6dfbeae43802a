"""What the demo prints, and the picture it writes."""

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from support.fixed_rng import FixedRng
from tacit.base import InputError, TacitError
from tacit.cli.demo import demo


def shown(**options: object) -> str:
    out = io.StringIO()
    demo(Console(file=out, width=80), rng=FixedRng(1), **options)  # type: ignore[arg-type]  # options by name
    return out.getvalue()


def test_the_table_fits_a_terminal_and_says_it_all() -> None:
    text = shown()
    assert all(len(line) <= 80 for line in text.splitlines())
    for expected in (
        "630,000",
        "42.545",
        "± 0.06",
        "± 0.03",
        "noise scale 0.02",
        "noise scale 2 in each",
        "earns $3.01",
        "coin-flip survey",
        "1.099",
        "ε = 2.5",
    ):
        assert expected in text


def test_json_has_the_same_numbers() -> None:
    found = json.loads(shown(as_json=True))
    assert found["paid_by_the_same_people"]["epsilon"] == 2.5
    age = found["answers"][0]
    assert age["cost"] == {"epsilon": 0.5, "delta": 0, "relation": "replace", "unit": "person"}
    assert age["private"] != age["truth"]
    assert len(found["answers"][2]["cells"]) == 48


def test_a_picture_is_complete_in_itself(tmp_path: Path) -> None:
    svg, png = tmp_path / "tour.svg", tmp_path / "TOUR.PNG"
    assert f"The picture of this run is in {svg}\n" in shown(plot=svg)
    shown(plot=png, as_json=True)
    text = svg.read_text()
    assert text.startswith("<svg")
    for part in ("Average age", "People by age", "Which price", "Who smokes", "private answer", "true answer"):
        assert part in text
    assert "href" not in text.replace("xmlns:xlink", "")
    assert png.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["tour.pdf", "tour", "tour.svg.gz"])
def test_other_formats_are_refused_before_anything_runs(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"must end in \.svg or \.png"):
        demo(Console(), plot=tmp_path / name)
    assert not capsys.readouterr().out


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no directory"):
        demo(Console(), plot=tmp_path / "nowhere" / "tour.svg")


def test_without_altair_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "altair" or name.startswith("tacit.plot")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("tacit.plot", raising=False)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(TacitError, match=r"pip install 'tacit\[plot\]'"):
        demo(Console(), plot=tmp_path / "tour.svg")
