"""How answers and quotes look: on a terminal, as text, in a notebook."""

from collections.abc import Collection, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from html import escape
from io import StringIO
from math import ceil, floor, inf, log10
from typing import Any

from tacit.loss import Cost

__all__ = [
    "as_html", "as_text", "digits", "margin", "measured", "notes_shown", "number", "printable", "spelled", "table_of",
]  # fmt: skip

WIDTH = 100


def number(value: float) -> str:
    """A number for people: whole ones in full, others with four digits or more."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def margin(size: float) -> str:
    """What noise is within: two digits, rounded up, since more of them say nothing."""
    rounded, places = _rounded_up(size)
    return _fixed(rounded, 0 if size == int(size) else places) if size < inf else "∞"


def measured(value: float, size: float) -> str:
    """A number and what its noise is within, without digits far below the noise; whole numbers keep all of theirs."""
    rounded, places = _rounded_up(size)
    if value != int(value) or abs(value) >= 1e15:
        return f"{_fixed(value, places)} ± {_fixed(rounded, places)}"
    return f"{int(value):,} ± {_fixed(rounded, 0 if rounded == int(rounded) else places)}"


def _rounded_up(size: float) -> tuple[float, int]:
    """Two significant digits that are no less, and how many of them come after the point."""
    if not 0 < size < inf:
        return size, 0
    places = 1 - floor(log10(size))
    scaled = ceil(Fraction(size) * Fraction(10) ** places * (1 - Fraction(1, 10**9)))  # 0.3 is a little above itself
    if scaled == 100:  # 99.6 becomes 100, which has a digit less after the point
        places -= 1
        scaled = 10
    return float(scaled / Fraction(10) ** places), max(places, 0)


def _fixed(value: float, places: int) -> str:
    return f"{value:,.{places}f}" if places <= 12 else f"{value:.2g}"


def digits(value: Fraction) -> str:
    """Three digits of an amount, rounded up."""
    found = Context(prec=3, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(found):g}"


def spelled(cost: Cost) -> str:
    """A cost in a single currency, with its δ if it has one."""
    amounts = {name: getattr(cost, name) for name in ("epsilon", "rho", "mu_squared")}
    name, value = next((name, value) for name, value in amounts.items() if value is not None)
    text = f"{name} {float(value):.4g}"
    return f"{text}, delta {float(cost.delta):.3g}" if cost.delta else text


def printable(text: str) -> str:
    """Without anything that a terminal would obey: a key is text that somebody else wrote."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def table_of(names: Sequence[str], rows: Sequence[Sequence[str]], *, right: Collection[str]) -> Any:
    """A table for rich; columns in `right` are numbers."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in names:
        shown.add_column(Text(printable(name)), justify="right" if name in right else "left")
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    return shown


def notes_shown(notes: Sequence[str]) -> list[Any]:
    """Sentences with a dot before each and a straight left edge."""
    from rich.table import Table
    from rich.text import Text

    if not notes:
        return []
    grid = Table.grid(padding=(0, 1))
    for note in notes:
        grid.add_row(Text("•", style="cyan"), Text(printable(note)))
    return [grid]


def as_text(shown: Any) -> str:
    """What a terminal without colours would show."""
    from rich.console import Console

    out = StringIO()
    Console(file=out, width=WIDTH, color_system=None).print(shown)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())


def as_html(names: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """For a notebook: every text is escaped."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>" if heads else ""
    return f"{table}<ul>{listed}</ul>"
