"""Several charts on one page, with one legend, and files that pages are written to."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import altair as alt

from tacit.base import InputError, TacitError

__all__ = [
    "BLUE",
    "FAINT",
    "FORMATS",
    "INK",
    "ORANGE",
    "PRIVATE",
    "PURPLE",
    "TRUTH",
    "WIDTH",
    "Panel",
    "below",
    "beside",
    "chart",
    "coloured",
    "headed",
    "output_path",
    "page",
    "picture_path",
    "records",
    "role",
    "script",
    "styled",
    "svg",
    "write",
]


Panel = alt.LayerChart | alt.FacetChart | alt.VConcatChart

PRIVATE, TRUTH = "private answer, with its 95 % error bar", "true answer (known here: the data are made up)"
BLUE, ORANGE = "#0072b2", "#d55e00"  # a pair that colour-blind readers can tell apart
PURPLE, INK, FAINT = "#8c6bb1", "#333333", "#777777"
WIDTH = 430  # px of a panel, without its labels


def role() -> alt.Color:
    """Colour by the field `role`, the same in every panel, so that one legend serves the page."""
    return coloured("role", {PRIVATE: BLUE, TRUTH: ORANGE}, orient="top", labelLimit=500, symbolType="circle")


def records(rows: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as data inside the chart: a picture needs no file but itself."""
    return alt.InlineData(values=rows)


def chart(rows: list[dict[str, Any]]) -> alt.Chart:
    """A chart of these rows."""
    return alt.Chart(records(rows))


def coloured(field: str, colours: Mapping[str, str], **legend: Any) -> alt.Color:
    """A colour for each name, with a legend."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", scale=scale, legend=alt.Legend(title=None, **legend))


def headed(title: str, *lines: str) -> alt.TitleParams:
    """A panel's title: the question, and below it how it was answered."""
    return alt.TitleParams(
        title, subtitle=list(lines), anchor="start", fontSize=14, subtitleFontSize=11, subtitleColor=FAINT, offset=10
    )


def beside(panels: Sequence[Any]) -> alt.HConcatChart:
    """Panels from left to right; colours of one mean nothing in another."""
    whole: alt.HConcatChart = alt.hconcat(*panels, spacing=45).resolve_scale(color="independent")
    return whole


def below(panels: Sequence[Any]) -> alt.VConcatChart:
    """Panels under each other; colours of one mean nothing in another."""
    whole: alt.VConcatChart = alt.vconcat(*panels, spacing=30).resolve_scale(color="independent")
    return whole


def page(rows: Sequence[Sequence[Panel]], *, title: str, subtitle: str) -> alt.VConcatChart:
    """Charts in rows from left to right, under a title."""
    lines = [alt.hconcat(*row, spacing=50) for row in rows]
    heading = alt.TitleParams(
        title, subtitle=[subtitle], anchor="start", fontSize=20, subtitleFontSize=13, subtitleColor=FAINT, offset=16
    )
    return styled(alt.vconcat(*lines, spacing=40, title=heading))


def styled(
    panel: alt.VConcatChart, *, background: str = "white", padding: int | dict[str, int] = 24
) -> alt.VConcatChart:
    """The look that every page has."""
    dressed: alt.VConcatChart = (
        panel.configure(padding=padding, background=background, font="Helvetica, Arial, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(gridColor="#eeeeee", domainColor="#bbbbbb", labelColor=INK, titleColor=INK, titleFontWeight=400)
        .configure_legend(labelFontSize=12, labelColor=INK)
    )
    return dressed


Format = Literal["svg", "png"]
FORMATS: dict[str, Format] = {".svg": "svg", ".png": "png"}


def picture_path(path: Path) -> Path:
    """`path` if a picture can be written there, else an error that says why: to be asked before anything is spent."""
    return output_path(path, FORMATS, "pictures are written as SVG or PNG")


def output_path(path: Path, endings: Iterable[str], why: str) -> Path:
    """`path` if it ends as it should, and its folder is there."""
    if path.suffix.lower() not in endings:
        raise InputError(f'"{path.name}" must end in {" or ".join(endings)}: {why}')
    if not path.parent.is_dir():
        raise InputError(f'there is no directory "{path.parent}" to write {path.name} in: create it first')
    if path.is_dir():
        raise InputError(f'"{path}" is a directory: name a file to write')
    return path


def write(panel: alt.TopLevelMixin, path: Path) -> None:
    """Draw `panel` into `path`; the extension says how."""
    kind = FORMATS[picture_path(path).suffix.lower()]
    try:
        panel.save(str(path), format=kind, scale_factor=2 if kind == "png" else 1)
    except OSError as error:
        raise InputError(f'cannot write "{path}": {error.strerror}') from error


def svg(panel: alt.TopLevelMixin) -> str:
    """The text of an SVG picture."""
    drawn = StringIO()
    panel.save(drawn, format="svg")
    return drawn.getvalue()


_once = threading.Lock()


def script() -> bytes:
    """The script, which sets `window.vegaEmbed`; made once, in some seconds."""
    with _once:
        return _made()


@cache
def _made() -> bytes:
    try:
        import vl_convert
    except ImportError as missing:
        raise TacitError(f"charts need {missing.name}, which is not installed: pip install 'tacit[plot]'") from None
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode()
