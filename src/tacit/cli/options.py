"""The options that commands share, and what some of them stand for: a policy, a ledger, the settings of a service.

A class of options may stand among a command's parameters: `flat` spreads it into its fields for Typer.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from getpass import getuser
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.base import InputError, TacitError

if TYPE_CHECKING:
    from tacit.ledger import Ledger
    from tacit.policy import Policy
    from tacit.server.ops.config import Config

__all__ = [
    "ANALYST", "USUAL", "Html", "Json", "LedgerOptions", "People", "Picture", "Seed", "ServiceOptions", "Yes",
    "analyst_name", "argument", "confirm", "extra", "flag", "flat", "one_of", "option",
]  # fmt: skip

USUAL = Path("tacit.toml")
ANALYST = "TACIT_ANALYST"


def option(metavar: str, says: str, *names: str, **settings: Any) -> Any:
    """An option with a value: what the help calls it and says of it. It is spelled as its parameter, or by `names`."""
    return typer.Option(*names, metavar=metavar, help=says, **settings)


def flag(name: str, says: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=says)


def argument(metavar: str, says: str, **settings: Any) -> Any:
    """A word without a name."""
    return typer.Argument(metavar=metavar, help=says, **settings)


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command with a parameter for each option, where one of its own is a class of options."""
    own = signature(command).parameters
    groups: dict[str, Any] = {name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)}
    spread: list[Parameter] = []
    for name, each in own.items():
        spread += signature(groups[name]).parameters.values() if name in groups else [each]

    def flattened(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in signature(group).parameters})
        command(**given)

    flattened.__doc__ = command.__doc__
    flattened.__dict__["__signature__"] = Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in spread])
    return flattened


Json = Annotated[bool, flag("--json", "Print JSON instead of text.")]
Picture = Annotated[Path | None, option("FILE", "Also write a picture: FILE.svg or FILE.png.")]
Html = Annotated[Path | None, option("FILE", "Also write a report: one HTML page with the picture.")]
Seed = Annotated[str, option("NUMBER", "Other made-up data. Tacit's noise has no seed.")]
People = Annotated[str | None, option("NAME", "Whose account. Needed where the ledger has several.")]
Yes = Annotated[bool, flag("--yes", "Do not ask.")]


@dataclass(frozen=True, kw_only=True)
class LedgerOptions:
    """Which ledger is meant."""

    policy: Annotated[
        Path | None, option("FILE", "The policy whose ledger is meant. Default: tacit.toml, if it is here.")
    ] = None
    ledger: Annotated[str | None, option("PLACE", "The ledger itself: a file, or a postgresql:// URL.")] = None

    def place(self) -> tuple[str, "Policy | None"]:
        """Where it is, and the policy if one was named or lies here; its warnings are `tacit check`'s to show."""
        from tacit.policy import load
        from tacit.policy.read import quietly

        if self.policy is None and self.ledger is not None:
            return self.ledger, None
        if self.policy is None and not USUAL.exists():
            raise InputError(
                "which ledger? There is no tacit.toml here: name a policy with --policy, or a ledger with --ledger"
            )
        with quietly():
            found = load(self.policy or USUAL)
        return found.ledger() if self.ledger is None else self.ledger, found

    @contextmanager
    def open(self) -> "Iterator[tuple[Ledger, Policy | None]]":
        """The ledger, which must be there, and the policy."""
        from tacit.ledger import Ledger

        where, policy = self.place()
        with Ledger.open(where, create=False) as ledger:
            yield ledger, policy


def analyst_name(given: str | None) -> str:
    """Who asks: the one named, the environment's, or who is logged in."""
    try:
        return given if given is not None else os.environ.get(ANALYST) or getuser()
    except (KeyError, OSError, ImportError):
        raise InputError(f"who asks? Say --analyst NAME, or set {ANALYST}") from None


def one_of(ledger: "Ledger", people: str | None, policy: "Policy | None" = None) -> str:
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


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """Which service is meant."""

    config: Annotated[Path | None, option("FILE", "The service's settings, in TOML.", show_default=False)] = None
    state: Annotated[Path | None, option("FOLDER", "Where people and releases are kept.")] = None

    def settings(self, policies: list[Path] | None = None) -> "Config":
        """The settings of the file, or the usual ones, with what the command line says instead."""
        from tacit.server.ops.config import Config

        found = Config.read(self.config)
        if self.state is not None:
            found = replace(found, state=self.state.absolute())
        return replace(found, datasets=tuple(path.absolute() for path in policies)) if policies else found


@contextmanager
def extra(name: str, doing: str) -> Iterator[None]:
    """An import that needs what `tacit[name]` brings says so."""
    try:
        yield
    except ImportError as missing:
        remedy = f"{doing} needs {missing.name}, which is not installed: pip install 'tacit[{name}]'"
        raise TacitError(remedy) from None
