"""A noisy table as a picture: each number with the interval that covers its noise."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import altair as alt

from tacit.base import InputError
from tacit.plot.style import BLUE, INK, Panel, records

__all__ = ["answer"]

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
    look = _Look(width=width, label=label, accent=accent, ink=ink)
    panels = [_panel(rows, name, *intervals[name], keys=keys, look=look) for name in intervals]
    whole: alt.VConcatChart = alt.vconcat(*panels).resolve_scale(x="independent")
    return whole


class _Look(NamedTuple):
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
    look: _Look,
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
