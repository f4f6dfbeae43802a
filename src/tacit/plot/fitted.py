"""A noisy table as a Vega-Lite specification that fits a page: its width and its colours are the page's."""

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.plot.answer import answer

__all__ = ["fitted"]

LETTER = 6.5  # px of one character of a label
ROOM = 56  # px beside the labels: titles, ticks and some air
LEAST = 140


def fitted(
    rows: Sequence[Mapping[str, Any]],
    intervals: Mapping[str, tuple[Sequence[float | None], Sequence[float | None]]],
    *,
    width: int,
    accent: str,
    ink: str,
) -> dict[str, Any]:
    """`answer` as plain data, `width` px wide with its labels."""
    keys = [name for name in rows[0] if name not in intervals] if rows else []
    longest = max((sum(len(str(row[key])) + 2 for key in keys) for row in rows), default=0)
    labels = min(int(longest * LETTER), max(60, width * 3 // 10))
    chart = answer(
        rows, intervals, width=max(LEAST, width - labels - ROOM), label=max(40, labels), accent=accent, ink=ink
    )
    found: dict[str, Any] = chart.to_dict()
    names = ", ".join(intervals)
    found["description"] = f"Noisy answers for {names}, each with the interval that covers its noise"
    return found
