"""Two or three panels of one picture next to each other, each with its own scales and legend."""

from collections.abc import Sequence
from typing import Any

import altair as alt

__all__ = ["beside"]


def beside(panels: Sequence[Any]) -> alt.HConcatChart:
    """Panels from left to right; colours of one mean nothing in another."""
    whole: alt.HConcatChart = alt.hconcat(*panels, spacing=45).resolve_scale(color="independent")
    return whole
