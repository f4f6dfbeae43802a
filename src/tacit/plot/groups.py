"""Groups under each other, each with the numbers of one or two models and their intervals."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import altair as alt

from tacit.plot.page import BLUE, ORANGE, WIDTH, Panel, chart, coloured, headed

__all__ = ["GroupBar", "groups"]


@dataclass(frozen=True)
class GroupBar:
    """One point: the share of right answers in a `group` of a model that plays a `role`, and its interval."""

    group: str
    role: str
    share: float
    low: float
    high: float


def groups(bars: Sequence[GroupBar], *, title: tuple[str, ...]) -> Panel:
    """Points with their intervals: blue the private model, orange the reference. Where they are far apart, a group pays
    more for privacy than others."""
    names = list(dict.fromkeys(bar.group for bar in bars))
    roles = {
        name: colour
        for name, colour in (("private", BLUE), ("reference", ORANGE))
        if any(bar.role == name for bar in bars)
    }
    base = chart([asdict(bar) for bar in bars])
    down = alt.Y("group:N", title=None, sort=names, axis=alt.Axis(labelLimit=260))
    beside = alt.YOffset("role:N", sort=list(roles))
    least = max(0.0, min(bar.low for bar in bars) - 0.02)
    across = alt.X(
        "share:Q", title="right answers", scale=alt.Scale(domain=[least, 1], nice=False), axis=alt.Axis(format="%")
    )
    colour = coloured("role", roles, orient="top")
    return alt.layer(
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title="right answers"), x2="high:Q", y=down, color=colour, yOffset=beside
        ),
        base.mark_point(filled=True, size=70).encode(x=across, y=down, color=colour, yOffset=beside),
    ).properties(width=WIDTH, height=alt.Step(26), title=headed(*title))
