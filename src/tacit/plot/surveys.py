"""The price of trusting nobody: one question's error against the number of respondents, in three models."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Protocol

import altair as alt

from tacit.plot.page import BLUE, FAINT, INK, ORANGE, Panel, headed, records

__all__ = ["ModelErrors", "models", "places"]

LINES = (
    ("local: nobody is trusted", "local", ORANGE),
    ("shuffled: a mixer of reports is trusted", "shuffle", "#8c6bb1"),
    ("central: a curator is trusted with the answers", "central", BLUE),
)


class ModelErrors(Protocol):
    """Errors of one share with so many `reports`, if a curator, a shuffler or nobody is trusted."""

    @property
    def reports(self) -> int: ...
    @property
    def central(self) -> float: ...
    @property
    def shuffle(self) -> float: ...
    @property
    def local(self) -> float: ...


def models(rows: Sequence[ModelErrors], *, title: tuple[str, ...], width: int = 430) -> Panel:
    """Standard deviation of a share, in percentage points, over respondents; both axes are logarithmic."""
    values = [
        {"label": label, "respondents": row.reports, "points": 100 * getattr(row, name)}
        for label, name, _ in LINES
        for row in rows
    ]
    key = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=400, symbolOpacity=1)
    scale = alt.Scale(domain=[label for label, *_ in LINES], range=[colour for *_, colour in LINES])
    log = alt.Scale(type="log", nice=False)
    decades = [10**i for i in range(10) if rows[0].reports <= 10**i <= rows[-1].reports]
    x = alt.X(
        "respondents:Q",
        title="respondents",
        scale=log,
        axis=alt.Axis(format="~s", values=decades) if len(decades) > 1 else alt.Axis(format="~s"),
    )
    y = alt.Y(
        "points:Q",
        title="standard error of a share (percentage points)",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~g", values=[10.0**i for i in range(-6, 3)]),
    )
    line = alt.Chart(records(values)).mark_line(point=True, strokeWidth=2.5)
    return alt.layer(line.encode(x=x, y=y, color=alt.Color("label:N", scale=scale, legend=key))).properties(
        width=width, height=260, title=headed(*title)
    )


Point = tuple[float, float]

ROUND = 72  # corners of a circle


def places(
    reports: Sequence[Point],
    *,
    rings: Sequence[tuple[float, str]],
    protected: float,
    remapped: Sequence[Point] = (),
    title: tuple[str, ...],
    width: int = 520,
) -> Panel:
    """`reports` and `remapped` are metres east and north of the true place; `rings` are radii with their words."""
    far = max([protected, *(radius for radius, _ in rings), *(max(abs(x), abs(y)) for x, y in reports)]) * 1.05
    scale = alt.Scale(domain=[-far, far], nice=False)
    step = 10 ** floor(log10(far))
    ticks = [step * i for i in range(-ceil(far / step), ceil(far / step) + 1)]

    def axis(title: str) -> alt.Axis:
        return alt.Axis(title=title, values=ticks, format=",d", grid=True)

    x = alt.X("x:Q", scale=scale, axis=axis("metres east"))
    y = alt.Y("y:Q", scale=scale, axis=axis("metres north"))
    layers = [
        _dots(reports, x, y, BLUE, 28, 0.45),
        *(_dots([point], x, y, "#009e73", 60, 0.9) for point in remapped),
        *(_circle(radius, words, x, y) for radius, words in rings),
        _circle(protected, "protected", x, y, fill=ORANGE),
        alt.Chart(records([{"x": 0, "y": 0}])).mark_point(shape="cross", size=160, color=INK, strokeWidth=3, angle=45),
    ]
    layers[-1] = layers[-1].encode(x=x, y=y)
    return alt.layer(*layers).properties(width=width, height=width, title=headed(*title))


def _dots(points: Sequence[Point], x: alt.X, y: alt.Y, color: str, size: int, opacity: float) -> alt.Chart:
    data = records([{"x": east, "y": north} for east, north in points])
    dots: alt.Chart = alt.Chart(data).mark_circle(color=color, size=size, opacity=opacity).encode(x=x, y=y)
    return dots


def _circle(radius: float, words: str, x: alt.X, y: alt.Y, *, fill: str | None = None) -> Panel:
    ring = alt.sequence(0, ROUND + 1, 1, as_="i")
    turn = f"2 * PI * datum.i / {ROUND}"
    shape = alt.Chart(ring).transform_calculate(x=f"{radius} * cos({turn})", y=f"{radius} * sin({turn})")
    color = fill or FAINT
    line = shape.mark_line(
        color=color,
        strokeDash=[] if fill else [5, 4],
        strokeWidth=2 if fill else 1,
        filled=bool(fill),
        fillOpacity=0.15,
    ).encode(x=x, y=y, order="i:Q")
    label = alt.Chart(records([{"x": 0, "y": radius, "words": words}]))
    return alt.layer(line, label.mark_text(dy=-7, color=color, fontSize=11).encode(x=x, y=y, text="words:N"))
