"""The tutorial, followed as it is written, and its notebook: each trains both models and says how good they are."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.markdown import blocks
from support.notebook import outputs, source_cells
from support.tree import ROOT
from tacit.cli import app

torch = pytest.importorskip("torch", reason="training needs torch: pip install 'tacit[learn]'")
pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "tutorial" / "train-models.md"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_page_is_followed_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in blocks(PAGE, "python"):
        exec(block.text, names)
    for file, block in zip(("cnn.toml", "text.toml"), blocks(PAGE, "toml"), strict=True):
        Path(file).write_text(block.text, encoding="utf-8")
    told = []
    for line in (line for block in blocks(PAGE, "sh") for line in block.text.splitlines()):
        result = CliRunner(env={"COLUMNS": "96"}).invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, result.exception
        told.append(result.output)
    page = PAGE.read_text(encoding="utf-8")
    assert "a network of 9,258 numbers" in told[0]
    for line in told[0].splitlines():
        assert line.strip() in page
    for block in blocks(PAGE, "py"):
        exec(block.text, names)
    first, _, _ = (shown := capsys.readouterr().out.splitlines())[1:4]
    assert float(first) > 0.8
    assert float(shown[2]) > 0.95


def test_the_notebook_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    book = PAGE.with_suffix(".ipynb")
    last = list(outputs(source_cells(book), names))[-1]
    assert names["accuracy"] > 0.8
    assert names["share"] > 0.95
    assert not any(line.startswith("no ") for line in last.splitlines())
    written = json.loads(book.read_text(encoding="utf-8"))
    shown = [cell["outputs"] for cell in written["cells"] if cell["cell_type"] == "code"]
    assert sum(bool(each) for each in shown) >= 5
    assert sys.modules["torch"] is torch
