"""A noisy table as a picture: each number with the interval that covers its noise."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, NamedTuple

import altair as alt

from tacit.base import InputError
from tacit.plot.page import BLUE, FAINT, INK, ORANGE, PRIVATE, TRUTH, Panel, headed, records, role

__all__ = ["Cell", "answer", "choice", "counts", "fitted", "law"]

MOST = 60  # bars that can be told apart


def answer(
    rows: Sequence[Mapping[str, Any]],
    intervals: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]],
    *,
    width: int = 520,
    label: int = 220,
    accent: str = BLUE,
    ink: str = INK,
) -> Panel:
    """A panel for each noisy column: a line over dates and many numbers, else a point with its interval per group.

    `width` is without the labels, and `label` the most px that one of them takes.
    """
    if not rows or not intervals:
        raise InputError("there is nothing to draw: the answer has no rows or no numbers")
    keys = [name for name in rows[0] if name not in intervals]
    look = _Style(width=width, label=label, accent=accent, ink=ink)
    panels = [_panel(rows, name, *intervals[name], keys=keys, look=look) for name in intervals]
    whole: alt.VConcatChart = alt.vconcat(*panels).resolve_scale(x="independent")
    return whole


class _Style(NamedTuple):
    """How large, and in which colours."""

    width: int
    label: int
    accent: str
    ink: str


def _panel(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    low: Sequence[float | None],
    high: Sequence[float | None],
    *,
    keys: list[str],
    look: _Style,
) -> Panel:
    first = rows[0][keys[0]] if keys else None
    timed = len(keys) == 1 and isinstance(first, date)
    ordered = len(keys) == 1 and isinstance(first, int | float) and not isinstance(first, bool) and len(rows) > MOST
    data = []
    for i, row in enumerate(rows):
        label = row[keys[0]].isoformat() if timed else row[keys[0]] if ordered else _label(row, keys)
        data.append({"group": label, "value": row[name], "low": low[i], "high": high[i]})
    if timed or ordered:
        across = alt.X("group:T" if timed else "group:Q", title=keys[0])
        up = alt.Y("value:Q", title=name, scale=alt.Scale(zero=False))
        base = alt.Chart(records(data))
        band = base.mark_area(color=look.accent, opacity=0.2).encode(
            x=across, y=alt.Y("low:Q", title=name), y2="high:Q"
        )
        return alt.layer(band, base.mark_line(color=look.accent).encode(x=across, y=up)).properties(
            width=look.width, height=240
        )
    shown = alt.Chart(records(data[:MOST]))
    down = alt.Y("group:N", title=", ".join(keys) or None, sort=None, axis=alt.Axis(labelLimit=look.label))
    value = alt.X("value:Q", title=name + (f" (the first {MOST} of {len(data):,} groups)" if len(data) > MOST else ""))
    return alt.layer(
        shown.mark_rule(color=look.accent, strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=down),
        shown.mark_point(filled=True, size=60, color=look.ink, opacity=1).encode(x=value, y=down),
    ).properties(width=look.width, height=max(40, 18 * min(len(data), MOST)))


def _label(row: Mapping[str, Any], keys: list[str]) -> str:
    return ", ".join("NULL" if row[key] is None else str(row[key]) for key in keys) or "all"


LETTER = 6.5  # px of one character of a label
ROOM = 56  # px beside the labels: titles, ticks and some air
LEAST = 140


def fitted(
    rows: Sequence[Mapping[str, Any]],
    intervals: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]],
    *,
    width: int,
    accent: str,
    ink: str,
) -> dict[str, Any]:
    """`answer` as plain data, `width` px wide with its labels."""
    keys = [name for name in rows[0] if name not in intervals] if rows else []
    longest = max((sum(len(str(row[key])) + 2 for key in keys) for row in rows), default=0)
    labels = min(int(longest * LETTER), max(60, width * 3 // 10))
    chart = answer(
        rows, intervals, width=max(LEAST, width - labels - ROOM), label=max(40, labels), accent=accent, ink=ink
    )
    found: dict[str, Any] = chart.to_dict()
    names = ", ".join(intervals)
    found["description"] = f"Noisy answers for {names}, each with the interval that covers its noise"
    return found


@dataclass(frozen=True)
class Cell:
    """One cell: its place (`across`, in the panel at `column`, `row`), the private count, the truth, the error."""

    across: str
    column: str
    row: str
    private: float
    truth: float
    error: float


def counts(cells: Sequence[Cell], *, title: tuple[str, ...], axes: tuple[str, str], width: int = 105) -> Panel:
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
    panels = layers.properties(width=width, height=85).facet(
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
    width: int = 430,
) -> Panel:
    """One strip for each label: `chances` is answer → probability, `answers` the answer that came and its error."""
    reach = [x for law_ in chances.values() for x in law_]
    reach += [end for answer, error in answers.values() for end in (answer - error, answer + error)]
    scale = alt.Scale(domain=[min(reach), max(reach)], nice=False, zero=False)
    labelled, silent = alt.Axis(title=axis), alt.Axis(labels=False, title=None, ticks=False)
    strips = []
    for position, (label, law_) in enumerate(chances.items()):
        last = position == len(chances) - 1
        top = max(law_.values())
        answer, error = answers[label]
        curve = [{"x": x, "y": p / top} for x, p in sorted(law_.items())]
        point = [{"x": answer, "low": answer - error, "high": answer + error, "y": 0.22, "role": PRIVATE}]
        mark = [{"x": truth, "role": TRUTH}]
        height = alt.Y("y:Q", title=label, scale=alt.Scale(domain=[0, 1.05]), axis=_bare())
        shape = alt.Chart(records(curve)).mark_area(color=BLUE, opacity=0.18, interpolate="linear")
        line = alt.Chart(records(mark)).mark_rule(strokeWidth=2)
        bar = alt.Chart(records(point)).mark_rule(strokeWidth=2)
        dot = alt.Chart(records(point)).mark_point(filled=True, size=90, opacity=1)
        x = alt.X("x:Q", scale=scale, axis=labelled if last else silent)
        layers = alt.layer(
            shape.encode(x=x, y=height),
            line.encode(x=x, color=role()),
            bar.encode(x=alt.X("low:Q"), x2="high:Q", y=height, color=role()),
            dot.encode(x=x, y=height, color=role()),
        )
        strips.append(layers.properties(width=width, height=85))
    return alt.vconcat(*strips, spacing=6, title=headed(*title))


def _bare() -> alt.Axis:
    return alt.Axis(labels=False, ticks=False, grid=False, titleAngle=0, titleAlign="right", titleBaseline="middle")


def choice(
    candidates: Sequence[float],
    scores: Sequence[float],
    chances: Sequence[float],
    *,
    chosen: int,
    floor: float,
    title: tuple[str, ...],
    axes: tuple[str, str],
    width: int = 430,
) -> Panel:
    """A curve of scores; the bigger a dot, the likelier it was to be chosen. `floor` is the promise on the choice."""
    rows = [{"x": x, "y": y, "chance": p} for x, y, p in zip(candidates, scores, chances, strict=True)]
    best = max(range(len(scores)), key=scores.__getitem__)
    marks = [
        {"x": candidates[best], "y": scores[best], "role": TRUTH},
        {"x": candidates[chosen], "y": scores[chosen], "role": PRIVATE},
    ]
    x, y = alt.X("x:Q", title=axes[0]), alt.Y("y:Q", title=axes[1])
    base, marked = alt.Chart(records(rows)), alt.Chart(records(marks))
    size = alt.Size("chance:Q", scale=alt.Scale(domain=[0, max(chances)], range=[0, 260]), legend=None)
    promise = alt.Chart(records([{"y": floor, "text": "95 %: the choice earns at least this"}]))
    return alt.layer(
        base.mark_line(color=ORANGE, strokeWidth=2).encode(x=x, y=y),
        base.mark_circle(color=BLUE, opacity=0.35).encode(x=x, y=y, size=size),
        promise.mark_rule(strokeDash=[5, 4], color=FAINT).encode(y=y),
        promise.mark_text(align="right", dy=-7, dx=-2, color=FAINT, fontSize=11).encode(
            x=alt.value(width), y=y, text="text:N"
        ),
        marked.mark_rule(strokeDash=[2, 2]).encode(x=x, color=role()),
        marked.mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=role()),
    ).properties(width=width, height=200, title=headed(*title))
