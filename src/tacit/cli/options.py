"""The options that commands share, and what some of them stand for: a policy, a ledger, the settings of a service."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.base import InputError, PrivacyWarning, TacitError

if TYPE_CHECKING:
    from tacit.ledger import Ledger
    from tacit.policy import Policy
    from tacit.server.ops.config import Config

__all__ = [
    "USUAL",
    "ConfigFile",
    "Html",
    "Json",
    "LedgerAt",
    "People",
    "Picture",
    "PolicyFile",
    "Seed",
    "StateFolder",
    "Yes",
    "argument",
    "confirm",
    "flag",
    "ledger_place",
    "one_of",
    "option",
    "server_extra",
    "service_settings",
]

USUAL = Path("tacit.toml")


def option(name: str, metavar: str, says: str, **settings: Any) -> Any:
    """An option with a value: its name, what the help calls the value, and what it says."""
    return typer.Option(name, metavar=metavar, help=says, **settings)


def flag(name: str, says: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=says)


def argument(metavar: str, says: str, **settings: Any) -> Any:
    """A word without a name."""
    return typer.Argument(metavar=metavar, help=says, **settings)


Json = Annotated[bool, flag("--json", "Print JSON instead of text.")]
Picture = Annotated[Path | None, option("--plot", "FILE", "Also write a picture: FILE.svg or FILE.png.")]
Html = Annotated[Path | None, option("--html", "FILE", "Also write a report: one HTML page with the picture.")]
Seed = Annotated[str, option("--seed", "NUMBER", "Other made-up data. Tacit's noise has no seed.")]
PolicyFile = Annotated[
    Path | None, option("--policy", "FILE", "The policy whose ledger is meant. Default: tacit.toml, if it is here.")
]
LedgerAt = Annotated[str | None, option("--ledger", "PLACE", "The ledger itself: a file, or a postgresql:// URL.")]
People = Annotated[str | None, option("--people", "NAME", "Whose account. Needed where the ledger has several.")]
Yes = Annotated[bool, flag("--yes", "Do not ask.")]
ConfigFile = Annotated[Path | None, option("--config", "FILE", "The service's settings, in TOML.", show_default=False)]
StateFolder = Annotated[Path | None, option("--state", "FOLDER", "Where people and releases are kept.")]


def ledger_place(policy: Path | None, ledger: str | None) -> tuple[str, "Policy | None"]:
    """Where the ledger is, and the policy if one was named or lies here; its warnings are `tacit check`'s to show."""
    from tacit.policy import load

    if ledger is None and policy is None and not USUAL.exists():
        raise InputError(
            "which ledger? There is no tacit.toml here: name a policy with --policy, or a ledger with --ledger"
        )
    if ledger is not None and policy is None:
        return ledger, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        found = load(policy or USUAL)
    return found.ledger() if ledger is None else ledger, found


def one_of(ledger: "Ledger", people: str | None, policy: "Policy | None") -> str:
    """Whose account is meant: the one named, the policy's, or the only one."""
    known = ledger.people()
    if people is None and policy is not None:
        people = policy.dataset.identity
    if people is None and len(known) == 1:
        return known[0]
    listed = ", ".join(f'"{name}"' for name in known[:10]) + (" …" if len(known) > 10 else "")
    if not known:
        raise InputError("this ledger has no accounts yet: record a policy with `tacit ledger apply`")
    if people is None:
        raise InputError(f"whose account? This ledger has several: say --people with one of {listed}")
    if people not in known:
        raise InputError(
            f'this ledger has no account for "{people}": it has {listed}. A policy is recorded by `tacit ledger apply`'
        )
    return people


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless --yes; where nobody can answer, nothing is done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{question} Nothing was done: there is nobody to ask here, so add --yes")
    if not typer.confirm(question):
        typer.echo("Nothing was done.", err=True)
        raise typer.Exit(1)


def service_settings(config: Path | None, state: Path | None, policies: list[Path] | None = None) -> "Config":
    """The settings of a service: a file's, or the usual ones, with what the command line says instead."""
    from tacit.server.ops.config import Config

    found = Config.read(config)
    if state is not None:
        found = replace(found, state=state.absolute())
    return replace(found, datasets=tuple(path.absolute() for path in policies)) if policies else found


@contextmanager
def server_extra(doing: str = "serving") -> Iterator[None]:
    """An import that needs what `tacit[server]` brings says so."""
    try:
        yield
    except ImportError as missing:
        remedy = f"{doing} needs {missing.name}, which is not installed: pip install 'tacit[server]'"
        raise TacitError(remedy) from None
