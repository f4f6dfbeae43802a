"""An audit in one picture: what comes out under either neighbour, the event, and claimed against certified ε."""

from collections.abc import Mapping, Sequence
from math import floor
from typing import Any

import altair as alt

from tacit.plot.style import BLUE, FAINT, INK, ORANGE, Panel, headed, records

__all__ = ["audit"]

FIRST, SECOND = "first neighbour", "second neighbour"
LINE = 90  # characters of an event on one line of a heading


def audit(
    bars: Sequence[Mapping[str, Any]],
    *,
    claimed: float,
    certified: float,
    estimate: float | None,
    axis: str,
    title: tuple[str, ...],
    width: int = 460,
) -> Panel:
    """`bars` have the shares `first` and `second`, the share `inside` of the bar that lies in the event, and a `label`
    or the ends `low` and `high`. `estimate` is the ε that was counted, without allowance for chance, if any."""
    laws = (_numeric if bars and "low" in bars[0] else _named)(bars, _lines(axis), width)
    heading, *rest = title
    above = laws.properties(
        width=width, height=200, title=headed(heading, *(part for line in rest for part in _lines(line)))
    )
    return alt.vconcat(above, _scale(claimed, certified, estimate, width), spacing=24)


def _lines(text: str) -> list[str]:
    found = [""]
    for word in text.split():
        if len(found[-1]) + len(word) > LINE:
            found.append("")
        found[-1] = f"{found[-1]} {word}".strip()
    return found[:4]


def _colour() -> alt.Color:
    key = alt.Legend(title=None, orient="top", labelLimit=400, symbolType="square")
    return alt.Color("side:N", scale=alt.Scale(domain=[FIRST, SECOND], range=[BLUE, ORANGE]), legend=key)


def _numeric(bars: Sequence[Mapping[str, Any]], axis: list[str], width: int) -> Any:
    laws = [
        {"low": bar["low"], "high": bar["high"], "share": bar[side], "side": name, "none": 0}
        for bar in bars
        for side, name in (("first", FIRST), ("second", SECOND))
    ]
    top = max((row["share"] for row in laws), default=0.0)
    shade = [
        {"low": b["low"], "high": b["high"], "top": top, "none": 0, "inside": b["inside"]} for b in bars if b["inside"]
    ]
    x = alt.X("low:Q", title=axis, scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("share:Q", title="share of outputs", axis=alt.Axis(format="%"))
    layers = []
    if shade:
        layers.append(
            alt.Chart(records(shade))
            .mark_rect(color=FAINT)
            .encode(
                x=x,
                x2="high:Q",
                y=alt.Y("none:Q", title="share of outputs"),
                y2="top:Q",
                opacity=alt.Opacity("inside:Q", scale=alt.Scale(domain=[0, 1], range=[0, 0.2]), legend=None),
            )
        )
    layers.append(
        alt.Chart(records(laws)).mark_rect(opacity=0.4).encode(x=x, x2="high:Q", y=y, y2="none:Q", color=_colour())
    )
    return alt.layer(*layers)


def _named(bars: Sequence[Mapping[str, Any]], axis: list[str], width: int) -> Any:
    """Side by side, with a mark under the values that lie in the event."""
    laws = [
        {"label": f"● {bar['label']}" if bar["inside"] > 0.5 else bar["label"], "share": bar[side], "side": name}
        for bar in bars
        for side, name in (("first", FIRST), ("second", SECOND))
    ]
    order = list(dict.fromkeys(row["label"] for row in laws))
    x = alt.X("label:N", title=[*axis, "(● in the event)"], sort=order, axis=alt.Axis(labelLimit=180, labelAngle=-40))
    y = alt.Y("share:Q", title="share of outputs", axis=alt.Axis(format="%"))
    chart = alt.Chart(records(laws)).mark_bar(opacity=0.7)
    return alt.layer(chart.encode(x=x, y=y, color=_colour(), xOffset="side:N"))


def _scale(claimed: float, certified: float, estimate: float | None, width: int) -> Any:
    """One line: the certified part of ε as a bar from 0, the estimate as a dot, the claim as a rule."""
    reach = 1.1 * max(claimed, certified, estimate or 0.0, 0.1)
    over = certified > claimed
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(domain=[0, reach], nice=False))
    least = floor(certified * 1000) / 1000  # a bound from below is not rounded up
    bar = alt.Chart(records([{"epsilon": certified, "none": 0, "what": f"certified: at least {least:.3f}"}]))
    rule = alt.Chart(records([{"epsilon": claimed, "what": f"claimed {claimed:.3f}"}]))
    layers = [
        bar.mark_bar(color=ORANGE if over else BLUE, opacity=0.5, height=24).encode(x=x, x2="none:Q"),
        bar.mark_text(align="left", dy=26, color=INK).encode(x=alt.value(0), text="what:N"),
        rule.mark_rule(color=INK, strokeWidth=2).encode(x=x),
        rule.mark_text(
            align="right" if claimed > reach / 2 else "left", dx=-5 if claimed > reach / 2 else 5, dy=-24, color=INK
        ).encode(x=x, text="what:N"),
    ]
    if estimate is not None and estimate >= 0:
        dot = alt.Chart(records([{"epsilon": estimate}]))
        layers.append(dot.mark_point(filled=True, size=70, color=INK, opacity=1).encode(x=x))
    return alt.layer(*layers).properties(width=width, height=60)
