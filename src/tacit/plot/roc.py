"""Members found against false alarms, on logarithmic axes: what an attack is worth where it accuses few."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from tacit.plot.style import BLUE, FAINT, INK, ORANGE, Panel, headed, records

__all__ = ["Line", "roc"]

BOUND = "#8c6bb1"


@dataclass(frozen=True)
class Line:
    """One attack on one release: a share of members found for each share of false alarms."""

    label: str
    alarms: Sequence[float]
    found: Sequence[float]
    defended: bool


def roc(
    lines: Sequence[Line],
    *,
    bounds: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: tuple[str, ...],
    least: float = 1e-3,
    side: int = 360,
) -> Panel:
    """Orange undefended, blue defended, a dash pattern for each line; `bounds` are what no attack may pass."""
    rows = [
        {"label": line.label, "x": x, "y": max(y, least)}
        for line in lines
        for x, y in zip(line.alarms, line.found, strict=True)
    ]
    rows += [
        {"label": label, "x": x, "y": max(y, least)}
        for label, (alarms, most) in bounds.items()
        for x, y in zip(alarms, most, strict=True)
    ]
    guess = "guessing"
    rows += [{"label": guess, "x": x, "y": x} for x in (least, 1.0)]
    names = [line.label for line in lines] + [*bounds, guess]
    colours = [BLUE if line.defended else ORANGE for line in lines] + [BOUND] * len(bounds) + [FAINT]
    seen = {False: 0, True: 0}
    patterns: list[list[int]] = []
    for line in lines:
        patterns.append([[1, 0], [5, 3], [1, 2]][seen[line.defended] % 3])
        seen[line.defended] += 1
    patterns += [[[1, 0], [5, 3], [1, 2]][i % 3] for i in range(len(bounds))] + [[2, 3]]
    scale = alt.Scale(type="log", domain=[least, 1], nice=False)
    ticks = alt.Axis(values=[10.0**k for k in range(-5, 1) if 10.0**k >= least], format="~%")
    key = alt.Legend(title=None, orient="right", labelLimit=360, symbolStrokeWidth=2.5, symbolSize=300, labelColor=INK)
    return alt.layer(
        alt.Chart(records(rows))
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(
            x=alt.X("x:Q", title="false alarms", scale=scale, axis=ticks),
            y=alt.Y("y:Q", title="members found", scale=scale, axis=ticks),
            color=alt.Color("label:N", scale=alt.Scale(domain=names, range=colours), legend=key),
            strokeDash=alt.StrokeDash("label:N", scale=alt.Scale(domain=names, range=patterns), legend=key),
        )
    ).properties(width=side, height=side, title=headed(*title))
