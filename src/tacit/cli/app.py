"""The command line: every command, its options, and how errors look."""

import json
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tacit import __version__
from tacit.base import TacitError
from tacit.cli.accounting import register
from tacit.cli.asked import register as register_questions
from tacit.cli.attacked import register as register_attacks
from tacit.cli.audited import register as register_audit
from tacit.cli.backup import register as register_backup
from tacit.cli.book import register as register_ledger
from tacit.cli.budget import register as register_budget
from tacit.cli.declared import register as register_policy
from tacit.cli.demo import demo, mechanisms_demo
from tacit.cli.lab import register as register_lab
from tacit.cli.located import register as register_place
from tacit.cli.mechanisms import as_json, as_markdown, as_table
from tacit.cli.running import register as register_running
from tacit.cli.served import register as register_service
from tacit.cli.sources import register as register_sources
from tacit.cli.surveyed import register as register_surveys
from tacit.cli.verified import register as register_certificates

__all__ = ["app", "main"]

app = typer.Typer(
    name="tacit",
    help="Answers about everyone, silent about anyone: differential privacy that is exact, priced and checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tacit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    pass


@app.command("demo")
def _demo(
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Also write a picture: FILE.svg or FILE.png.")
    ] = None,
    as_json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FOLDER", help="Leave the data, policy and ledger there.")
    ] = None,
    mechanisms: Annotated[
        bool, typer.Option("--mechanisms", help="Four textbook questions instead, each by one mechanism.")
    ] = False,
) -> None:
    """A short tour: a made-up clinic is asked in SQL, answered privately, until its budget is spent."""
    if mechanisms:
        mechanisms_demo(Console(), plot=plot, as_json=as_json_)
    else:
        demo(Console(), plot=plot, as_json=as_json_, keep=keep)


@app.command("mechanisms")
def _mechanisms(
    as_json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/reference/mechanisms.md.")] = False,
) -> None:
    """Every mechanism there is: what it does and where its theory is written down."""
    if as_json_:
        typer.echo(json.dumps(as_json(), indent=2, ensure_ascii=False))
    elif markdown:
        typer.echo(as_markdown(), nl=False)
    else:
        Console().print(as_table())


register_questions(app)
register(app)
register_policy(app)
register_sources(app)
register_budget(app)
register_ledger(app)
register_service(app)
register_running(app)
register_backup(app)
register_certificates(app)
register_audit(app)
register_attacks(app)
register_lab(app)
register_place(app)
register_surveys(app)


def main() -> None:
    """Run the command line. An error made on purpose is one red line and exit code 2; anything else is a bug."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε is shown a question mark, not a traceback
    try:
        app()
    except TacitError as error:
        Console(stderr=True).print(Text(f"tacit: {error}", style="bold red"), soft_wrap=True)
        sys.exit(2)
