"""What the accounting commands print: numbers rounded the honest way, lines of facts, a spinner while they think."""

import json
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.base import TacitError
from tacit.loss import Interval

__all__ = ["bounds", "down", "drawn", "facts", "page", "patiently", "picture", "print_json", "reported", "up"]

T = TypeVar("T")
SPREAD = Decimal("1e-14")  # a closed form is widened by a few roundings, which must not push 10 to 10.0001


def up(value: float, digits: int = 6, *, spread: Decimal = SPREAD) -> str:
    """So many significant digits, not below `value` but for `spread`."""
    return _rounded(value, digits, ROUND_CEILING, spread)


def down(value: float, digits: int = 6, *, spread: Decimal = SPREAD) -> str:
    """So many significant digits, not above `value` but for `spread`."""
    return _rounded(value, digits, ROUND_FLOOR, spread)


def _rounded(value: float, digits: int, way: str, spread: Decimal) -> str:
    if value in (0, inf):
        return "0" if value == 0 else "∞"
    exact = Decimal(value)
    near = Context(prec=digits).create_decimal(exact)
    if abs(near - exact) > spread * exact:
        near = Context(prec=digits, rounding=way).create_decimal(exact)
    return f"{float(near):.{digits}g}"


def bounds(found: Interval) -> dict[str, object]:
    """For JSON, which has no infinity: an unlimited number is null."""
    lower, upper = (None if end == inf else end for end in (found.lower, found.upper))
    return {"lower": lower, "upper": upper, "rigorous": found.rigorous}


def patiently(doing: str, work: Callable[[], T]) -> T:
    """Do `work`, with a spinner on standard error if somebody is watching."""
    watcher = Console(stderr=True)
    if not watcher.is_terminal:
        return work()
    with watcher.status(f"{doing} …"):
        return work()


def facts(console: Console, lines: dict[str, str | Text]) -> None:
    """Two columns: a word and what there is to say about it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for word, text in lines.items():
        grid.add_row(word, Text(text) if isinstance(text, str) else text)
    console.print(grid)


def print_json(console: Console, found: dict[str, object]) -> None:
    console.out(json.dumps(found, indent=2, ensure_ascii=False), highlight=False)


def picture(path: Path | None) -> None:
    """Refuse a file that no picture can be written to, before anything runs."""
    if path is None:
        return
    try:
        from tacit.plot import picture_path
    except ImportError as missing:
        raise TacitError(f"--plot needs {missing.name}, which is not installed: pip install 'tacit[plot]'") from missing
    picture_path(path)


def drawn(console: Console, path: Path, *, quiet: bool) -> None:
    """Say where the picture is, unless the output is for a program."""
    if not quiet:
        console.print(Text.assemble(("• ", "cyan"), f"The picture is in {path}"), soft_wrap=True)


def page(path: Path | None) -> None:
    """Refuse a file that no report can be written to, before anything runs."""
    if path is None:
        return
    try:
        from tacit.plot.report import report_path
    except ImportError as missing:
        raise TacitError(f"--html needs {missing.name}, which is not installed: pip install 'tacit[plot]'") from missing
    report_path(path)


def reported(console: Console, path: Path, *, quiet: bool) -> None:
    """Say where the report is, unless the output is for a program."""
    if not quiet:
        console.print(Text.assemble(("• ", "cyan"), f"The report is in {path}"), soft_wrap=True)
