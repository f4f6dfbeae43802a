"""How far an attack got: a bar with its interval for each release, and what chance alone gives."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import altair as alt

from tacit.plot.style import BLUE, FAINT, INK, ORANGE, Panel, headed, records

__all__ = ["Share", "shares"]


@dataclass(frozen=True)
class Share:
    """One bar, `row` saying which: a share in [0, 1] with the ends of its interval."""

    row: str
    label: str
    defended: bool
    share: float
    low: float
    high: float


def shares(bars: Sequence[Share], *, title: tuple[str, ...], axis: str, chance: float, width: int = 430) -> Panel:
    """Bars under each other, by `row` and in it by `label`: orange undefended, blue defended."""
    rows = [
        asdict(bar) | {"role": "private" if bar.defended else "undefended", "text": f"{bar.share:.1%}"} for bar in bars
    ]
    many = len({bar.row for bar in bars}) > 1
    base = alt.Chart(records(rows))
    labels = list(dict.fromkeys(bar.row for bar in bars)) if many else list(dict.fromkeys(bar.label for bar in bars))
    down = alt.Y(f"{'row' if many else 'label'}:N", title=None, sort=labels, axis=alt.Axis(labelLimit=260))
    across = alt.X(
        "share:Q",
        title=axis,
        scale=alt.Scale(domain=[0, 1.12]),
        axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    key = alt.Legend(title=None, orient="top")
    colour = alt.Color("role:N", scale=alt.Scale(domain=["undefended", "private"], range=[ORANGE, BLUE]), legend=key)
    beside = {"yOffset": alt.YOffset("role:N", sort=["undefended", "private"])} if many else {}
    guess = alt.Chart(records([{"share": chance, "text": "chance"}]))
    return alt.layer(
        base.mark_bar(opacity=0.55).encode(x=across, y=down, color=colour, **beside),
        base.mark_rule(color=INK).encode(x=alt.X("low:Q", title=axis), x2="high:Q", y=down, **beside),
        base.mark_text(align="left", dx=6, color=INK).encode(x=alt.X("high:Q"), y=down, text="text:N", **beside),
        guess.mark_rule(color=FAINT, strokeDash=[4, 3]).encode(x=across),
        guess.mark_text(color=FAINT, align="left", dx=4, fontSize=10).encode(x=across, y=alt.value(-6), text="text:N"),
    ).properties(width=width, height=alt.Step(24 if many else 40), title=headed(*title))
