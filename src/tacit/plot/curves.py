"""Lines over one number: how an attack fares as something grows, each with the band that covers it."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from tacit.plot.style import BLUE, FAINT, ORANGE, Panel, headed, records

__all__ = ["Curve", "curves"]

COLOURS = [ORANGE, BLUE, "#8c6bb1", "#41ab5d", "#737373", "#d6604d"]


@dataclass(frozen=True)
class Curve:
    """One line; `low` and `high`, where given, are the ends of its band."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def curves(
    lines: Sequence[Curve],
    *,
    title: tuple[str, ...],
    axes: tuple[str, str],
    chance: float | None = None,
    logarithmic: bool = False,
    domain: tuple[float, float] | None = (0, 1),
    width: int = 430,
) -> Panel:
    """All lines in one panel, in the order of COLOURS; `chance` is a rule, `domain` the vertical range."""
    rows = [
        {"label": line.label, "x": x, "y": y}
        | ({"low": line.low[i], "high": line.high[i]} if line.low is not None and line.high is not None else {})
        for line in lines
        for i, (x, y) in enumerate(zip(line.x, line.y, strict=True))
    ]
    names = [line.label for line in lines]
    key = alt.Legend(title=None, orient="bottom", columns=2, labelLimit=320, symbolOpacity=1)
    colour = alt.Color("label:N", scale=alt.Scale(domain=names, range=COLOURS[: len(names)]), legend=key)
    across = alt.X("x:Q", title=axes[0], scale=alt.Scale(type="log" if logarithmic else "linear", nice=False))
    tall = alt.Scale(domain=list(domain), nice=False) if domain else alt.Scale()
    up, bottom = (alt.Y(f"{name}:Q", title=axes[1], scale=tall) for name in ("y", "low"))
    base = alt.Chart(records(rows))
    layers = [
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.18)
        .encode(x=across, y=bottom, y2="high:Q", color=colour),
        base.mark_line(point=True).encode(x=across, y=up, color=colour),
    ]
    if chance is not None:
        guess = alt.Chart(records([{"y": chance, "text": "chance"}]))
        layers.append(guess.mark_rule(color=FAINT, strokeDash=[4, 3]).encode(y=up))
        layers.append(
            guess.mark_text(color=FAINT, align="right", dy=-7, fontSize=10).encode(
                x=alt.value(width), y=up, text="text:N"
            )
        )
    whole: Panel = alt.layer(*layers).properties(width=width, height=240, title=headed(*title))
    return whole
