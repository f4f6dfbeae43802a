"""What an attacker can and cannot do: false alarms against missed members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import altair as alt

from tacit.plot.page import BLUE, FAINT, INK, ORANGE, Panel, headed, records

__all__ = ["PlottedClaim", "RocLine", "audit", "compare", "roc", "tradeoff"]


def tradeoff(
    alarms: Sequence[float], misses: Sequence[float], *, marks: Sequence[tuple[float, float]], side: int = 420
) -> Panel:
    """The curve of least `misses` at each share of false `alarms`; below it no test can be. `marks` are named."""
    label: dict[str, Any] = {"align": "left", "dx": 10, "dy": -9, "fontSize": 12}
    rows = [{"x": x, "y": y} for x, y in zip(alarms, misses, strict=True)]
    percent = alt.Axis(format="%", tickCount=5)
    unit = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("x:Q", title="false alarms (type I error)", scale=unit, axis=percent)
    y = alt.Y("y:Q", title="misses (type II error)", scale=unit, axis=percent)
    curve, points = alt.Chart(records(rows)), alt.Chart(records([_mark(*mark) for mark in marks]))
    guess = alt.Chart(records([{"x": 0, "y": 1}, {"x": 1, "y": 0}]))
    named = alt.Chart(records([{"x": 0.62, "y": 0.44, "text": "guessing: perfect privacy"}]))
    impossible = alt.Chart(records([_corner(rows)]))
    return alt.layer(
        curve.mark_area(color=BLUE, opacity=0.12).encode(x=x, y=y),
        guess.mark_line(color=FAINT, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y),
        curve.mark_line(color=BLUE, strokeWidth=2.5).encode(x=x, y=y),
        points.mark_point(color=ORANGE, filled=True, size=90, opacity=1).encode(x=x, y=y),
        points.mark_text(stroke="white", strokeWidth=5, **label).encode(x=x, y=y, text="text:N"),  # clears the lines
        points.mark_text(color=INK, **label).encode(x=x, y=y, text="text:N"),
        named.mark_text(align="left", color=FAINT, fontSize=12).encode(x=x, y=y, text="text:N"),
        impossible.mark_text(color=BLUE, fontSize=12).encode(x=x, y=y, text="text:N"),
    ).properties(width=side, height=side)


def _mark(alarms: float, misses: float) -> dict[str, object]:
    found = ceil(round((1 - misses) * 1000, 6)) / 10  # a bound is rounded up
    return {"x": alarms, "y": misses, "text": f"{alarms * 100:g} % false alarms: finds at most {found:.1f} %"}


def _corner(rows: Sequence[dict[str, float]]) -> dict[str, object]:
    """Where "no test gets here" fits: halfway to where the curve meets the diagonal of equal errors."""
    equal = min(rows, key=lambda row: abs(row["x"] - row["y"]))["x"]
    return {"x": equal / 2 + 0.02, "y": equal / 2, "text": "no test gets here" if equal > 0.2 else ""}


BOUND, GUESS, EXACT = "proven upper bound", "approximation, not a bound", "proven from both sides"
FAR = 20  # a largest claim so many times the least is drawn on a logarithmic axis


@dataclass(frozen=True)
class PlottedClaim:
    """What one method says: a `value`, written `note`, or None and a `note` on why; `lower` bounds it from below."""

    label: str
    value: float | None
    proven: bool
    note: str
    lower: float | None = None

    @property
    def role(self) -> str:
        return GUESS if not self.proven else BOUND if self.lower is None else EXACT


def compare(claims: Sequence[PlottedClaim], *, axis: str, width: int = 520) -> Panel:
    """A line for each claim, a rule through the best-known value."""
    values = [claim.value for claim in claims if claim.value] or [1.0]
    far = max(values) > FAR * min(values)
    domain = [min(values) / 1.6, max(values) * 2.2] if far else [0, max(values) * 1.18]
    scale = alt.Scale(type="log" if far else "linear", domain=domain, nice=False)
    powers = [10**k for k in range(-9, 12) if domain[0] <= 10**k <= domain[1]]
    ticks = alt.Axis(values=powers) if far else alt.Axis(tickCount=6)
    rows = [
        {"label": claim.label, "value": claim.value, "low": domain[0], "role": claim.role, "text": claim.note}
        for claim in claims
        if claim.value is not None
    ]
    silent = [{"label": claim.label, "text": f"– {claim.note} –"} for claim in claims if claim.value is None]
    truth = [{"value": claim.lower} for claim in claims if claim.lower is not None]
    x = alt.X("value:Q", title=axis + (", logarithmic" if far else ""), scale=scale, axis=ticks)
    down = alt.Y("label:N", title=None, sort=[claim.label for claim in claims], axis=alt.Axis(labelFontSize=13))
    roles = [BOUND, GUESS, EXACT]
    key = alt.Legend(title=None, orient="top", labelLimit=300)
    colour = alt.Color("role:N", scale=alt.Scale(domain=roles, range=["#56a0c9", ORANGE, BLUE]), legend=key)
    shape = alt.Shape("role:N", scale=alt.Scale(domain=roles, range=["circle", "diamond", "square"]), legend=key)
    said, dumb = alt.Chart(records(rows)), alt.Chart(records(silent))
    return alt.layer(
        said.mark_rule(color="#dddddd", strokeWidth=3).encode(x=alt.X("low:Q"), x2="value:Q", y=down),
        alt.Chart(records(truth)).mark_rule(color=BLUE, strokeDash=[4, 3]).encode(x=x),
        said.transform_filter(f"datum.role != '{GUESS}'")
        .mark_point(filled=True, size=120, opacity=1)
        .encode(x=x, y=down, color=colour, shape=shape),
        said.transform_filter(f"datum.role == '{GUESS}'")
        .mark_point(size=120, opacity=1, strokeWidth=2, fill="white")
        .encode(x=x, y=down, color=colour, shape=shape),
        said.mark_text(align="left", dx=11, color=INK, fontSize=12).encode(x=x, y=down, text="text:N"),
        dumb.mark_text(align="right", dx=-6, color=FAINT, fontSize=12).encode(
            x=alt.value(width), y=down, text="text:N"
        ),
    ).properties(width=width, height=34 * len(claims))


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


BOUND_COLOUR = "#8c6bb1"


@dataclass(frozen=True)
class RocLine:
    """One attack on one release: a share of members found for each share of false alarms."""

    label: str
    alarms: Sequence[float]
    found: Sequence[float]
    defended: bool


def roc(
    lines: Sequence[RocLine],
    *,
    bounds: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: tuple[str, ...],
    least: float = 1e-3,
    side: int = 360,
) -> Panel:
    """Orange undefended, blue defended, a dash pattern for each line; `bounds` are what no attack may pass."""
    rows = [
        {"label": line.label, "x": x, "y": max(y, least)}
        for line in lines
        for x, y in zip(line.alarms, line.found, strict=True)
    ]
    rows += [
        {"label": label, "x": x, "y": max(y, least)}
        for label, (alarms, most) in bounds.items()
        for x, y in zip(alarms, most, strict=True)
    ]
    guess = "guessing"
    rows += [{"label": guess, "x": x, "y": x} for x in (least, 1.0)]
    names = [line.label for line in lines] + [*bounds, guess]
    colours = [BLUE if line.defended else ORANGE for line in lines] + [BOUND_COLOUR] * len(bounds) + [FAINT]
    seen = {False: 0, True: 0}
    patterns: list[list[int]] = []
    for line in lines:
        patterns.append([[1, 0], [5, 3], [1, 2]][seen[line.defended] % 3])
        seen[line.defended] += 1
    patterns += [[[1, 0], [5, 3], [1, 2]][i % 3] for i in range(len(bounds))] + [[2, 3]]
    scale = alt.Scale(type="log", domain=[least, 1], nice=False)
    ticks = alt.Axis(values=[10.0**k for k in range(-5, 1) if 10.0**k >= least], format="~%")
    key = alt.Legend(title=None, orient="right", labelLimit=360, symbolStrokeWidth=2.5, symbolSize=300, labelColor=INK)
    return alt.layer(
        alt.Chart(records(rows))
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=alt.X("x:Q", title="false alarms", scale=scale, axis=ticks),
            y=alt.Y("y:Q", title="members found", scale=scale, axis=ticks),
            color=alt.Color("label:N", scale=alt.Scale(domain=names, range=colours), legend=key),
            strokeDash=alt.StrokeDash("label:N", scale=alt.Scale(domain=names, range=patterns), legend=key),
        )
    ).properties(width=side, height=side, title=headed(*title))
