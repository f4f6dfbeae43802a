"""`tacit running`: the questions that a service is answering now, and an end to one of them."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from tacit.base import InputError
from tacit.cli.options import Json
from tacit.cli.screen import print_json
from tacit.cli.served import ConfigFile, StateFolder, extra, opened_state

__all__ = ["register"]

DatasetName = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="Of this dataset alone.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="The questions that a service is answering now.", no_args_is_help=True)
    group.command("list")(listed)
    group.command(no_args_is_help=True)(stop)
    app.add_typer(group, name="running")


def listed(
    dataset: DatasetName = None, as_json: Json = False, config: ConfigFile = None, state: StateFolder = None
) -> None:
    """Who asked what, since when; of questions that take longer than a moment.

    Example: tacit running list --state tacit-state
    """
    with extra():
        from tacit.server.ask.running import Running
    with opened_state(config, state) as base:
        found = Running(base).listed(dataset)
    if as_json:
        items = [{"id": q.id, "dataset": q.dataset, "owner": q.owner, "since": q.since, "sql": q.sql} for q in found]
        print_json(Console(), {"running": items})
        return
    for question in found:
        since = datetime.fromtimestamp(question.since / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
        typer.echo(f"{question.id}  {since} UTC  {question.dataset}  {question.owner}: {question.sql}")
    if not found:
        typer.echo("Nothing runs.")


def stop(
    name: Annotated[str, typer.Argument(metavar="ID", help="As `tacit running list` shows it.")],
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Stop one question. What was charged for it stays charged.

    Example: tacit running stop 3f9a01c2
    """
    with extra():
        from tacit.server.ask.running import Running
    with opened_state(config, state) as base:
        found = Running(base).stop(None, name)
    if found is None:
        raise InputError(f"no question {name} runs now: `tacit running list` shows those that do")
    typer.echo(f"The question of {found.owner} ends in a moment.")
