"""Several charts on one page, with one legend."""

from collections.abc import Sequence

import altair as alt

from tacit.plot.style import FAINT, INK, Panel

__all__ = ["page", "styled"]


def page(rows: Sequence[Sequence[Panel]], *, title: str, subtitle: str) -> alt.VConcatChart:
    """Charts in rows from left to right, under a title."""
    lines = [alt.hconcat(*row, spacing=50) for row in rows]
    heading = alt.TitleParams(
        title, subtitle=[subtitle], anchor="start", fontSize=20, subtitleFontSize=13, subtitleColor=FAINT, offset=16
    )
    return styled(alt.vconcat(*lines, spacing=40, title=heading))


def styled(
    chart: alt.VConcatChart, *, background: str = "white", padding: int | dict[str, int] = 24
) -> alt.VConcatChart:
    """The look that every page has."""
    dressed: alt.VConcatChart = (
        chart.configure(padding=padding, background=background, font="Helvetica, Arial, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(gridColor="#eeeeee", domainColor="#bbbbbb", labelColor=INK, titleColor=INK, titleFontWeight=400)
        .configure_legend(labelFontSize=12, labelColor=INK)
    )
    return dressed
