"""A report as one HTML page that is complete in itself: text, tables and pictures, no script, no address to load from.

Everything that is text is escaped here; pictures are SVG, drawn by `pictured`. The page follows the reader's light or
dark setting and fits a phone. A report is plain data, so that it can be put together from several processes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import altair as alt

from tacit.base import InputError
from tacit.plot.page import Panel, output_path, styled, svg

__all__ = ["Picture", "ReportTable", "Section", "pictured", "report", "report_path", "write_report"]

SPACE = {"left": 24, "right": 16, "top": 4, "bottom": 4}  # for readers whose letters are wider than ours
NAMESPACE = re.compile(r' xmlns(:xlink)?="[^"]*"')
NAMED = re.compile(r'(\bid="|url\(#|href="#)')

STYLE = """
:root { color-scheme: light dark; --ink: #222; --faint: #666; --line: #ddd; --paper: #fff; --link: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, Helvetica, Arial, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; overflow-wrap: anywhere; }
a { color: var(--link); }
ul { padding-left: 1.2rem; color: var(--faint); font-size: .9rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .35rem 1rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--faint); font-size: .85rem; }
td + td { min-width: 4.5rem; white-space: nowrap; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { display: block; width: 100%; height: auto; max-width: var(--width); min-width: calc(.85 * var(--width)); }
@media (max-width: 36rem) {
  .contents table, .contents tbody { display: block; }
  .contents tr { display: grid; grid-template-columns: repeat(3, 1fr); border-bottom: 1px solid var(--line); }
  .contents th, .contents td { border: 0; padding: .15rem 0; min-width: 0; }
  .contents td:first-child { grid-column: 1 / -1; padding-top: .5rem; }
  .contents th:first-child { display: none; }
}
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --faint: #a8a8a8; --line: #3a3a3a; --paper: #161616; --link: #56b4e9; }
  svg [fill="#333333"], svg [fill="#000"] { fill: #e6e6e6; }
  svg [fill="#777777"] { fill: #a8a8a8; }
  svg [stroke="#333333"], svg [stroke="#000"] { stroke: #e6e6e6; }
  svg [stroke="#777777"], svg [stroke="#888"], svg [stroke="#bbbbbb"] { stroke: #8a8a8a; }
  svg [stroke="#eeeeee"] { stroke: #333; }
  svg [fill="#0072b2"] { fill: #56b4e9; }
  svg [stroke="#0072b2"] { stroke: #56b4e9; }
  svg [fill="#d55e00"] { fill: #f08c3c; }
  svg [stroke="#d55e00"] { stroke: #f08c3c; }
}
""".strip()

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # a browser is told to load nothing


@dataclass(frozen=True)
class Picture:
    """An SVG picture, `width` pixels wide, and `alt`, what it shows in words."""

    svg: str
    alt: str
    width: int


@dataclass(frozen=True)
class ReportTable:
    """Cells as text; every row is as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """One heading of a report; `row`, if any, is what the table of contents shows beside the title."""

    title: str
    lines: tuple[str, ...] = ()
    picture: Picture | None = None
    table: ReportTable | None = None
    remarks: tuple[str, ...] = ()
    row: tuple[str, ...] = ()


def pictured(chart: Panel, alternative: str) -> Picture:
    """Draw a chart for a report, on no background of its own."""
    drawn = svg(styled(alt.vconcat(chart), background="transparent", padding=SPACE))
    width = re.search(r'<svg[^>]* width="(\d+)', drawn)
    if width is None:
        raise InputError("the chart cannot be drawn: it has no width")
    return Picture(svg=drawn, alt=alternative, width=int(width[1]))


def report(title: str, *, lead: Sequence[str], sections: Sequence[Section], contents: tuple[str, ...] = ()) -> str:
    """The page. With `contents`, the header of a table of contents, of which `Section.row` are the other columns."""
    body = [f"<h1>{escape(title)}</h1>", *_paragraphs(lead)]
    if contents:
        rows = [
            [f'<a href="#part-{number}">{escape(section.title)}</a>', *map(escape, section.row)]
            for number, section in enumerate(sections, 1)
        ]
        body.append(_table(contents, rows, "wide contents"))
    for number, section in enumerate(sections, 1):
        body += _section(section, number)
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{STYLE}\n</style>",
    ]
    start = ["<!doctype html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", "<main>"]
    return "\n".join([*start, *body, "</main>", "</body>", "</html>", ""])


def _section(section: Section, number: int) -> list[str]:
    parts = [f'<section id="part-{number}">', f"<h2>{escape(section.title)}</h2>", *_paragraphs(section.lines)]
    if section.picture is not None:
        parts.append(_figure(section.picture, f"p{number}-"))
    if section.table is not None:
        parts.append(_table(section.table.header, [[*map(escape, row)] for row in section.table.rows]))
    if section.remarks:
        parts += ["<ul>", *(f"<li>{escape(remark)}</li>" for remark in section.remarks), "</ul>"]
    return [*parts, "</section>"]


def _paragraphs(lines: Sequence[str]) -> list[str]:
    return [f"<p>{escape(line)}</p>" for line in lines]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "wide") -> str:
    """Cells of `rows` are HTML."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return "\n".join([f'<div class="{kind}"><table>', f"<tr>{head}</tr>", *lines, "</table></div>"])


def _figure(picture: Picture, prefix: str) -> str:
    """The picture with names of its own, since clip paths of several pictures are called the same."""
    drawn = NAMED.sub(lambda found: found[1] + prefix, NAMESPACE.sub("", picture.svg, count=2))
    described = f'role="img" aria-label="{escape(picture.alt)}"'
    return f'<figure {described} style="--width: {picture.width}px">\n{drawn.strip()}\n</figure>'


def report_path(path: Path) -> Path:
    """`path` if a report can be written there, else an error that says why: to be asked before anything runs."""
    return output_path(path, (".html", ".htm"), "reports are written as HTML")


def write_report(page: str, path: Path) -> None:
    """Write the page, whose text is UTF-8."""
    try:
        report_path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error
