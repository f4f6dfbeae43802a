"""What an attacker can and cannot do: false alarms against missed members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from textwrap import wrap
from typing import Any

import altair as alt

from tacit.plot.page import BLUE, FAINT, INK, ORANGE, PURPLE, WIDTH, Panel, chart, coloured, headed

__all__ = ["PlottedClaim", "RocLine", "audit", "compare", "roc", "tradeoff"]


def tradeoff(alarms: Sequence[float], misses: Sequence[float], *, marks: Sequence[tuple[float, float]]) -> Panel:
    """The curve of least `misses` at each share of false `alarms`; below it no test can be. `marks` are named."""
    label: dict[str, Any] = {"align": "left", "dx": 10, "dy": -9, "fontSize": 12}
    rows = [{"x": x, "y": y} for x, y in zip(alarms, misses, strict=True)]
    percent = alt.Axis(format="%", tickCount=5)
    unit = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("x:Q", title="false alarms (type I error)", scale=unit, axis=percent)
    y = alt.Y("y:Q", title="misses (type II error)", scale=unit, axis=percent)
    equal = min(rows, key=lambda row: abs(row["x"] - row["y"]))["x"]  # where the curve meets the diagonal
    corner = {"x": equal / 2 + 0.02, "y": equal / 2, "text": "no test gets here" if equal > 0.2 else ""}
    curve, points = chart(rows), chart([_mark(*mark) for mark in marks])
    guess = chart([{"x": 0, "y": 1}, {"x": 1, "y": 0}])
    named = chart([{"x": 0.62, "y": 0.44, "text": "guessing: perfect privacy"}])
    impossible = chart([corner])
    return alt.layer(
        curve.mark_area(color=BLUE, opacity=0.12).encode(x=x, y=y),
        guess.mark_line(color=FAINT, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y),
        curve.mark_line(color=BLUE, strokeWidth=2.5).encode(x=x, y=y),
        points.mark_point(color=ORANGE, filled=True, size=90, opacity=1).encode(x=x, y=y),
        points.mark_text(stroke="white", strokeWidth=5, **label).encode(x=x, y=y, text="text:N"),  # clears the lines
        points.mark_text(color=INK, **label).encode(x=x, y=y, text="text:N"),
        named.mark_text(align="left", color=FAINT, fontSize=12).encode(x=x, y=y, text="text:N"),
        impossible.mark_text(color=BLUE, fontSize=12).encode(x=x, y=y, text="text:N"),
    ).properties(width=WIDTH, height=WIDTH)


def _mark(alarms: float, misses: float) -> dict[str, object]:
    found = ceil(round((1 - misses) * 1000, 6)) / 10  # a bound is rounded up
    return {"x": alarms, "y": misses, "text": f"{alarms * 100:g} % false alarms: finds at most {found:.1f} %"}


BOUND, GUESS, EXACT = "proven upper bound", "approximation, not a bound", "proven from both sides"
WIDE = 520  # px of a comparison
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


def compare(claims: Sequence[PlottedClaim], *, axis: str) -> Panel:
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
    said, dumb = chart(rows), chart(silent)
    proven, guessed = (said.transform_filter(f"datum.role {sign} '{GUESS}'") for sign in ("!=", "=="))
    full = proven.mark_point(filled=True, size=120, opacity=1)
    empty = guessed.mark_point(size=120, opacity=1, strokeWidth=2, fill="white")
    return alt.layer(
        said.mark_rule(color="#dddddd", strokeWidth=3).encode(x=alt.X("low:Q"), x2="value:Q", y=down),
        chart(truth).mark_rule(color=BLUE, strokeDash=[4, 3]).encode(x=x),
        *(points.encode(x=x, y=down, color=colour, shape=shape) for points in (full, empty)),
        said.mark_text(align="left", dx=11, color=INK, fontSize=12).encode(x=x, y=down, text="text:N"),
        dumb.mark_text(align="right", dx=-6, color=FAINT, fontSize=12).encode(x=alt.value(WIDE), y=down, text="text:N"),
    ).properties(width=WIDE, height=34 * len(claims))


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
) -> Panel:
    """`bars` have the shares `first` and `second`, the share `inside` of the bar that lies in the event, and a `label`
    or the ends `low` and `high`. `estimate` is the ε that was counted, without allowance for chance, if any."""
    heading, *rest = title
    shown = headed(heading, *(part for line in rest for part in _lines(line)))
    above = _laws(bars, _lines(axis)).properties(width=WIDTH, height=200, title=shown)
    return alt.vconcat(above, _scale(claimed, certified, estimate), spacing=24)


def _lines(text: str) -> list[str]:
    return wrap(text, LINE)[:4] or [""]


def _laws(bars: Sequence[Mapping[str, Any]], axis: list[str]) -> Any:
    """The event as a shade; of names side by side, a mark at those that lie in it."""
    numeric = bool(bars) and "low" in bars[0]
    y = alt.Y("share:Q", title="share of outputs", axis=alt.Axis(format="%"))
    sides = coloured("side", {FIRST: BLUE, SECOND: ORANGE}, orient="top", labelLimit=400, symbolType="square")
    laws = [
        ({"low": bar["low"], "high": bar["high"], "none": 0} if numeric else {"label": _marked(bar)})
        | {"share": bar[side], "side": name}
        for bar in bars
        for side, name in (("first", FIRST), ("second", SECOND))
    ]
    if not numeric:
        order, ticks = list(dict.fromkeys(map(_marked, bars))), alt.Axis(labelLimit=180, labelAngle=-40)
        x = alt.X("label:N", title=[*axis, "(● in the event)"], sort=order, axis=ticks)
        return alt.layer(chart(laws).mark_bar(opacity=0.7).encode(x=x, y=y, color=sides, xOffset="side:N"))
    top = max(row["share"] for row in laws)
    shade = [
        {"low": b["low"], "high": b["high"], "top": top, "none": 0, "inside": b["inside"]} for b in bars if b["inside"]
    ]
    x = alt.X("low:Q", title=axis, scale=alt.Scale(zero=False, nice=False))
    strength = alt.Opacity("inside:Q", scale=alt.Scale(domain=[0, 1], range=[0, 0.2]), legend=None)
    bottom = alt.Y("none:Q", title="share of outputs")
    event = chart(shade).mark_rect(color=FAINT)
    return alt.layer(
        *([event.encode(x=x, x2="high:Q", y=bottom, y2="top:Q", opacity=strength)] if shade else []),
        chart(laws).mark_rect(opacity=0.4).encode(x=x, x2="high:Q", y=y, y2="none:Q", color=sides),
    )


def _marked(bar: Mapping[str, Any]) -> Any:
    return f"● {bar['label']}" if bar["inside"] > 0.5 else bar["label"]


def _scale(claimed: float, certified: float, estimate: float | None) -> Any:
    """One line: the certified part of ε as a bar from 0, the estimate as a dot, the claim as a rule."""
    reach = 1.1 * max(claimed, certified, estimate or 0.0, 0.1)
    over, far = certified > claimed, claimed > reach / 2
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(domain=[0, reach], nice=False))
    least = floor(certified * 1000) / 1000  # a bound from below is not rounded up
    bar = chart([{"epsilon": certified, "none": 0, "what": f"certified: at least {least:.3f}"}])
    rule = chart([{"epsilon": claimed, "what": f"claimed {claimed:.3f}"}])
    layers = [
        bar.mark_bar(color=ORANGE if over else BLUE, opacity=0.5, height=24).encode(x=x, x2="none:Q"),
        bar.mark_text(align="left", dy=26, color=INK).encode(x=alt.value(0), text="what:N"),
        rule.mark_rule(color=INK, strokeWidth=2).encode(x=x),
        rule.mark_text(align="right" if far else "left", dx=-5 if far else 5, dy=-24, color=INK).encode(
            x=x, text="what:N"
        ),
    ]
    if estimate is not None and estimate >= 0:
        dot = chart([{"epsilon": estimate}])
        layers.append(dot.mark_point(filled=True, size=70, color=INK, opacity=1).encode(x=x))
    return alt.layer(*layers).properties(width=WIDTH, height=60)


LEAST = 1e-3  # share where both axes of attackers' curves begin
PATTERNS = ([1, 0], [5, 3], [1, 2])  # dashes


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
) -> Panel:
    """Orange undefended, blue defended, a dash pattern for each line; `bounds` are what no attack may pass."""
    drawn = [
        *((line.label, BLUE if line.defended else ORANGE, line.alarms, line.found) for line in lines),
        *((label, PURPLE, alarms, most) for label, (alarms, most) in bounds.items()),
        ("guessing", FAINT, (LEAST, 1.0), (LEAST, 1.0)),
    ]
    names, colours = [label for label, *_ in drawn], [colour for _, colour, *_ in drawn]
    patterns = [PATTERNS[colours[:place].count(each) % len(PATTERNS)] for place, each in enumerate(colours)]
    patterns[-1] = [2, 3]
    rows = [
        {"label": label, "x": x, "y": max(y, LEAST)}
        for label, _, alarms, found in drawn
        for x, y in zip(alarms, found, strict=True)
    ]
    scale = alt.Scale(type="log", domain=[LEAST, 1], nice=False)
    ticks = alt.Axis(values=[0.001, 0.01, 0.1, 1], format="~%")
    key = alt.Legend(title=None, orient="right", labelLimit=360, symbolStrokeWidth=2.5, symbolSize=300, labelColor=INK)
    line = chart(rows).mark_line(strokeWidth=2.2, clip=True)
    return alt.layer(
        line.encode(
            x=alt.X("x:Q", title="false alarms", scale=scale, axis=ticks),
            y=alt.Y("y:Q", title="members found", scale=scale, axis=ticks),
            color=alt.Color("label:N", scale=alt.Scale(domain=names, range=colours), legend=key),
            strokeDash=alt.StrokeDash("label:N", scale=alt.Scale(domain=names, range=patterns), legend=key),
        )
    ).properties(width=360, height=360, title=headed(*title))
