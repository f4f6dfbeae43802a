"""How an attack fares: lines with their bands as something grows, bars with their intervals, pictures it got back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

import altair as alt

from tacit.plot.page import BLUE, FAINT, INK, ORANGE, PURPLE, WIDTH, Panel, chart, coloured, headed, records

__all__ = ["LabelledCurve", "Share", "curves", "pictures", "shares"]

COLOURS = [ORANGE, BLUE, PURPLE, "#41ab5d", "#737373", "#d6604d"]
PIXEL = 7  # px


@dataclass(frozen=True)
class LabelledCurve:
    """One line; `low` and `high`, where given, are the ends of its band."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def curves(
    lines: Sequence[LabelledCurve],
    *,
    title: tuple[str, ...],
    axes: tuple[str, str],
    chance: float | None = None,
    logarithmic: bool = False,
    upward: bool = False,
    domain: tuple[float, float] | None = (0, 1),
    width: int = WIDTH,
) -> Panel:
    """All lines in one panel, in the order of COLOURS; `chance` is a rule, `domain` the vertical range.

    `logarithmic` is the scale from left to right, `upward` says that the other is so too.
    """
    rows = [
        {"label": line.label, "x": x, "y": y}
        | ({"low": line.low[i], "high": line.high[i]} if line.low is not None and line.high is not None else {})
        for line in lines
        for i, (x, y) in enumerate(zip(line.x, line.y, strict=True))
    ]
    colours = dict(zip((line.label for line in lines), COLOURS, strict=False))
    colour = coloured("label", colours, orient="bottom", columns=2, labelLimit=320, symbolOpacity=1)
    across = alt.X("x:Q", title=axes[0], scale=alt.Scale(type="log" if logarithmic else "linear", nice=False))
    tall = alt.Scale(domain=list(domain), nice=False) if domain else alt.Scale(type="log" if upward else "linear")
    ticks = alt.Axis(tickCount=5) if upward else alt.Axis()  # powers of ten alone
    up, bottom = (alt.Y(f"{name}:Q", title=axes[1], scale=tall, axis=ticks) for name in ("y", "low"))
    base = chart(rows)
    layers = [
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.18)
        .encode(x=across, y=bottom, y2="high:Q", color=colour),
        base.mark_line(point=True).encode(x=across, y=up, color=colour),
    ]
    if chance is not None:
        guess = chart([{"y": chance, "text": "chance"}])
        words = guess.mark_text(color=FAINT, align="right", dy=-7, fontSize=10)
        layers.append(guess.mark_rule(color=FAINT, strokeDash=[4, 3]).encode(y=up))
        layers.append(words.encode(x=alt.value(width), y=up, text="text:N"))
    whole: Panel = alt.layer(*layers).properties(width=width, height=240, title=headed(*title))
    return whole


def pictures(
    rows: Mapping[str, Sequence[Sequence[Sequence[float]]]], *, title: tuple[str, ...], pixel: int = PIXEL
) -> Panel:
    """A row of grey pictures for each name; each is a list of lines of brightnesses in [0, 1].

    Neighbours of one shade on a line are one mark, so that a large picture of few shades is a small file.
    """
    data = []
    for name, row in rows.items():
        for place, picture in enumerate(row):
            for y, line in enumerate(picture):
                at = 0
                for shade, alike in groupby(round(each, 3) for each in line):
                    end = at + len(list(alike))
                    data.append({"row": name, "column": place, "x": at, "x2": end, "y": y, "y2": y + 1, "shade": shade})
                    at = end
    first = next(iter(rows.values()))[0]  # whole pixels, or hairlines show between them
    width, height = pixel * len(first[0]), pixel * len(first)
    head = alt.Header(labelAngle=0, labelAlign="left", labelColor=INK, labelFontSize=12, labelLimit=320)
    whole: Panel = (
        alt.Chart()
        .mark_rect(aria=False)  # nobody reads out each pixel
        .encode(
            x=alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, len(first[0])], nice=False)),
            x2="x2:Q",
            y=alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[len(first), 0], nice=False)),
            y2="y2:Q",
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


@dataclass(frozen=True)
class Share:
    """One bar, `row` saying which: a share in [0, 1] with the ends of its interval."""

    row: str
    label: str
    defended: bool
    share: float
    low: float
    high: float


def shares(bars: Sequence[Share], *, title: tuple[str, ...], axis: str, chance: float) -> Panel:
    """Bars under each other, by `row` and in it by `label`: orange undefended, blue defended."""
    rows = [
        asdict(bar) | {"role": "private" if bar.defended else "undefended", "text": f"{bar.share:.1%}"} for bar in bars
    ]
    many = len({bar.row for bar in bars}) > 1
    paired = many and len({bar.row for bar in bars}) < len(bars)  # else each bar is in the middle of its row
    base = chart(rows)
    name = "row" if many else "label"
    labels = list(dict.fromkeys(getattr(bar, name) for bar in bars))
    down = alt.Y(f"{name}:N", title=None, sort=labels, axis=alt.Axis(labelLimit=260))
    ticks = alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1])
    across = alt.X("share:Q", title=axis, scale=alt.Scale(domain=[0, 1.12]), axis=ticks)
    colour = coloured("role", {"undefended": ORANGE, "private": BLUE}, orient="top")
    beside = {"yOffset": alt.YOffset("role:N", sort=["undefended", "private"])} if paired else {}
    guess = chart([{"share": chance, "text": "chance"}])
    return alt.layer(
        base.mark_bar(opacity=0.55).encode(x=across, y=down, color=colour, **beside),
        base.mark_rule(color=INK).encode(x=alt.X("low:Q", title=axis), x2="high:Q", y=down, **beside),
        base.mark_text(align="left", dx=6, color=INK).encode(x=alt.X("high:Q"), y=down, text="text:N", **beside),
        guess.mark_rule(color=FAINT, strokeDash=[4, 3]).encode(x=across),
        guess.mark_text(color=FAINT, align="left", dx=4, fontSize=10).encode(x=across, y=alt.value(-6), text="text:N"),
    ).properties(width=WIDTH, height=alt.Step(24 if paired else 40), title=headed(*title))
