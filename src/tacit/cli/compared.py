"""`tacit compare`: a table and a picture of what every method of accounting says."""

from fractions import Fraction
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.cli.methods import Method, methods
from tacit.cli.priced import between
from tacit.cli.program import Program
from tacit.cli.screen import bounds, drawn, patiently, picture, print_json, up

__all__ = ["show_comparison"]


def show_comparison(console: Console, program: Program, delta: Fraction, *, plot: Path | None, as_json: bool) -> None:
    """Ask every method and show the answers side by side."""
    picture(plot)
    found = patiently("asking every method", lambda: methods(program, delta))
    if as_json:
        print_json(
            console,
            {"program": program.json(), "delta": float(delta), "methods": [_fields(method) for method in found]},
        )
    else:
        console.print(Text(f"{program.sentence()}\nε at δ = {float(delta):g} for {program.whom()}\n"))
        console.print(_table(found))
    if plot:
        _draw(program, delta, found, plot)
        drawn(console, plot, quiet=as_json)


def _fields(method: Method) -> dict[str, object]:
    found = None if method.found is None else bounds(method.found)
    return {"method": method.name, "epsilon": found, "note": method.note}


def _table(found: list[Method]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("Method", no_wrap=True)
    table.add_column("ε", justify="right", no_wrap=True)
    table.add_column("How", style="dim")
    for method in found:
        last = method is found[-1]
        table.add_row(method.name, _epsilon(method), _how(method), style="bold" if last else None)
    return table


def _epsilon(method: Method, digits: int = 6) -> Text:
    if method.found is None:
        return Text("–", style="dim")
    if not method.proven:
        return Text(f"≈ {up(method.found.upper, digits)}", style="yellow")
    return Text(f"{'' if method.exactly else '≤ '}{up(method.found.upper, digits)}", style="cyan")


def _how(method: Method) -> str:
    if method.exactly and method.found is not None:
        return between(method.found)
    return method.note


def _draw(program: Program, delta: Fraction, found: list[Method], path: Path) -> None:
    from tacit.plot import Claim, compare, page, write

    claims = [
        Claim(
            method.name,
            None if method.found is None else method.found.upper,
            proven=method.proven,
            note=method.note if method.found is None else _epsilon(method, digits=5).plain.removeprefix("≤ "),
            lower=method.found.lower if method.exactly and method.found is not None else None,
        )
        for method in found
    ]
    panel = compare(claims, axis=f"ε at δ = {float(delta):g}")
    write(
        page([[panel]], title="One program, every accountant", subtitle=f"{program.sentence()}; {program.whom()}"), path
    )
