"""A histogram by three attributes: private bars with error bars, and a mark where the truth was."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import altair as alt

from tacit.plot.style import PRIVATE, TRUTH, Panel, headed, records, role

__all__ = ["Cell", "counts"]


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
