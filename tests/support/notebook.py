"""A page of the gallery as a notebook. The page is the source: prose, Python, and in a `text` block what that prints.

python -m support.notebook                 writes each notebook from its page (`make docs` does)
python -m support.notebook --run PAGE …    runs pages first, and puts what they print and draw in its place
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from support.markdown import BLOCK
from support.tree import ROOT

__all__ = ["GALLERY", "PAGES", "Cell", "cells", "masked", "notebook", "outputs", "source_cells"]

GALLERY = ROOT / "docs" / "gallery"
IMAGES = ROOT / "docs" / "images"
PAGES = sorted(path for path in GALLERY.glob("*.md") if path.name != "README.md")


@dataclass(frozen=True)
class Cell:
    """Some of a page: prose, or Python with what it prints; `line` is where its text starts."""

    python: bool
    text: str
    line: int
    printed: str = ""


def cells(page: str) -> list[Cell]:
    """The cells of a page's text. Blocks in other languages are prose."""
    found: list[Cell] = []
    told = 0  # up to where the page is in cells
    matches = [match for match in BLOCK.finditer(page) if match[1] in ("python", "text")]
    for match in matches:
        if match[1] == "text" and (not found or not found[-1].python or page[told : match.start()].strip()):
            continue
        if match[1] == "text":
            code = found.pop()
            found.append(Cell(True, code.text, code.line, code.printed + match[2]))
        else:
            found += _prose(page, told, match.start())
            found.append(Cell(True, match[2], page[: match.start(2)].count("\n") + 1))
        told = match.end()
    return [*found, *_prose(page, told, len(page))]


def _prose(page: str, start: int, end: int) -> Iterator[Cell]:
    if text := page[start:end].strip():
        yield Cell(False, text, page[:start].count("\n") + 1)


def notebook(page: str) -> str:
    """The notebook of a page, as text."""
    written, count = [], 0
    for place, cell in enumerate(cells(page)):
        one: dict[str, Any] = {"cell_type": "markdown", "id": f"cell-{place}", "metadata": {}}
        if cell.python:
            count += 1
            lines = cell.printed.splitlines(keepends=True)
            shown = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
            one |= {"cell_type": "code", "execution_count": count, "outputs": shown}
        written.append(dict(sorted((one | {"source": cell.text.strip().splitlines(keepends=True)}).items())))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    book = {"cells": written, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def source_cells(path: Path) -> dict[str, str]:
    """The Python of a notebook by the names of its cells."""
    book = json.loads(path.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"}


def outputs(sources: Mapping[str, str], names: dict[str, Any]) -> Iterator[str]:
    """What each source prints, run one after the other with the same names; keys tell a traceback where it is."""
    for place, source in sources.items():
        with redirect_stdout(StringIO()) as out:
            exec(compile(source, place, "exec"), names)
        yield out.getvalue()


def masked(printed: str) -> str:
    """Without its numbers, each of which holds noise, and its spaces, which follow from them."""
    return re.sub(r"[-−+]?\d(?:[\d.,]|e[-+])*", "#", " ".join(printed.split()))


def _run(path: Path) -> None:
    """Put what the page prints under each block that prints, and its pictures where they belong."""
    page = path.read_text(encoding="utf-8")
    code = [cell for cell in cells(page) if cell.python]
    with TemporaryDirectory() as folder, chdir(folder):
        told = list(outputs({f"{path.name}, line {cell.line}": cell.text for cell in code}, {"__name__": "__main__"}))
        for picture in Path(folder).glob("*.svg"):
            copyfile(picture, IMAGES / f"gallery-{picture.name}")
    for cell, printed in zip(code, told, strict=True):
        block = f"```python\n{cell.text}```\n"
        shown = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
        old = f"{block}\n```text\n{cell.printed}```\n" if cell.printed else block
        assert page.count(old) == 1, f"{path.name}: line {cell.line} stands there twice"
        page = page.replace(old, f"{block}\n```text\n{shown}\n```\n" if shown else block)
    path.write_text(page, encoding="utf-8")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--run"]:
        for path in [GALLERY / f"{Path(name).stem}.md" for name in arguments[1:]] or PAGES:
            _run(path)
    for path in PAGES:
        path.with_suffix(".ipynb").write_text(notebook(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
