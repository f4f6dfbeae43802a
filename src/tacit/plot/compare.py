"""Several claims about one number: bounds, guesses, and the interval it was proven to lie in."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from tacit.plot.style import BLUE, FAINT, INK, ORANGE, Panel, records

__all__ = ["Claim", "compare"]

BOUND, GUESS, EXACT = "proven upper bound", "approximation, not a bound", "proven from both sides"
FAR = 20  # a largest claim so many times the least is drawn on a logarithmic axis


@dataclass(frozen=True)
class Claim:
    """What one method says: a `value`, written `note`, or None and a `note` on why; `lower` bounds it from below."""

    label: str
    value: float | None
    proven: bool
    note: str
    lower: float | None = None

    @property
    def role(self) -> str:
        return GUESS if not self.proven else BOUND if self.lower is None else EXACT


def compare(claims: Sequence[Claim], *, axis: str, width: int = 520) -> Panel:
    """A line for each claim, a rule through the best-known value."""
    values = [claim.value for claim in claims if claim.value] or [1.0]
    far = max(values) > FAR * min(values)
    domain = [min(values) / 1.6, max(values) * 2.2] if far else [0, max(values) * 1.18]
    scale = alt.Scale(type="log" if far else "linear", domain=domain, nice=False)
    powers = [10**k for k in range(-9, 12) if domain[0] <= 10**k <= domain[1]]
    ticks = alt.Axis(values=powers) if far else alt.Axis(tickCount=6)
    rows = [
        {"label": claim.label, "value": claim.value, "low": domain[0], "role": claim.role, "text": claim.note}
        for claim in claims
        if claim.value is not None
    ]
    silent = [{"label": claim.label, "text": f"– {claim.note} –"} for claim in claims if claim.value is None]
    truth = [{"value": claim.lower} for claim in claims if claim.lower is not None]
    x = alt.X("value:Q", title=axis + (", logarithmic" if far else ""), scale=scale, axis=ticks)
    down = alt.Y("label:N", title=None, sort=[claim.label for claim in claims], axis=alt.Axis(labelFontSize=13))
    roles = [BOUND, GUESS, EXACT]
    key = alt.Legend(title=None, orient="top", labelLimit=300)
    colour = alt.Color("role:N", scale=alt.Scale(domain=roles, range=["#56a0c9", ORANGE, BLUE]), legend=key)
    shape = alt.Shape("role:N", scale=alt.Scale(domain=roles, range=["circle", "diamond", "square"]), legend=key)
    said, dumb = alt.Chart(records(rows)), alt.Chart(records(silent))
    return alt.layer(
        said.mark_rule(color="#dddddd", strokeWidth=3).encode(x=alt.X("low:Q"), x2="value:Q", y=down),
        alt.Chart(records(truth)).mark_rule(color=BLUE, strokeDash=[4, 3]).encode(x=x),
        said.transform_filter(f"datum.role != '{GUESS}'")
        .mark_point(filled=True, size=120, opacity=1)
        .encode(x=x, y=down, color=colour, shape=shape),
        said.transform_filter(f"datum.role == '{GUESS}'")
        .mark_point(size=120, opacity=1, strokeWidth=2, fill="white")
        .encode(x=x, y=down, color=colour, shape=shape),
        said.mark_text(align="left", dx=11, color=INK, fontSize=12).encode(x=x, y=down, text="text:N"),
        dumb.mark_text(align="right", dx=-6, color=FAINT, fontSize=12).encode(
            x=alt.value(width), y=down, text="text:N"
        ),
    ).properties(width=width, height=34 * len(claims))
