"""The price of trusting nobody: one question's error against the number of respondents, in three models."""

from collections.abc import Sequence

import altair as alt

from tacit.plot.style import BLUE, ORANGE, Panel, headed, records
from tacit.survey.beside import Beside

__all__ = ["models"]

LINES = (
    ("local: nobody is trusted", "local", ORANGE),
    ("shuffled: a mixer of reports is trusted", "shuffle", "#8c6bb1"),
    ("central: a curator is trusted with the answers", "central", BLUE),
)


def models(rows: Sequence[Beside], *, title: tuple[str, ...], width: int = 430) -> Panel:
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
