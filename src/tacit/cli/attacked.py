"""`tacit attack`: what there is, and one of them on made-up data."""

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tacit.attack import ATTACKS, Outcome, attack_named, staged
from tacit.base import whole
from tacit.cli.attacked_files import anonymity, link, risk
from tacit.cli.bar import bar
from tacit.cli.demo import bullets
from tacit.cli.options import Html, Json, Picture, Seed
from tacit.cli.screen import drawn, page, picture, print_json, reported
from tacit.cli.shares import columns, percent, reach

__all__ = ["register"]

attack_app = typer.Typer(
    name="attack",
    help="What breaks releases that are not defended: on made-up data beside tacit's release, and on files of yours.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="One of `tacit attack list`.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    attack_app.command("list")(list_)
    for command in (run, anonymity, risk, link):
        attack_app.command(no_args_is_help=True)(command)
    app.add_typer(attack_app)


def list_(as_json: Json = False) -> None:
    """Every attack that `tacit attack run` knows."""
    console = Console()
    if as_json:
        rows = [{"name": each.name, "title": each.title, "page": each.page} for each in ATTACKS]
        print_json(console, {"attacks": rows})
        return
    table = columns("attack", "what it shows")
    for each in ATTACKS:
        table.add_row(Text(each.name, style="bold"), Text(each.title))
    console.print(table)


def run(name: Name, seed: Seed = "1", plot: Picture = None, html: Html = None, as_json: Json = False) -> None:
    """Stage an attack on made-up data: on what others would publish, and on tacit's release of the same.

    Example: tacit attack run linkage --html linkage.html
    """
    attack, number = attack_named(name), whole(seed, "--seed")
    picture(plot)
    page(html)
    with bar(attack.title) as told:
        outcome = staged(name, seed=number, progress=lambda share: told(share, None))
    console = Console()
    if as_json:
        print_json(console, outcome.json())
    else:
        _show(console, outcome, attack.page)
    if plot is not None:
        outcome.plot(plot)
        drawn(console, plot, quiet=as_json)
    if html is not None:
        from tacit.cli.sections import of_outcome
        from tacit.plot.report import report, write_report

        write_report(report(attack.title, lead=(), sections=[of_outcome(outcome)]), html)
        reported(console, html, quiet=as_json)


def _show(console: Console, outcome: Outcome, where: str) -> None:
    console.print(Text(outcome.headline, style="bold"))
    table = columns("against", "success", "95 % interval")
    for style, side in (("yellow", outcome.undefended), ("cyan", outcome.defended)):
        table.add_row(Text(side.against, style=style), percent(side.success), reach(side))
    table.add_row(Text("chance, without any release", style="dim"), percent(outcome.chance), "")
    console.print(table)
    console.print(bullets([f"success: {outcome.measure}", *outcome.remarks, f"more: {where}"]))
