"""What commands print: numbers rounded the honest way, lines of facts, a bar while they work, files they wrote."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.base.private_file import open_private
from tacit.cli.options import extra

if TYPE_CHECKING:  # most commands do without these
    from tacit.attack import Attempt, Outcome
    from tacit.attack.risk import Risk
    from tacit.auditor import Verdict
    from tacit.loss import Interval
    from tacit.plot.report import Section

__all__ = [
    "ATTEMPTS", "WIDTH", "attempts", "bar", "bounds", "bullets", "check_outputs", "counted", "counting_bar", "days",
    "down", "facts", "line", "new_file", "outcome_section", "output", "percent", "reach", "remark", "say", "show",
    "table", "up", "verdict_section", "when", "write_out", "write_page",
]  # fmt: skip

WIDTH = 24  # of a gauge
SPREAD = Decimal("1e-14")  # a closed form is widened by a few roundings, which must not push 10 to 10.0001


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


def reach(attempt: "Attempt | Risk") -> str:
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


# --- on standard output


def show(*parts: Any, stderr: bool = False) -> None:
    """Tables and texts as wide as the terminal; a plain text is a `line`. Of an iterator, all that it gives."""
    for part in parts:
        if isinstance(part, Iterator):
            show(*part, stderr=stderr)
        elif not isinstance(part, Table) or part.columns:
            shown = line(part) if isinstance(part, str) else part
            Console(stderr=stderr).print(shown, soft_wrap=isinstance(shown, Text) and bool(shown.no_wrap))


def line(text: str, style: str = "") -> Text:
    """One line, however long, to be copied or searched."""
    return Text(text, style, no_wrap=True)


def say(text: str, style: str = "") -> None:
    show(line(text, style))


def output(as_json: bool, found: Any, *parts: Any) -> None:
    """What was found, for a program or for people."""
    if as_json:
        Console().out(json.dumps(found, indent=2, ensure_ascii=False), highlight=False)
    else:
        show(*parts)


def facts(lines: Mapping[str, str | Text]) -> Table:
    """Two columns: a word and what there is to say about it."""
    grid = Table.grid(Column(style="dim", no_wrap=True), Column(), padding=(0, 2))
    for word, text in lines.items():
        grid.add_row(Text(word), Text(text) if isinstance(text, str) else text)
    return grid


def bullets(notes: Iterable[str]) -> Table:
    """Sentences with a dot before each and a straight left edge."""
    grid = Table.grid(padding=(0, 1))
    for note in notes:
        grid.add_row(Text("•", style="cyan"), Text(note))
    return grid


def remark(text: str) -> Text:
    """One line with a dot before it."""
    return Text.assemble(("• ", "cyan"), text, no_wrap=True)


def table(*heads: Column | str, rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table. A head that is only a name is one of numbers."""
    columns = [Column(head, justify="right") if isinstance(head, str) else head for head in heads]
    made = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def counted(many: int, what: str, plural: str = "") -> str:
    """1 table, 2 tables, 3 entries."""
    return f"{many:,} {what if many == 1 else plural or what + 's'}"


def bar(full: int, colour: str = "") -> Text:
    """A gauge of which so many of `WIDTH` parts are full."""
    return Text.assemble(("█" * full, colour), ("░" * (WIDTH - full), "dim"))


@contextmanager
def counting_bar(doing: str) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """A bar for entries that are counted: what says how many there are, and what says that more are done."""
    done = total = 0
    with progress_bar(doing) as tell:

        def begin(entries: int) -> None:
            nonlocal total
            total = entries

        def tick(more: int) -> None:
            nonlocal done
            done += more
            if total:
                tell(done / total, f"{doing} {done:,} of {total:,}")

        yield begin, tick


# --- files


def check_outputs(*, plot: Path | None = None, html: Path | None = None) -> None:
    """Refuse files that no picture or report can be written to, before anything runs."""
    for option, path in {"--plot": plot, "--html": html}.items():
        if path is not None:
            with extra("plot", option):
                from tacit.plot import picture_path
                from tacit.plot.report import report_path
            (picture_path if option == "--plot" else report_path)(path)


def write_out(what: str, path: Path | None, write: Callable[[Path], object], *, quiet: bool) -> None:
    """Write a picture or a report where one is wanted, and say where it is unless the output is for a program."""
    if path is not None:
        write(path)
        if not quiet:
            show(remark(f"The {what} is in {path}"))


@contextmanager
def new_file(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """A file that was not there, and is not left behind half written; `private` is for its owner's eyes alone."""
    opener = (lambda name, flags: open_private(Path(name), flags)) if private else None
    try:
        file = open(path, "x", encoding="utf-8", opener=opener)  # noqa: SIM115 - below
    except FileExistsError:
        raise InputError(f"{path} exists already, and is not overwritten: choose another name") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
    except BaseException:
        path.unlink(missing_ok=True)
        raise


# --- reports


def write_page(
    path: Path, title: str, sections: "Sequence[Section]", *, lead: Sequence[str] = (), contents: tuple[str, ...] = ()
) -> None:
    """One HTML page."""
    from tacit.plot.report import report, write_report

    write_report(report(title, lead=lead, sections=sections, contents=contents), path)


ATTEMPTS = ("against", "success", "95 % interval")


def attempts(outcome: "Outcome") -> tuple[tuple[str, str, str], ...]:
    """Both attempts of an attack, beside chance."""
    sides = [(side.against, percent(side.success), reach(side)) for side in (outcome.undefended, outcome.defended)]
    return (*sides, ("chance, without any release", percent(outcome.chance), ""))


def outcome_section(outcome: "Outcome", title: str | None = None) -> "Section":
    """The attempts of an attack, with the picture; `title` in place of the outcome's own headline."""
    from tacit.plot.report import ReportTable as Rows
    from tacit.plot.report import Section, pictured

    rows = attempts(outcome)
    (bare, won, _), (ours, kept, _), (_, chance, _) = rows
    shown = f"{outcome.headline}. Picture of the {outcome.measure}. {bare}: {won}; {ours}: {kept}; chance: {chance}."
    return Section(
        title=title or outcome.headline,
        lines=(f"Success: {outcome.measure}.",),
        picture=pictured(outcome.draw(), shown),
        table=Rows(ATTEMPTS, rows),
        remarks=outcome.remarks,
        row=(won, kept, chance),
    )


def verdict_section(verdict: "Verdict", title: str) -> "Section":
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
        title=title,
        lines=(f"{first[0].upper()}{first[1:]}.",),
        picture=pictured(verdict.plot(), shown),
        table=Rows(("what", "value"), rows),
        remarks=tuple(rest),
    )
