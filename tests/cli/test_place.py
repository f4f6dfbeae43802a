"""`tacit place`: a report, what it promises, and a map."""

import json
from pathlib import Path

from typer.testing import CliRunner

from tacit.cli import app
from tacit.place import distance

RUN = CliRunner()


def test_a_report_as_json_is_near() -> None:
    done = RUN.invoke(app, ["place", "52.2053", "0.1218", "--radius", "500", "--count", "3", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert len(found["reports"]) == 3
    assert max(distance((52.2053, 0.1218), report)[0] for report in found["reports"]) < 60_000
    assert found["epsilon_track"] > 2.9 * found["epsilon_each"]
    assert "averages" in found["warning"]


def test_words_and_a_map_south_and_west(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    done = RUN.invoke(app, ["place", "-33.86", "-151.2", "--plot", str(path)])
    assert done.exit_code == 0, done.output
    assert "protects" in done.output
    assert path.read_text().startswith("<svg")


def test_mistakes_are_told(tmp_path: Path) -> None:
    for arguments, words in (
        (["place", "99", "0"], "latitude"),
        (["place", "1", "2", "--radius", "0"], "radius"),
        (["place", "1", "2", "--radius", "1"], "finer grid"),
        (["place", "1", "2", "--plot", str(tmp_path / "map.txt")], "svg"),
    ):
        done = RUN.invoke(app, arguments)
        assert done.exit_code != 0
        assert words in str(done.exception) + done.output
