"""`tacit serve`: the service, with the demo dataset if no other is named; and `tacit people`: who may come in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError, TacitError
from tacit.base.private_file import nothing_for_others
from tacit.cli.demo_shop import shop
from tacit.cli.options import Json
from tacit.cli.screen import print_json
from tacit.cli.story import ANALYST, built
from tacit.policy import load
from tacit.survey.survey_file import load as load_survey

if TYPE_CHECKING:
    from tacit.server.auth.people import People
    from tacit.server.db import State
    from tacit.server.ops.config import Config
    from tacit.server.ops.listen import Doors

__all__ = ["ConfigFile", "StateFolder", "extra", "opened_state", "register"]

CURATOR, CURATOR_ROLE = "admin", "curator"
DEMO = f"""
[analysts.{CURATOR}]
limit = 1
"""

ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The service's settings, in TOML.", show_default=False)
]
StateFolder = Annotated[
    Path | None, typer.Option("--state", metavar="FOLDER", help="Where people and releases are kept.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The person's name, as policies spell it.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    group = typer.Typer(
        help="People who may use the service: their roles, tokens and sign-in links.", no_args_is_help=True
    )
    for command in (add, token, revoke, bar, link):
        group.command(no_args_is_help=True)(command)
    group.command("list")(listed)
    app.add_typer(group, name="people")


def serve(
    config: ConfigFile = None,
    policy: Annotated[
        list[Path] | None, typer.Option("--policy", metavar="FILE", help="A dataset to serve; may be repeated.")
    ] = None,
    survey: Annotated[
        list[Path] | None, typer.Option("--survey", metavar="FILE", help="A survey to serve; may be repeated.")
    ] = None,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="The address for browsers and HTTP.")
    ] = None,
    wire: Annotated[
        str | None,
        typer.Option(
            "--wire", metavar="HOST:PORT", help="The address for psql and other PostgreSQL clients. Default: off."
        ),
    ] = None,
    state: StateFolder = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="NUMBER", help="How many worker processes.")
    ] = None,
) -> None:
    """Serve datasets to many analysts. Without a dataset the made-up clinic of the tour is served.

    Example: tacit serve --policy tacit.toml
    """
    settings = _settings(config, state)
    if policy:
        settings = replace(settings, datasets=tuple(path.absolute() for path in policy))
    if survey:
        settings = replace(settings, surveys=tuple(path.absolute() for path in survey))
    if listen is not None:
        settings = replace(settings, listen=listen)
    if wire is not None:
        settings = replace(settings, wire=wire)
    if workers is not None:
        settings = replace(settings, workers=workers)
    with nothing_for_others():
        _serve(settings)


def _serve(settings: "Config") -> None:
    demo = not (settings.datasets or settings.surveys or settings.declares)
    if demo:
        settings = replace(settings, data=_undeclared(settings.state / "demo" / "data"))
        settings = replace(settings, datasets=(_clinic(settings.state / "demo"),), surveys=(_survey(settings),))
    for path in settings.datasets:
        load(path)  # a policy with mistakes is not served
    surveys = [load_survey(path).name for path in settings.surveys]
    with extra():
        from tacit.server.ops.run import run

    def greet(doors: "Doors") -> None:
        with _people(settings) as people:
            secret = people.first(CURATOR)
            shown = people.issue(_added(people, ANALYST), label="demo").text if secret and demo else None
            ruled = any(who.role == CURATOR_ROLE and welcome for who, welcome in people.everybody())
        _greet(settings, doors, secret, shown, surveys, demo=demo, ruled=ruled)

    run(settings, greet)


def _clinic(folder: Path) -> Path:
    """The demo dataset, built the first time."""
    policy = folder / "tacit.toml"
    if not policy.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            built(folder)
            with policy.open("a", encoding="utf-8") as file:
                file.write(DEMO)
        except OSError as error:
            raise InputError(f'the demo cannot be written to "{folder}": {error.strerror}') from None
    return policy


def _undeclared(folder: Path) -> Path:
    """Data that a curator can declare in the console, to see how that goes."""
    try:
        return shop(folder)
    except OSError as error:
        raise InputError(f'the demo cannot be written to "{folder}": {error.strerror}') from None


def _survey(settings: "Config") -> Path:
    """The demo survey, with made-up respondents."""
    with extra():
        from tacit.server.survey.save import seeded
    return seeded(settings.state.absolute() / "demo", settings.survey_store)


def _added(people: "People", name: str) -> str:
    return people.add(name, "analyst").name


def _greet(
    settings: "Config",
    doors: "Doors",
    secret: str | None,
    token: str | None,
    surveys: list[str],
    *,
    demo: bool,
    ruled: bool,
) -> None:
    host, (port, gate) = settings.address[0], doors.ports
    here = f"{'https' if settings.tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
    at = settings.public_url.rstrip("/") or here
    lines = [f"tacit serves at {at}"]
    if settings.wire_address is not None:
        who = f"-U {ANALYST} -d clinic" if demo else "-U NAME -d DATASET"
        lines.append(f"psql: psql -h {settings.wire_address[0]} -p {gate} {who}, with a token as password")
    if secret is not None:
        lines.append(f"Sign in once, as {CURATOR}: {at}/signin?link={secret}")
    if token is not None:
        lines.append(f"A token for {ANALYST}, shown only once: {token}")
    if secret is None:
        first = "" if ruled else f"tacit people add {CURATOR} --role {CURATOR_ROLE}` and `"
        lines.append(f"Sign in: make a link with `{first}tacit people link NAME`")
    lines += [f"Survey: {at}/s/{name}, its results {at}/s/{name}/results" for name in surveys]
    Console().print(Text("\n".join(lines)), soft_wrap=True)  # at once: whoever waits for the first line has them all


# --- people


def add(
    name: Name,
    role: Annotated[
        str, typer.Option("--role", metavar="ROLE", help="curator, analyst or auditor.", show_default=True)
    ] = "analyst",
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Add a person. What they may ask is set in each dataset's policy.

    Example: tacit people add ben --role analyst
    """
    with _people(_settings(config, state)) as people:
        made = people.add(name, role)
    typer.echo(f"Added {made.name} as {made.role}. Give them a token: `tacit people token {made.name}`")


def token(
    name: Name,
    days: Annotated[int, typer.Option("--days", metavar="NUMBER", help="Days until it expires.")] = 90,
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="What it is for.")] = "",
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Make a token. It is shown only once.

    Example: tacit people token ben --days 30 --label notebook
    """
    if not 1 <= days <= 3660:
        raise InputError(f"--days must be 1 to 3660, not {days}")
    with _people(_settings(config, state)) as people:
        made = people.issue(name, label=label, life=timedelta(days=days))
    typer.echo(made.text)


def revoke(
    prefix: Annotated[str, typer.Argument(metavar="TOKEN", help="The 12 characters after tacit_, or the whole token.")],
    config: ConfigFile = None,
    state: StateFolder = None,
) -> None:
    """Revoke a token, at once.

    Example: tacit people revoke 0123456789ab
    """
    with _people(_settings(config, state)) as people:
        gone = people.revoke(prefix)
    typer.echo(f"The token {gone.prefix} of {gone.person} no longer works.")


def bar(name: Name, config: ConfigFile = None, state: StateFolder = None) -> None:
    """Block a person. Nobody else can have their name.

    Example: tacit people bar ben
    """
    with _people(_settings(config, state)) as people:
        people.bar(name)
    typer.echo(f"{name} can no longer sign in.")


def link(name: Name, config: ConfigFile = None, state: StateFolder = None) -> None:
    """Make a link that signs a person in with a browser, once, within a day.

    Example: tacit people link admin
    """
    with _people(_settings(config, state)) as people:
        made = people.link(name)
    typer.echo(f"/signin?link={made}")


def listed(as_json: Json = False, config: ConfigFile = None, state: StateFolder = None) -> None:
    """List people and the tokens of theirs that are valid.

    Example: tacit people list
    """
    with _people(_settings(config, state)) as people:
        found: list[dict[str, Any]] = [
            {
                "name": who.name,
                "role": who.role,
                "may_come_in": let_in,
                "tokens": _working(people, who.name),
            }
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


def _settings(config: Path | None, state: Path | None) -> "Config":
    from tacit.server.ops.config import Config

    found = Config.read(config)
    return found if state is None else replace(found, state=state.absolute())


@contextmanager
def _people(settings: "Config") -> Iterator["People"]:
    from tacit.server.auth.people import People

    with _state(settings) as state:
        yield People(state)


@contextmanager
def opened_state(config: Path | None, state: Path | None) -> Iterator["State"]:
    """The service's own database, as its settings name it."""
    with _state(_settings(config, state)) as found:
        yield found


@contextmanager
def _state(settings: "Config") -> Iterator["State"]:
    from tacit.server.db import State

    with nothing_for_others():
        state = State(settings.store)
        try:
            yield state
        finally:
            state.close()


@contextmanager
def extra() -> Iterator[None]:
    try:
        yield
    except ImportError as missing:
        raise TacitError(f"serving needs {missing.name}, which is not installed: pip install 'tacit[server]'") from None
