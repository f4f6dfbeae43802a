"""Noisy answers as pictures: tables, counts, a choice, a survey, a place; each with what its noise is within."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from math import ceil, floor, log10
from types import MappingProxyType
from typing import Any

import altair as alt

from tacit.base import InputError
from tacit.plot.page import (
    BLUE,
    FAINT,
    INK,
    ORANGE,
    PRIVATE,
    PURPLE,
    TRUTH,
    WIDTH,
    Panel,
    chart,
    coloured,
    headed,
    records,
    role,
)

__all__ = ["Cell", "Rate", "answer", "choice", "counts", "fitted", "law", "models", "places", "rates"]

NOTHING: Mapping[str, Sequence[float | None]] = MappingProxyType({})
MOST = 60  # bars that can be told apart


def answer(
    rows: Sequence[Mapping[str, Any]],
    intervals: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]],
    *,
    truth: Mapping[str, Sequence[float | None]] = NOTHING,
    noise_only: Collection[str] = (),
    width: int = 520,
    label: int = 220,
    accent: str = BLUE,
    ink: str = INK,
) -> Panel:
    """A panel for each noisy column: a line over dates and many numbers, else a point with its interval per group.

    Intervals of columns in `noise_only` cover the noise and not the truth: they are dashed, and the axis says so.
    `truth` has the true numbers of columns in the order of the rows, where the data are made up; they are in orange.
    `width` is without the labels, and `label` the most px that one of them takes.
    """
    if not rows or not intervals:
        raise InputError("there is nothing to draw: the answer has no rows or no numbers")
    if strange := [name for name in truth if name not in intervals or len(truth[name]) != len(rows)]:
        raise InputError(
            f'truth of "{strange[0]}" needs a noisy column of this name, and a number for each of its rows'
        )
    keys = [name for name in rows[0] if name not in intervals]
    first = rows[0][keys[0]] if len(keys) == 1 else None
    timed = isinstance(first, date)
    ordered = isinstance(first, int | float) and not isinstance(first, bool) and len(rows) > MOST

    def group(row: Mapping[str, Any]) -> Any:
        if timed or ordered:
            return row[keys[0]].isoformat() if timed else row[keys[0]]
        return ", ".join("NULL" if row[key] is None else str(row[key]) for key in keys) or "all"

    def panel(name: str, lows: Sequence[float | None], highs: Sequence[float | None]) -> Panel:
        data = [
            {"group": group(row), "value": row[name], "low": lows[i], "high": highs[i]} for i, row in enumerate(rows)
        ]
        known = [
            {"group": one["group"], "truth": true, "role": TRUTH}
            for one, true in zip(data, truth.get(name, ()), strict=False)
        ]
        colour = role() if known else alt.value(accent)
        data = [one | {"role": PRIVATE} for one in data] if known else data
        title = f"{name} (± noise only)" if name in noise_only else name
        if timed or ordered:
            across = alt.X("group:T" if timed else "group:Q", title=keys[0])
            up = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
            base, low = chart(data), alt.Y("low:Q", title=title)
            true = chart(known).mark_line(strokeDash=[5, 4]).encode(x=across, y="truth:Q", color=colour)
            return alt.layer(
                base.mark_area(opacity=0.2).encode(x=across, y=low, y2="high:Q", color=colour),
                base.mark_line().encode(x=across, y=up, color=colour),
                *([true] if known else []),
            ).properties(width=width, height=240)
        shown, some = chart(data[:MOST]), f" (the first {MOST} of {len(data):,} groups)" if len(data) > MOST else ""
        down = alt.Y("group:N", title=", ".join(keys) or None, sort=None, axis=alt.Axis(labelLimit=label))
        true = chart(known[:MOST]).mark_tick(thickness=3, size=16).encode(x=alt.X("truth:Q"), y=down, color=colour)
        return alt.layer(
            shown.mark_rule(strokeWidth=2, strokeDash=[4, 3] if name in noise_only else []).encode(
                x=alt.X("low:Q"), x2="high:Q", y=down, color=colour
            ),
            shown.mark_point(filled=True, size=60, opacity=1).encode(
                x=alt.X("value:Q", title=title + some), y=down, color=colour if known else alt.value(ink)
            ),
            *([true] if known else []),
        ).properties(width=width, height=max(40, 18 * min(len(data), MOST)))

    panels = (panel(name, *ends) for name, ends in intervals.items())
    whole: alt.VConcatChart = alt.vconcat(*panels).resolve_scale(x="independent")
    return whole


LETTER = 6.5  # px of one character of a label
ROOM = 56  # px beside the labels: titles, ticks and some air
LEAST = 140


def fitted(
    rows: Sequence[Mapping[str, Any]],
    intervals: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]],
    *,
    noise_only: Collection[str] = (),
    width: int,
    accent: str,
    ink: str,
) -> dict[str, Any]:
    """`answer` as plain data, `width` px wide with its labels."""
    keys = [name for name in rows[0] if name not in intervals] if rows else []
    longest = max((sum(len(str(row[key])) + 2 for key in keys) for row in rows), default=0)
    labels = min(int(longest * LETTER), max(60, width * 3 // 10))
    wide = max(LEAST, width - labels - ROOM)
    look: dict[str, Any] = {"width": wide, "label": max(40, labels), "accent": accent, "ink": ink}
    found = answer(rows, intervals, noise_only=noise_only, **look).to_dict()
    names = ", ".join(intervals)
    return found | {"description": f"Noisy answers for {names}, each with its interval"}


@dataclass(frozen=True)
class Cell:
    """One cell: its place (`across`, in the panel at `column`, `row`), the private count, the truth, the error."""

    across: str
    column: str
    row: str
    private: float
    truth: float
    error: float


def counts(cells: Sequence[Cell], *, title: tuple[str, ...], axes: tuple[str, str]) -> Panel:
    """Small panels, one for each (column, row); `axes` names the horizontal and the vertical one."""
    rows = [
        asdict(cell) | {"low": max(0.0, cell.private - cell.error), "high": cell.private + cell.error} for cell in cells
    ]
    order = {name: list(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("across", "column", "row")}
    base = alt.Chart()  # the data come with the facet
    across = alt.X("across:N", title=axes[0], sort=order["across"], axis=alt.Axis(labelAngle=-50, grid=False))
    private, true = (base.transform_calculate(role=f"'{name}'") for name in (PRIVATE, TRUTH))
    layers = alt.layer(
        private.mark_bar(opacity=0.3).encode(
            x=across, y=alt.Y("private:Q", title=axes[1], axis=alt.Axis(tickCount=4)), color=role()
        ),
        private.mark_rule(strokeWidth=1.5).encode(x=across, y=alt.Y("low:Q"), y2="high:Q", color=role()),
        true.mark_tick(thickness=2, width=14).encode(x=across, y=alt.Y("truth:Q"), color=role()),
    )
    panels = layers.properties(width=105, height=85).facet(
        data=records(rows),
        column=alt.Column("column:N", sort=order["column"], title=None, header=alt.Header(labelFontSize=11)),
        row=alt.Row("row:N", sort=order["row"], title=None, header=alt.Header(labelFontSize=11)),
        spacing=8,
        title=headed(*title),
    )
    # on one scale small cells would be flat and the error bars of large ones too short to see
    independent: Panel = panels.resolve_scale(y="independent")
    return independent


def law(
    chances: Mapping[str, Mapping[float, float]],
    *,
    answers: Mapping[str, tuple[float, float]],
    truth: float,
    title: tuple[str, ...],
    axis: str,
) -> Panel:
    """One strip for each label: `chances` is answer → probability, `answers` the answer that came and its error."""
    reach = [x for law_ in chances.values() for x in law_]
    reach += [end for answer, error in answers.values() for end in (answer - error, answer + error)]
    scale = alt.Scale(domain=[min(reach), max(reach)], nice=False, zero=False)
    labelled, silent = alt.Axis(title=axis), alt.Axis(labels=False, title=None, ticks=False)
    bare = alt.Axis(labels=False, ticks=False, grid=False, titleAngle=0, titleAlign="right", titleBaseline="middle")
    strips = []
    for position, (label, law_) in enumerate(chances.items()):
        last = position == len(chances) - 1
        top = max(law_.values())
        answer, error = answers[label]
        curve = [{"x": x, "y": p / top} for x, p in sorted(law_.items())]
        point = [{"x": answer, "low": answer - error, "high": answer + error, "y": 0.22, "role": PRIVATE}]
        mark = [{"x": truth, "role": TRUTH}]
        height = alt.Y("y:Q", title=label, scale=alt.Scale(domain=[0, 1.05]), axis=bare)
        bar = chart(point).mark_rule(strokeWidth=2)
        x = alt.X("x:Q", scale=scale, axis=labelled if last else silent)
        layers = alt.layer(
            chart(curve).mark_area(color=BLUE, opacity=0.18, interpolate="linear").encode(x=x, y=height),
            chart(mark).mark_rule(strokeWidth=2).encode(x=x, color=role()),
            bar.encode(x=alt.X("low:Q"), x2="high:Q", y=height, color=role()),
            chart(point).mark_point(filled=True, size=90, opacity=1).encode(x=x, y=height, color=role()),
        )
        strips.append(layers.properties(width=WIDTH, height=85))
    return alt.vconcat(*strips, spacing=6, title=headed(*title))


def choice(
    candidates: Sequence[float],
    scores: Sequence[float],
    chances: Sequence[float],
    *,
    chosen: int,
    floor: float,
    title: tuple[str, ...],
    axes: tuple[str, str],
) -> Panel:
    """A curve of scores; the bigger a dot, the likelier it was to be chosen. `floor` is the promise on the choice."""
    rows = [{"x": x, "y": y, "chance": p} for x, y, p in zip(candidates, scores, chances, strict=True)]
    best = max(range(len(scores)), key=scores.__getitem__)
    marks = [
        {"x": candidates[best], "y": scores[best], "role": TRUTH},
        {"x": candidates[chosen], "y": scores[chosen], "role": PRIVATE},
    ]
    x, y = alt.X("x:Q", title=axes[0]), alt.Y("y:Q", title=axes[1])
    base, marked = chart(rows), chart(marks)
    size = alt.Size("chance:Q", scale=alt.Scale(domain=[0, max(chances)], range=[0, 260]), legend=None)
    promise = chart([{"y": floor, "text": "95 %: the choice earns at least this"}])
    return alt.layer(
        base.mark_line(color=ORANGE, strokeWidth=2).encode(x=x, y=y),
        base.mark_circle(color=BLUE, opacity=0.35).encode(x=x, y=y, size=size),
        promise.mark_rule(strokeDash=[5, 4], color=FAINT).encode(y=y),
        promise.mark_text(align="right", dy=-7, dx=-2, color=FAINT, fontSize=11).encode(
            x=alt.value(WIDTH), y=y, text="text:N"
        ),
        marked.mark_rule(strokeDash=[2, 2]).encode(x=x, color=role()),
        marked.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=role()),
    ).properties(width=WIDTH, height=200, title=headed(*title))


@dataclass(frozen=True)
class Rate:
    """A proportion with its label; `low` and `high` are the ends of its error bar, if it has one."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


def rates(rows: Sequence[Rate], *, truth: float, title: tuple[str, ...], axis: str) -> Panel:
    """One line for each rate; the truth is a rule across all of them."""
    reach = max(rate.value if rate.high is None else rate.high for rate in rows)
    base = chart([asdict(rate) | {"role": PRIVATE} for rate in rows])
    scale = alt.Scale(domain=[0, 1.15 * reach], nice=False)
    across = alt.X("value:Q", title=axis, scale=scale, axis=alt.Axis(format="%", tickCount=8))
    down = alt.Y("label:N", title=None, sort=[rate.label for rate in rows], axis=alt.Axis(labelLimit=200))
    barred = base.transform_filter("isValid(datum.low)")
    true = chart([{"value": truth, "role": TRUTH}])
    return alt.layer(
        base.mark_bar(opacity=0.18, height=22).encode(x=across, y=down, color=role()),
        true.mark_rule(strokeWidth=2).encode(x=across, color=role()),
        barred.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=down, color=role()),
        barred.mark_point(filled=True, size=90, opacity=1).encode(x=across, y=down, color=role()),
    ).properties(width=WIDTH, height=110, title=headed(*title))


TRUSTED = {
    "local": ("local: nobody is trusted", ORANGE),
    "shuffle": ("shuffled: a mixer of reports is trusted", PURPLE),
    "central": ("central: a curator is trusted with the answers", BLUE),
}


def models(respondents: Sequence[int], errors: Mapping[str, Sequence[float]], *, title: tuple[str, ...]) -> Panel:
    """The price of trusting nobody: standard deviation of a share, in percentage points, over the number of
    respondents, for each name of TRUSTED; both axes are logarithmic."""
    values = [
        {"label": label, "respondents": count, "points": 100 * error}
        for name, (label, _) in TRUSTED.items()
        for count, error in zip(respondents, errors[name], strict=True)
    ]
    colour = coloured("label", dict(TRUSTED.values()), orient="bottom", columns=1, labelLimit=400, symbolOpacity=1)
    decades = [10**i for i in range(10) if respondents[0] <= 10**i <= respondents[-1]]
    ticks = alt.Axis(format="~s", values=decades) if len(decades) > 1 else alt.Axis(format="~s")
    points = alt.Axis(format="~g", values=[10.0**i for i in range(-6, 3)])
    error = "standard error of a share (percentage points)"
    x = alt.X("respondents:Q", title="respondents", scale=alt.Scale(type="log", nice=False), axis=ticks)
    y = alt.Y("points:Q", title=error, scale=alt.Scale(type="log"), axis=points)
    line = chart(values).mark_line(point=True, strokeWidth=2.5).encode(x=x, y=y, color=colour)
    return alt.layer(line).properties(width=WIDTH, height=260, title=headed(*title))


Point = tuple[float, float]

ROUND = 72  # corners of a circle
MAP = 520  # px of a map


def places(
    reports: Sequence[Point],
    *,
    rings: Sequence[tuple[float, str]],
    protected: float,
    title: tuple[str, ...],
) -> Panel:
    """`reports` are metres east and north of the true place; `rings` are radii with their words."""
    far = max([protected, *(radius for radius, _ in rings), *(max(abs(x), abs(y)) for x, y in reports)]) * 1.05
    scale = alt.Scale(domain=[-far, far], nice=False)
    step = 10 ** floor(log10(far))
    ticks = [step * i for i in range(-ceil(far / step), ceil(far / step) + 1)]
    east, north = (alt.Axis(title=f"metres {way}", values=ticks, format=",d", grid=True) for way in ("east", "north"))
    x, y = alt.X("x:Q", scale=scale, axis=east), alt.Y("y:Q", scale=scale, axis=north)
    dots = chart([{"x": right, "y": up} for right, up in reports])
    truth = chart([{"x": 0, "y": 0}])
    return alt.layer(
        dots.mark_circle(color=BLUE, size=28, opacity=0.45).encode(x=x, y=y),
        *(_circle(radius, words, x, y) for radius, words in rings),
        _circle(protected, "protected", x, y, fill=ORANGE),
        truth.mark_point(shape="cross", size=160, color=INK, strokeWidth=3, angle=45).encode(x=x, y=y),
    ).properties(width=MAP, height=MAP, title=headed(*title))


def _circle(radius: float, words: str, x: alt.X, y: alt.Y, *, fill: str | None = None) -> Panel:
    ring = alt.sequence(0, ROUND + 1, 1, as_="i")
    turn = f"2 * PI * datum.i / {ROUND}"
    shape = alt.Chart(ring).transform_calculate(x=f"{radius} * cos({turn})", y=f"{radius} * sin({turn})")
    color, width, dash = (fill, 2, []) if fill else (FAINT, 1, [5, 4])
    line = shape.mark_line(color=color, strokeDash=dash, strokeWidth=width, filled=bool(fill), fillOpacity=0.15)
    label = chart([{"x": 0, "y": radius, "words": words}]).mark_text(dy=-7, color=color, fontSize=11)
    return alt.layer(line.encode(x=x, y=y, order="i:Q"), label.encode(x=x, y=y, text="words:N"))
