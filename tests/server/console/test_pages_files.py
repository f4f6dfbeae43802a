"""Scripts and styles: only those, only ours, and nothing that reaches out."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service import Running, running
from tacit.server.console.pages import FOLDER, KINDS, NAME

FILES = sorted(FOLDER.iterdir())
TEMPLATES = sorted((FOLDER.parent / "templates").iterdir())


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("clinic")) as found:
        yield found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_served_to_anybody_with_its_type(clinic: Running, path: Path) -> None:
    answer = clinic.call(None, "GET", f"/static/{path.name}")
    assert (answer.status_code, answer.content) == (200, path.read_bytes())
    assert answer.headers["content-type"] == KINDS[path.suffix[1:]]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_browser_asks_again_and_gets_nothing_twice(clinic: Running) -> None:
    first = clinic.call(None, "GET", "/static/api.js")
    assert first.headers["cache-control"] == "no-cache"
    again = clinic.call(None, "GET", "/static/api.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    changed = clinic.call(None, "GET", "/static/api.js", headers={"If-None-Match": '"other"'})
    assert changed.status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "..%2fpages.py",
        "../pages.py",
        "%2e%2e/pages.py",
        "..%5cpages.py",
        "....//pages.py",
        "%2fetc%2fpasswd",
        "pages.py",
        "layout.html",
        "app.css%00.js",
        "App.css",
        "nothing.js",
        "",
    ],
)
def test_nothing_else_is(clinic: Running, name: str) -> None:
    answer = clinic.call(None, "GET", f"/static/{name}")
    assert answer.status_code == 404
    assert "root:" not in answer.text


def test_the_bundle_of_vega_is_served_and_kept(clinic: Running) -> None:
    answer = clinic.call(None, "GET", "/static/vega.js")
    assert answer.status_code == 200
    assert b"window.vegaEmbed" in answer.content
    same = clinic.call(None, "GET", "/static/vega.js", headers={"If-None-Match": answer.headers["etag"]})
    assert same.status_code == 304


@pytest.mark.parametrize("path", [*FILES, *TEMPLATES], ids=lambda path: path.name)
def test_nothing_reaches_out_or_runs_in_the_page_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    outside = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text)) - {"http://www.w3.org"}
    assert not outside
    assert not re.search(r"\binnerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
    if path.suffix == ".html":
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe", text)
    if path.suffix != ".html":
        assert NAME.fullmatch(path.name)
