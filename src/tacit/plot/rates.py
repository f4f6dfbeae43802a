"""A few proportions on one axis, some with an error bar, against the true one."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from tacit.plot.style import PRIVATE, TRUTH, Panel, headed, records, role

__all__ = ["Rate", "rates"]


@dataclass(frozen=True)
class Rate:
    """A proportion with its label; `low` and `high` are the ends of its error bar, if it has one."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


def rates(rows: Sequence[Rate], *, truth: float, title: tuple[str, ...], axis: str, width: int = 430) -> Panel:
    """One line for each rate; the truth is a rule across all of them."""
    reach = max(rate.value if rate.high is None else rate.high for rate in rows)
    data = records(
        [
            {
                "label": rate.label,
                "value": rate.value,
                "low": rate.low,
                "high": rate.high,
                "role": PRIVATE,
            }
            for rate in rows
        ]
    )
    scale = alt.Scale(domain=[0, 1.15 * reach], nice=False)
    across = alt.X("value:Q", title=axis, scale=scale, axis=alt.Axis(format="%", tickCount=8))
    down = alt.Y("label:N", title=None, sort=[rate.label for rate in rows], axis=alt.Axis(labelLimit=200))
    base, barred = alt.Chart(data), alt.Chart(data).transform_filter("isValid(datum.low)")
    true = alt.Chart(records([{"value": truth, "role": TRUTH}]))
    return alt.layer(
        base.mark_bar(opacity=0.18, height=22).encode(x=across, y=down, color=role()),
        true.mark_rule(strokeWidth=2).encode(x=across, color=role()),
        barred.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=down, color=role()),
        barred.mark_point(filled=True, size=90, opacity=1).encode(x=across, y=down, color=role()),
    ).properties(width=width, height=110, title=headed(*title))
