"""`tacit people` and `tacit service`: who may come in, what is being answered, and a copy of it all in one file."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.base.private_file import nothing_for_others
from tacit.cli.options import ConfigFile, Json, StateFolder, argument, flag, option, server_extra, service_settings
from tacit.cli.screen import bar, print_json

if TYPE_CHECKING:
    from tacit.server.auth.people import People
    from tacit.server.db import State
    from tacit.server.ops.config import Config
    from tacit.server.ops.restore import CheckedBackup

__all__ = ["add", "backup", "block", "cancel", "link", "list_people", "open_people", "revoke", "running", "token"]

Name = Annotated[str, argument("NAME", "The person's name, as policies spell it.")]
DatasetName = Annotated[str | None, option("--dataset", "NAME", "Of this dataset alone.", show_default=False)]


@contextmanager
def _state(settings: "Config") -> Iterator["State"]:
    """The service's own database."""
    from tacit.server.db import State

    with nothing_for_others():
        state = State(settings.store)
        try:
            yield state
        finally:
            state.close()


@contextmanager
def open_people(settings: "Config") -> Iterator["People"]:
    """Those who may come in."""
    from tacit.server.auth.people import People

    with _state(settings) as state:
        yield People(state)


def add(
    name: Name,
    role: Annotated[str, option("--role", "ROLE", "curator, analyst or auditor.", show_default=True)] = "analyst",
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Add a person. What they may ask is set in each dataset's policy.

    Example: tacit people add ben --role analyst
    """
    with open_people(service_settings(config, state)) as people:
        made = people.add(name, role)
    typer.echo(f"Added {made.name} as {made.role}. Give them a token: `tacit people token {made.name}`")


def token(
    name: Name,
    days: Annotated[int, option("--days", "NUMBER", "Days until it expires.")] = 90,
    label: Annotated[str, option("--label", "TEXT", "What it is for.")] = "",
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Make a token. It is shown only once.

    Example: tacit people token ben --days 30 --label notebook
    """
    if not 1 <= days <= 3660:
        raise InputError(f"--days must be 1 to 3660, not {days}")
    with open_people(service_settings(config, state)) as people:
        made = people.issue(name, label=label, life=timedelta(days=days))
    typer.echo(made.text)


def revoke(
    prefix: Annotated[str, argument("TOKEN", "The 12 characters after tacit_, or the whole token.")],
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Revoke a token, at once.

    Example: tacit people revoke 0123456789ab
    """
    with open_people(service_settings(config, state)) as people:
        gone = people.revoke(prefix)
    typer.echo(f"The token {gone.prefix} of {gone.person} no longer works.")


def block(name: Name, config: ConfigFile = None, state: StateFolder = None) -> None:
    """Block a person. Nobody else can have their name.

    Example: tacit people bar ben
    """
    with open_people(service_settings(config, state)) as people:
        people.bar(name)
    typer.echo(f"{name} can no longer sign in.")


def link(name: Name, config: ConfigFile = None, state: StateFolder = None) -> None:
    """Make a link that signs a person in with a browser, once, within a day.

    Example: tacit people link admin
    """
    with open_people(service_settings(config, state)) as people:
        made = people.link(name)
    typer.echo(f"/signin?link={made}")


def list_people(as_json: Json = False, config: ConfigFile = None, state: StateFolder = None) -> None:
    """List people and the tokens of theirs that are valid.

    Example: tacit people list
    """
    with open_people(service_settings(config, state)) as people:
        found: list[dict[str, Any]] = [
            {"name": who.name, "role": who.role, "may_come_in": let_in, "tokens": _working(people, who.name)}
            for who, let_in in people.everybody()
        ]
    if as_json:
        print_json(Console(), {"people": found})
        return
    for one in found:
        barred = "" if one["may_come_in"] else ", barred"
        typer.echo(f"{one['name']}: {one['role']}{barred}; tokens: {', '.join(one['tokens']) or 'none'}")


def _working(people: "People", name: str) -> list[str]:
    return [issued.prefix for issued in people.issued(name) if people.alive(issued.prefix)]


# --- questions that run


def running(
    dataset: DatasetName = None, as_json: Json = False, config: ConfigFile = None, state: StateFolder = None
) -> None:
    """Who asked what, since when; of questions that take longer than a moment.

    Example: tacit service running --state tacit-state
    """
    with server_extra():
        from tacit.server.ask.running import RunningQuestions
    with _state(service_settings(config, state)) as base:
        found = RunningQuestions(base).listed(dataset)
    if as_json:
        items = [{"id": q.id, "dataset": q.dataset, "owner": q.owner, "since": q.since, "sql": q.sql} for q in found]
        print_json(Console(), {"running": items})
        return
    for question in found:
        since = datetime.fromtimestamp(question.since / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
        typer.echo(f"{question.id}  {since} UTC  {question.dataset}  {question.owner}: {question.sql}")
    if not found:
        typer.echo("Nothing runs.")


def cancel(
    name: Annotated[str, argument("ID", "As `tacit service running` shows it.")],
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Stop one question. What was charged for it stays charged.

    Example: tacit service cancel 3f9a01c2
    """
    with server_extra():
        from tacit.server.ask.running import RunningQuestions
    with _state(service_settings(config, state)) as base:
        found = RunningQuestions(base).stop(None, name)
    if found is None:
        raise InputError(f"no question {name} runs now: `tacit service running` shows those that do")
    typer.echo(f"The question of {found.owner} ends in a moment.")


# --- copies


def backup(
    file: Annotated[Path | None, argument("FILE", "A new file, such as monday.tar.")] = None,
    config: ConfigFile = None,
    policy: Annotated[list[Path] | None, option("--policy", "FILE", "A dataset; may be repeated.")] = None,
    state: StateFolder = None,
    keys: Annotated[bool, flag("--keys", "Private keys and secrets too.")] = False,
    check: Annotated[Path | None, option("--check", "FILE", "Is this backup whole? Nothing is written.")] = None,
    restore: Annotated[Path | None, option("--restore", "FILE", "Unpack this backup, with --into.")] = None,
    into: Annotated[Path | None, option("--into", "FOLDER", "A new folder for --restore.")] = None,
    keep_tokens: Annotated[
        bool, flag("--keep-tokens", "With --restore: tokens that were good then stay good.")
    ] = False,
    as_json: Json = False,
) -> None:
    """People, releases, ledgers and policies in one file, while the service runs. Exit code 1 if a ledger is not whole.

    Example: tacit service backup monday.tar --config server.toml
    """
    if [file is None, check is None, restore is None].count(False) != 1:
        raise InputError("give a new FILE to back up to, or --check FILE, or --restore FILE --into FOLDER")
    if (restore is None) != (into is None) or (keep_tokens and restore is None):
        raise InputError("give --into FOLDER, a new folder, with --restore; --keep-tokens works only with --restore")
    from tacit.server.ops.restore import check as check_backup
    from tacit.server.ops.restore import restore as unpack

    if check is not None:
        with bar("checking"):
            found = check_backup(check)
        _show_check(check, found, as_json=as_json)
    elif restore is not None and into is not None:
        with nothing_for_others(), bar("unpacking"):
            found = unpack(restore, into, keep_tokens=keep_tokens)
        _show_check(restore, found, as_json=as_json)
        if not as_json:
            _advice(found, into, keep_tokens=keep_tokens)
    elif file is not None:
        _back_up(file, config, policy, state, keys=keys, as_json=as_json)


def _back_up(
    file: Path, config: Path | None, policy: list[Path] | None, state: Path | None, *, keys: bool, as_json: bool
) -> None:
    from tacit.server.ops.backup import back_up

    settings = service_settings(config, state, policy)
    with nothing_for_others(), bar("copying"):
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


def _show_check(file: Path, found: "CheckedBackup", *, as_json: bool) -> None:
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


def _advice(found: "CheckedBackup", into: Path, *, keep_tokens: bool) -> None:
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
