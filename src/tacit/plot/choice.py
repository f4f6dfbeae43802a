"""A private choice among candidates: the score of each, how likely each was, and the one chosen."""

from collections.abc import Sequence

import altair as alt

from tacit.plot.style import BLUE, FAINT, ORANGE, PRIVATE, TRUTH, Panel, headed, records, role

__all__ = ["choice"]


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
