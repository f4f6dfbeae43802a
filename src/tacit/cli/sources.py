"""`tacit import` and `tacit forget`: the strict reading of text sources, and the end of what it made."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.cli.bar import bar
from tacit.cli.options import Json
from tacit.cli.place import USUAL
from tacit.cli.screen import print_json
from tacit.policy import load

__all__ = ["register"]

PolicyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The policy file.")]
Tables = Annotated[
    list[str] | None, typer.Option("--table", metavar="NAME", help="This table only; may be said several times.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("import")(import_text)
    app.command()(forget)


def import_text(file: PolicyFile = USUAL, table: Tables = None, as_json: Json = False) -> None:
    """Read the CSV files of a policy, strictly, into typed copies that questions read; again whenever they change.

    A file that is not well formed is refused, with the numbers of its lines; a value that does not suit its column's
    type is NULL.

    Example: tacit import tacit.toml
    """
    from tacit.engine import import_tables

    policy = load(file)
    with bar("reading") as told:
        found = import_tables(policy, table, lambda share: told(share, None))
    console = Console()
    if as_json:
        print_json(console, {name: {"files": files, "read": read} for name, (files, read) in found.items()})
        return
    for name, (files, read) in found.items():
        whole = f"{files} file{'' if files == 1 else 's'}"
        said = f"{name}: {whole}, {'as read before' if not read else f'{read} read now'}"
        console.print(Text(said), soft_wrap=True)
    if not found:
        console.print(Text("There is nothing to import: Parquet and databases are read as they are."), soft_wrap=True)


def forget(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The policy file. Default: tacit.toml.")] = None,
    table: Tables = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", help="A CSV file that was asked without a policy.")
    ] = None,
    unused: Annotated[
        bool, typer.Option("--unused", help="Only copies of files that have changed, or are gone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Delete the typed copies that were made of CSV files. Questions about them wait for the next `tacit import`.

    Example: tacit forget tacit.toml --table visits
    """
    from tacit.engine import forget_tables
    from tacit.engine.source.copies import Copies, state_folder

    if data is not None:
        if file is not None or table:
            raise InputError("--data and a policy exclude each other: name the one or the other")
        copies = Copies(state_folder(f"{data.resolve()}.ledger", None))
        gone = copies.forget([data.resolve()], unused=unused)
    else:
        gone = forget_tables(load(file or USUAL), table, unused=unused)
    console = Console()
    if as_json:
        print_json(console, {"deleted": gone})
    else:
        console.print(Text(f"{gone} cop{'y' if gone == 1 else 'ies'} deleted."), soft_wrap=True)
