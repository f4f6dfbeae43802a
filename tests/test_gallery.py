"""The gallery: each notebook is its page, tells the whole story, and prints what the page says that it prints."""

from pathlib import Path

import pytest

from support.markdown import links
from support.notebook import GALLERY, PAGES, cells, masked, notebook, outputs, source_cells

FAST = "hospital-visits"
INDEX = GALLERY / "README.md"
ENDS = ("\n## What was spent\n", "\n## What it does not protect\n", "\n## Next\n")
STORY = ("**Whose data:**", "**What is asked:**", "**Without noise:**", "\n## The price\n", *ENDS)


def pages(*, mark: bool) -> list[object]:
    slow = [pytest.mark.slow] if mark else []
    return [pytest.param(page, id=page.stem, marks=[] if page.stem == FAST else slow) for page in PAGES]


@pytest.mark.parametrize("page", pages(mark=False))
def test_the_notebook_is_the_page(page: Path) -> None:
    assert page.with_suffix(".ipynb").read_text(encoding="utf-8") == notebook(page.read_text("utf-8")), "make docs"


@pytest.mark.parametrize("page", pages(mark=False))
def test_the_story_is_whole(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [part for part in STORY if part not in text] == []
    assert page.with_suffix(".ipynb").name in links(page)
    assert page.name in links(INDEX)
    assert page.with_suffix(".ipynb").name in links(INDEX)
    assert any(cell.printed for cell in cells(text))


def test_every_notebook_has_a_page() -> None:
    assert {path.stem for path in GALLERY.glob("*.ipynb")} == {path.stem for path in PAGES}


@pytest.mark.parametrize("page", pages(mark=True))
def test_the_notebook_runs_and_prints_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "import make_laplace" in page.read_text("utf-8"):
        pytest.importorskip("opendp", reason="opendp is not installed: this page audits it")
    monkeypatch.chdir(tmp_path)
    sources = source_cells(page.with_suffix(".ipynb"))
    printed = [cell.printed for cell in cells(page.read_text(encoding="utf-8")) if cell.python]
    told = outputs(sources, {"__name__": "__main__"})
    for shown, now in zip(printed, told, strict=True):
        assert masked(now) == masked(shown)
    drawn = {f"../images/gallery-{picture.name}" for picture in tmp_path.glob("*.svg")}
    assert drawn == {target for target in links(page) if target.endswith(".svg")}
