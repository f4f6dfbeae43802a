"""Errors of a census: a column for each level, a row for each query, a point for each way of protecting the counts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import altair as alt

from tacit.plot.page import BLUE, ORANGE, Panel, chart, coloured, headed

__all__ = ["CountError", "census_errors"]

GREY, GREEN = "#8a8a8a", "#3a923a"
COLOURS = (BLUE, ORANGE, GREY, GREEN)
LEAST = 0.1  # where an error of zero is drawn


@dataclass(frozen=True)
class CountError:
    """The mean absolute `error` of the counts of a `query` at a `level`, protected in one `way`."""

    level: str
    query: str
    way: str
    error: float


def census_errors(errors: Sequence[CountError], *, title: tuple[str, ...]) -> Panel:
    """Points on a logarithmic scale; an error of nearly nothing is drawn at its left end. The first way is blue."""
    levels, queries, ways = (
        list(dict.fromkeys(getattr(each, name) for each in errors)) for name in ("level", "query", "way")
    )
    rows = [asdict(each) | {"drawn": max(each.error, LEAST)} for each in errors]
    across = alt.X(
        "drawn:Q",
        title="mean absolute error",
        scale=alt.Scale(type="log", domain=[LEAST, max(1.0, *(row["drawn"] for row in rows)) * 1.2], nice=False),
        axis=alt.Axis(values=[0.1, 1, 10, 100, 1000], format="~g", grid=True),
    )
    found: Panel = (
        chart(rows)
        .mark_point(filled=True, size=45, opacity=0.9)
        .encode(
            x=across,
            y=alt.Y("query:N", sort=queries, title=None, axis=alt.Axis(grid=True, labelLimit=180)),
            yOffset=alt.YOffset("way:N", sort=ways),
            color=coloured("way", dict(zip(ways, COLOURS, strict=False)), orient="top"),
        )
        .properties(width=max(90, 640 // len(levels)), height=alt.Step(8))
        .facet(column=alt.Column("level:N", sort=levels, title=None), title=headed(*title))
    )
    return found
