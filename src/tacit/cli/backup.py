"""`tacit backup`: everything that the service must not lose, in one file, while it runs; checked, and put back."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.base.private_file import nothing_for_others
from tacit.cli.options import Json
from tacit.cli.screen import print_json
from tacit.cli.served import ConfigFile, StateFolder

if TYPE_CHECKING:
    from tacit.server.ops.restore import Checked

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(no_args_is_help=True)(backup)


def backup(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="A new file, such as monday.tar.")] = None,
    config: ConfigFile = None,
    policy: Annotated[
        list[Path] | None, typer.Option("--policy", metavar="FILE", help="A dataset; may be repeated.")
    ] = None,
    state: StateFolder = None,
    keys: Annotated[bool, typer.Option("--keys", help="Private keys and secrets too.")] = False,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FILE", help="Is this backup whole? Nothing is written.")
    ] = None,
    restore: Annotated[
        Path | None, typer.Option("--restore", metavar="FILE", help="Unpack this backup, with --into.")
    ] = None,
    into: Annotated[Path | None, typer.Option("--into", metavar="FOLDER", help="A new folder for --restore.")] = None,
    keep_tokens: Annotated[
        bool, typer.Option("--keep-tokens", help="With --restore: tokens that were good then stay good.")
    ] = False,
    as_json: Json = False,
) -> None:
    """People, releases, ledgers and policies in one file, while the service runs. Exit code 1 if a ledger is not whole.

    Example: tacit backup monday.tar --config server.toml
    """
    if [file is None, check is None, restore is None].count(False) != 1:
        raise InputError("give a new FILE to back up to, or --check FILE, or --restore FILE --into FOLDER")
    if (restore is None) != (into is None) or (keep_tokens and restore is None):
        raise InputError("give --into FOLDER, a new folder, with --restore; --keep-tokens works only with --restore")
    from tacit.server.ops.restore import check as checked
    from tacit.server.ops.restore import restore as restored

    if check is not None:
        _shown(check, checked(check), as_json=as_json)
    elif restore is not None and into is not None:
        with nothing_for_others():
            found = restored(restore, into, keep_tokens=keep_tokens)
        _shown(restore, found, as_json=as_json)
        if not as_json:
            _advice(found, into, keep_tokens=keep_tokens)
    elif file is not None:
        _made(file, config, policy, state, keys=keys, as_json=as_json)


def _made(
    file: Path, config: Path | None, policy: list[Path] | None, state: Path | None, *, keys: bool, as_json: bool
) -> None:
    from tacit.server.ops.backup import back_up
    from tacit.server.ops.config import Config

    settings = Config.read(config)
    if state is not None:
        settings = replace(settings, state=state.absolute())
    if policy:
        settings = replace(settings, datasets=tuple(path.absolute() for path in policy))
    with nothing_for_others():
        made = back_up(settings, file, file=config, keys=keys)
    console = Console()
    found = [
        {"where": where, "people": each.people, "seq": each.seq, "what": each.what} for where, each in made.findings
    ]
    if as_json:
        parts = [{"kind": part.kind, "name": part.name, "size": part.size} for part in made.parts]
        print_json(console, {"file": str(file), "parts": parts, "findings": found})
    else:
        for part in made.parts:
            console.print(Text(f"{part.kind}: {part.origin}"), soft_wrap=True)
        console.print(Text(f"Written to {file}. It is as secret as the answers in it."), soft_wrap=True)
        for one in found:
            console.print(Text(f"{one['where']}, {one['people']}, entry {one['seq']}: {one['what']}", style="bold red"))
    if found:
        raise typer.Exit(1)


def _shown(file: Path, found: "Checked", *, as_json: bool) -> None:
    console = Console()
    when = datetime.fromtimestamp(found.made / 1_000_000, UTC)
    if as_json:
        findings = [{"part": part, "what": what} for part, what in found.findings]
        parts = [{"kind": part.kind, "name": part.name, "origin": part.origin} for part in found.parts]
        print_json(console, {"ok": found.ok, "made": when.isoformat(), "parts": parts, "findings": findings})
    else:
        console.print(Text(f"{file}: made {when:%Y-%m-%d %H:%M} UTC by tacit {found.version}"), soft_wrap=True)
        for part in found.parts:
            wrong = [what for name, what in found.findings if name == part.name]
            told = "; ".join(wrong) if wrong else f"whole; {part.kind} of {part.origin}"
            console.print(Text(f"{part.name}: {told}", style="bold red" if wrong else ""), soft_wrap=True)
        for name, what in found.findings:
            if name not in {part.name for part in found.parts}:
                console.print(Text(f"{name}: {what}", style="bold red"), soft_wrap=True)
    if not found.ok:
        raise typer.Exit(1)


def _advice(found: "Checked", into: Path, *, keep_tokens: bool) -> None:
    """What whoever puts a copy back has to know: it is older than what it replaces."""
    kept = (
        "Tokens that were revoked since work again: revoke them."
        if keep_tokens
        else "All tokens are revoked: give new ones."
    )
    lines = [
        f"Unpacked into {into}. Nothing was put back yet: move each part to where it was, with the service stopped.",
        "Charges made since this copy are not in its ledgers, although their answers are out. So a SQLite ledger opens",
        "only beside marks that it reaches, or once `tacit ledger adopt --why …` has recorded why it is used. Then",
        "lower the limits by what may have been spent. Sessions have ended. " + kept,
        "People who were barred since are not barred in this copy: bar them again.",
    ]
    if any(part.name.endswith(".sql") for part in found.parts):
        lines.append(
            "A .sql goes into an empty database with `psql -v ON_ERROR_STOP=1 -f`. PostgreSQL has no marks: adopt it."
        )
    for line in lines:
        Console().print(Text(line), soft_wrap=True)
