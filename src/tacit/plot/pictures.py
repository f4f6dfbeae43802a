"""Small pictures in rows: what was true, what an attacker made of one release, what of another."""

from collections.abc import Mapping, Sequence

import altair as alt

from tacit.plot.style import INK, Panel, headed, records

__all__ = ["pictures"]


def pictures(
    rows: Mapping[str, Sequence[Sequence[Sequence[float]]]], *, title: tuple[str, ...], pixel: int = 7
) -> Panel:
    """A row of grey pictures for each name; each is a list of lines of brightnesses in [0, 1]."""
    data = [
        {"row": name, "column": place, "x": x, "y": y, "shade": round(shade, 3)}
        for name, row in rows.items()
        for place, picture in enumerate(row)
        for y, line in enumerate(picture)
        for x, shade in enumerate(line)
    ]
    first = next(iter(rows.values()))[0]  # whole pixels, or hairlines show between them
    width, height = pixel * len(first[0]), pixel * len(first)
    head = alt.Header(labelAngle=0, labelAlign="left", labelColor=INK, labelFontSize=12, labelLimit=260)
    whole: Panel = (
        alt.Chart()
        .mark_rect(aria=False)  # nobody reads out each pixel
        .encode(
            x=alt.X("x:O", axis=None, scale=alt.Scale(padding=0)),
            y=alt.Y("y:O", axis=None, scale=alt.Scale(padding=0)),
            color=alt.Color("shade:Q", scale=alt.Scale(domain=[0, 1], range=["black", "white"]), legend=None),
        )
        .properties(width=width, height=height)
        .facet(
            data=records(data),
            row=alt.Row("row:N", sort=list(rows), title=None, header=head),
            column=alt.Column("column:O", title=None, header=alt.Header(labels=False)),
            spacing=6,
            title=headed(*title),
        )
    )
    return whole
