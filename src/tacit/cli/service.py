"""`tacit serve`, `tacit people` and `tacit service`: the service, who may come in, what is being answered, copies."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.base.private_file import nothing_for_others
from tacit.cli.demo import ANALYST
from tacit.cli.options import Json, ServiceOptions, argument, extra, flag, option
from tacit.cli.screen import line, output, say, show, when

if TYPE_CHECKING:
    from tacit.server.ask.running import RunningQuestions
    from tacit.server.auth.people import People
    from tacit.server.db import State
    from tacit.server.ops.config import Config
    from tacit.server.ops.listen import Doors
    from tacit.server.ops.restore import CheckedBackup

__all__ = ["add", "backup", "block", "cancel", "link", "list_people", "revoke", "running", "serve", "token"]

CURATOR, CURATOR_ROLE = "admin", "curator"
DEMO = f"""
[analysts.{CURATOR}]
limit = 1
"""

Name = Annotated[str, argument("NAME", "The person's name, as policies spell it.")]


@contextmanager
def _state(settings: "Config") -> Iterator["State"]:
    """The service's own database."""
    from tacit.server.db import State

    with nothing_for_others(), closing(State(settings.store)) as state:
        yield state


@contextmanager
def _people(settings: "Config") -> Iterator["People"]:
    """Those who may come in."""
    from tacit.server.auth.people import People

    with _state(settings) as state:
        yield People(state)


# --- who may come in


def add(
    name: Name,
    at: ServiceOptions,
    role: Annotated[str, option("ROLE", "curator, analyst or auditor.", show_default=True)] = "analyst",
) -> None:
    """Add a person. What they may ask is set in each dataset's policy.

    Example: tacit people add ben --role analyst
    """
    with _people(at.settings()) as people:
        made = people.add(name, role)
    say(f"Added {made.name} as {made.role}. Give them a token: `tacit people token {made.name}`")


def token(
    name: Name,
    at: ServiceOptions,
    days: Annotated[int, option("NUMBER", "Days until it expires.")] = 90,
    label: Annotated[str, option("TEXT", "What it is for.")] = "",
) -> None:
    """Make a token. It is shown only once.

    Example: tacit people token ben --days 30 --label notebook
    """
    if not 1 <= days <= 3660:
        raise InputError(f"--days must be 1 to 3660, not {days}")
    with _people(at.settings()) as people:
        made = people.issue(name, label=label, life=timedelta(days=days))
    say(made.text)


def revoke(
    prefix: Annotated[str, argument("TOKEN", "The 12 characters after tacit_, or the whole token.")],
    at: ServiceOptions,
) -> None:
    """Revoke a token, at once.

    Example: tacit people revoke 0123456789ab
    """
    with _people(at.settings()) as people:
        gone = people.revoke(prefix)
    say(f"The token {gone.prefix} of {gone.person} no longer works.")


def block(name: Name, at: ServiceOptions) -> None:
    """Block a person. Nobody else can have their name.

    Example: tacit people bar ben
    """
    with _people(at.settings()) as people:
        people.bar(name)
    say(f"{name} can no longer sign in.")


def link(name: Name, at: ServiceOptions) -> None:
    """Make a link that signs a person in with a browser, once, within a day.

    Example: tacit people link admin
    """
    with _people(at.settings()) as people:
        made = people.link(name)
    say(f"/signin?link={made}")


def list_people(at: ServiceOptions, as_json: Json = False) -> None:
    """List people and the tokens of theirs that are valid.

    Example: tacit people list
    """
    with _people(at.settings()) as people:
        found: list[dict[str, Any]] = [
            {
                "name": who.name,
                "role": who.role,
                "may_come_in": let_in,
                "tokens": [issued.prefix for issued in people.issued(who.name) if people.alive(issued.prefix)],
            }
            for who, let_in in people.everybody()
        ]
    lines = []
    for one in found:
        barred = "" if one["may_come_in"] else ", barred"
        lines.append(f"{one['name']}: {one['role']}{barred}; tokens: {', '.join(one['tokens']) or 'none'}")
    output(as_json, {"people": found}, *lines)


# --- questions that run


@contextmanager
def _running(at: ServiceOptions) -> Iterator["RunningQuestions"]:
    with extra("server", "serving"):
        from tacit.server.ask.running import RunningQuestions
    with _state(at.settings()) as state:
        yield RunningQuestions(state)


def running(
    at: ServiceOptions,
    dataset: Annotated[str | None, option("NAME", "Of this dataset alone.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Who asked what, since when; of questions that take longer than a moment.

    Example: tacit service running --state tacit-state
    """
    from tacit.desk.show import printable

    with _running(at) as questions:
        found = questions.listed(dataset)
    items = [{"id": q.id, "dataset": q.dataset, "owner": q.owner, "since": q.since, "sql": q.sql} for q in found]
    lines = [f"{q.id}  {when(q.since)}  {q.dataset}  {q.owner}: {printable(q.sql)}" for q in found]
    output(as_json, {"running": items}, *(lines or ["Nothing runs."]))


def cancel(name: Annotated[str, argument("ID", "As `tacit service running` shows it.")], at: ServiceOptions) -> None:
    """Stop one question. What was charged for it stays charged.

    Example: tacit service cancel 3f9a01c2
    """
    with _running(at) as questions:
        found = questions.stop(None, name)
    if found is None:
        raise InputError(f"no question {name} runs now: `tacit service running` shows those that do")
    say(f"The question of {found.owner} ends in a moment.")


# --- copies


def backup(
    at: ServiceOptions,
    file: Annotated[Path | None, argument("FILE", "A new file, such as monday.tar.")] = None,
    policy: Annotated[list[Path] | None, option("FILE", "A dataset; may be repeated.")] = None,
    keys: Annotated[bool, flag("--keys", "Private keys and secrets too.")] = False,
    check: Annotated[Path | None, option("FILE", "Is this backup whole? Nothing is written.")] = None,
    restore: Annotated[Path | None, option("FILE", "Unpack this backup, with --into.")] = None,
    into: Annotated[Path | None, option("FOLDER", "A new folder for --restore.")] = None,
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
        with progress_bar("checking"):
            found = check_backup(check)
        _show_check(check, found, as_json=as_json)
    elif restore is not None and into is not None:
        with nothing_for_others(), progress_bar("unpacking"):
            found = unpack(restore, into, keep_tokens=keep_tokens)
        _show_check(restore, found, as_json=as_json)
        if not as_json:
            _advice(found, into, keep_tokens=keep_tokens)
    elif file is not None:
        _back_up(file, at, policy, keys=keys, as_json=as_json)


def _back_up(file: Path, at: ServiceOptions, policies: list[Path] | None, *, keys: bool, as_json: bool) -> None:
    from tacit.server.ops.backup import back_up

    with nothing_for_others(), progress_bar("copying"):
        made = back_up(at.settings(policies), file, file=at.config, keys=keys)
    parts = [{"kind": part.kind, "name": part.name, "size": part.size} for part in made.parts]
    findings = [{"where": at, "people": one.people, "seq": one.seq, "what": one.what} for at, one in made.findings]
    output(
        as_json,
        {"file": str(file), "parts": parts, "findings": findings},
        *(f"{part.kind}: {part.origin}" for part in made.parts),
        f"Written to {file}. It is as secret as the answers in it.",
        *(line("{where}, {people}, entry {seq}: {what}".format(**one), "bold red") for one in findings),
    )
    if findings:
        raise typer.Exit(1)


def _show_check(file: Path, found: "CheckedBackup", *, as_json: bool) -> None:
    made = datetime.fromtimestamp(found.made / 1_000_000, UTC)
    findings = [{"part": part, "what": what} for part, what in found.findings]
    parts = [{"kind": part.kind, "name": part.name, "origin": part.origin} for part in found.parts]
    lines = [line(f"{file}: made {made:%Y-%m-%d %H:%M} UTC by tacit {found.version}")]
    for part in found.parts:
        wrong = [what for name, what in found.findings if name == part.name]
        told = "; ".join(wrong) if wrong else f"whole; {part.kind} of {part.origin}"
        lines.append(line(f"{part.name}: {told}", "bold red" if wrong else ""))
    known = {part.name for part in found.parts}
    lines += [line(f"{name}: {what}", "bold red") for name, what in found.findings if name not in known]
    output(as_json, {"ok": found.ok, "made": made.isoformat(), "parts": parts, "findings": findings}, *lines)
    if not found.ok:
        raise typer.Exit(1)


def _advice(found: "CheckedBackup", into: Path, *, keep_tokens: bool) -> None:
    """What whoever puts a copy back has to know: it is older than what it replaces."""
    again, gone = "Tokens that were revoked since work again: revoke them.", "All tokens are revoked: give new ones."
    lines = [
        f"Unpacked into {into}. Nothing was put back yet: move each part to where it was, with the service stopped.",
        "Charges made since this copy are not in its ledgers, although their answers are out. So a SQLite ledger opens",
        "only beside marks that it reaches, or once `tacit ledger adopt --why …` has recorded why it is used. Then",
        "lower the limits by what may have been spent. Sessions have ended. " + (again if keep_tokens else gone),
        "People who were barred since are not barred in this copy: bar them again.",
    ]
    if any(part.name.endswith(".sql") for part in found.parts):
        lines.append(
            "A .sql goes into an empty database with `psql -v ON_ERROR_STOP=1 -f`. PostgreSQL has no marks: adopt it."
        )
    show(*lines)


# --- the service itself


def serve(
    at: ServiceOptions,
    policy: Annotated[list[Path] | None, option("FILE", "A dataset to serve; may be repeated.")] = None,
    survey: Annotated[list[Path] | None, option("FILE", "A survey to serve; may be repeated.")] = None,
    listen: Annotated[str | None, option("HOST:PORT", "The address for browsers and HTTP.")] = None,
    wire: Annotated[
        str | None, option("HOST:PORT", "The address for psql and other PostgreSQL clients. Default: off.")
    ] = None,
    workers: Annotated[int | None, option("NUMBER", "How many worker processes.")] = None,
) -> None:
    """Serve datasets to many analysts. Without a dataset the made-up clinic of the tour is served.

    Example: tacit serve --policy tacit.toml
    """
    said: dict[str, Any] = {"listen": listen, "wire": wire, "workers": workers}
    if survey:
        said["surveys"] = tuple(path.absolute() for path in survey)
    settings = replace(at.settings(policy), **{name: value for name, value in said.items() if value is not None})
    with nothing_for_others():
        _serve(settings)


def _serve(settings: "Config") -> None:
    from tacit.policy import load
    from tacit.survey.survey import load as load_survey

    demo = not (settings.datasets or settings.surveys or settings.declares)
    if demo:
        with progress_bar("making up a clinic"):
            settings = _with_demo(settings)
    for path in settings.datasets:
        load(path)  # a policy with mistakes is not served
    surveys = [load_survey(path).name for path in settings.surveys]
    with extra("server", "serving"):
        from tacit.server.ops.run import run

    # all lines at once: whoever waits for the first one has the others too
    run(settings, lambda doors: say("\n".join(_greeting(settings, doors, surveys, demo=demo))))


def _with_demo(settings: "Config") -> "Config":
    """The made-up clinic, a survey with made-up respondents, and data that a curator can declare in the console."""
    from tacit.cli.demo.clinic import build
    from tacit.cli.demo.data import shop

    with extra("server", "serving"):
        from tacit.server.survey.surveys import seeded
    folder = settings.state / "demo"
    policy = folder / "tacit.toml"
    try:
        undeclared = shop(folder / "data")
        if not policy.exists():
            build(folder)
            with policy.open("a", encoding="utf-8") as file:
                file.write(DEMO)
    except OSError as error:
        raise InputError(f'the demo cannot be written to "{folder}": {error.strerror}') from None
    survey = seeded(folder.absolute(), settings.survey_store)
    return replace(settings, data=undeclared, datasets=(policy,), surveys=(survey,))


def _greeting(settings: "Config", doors: "Doors", surveys: list[str], *, demo: bool) -> Iterator[str]:
    """Where it is and how to sign in. The first curator's link and the demo's token are made now, and shown once."""
    with _people(settings) as people:
        secret = people.first(CURATOR)
        token = people.issue(people.add(ANALYST, "analyst").name, label="demo").text if secret and demo else None
        ruled = any(who.role == CURATOR_ROLE and welcome for who, welcome in people.everybody())
    host, (port, gate) = settings.address[0], doors.ports
    here = f"{'https' if settings.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
    at = settings.public_url.rstrip("/") or here
    yield f"tacit serves at {at}"
    if settings.wire_address is not None:
        who = f"-U {ANALYST} -d clinic" if demo else "-U NAME -d DATASET"
        yield f"psql: psql -h {settings.wire_address[0]} -p {gate} {who}, with a token as password"
    if secret is not None:
        yield f"Sign in once, as {CURATOR}: {at}/signin?link={secret}"
    if token is not None:
        yield f"A token for {ANALYST}, shown only once: {token}"
    if secret is None:
        first = "" if ruled else f"tacit people add {CURATOR} --role {CURATOR_ROLE}` and `"
        yield f"Sign in: make a link with `{first}tacit people link NAME`"
    for name in surveys:
        yield f"Survey: {at}/s/{name}, its results {at}/s/{name}/results"
