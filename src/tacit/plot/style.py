"""One look for every chart: blue is what was released, orange what was true, and a thin line is the error bar."""

from typing import Any

import altair as alt

__all__ = ["BLUE", "FAINT", "INK", "ORANGE", "PRIVATE", "TRUTH", "Panel", "headed", "records", "role"]

Panel = alt.LayerChart | alt.FacetChart | alt.VConcatChart

PRIVATE, TRUTH = "private answer, with its 95 % error bar", "true answer (known here: the data are made up)"
BLUE, ORANGE = "#0072b2", "#d55e00"  # a pair that colour-blind readers can tell apart
INK, FAINT = "#333333", "#777777"


def role(*, legend: bool = True) -> alt.Color:
    """Colour by the field `role`, the same in every panel, so that one legend serves the page."""
    key = alt.Legend(title=None, orient="top", labelLimit=500, symbolType="circle") if legend else None
    return alt.Color("role:N", scale=alt.Scale(domain=[PRIVATE, TRUTH], range=[BLUE, ORANGE]), legend=key)


def records(rows: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as data inside the chart: a picture needs no file but itself."""
    return alt.InlineData(values=rows)


def headed(title: str, *lines: str) -> alt.TitleParams:
    """A panel's title: the question, and below it how it was answered."""
    return alt.TitleParams(
        title, subtitle=list(lines), anchor="start", fontSize=14, subtitleFontSize=11, subtitleColor=FAINT, offset=10
    )
