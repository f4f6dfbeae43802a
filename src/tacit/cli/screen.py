"""What commands print: numbers rounded the honest way, lines of facts, a bar while they work, files they wrote."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from rich import box, progress
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.base import TacitError

if TYPE_CHECKING:  # most commands do without these
    from tacit.attack import Attempt, Outcome
    from tacit.auditor import Verdict
    from tacit.loss import Interval
    from tacit.plot.report import Section
    from tacit.policy import Amount, Currency

__all__ = [
    "announce",
    "bar",
    "bounds",
    "bullets",
    "check_outputs",
    "columns",
    "days",
    "down",
    "exactly",
    "facts",
    "outcome_section",
    "percent",
    "plain_table",
    "print_json",
    "reach",
    "up",
    "verdict_section",
    "when",
]

SPREAD = Decimal("1e-14")  # a closed form is widened by a few roundings, which must not push 10 to 10.0001
PATIENCE = 2.0  # seconds after which somebody wonders


# --- numbers


def up(value: float, digits: int = 6, *, spread: Decimal = SPREAD) -> str:
    """So many significant digits, not below `value` but for `spread`."""
    return _round(value, digits, ROUND_CEILING, spread)


def down(value: float, digits: int = 6, *, spread: Decimal = SPREAD) -> str:
    """So many significant digits, not above `value` but for `spread`."""
    return _round(value, digits, ROUND_FLOOR, spread)


def _round(value: float, digits: int, way: str, spread: Decimal) -> str:
    if value in (0, inf):
        return "0" if value == 0 else "∞"
    exact = Decimal(value)
    near = Context(prec=digits).create_decimal(exact)
    if abs(near - exact) > spread * exact:
        near = Context(prec=digits, rounding=way).create_decimal(exact)
    return f"{float(near):.{digits}g}"


def bounds(found: "Interval") -> dict[str, object]:
    """For JSON, which has no infinity: an unlimited number is null."""
    lower, upper = (None if end == inf else end for end in (found.lower, found.upper))
    return {"lower": lower, "upper": upper, "rigorous": found.rigorous}


def percent(share: float) -> str:
    """One decimal, and more where that would show nothing of a small share."""
    return f"{share:.1%}" if share == 0 or share >= 0.001 else f"{100 * share:.2g}%"


def reach(attempt: "Attempt") -> str:
    """The interval that covers the share of successful attempts."""
    return f"{percent(attempt.low)} to {percent(attempt.high)}"


def when(time: int) -> str:
    """µs since 1970 as people write it."""
    try:
        return datetime.fromtimestamp(time / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{time} µs"


def days(period: int | None) -> str:
    """A reset window in words."""
    return "none" if period is None else f"{period / 86_400_000_000:.6g} days"


def exactly(amount: "Amount", currency: "Currency") -> dict[str, str]:
    """For JSON: exact decimals as text."""
    return {currency.value: _decimal(amount.spend, currency.decimals), "delta": _decimal(amount.delta, 30)}


def _decimal(value: int, digits: int) -> str:
    text = str(value).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


# --- lines and tables


def facts(console: Console, lines: dict[str, str | Text]) -> None:
    """Two columns: a word and what there is to say about it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for word, text in lines.items():
        grid.add_row(word, Text(text) if isinstance(text, str) else text)
    console.print(grid)


def bullets(notes: Iterable[str]) -> Table:
    """Sentences with a dot before each and a straight left edge."""
    grid = Table.grid(padding=(0, 1))
    for note in notes:
        grid.add_row(Text("•", style="cyan"), Text(note))
    return grid


def columns(*names: str) -> Table:
    """An empty table: words first, then numbers."""
    table = plain_table()
    for number, name in enumerate(names):
        table.add_column(name, justify="left" if number == 0 or "what" in name else "right")
    return table


def plain_table() -> Table:
    """An empty table without columns."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def print_json(console: Console, found: Any) -> None:
    console.out(json.dumps(found, indent=2, ensure_ascii=False), highlight=False)


# --- while it works


@contextmanager
def bar(words: str, *, after: float = PATIENCE) -> Iterator[Callable[..., None]]:
    """A bar on standard error for what takes longer than a moment, if there is somebody to see it.

    What is yielded takes the share done, and words if they change; the bar appears after so many seconds.
    """
    watcher = Console(stderr=True)
    if not watcher.is_terminal:
        yield lambda share, words=None: None
        return
    parts = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.TimeElapsedColumn())
    shown = progress.Progress(*parts, console=watcher, transient=True)
    task = shown.add_task(words, total=None)  # moves to and fro until a share is known
    clock = Timer(after, shown.start)
    clock.daemon = True

    def tell(share: float, words: str | None = None) -> None:
        shown.update(task, total=1.0, completed=share)
        if words is not None:
            shown.update(task, description=words)

    clock.start()
    try:
        yield tell
    finally:
        clock.cancel()
        clock.join()  # a start that has begun is over before the bar is taken away
        if shown.live.is_started:
            shown.stop()


# --- pictures and reports


def check_outputs(*, plot: Path | None = None, html: Path | None = None) -> None:
    """Refuse files that no picture or report can be written to, before anything runs."""
    for option, path in {"--plot": plot, "--html": html}.items():
        if path is None:
            continue
        try:
            from tacit.plot import picture_path
            from tacit.plot.report import report_path
        except ImportError as missing:
            remedy = f"{option} needs {missing.name}, which is not installed: pip install 'tacit[plot]'"
            raise TacitError(remedy) from missing
        (picture_path if option == "--plot" else report_path)(path)


def announce(console: Console, what: str, path: Path, *, quiet: bool) -> None:
    """Say where a picture or a report is, unless the output is for a program."""
    if not quiet:
        console.print(Text.assemble(("• ", "cyan"), f"The {what} is in {path}"), soft_wrap=True)


def outcome_section(outcome: "Outcome", title: str | None = None) -> "Section":
    """Both attempts of an attack, beside chance, with the picture; `title` in place of the outcome's own headline."""
    from tacit.plot.report import ReportTable as Rows
    from tacit.plot.report import Section, pictured

    sides = (outcome.undefended, outcome.defended)
    said = [f"{side.against}: {percent(side.success)}" for side in sides]
    shown = (
        f"{outcome.headline}. Picture of the {outcome.measure}. {'; '.join(said)}; chance: {percent(outcome.chance)}."
    )
    attempts = [(side.against, percent(side.success), reach(side)) for side in sides]
    chance = ("chance, without any release", percent(outcome.chance), "")
    return Section(
        title=title or outcome.headline,
        lines=(f"Success: {outcome.measure}.",),
        picture=pictured(outcome.draw(), shown),
        table=Rows(("against", "success", "95 % interval"), (*attempts, chance)),
        remarks=outcome.remarks,
        row=(*(percent(side.success) for side in sides), percent(outcome.chance)),
    )


def verdict_section(verdict: "Verdict", title: str | None = None) -> "Section":
    """An auditor's verdict in words, the picture, and the numbers behind it."""
    from tacit.plot.report import ReportTable as Rows
    from tacit.plot.report import Section, pictured

    first, *rest = str(verdict).splitlines()
    shown = (
        f"Outputs of {verdict.target} under both neighbours. Claimed epsilon {verdict.claimed:.4g}, certified at least "
        f"{down(verdict.epsilon, 4)}: {verdict.status}."
    )
    rows = (
        ("claimed ε", f"{verdict.claimed:.4g}"),
        ("at δ", f"{verdict.delta:.3g}"),
        ("certified: ε is at least", down(verdict.epsilon, 4)),
        ("confidence", f"{verdict.confidence:.4g}"),
        ("samples a side, in all", f"{verdict.samples:,}"),
    )
    return Section(
        title=title or f"{verdict.target}: {verdict.status}",
        lines=(f"{first[0].upper()}{first[1:]}.",),
        picture=pictured(verdict.plot(), shown),
        table=Rows(("what", "value"), rows),
        remarks=tuple(rest),
    )
