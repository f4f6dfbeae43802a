"""`tacit serve`: the service, with the demo dataset if no other is named."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.base.private_file import nothing_for_others
from tacit.cli.demo.clinic import ANALYST, build
from tacit.cli.demo.data import shop
from tacit.cli.options import ConfigFile, StateFolder, option, server_extra, service_settings
from tacit.cli.screen import bar
from tacit.cli.service import open_people
from tacit.policy import load
from tacit.survey.survey_file import load as load_survey

if TYPE_CHECKING:
    from tacit.server.ops.config import Config
    from tacit.server.ops.listen import Doors

__all__ = ["serve"]

CURATOR, CURATOR_ROLE = "admin", "curator"
DEMO = f"""
[analysts.{CURATOR}]
limit = 1
"""


def serve(
    config: ConfigFile = None,
    policy: Annotated[list[Path] | None, option("--policy", "FILE", "A dataset to serve; may be repeated.")] = None,
    survey: Annotated[list[Path] | None, option("--survey", "FILE", "A survey to serve; may be repeated.")] = None,
    listen: Annotated[str | None, option("--listen", "HOST:PORT", "The address for browsers and HTTP.")] = None,
    wire: Annotated[
        str | None, option("--wire", "HOST:PORT", "The address for psql and other PostgreSQL clients. Default: off.")
    ] = None,
    state: StateFolder = None,
    workers: Annotated[int | None, option("--workers", "NUMBER", "How many worker processes.")] = None,
) -> None:
    """Serve datasets to many analysts. Without a dataset the made-up clinic of the tour is served.

    Example: tacit serve --policy tacit.toml
    """
    settings = service_settings(config, state, policy)
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
        with bar("making up a clinic"):
            settings = _with_demo(settings)
    for path in settings.datasets:
        load(path)  # a policy with mistakes is not served
    surveys = [load_survey(path).name for path in settings.surveys]
    with server_extra():
        from tacit.server.ops.run import run

    def greet(doors: "Doors") -> None:
        with open_people(settings) as people:
            secret = people.first(CURATOR)
            shown = people.issue(people.add(ANALYST, "analyst").name, label="demo").text if secret and demo else None
            ruled = any(who.role == CURATOR_ROLE and welcome for who, welcome in people.everybody())
        _greet(settings, doors, secret, shown, surveys, demo=demo, ruled=ruled)

    run(settings, greet)


def _with_demo(settings: "Config") -> "Config":
    """The made-up clinic, a survey with made-up respondents, and data that a curator can declare in the console."""
    with server_extra():
        from tacit.server.survey.save import seeded
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
    survey = seeded(settings.state.absolute() / "demo", settings.survey_store)
    return replace(settings, data=undeclared, datasets=(policy,), surveys=(survey,))


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
