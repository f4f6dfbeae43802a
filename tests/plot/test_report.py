"""A report is one page: complete in itself, escaped, and with words for every picture."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import altair as alt
import pytest

from tacit.base import InputError
from tacit.plot import Share, shares
from tacit.plot.report import Picture, ReportTable, Section, pictured, report, report_path, write_report

EVIL = "<script>alert('x')</script> & \"quoted\""
BARS = [Share("", EVIL, False, 0.9, 0.8, 1.0), Share("", "tacit", True, 0.1, 0.0, 0.2)]


@pytest.fixture(scope="module")
def picture() -> Picture:
    return pictured(shares(BARS, title=(EVIL, EVIL), axis=EVIL, chance=0.1), EVIL)


class Reader(HTMLParser):
    """Tags with their attributes, in order, and whether they are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def evil(picture: Picture) -> str:
    section = Section(
        title=EVIL,
        lines=(EVIL,),
        picture=picture,
        table=ReportTable((EVIL, "b"), ((EVIL, "1"),)),
        remarks=(EVIL,),
        row=(EVIL,),
    )
    return report(EVIL, lead=(EVIL,), sections=[section, replace(section, title="second")], contents=("what", EVIL))


def test_everything_is_escaped_and_nothing_is_loaded(picture: Picture) -> None:
    page = evil(picture)
    found = Reader(page)
    assert found.open == []
    names = [tag for tag, _ in found.tags]
    assert not {"script", "link", "img", "iframe", "object", "image"} & set(names)
    assert names.count("svg") == 2
    assert names.count("h2") == 2
    for tag, attributes in found.tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("href", "src", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#"), tag
    assert "://" not in page
    assert sum(text.count(EVIL) for text in found.texts) >= 12
    assert [a["aria-label"] for tag, a in found.tags if tag == "figure"] == [EVIL, EVIL]
    policy = next(a["content"] for tag, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none';")


def test_pictures_have_words_and_names_of_their_own(picture: Picture) -> None:
    clipped = Picture(svg='<svg width="9"><clipPath id="a"/><g clip-path="url(#a)"/></svg>', alt="dots", width=9)
    sections = [Section(title="one", picture=clipped), Section(title="two", picture=clipped)]
    page = report("x", lead=(), sections=sections)
    assert page.count('role="img" aria-label="dots"') == 2
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r"url\(#([^)]+)\)", page)) == {"p1-a", "p2-a"} <= set(ids)
    assert 'background="white"' not in picture.svg
    assert picture.width > 400


def test_the_contents_lead_to_the_sections(picture: Picture) -> None:
    page = evil(picture)
    found = Reader(page)
    targets = [(a["href"] or "")[1:] for tag, a in found.tags if tag == "a"]
    assert targets == ["part-1", "part-2"]
    assert set(targets) <= {a.get("id") for _, a in found.tags}
    assert "contents" not in report("x", lead=("y",), sections=[]).split("</style>")[1]


def test_light_and_dark_and_narrow() -> None:
    page = report("x", lead=(), sections=[])
    assert "prefers-color-scheme: dark" in page
    assert 'content="width=device-width' in page
    assert page.startswith("<!doctype html>")


def test_colours_of_charts_are_those_that_the_dark_page_changes(picture: Picture) -> None:
    page = report("x", lead=(), sections=[])
    used = set(re.findall(r'(fill|stroke)="(#[0-9a-f]+)"', picture.svg))
    known = set(re.findall(r'\[(fill|stroke)="(#[0-9a-f]+)"\]', page))
    assert used
    assert used <= known


@pytest.mark.parametrize("name", ["a.pdf", "a", ".html", "nowhere/a.html"])
def test_a_report_is_an_html_file_in_a_folder_that_exists(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.html|there is no directory"):
        report_path(tmp_path / name)


def test_a_report_is_written_as_utf8(tmp_path: Path) -> None:
    write_report(report("ε = 1", lead=(), sections=[]), tmp_path / "a.html")
    assert "<h1>ε = 1</h1>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    (tmp_path / "b.html").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        write_report("", tmp_path / "b.html")


def test_a_chart_without_a_width_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.plot.report.svg", lambda chart: "<svg></svg>")
    point = alt.layer(alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q"))
    with pytest.raises(InputError, match="no width"):
        pictured(point, "a dot")
