"""What an attacker can and cannot do: false alarms against missed members."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import altair as alt

from tacit.plot.style import BLUE, FAINT, INK, ORANGE, Panel, records

__all__ = ["tradeoff"]


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
