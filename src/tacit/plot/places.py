"""A map round one place: reports of it, how far they go, and the circle that is protected. Metres, no tiles needed."""

from collections.abc import Sequence
from math import ceil, floor, log10

import altair as alt

from tacit.plot.style import BLUE, FAINT, INK, ORANGE, Panel, headed, records

__all__ = ["places"]

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
