"""Shares of successful attempts as a reader wants them."""

from rich import box
from rich.table import Table

from tacit.attack import Attempt

__all__ = ["columns", "percent", "reach"]


def percent(share: float) -> str:
    """One decimal, and more where that would show nothing of a small share."""
    return f"{share:.1%}" if share == 0 or share >= 0.001 else f"{100 * share:.2g}%"


def reach(attempt: Attempt) -> str:
    """The interval that covers the share."""
    return f"{percent(attempt.low)} to {percent(attempt.high)}"


def columns(*names: str) -> Table:
    """An empty table: words first, then numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(names):
        table.add_column(name, justify="left" if number == 0 or "what" in name else "right")
    return table
