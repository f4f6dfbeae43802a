"""Which ledger, and which policy: what the commands about budgets share."""

import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from tacit.base import InputError, PrivacyWarning
from tacit.ledger import Ledger
from tacit.policy import Amount, Currency, Policy, load

__all__ = [
    "LedgerAt",
    "People",
    "PolicyFile",
    "Yes",
    "agreed",
    "days",
    "exactly",
    "one_of",
    "place",
    "policy_of",
    "when",
]

USUAL = Path("tacit.toml")

PolicyFile = Annotated[
    Path | None,
    typer.Option(
        "--policy", metavar="FILE", help="The policy whose ledger is meant. Default: tacit.toml, if it is here."
    ),
]
LedgerAt = Annotated[
    str | None, typer.Option("--ledger", metavar="PLACE", help="The ledger itself: a file, or a postgresql:// URL.")
]
People = Annotated[
    str | None,
    typer.Option("--people", metavar="NAME", help="Whose account. Needed where the ledger has several."),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def policy_of(file: Path) -> Policy:
    """The policy in a file; its warnings are `tacit check`'s to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return load(file)


def place(policy: Path | None, ledger: str | None) -> tuple[str, Policy | None]:
    """Where the ledger is, and the policy if one was named or lies here."""
    if ledger is not None:
        return ledger, None if policy is None else policy_of(policy)
    if policy is None and not USUAL.exists():
        raise InputError(
            "which ledger? There is no tacit.toml here: name a policy with --policy, or a ledger with --ledger"
        )
    found = policy_of(policy or USUAL)
    return found.ledger(), found


def one_of(ledger: Ledger, people: str | None, policy: Policy | None) -> str:
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


def agreed(question: str, *, yes: bool) -> None:
    """Ask, unless --yes; where nobody can answer, nothing is done."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{question} Nothing was done: there is nobody to ask here, so add --yes")
    if not typer.confirm(question):
        typer.echo("Nothing was done.", err=True)
        raise typer.Exit(1)


def when(time: int) -> str:
    """µs since 1970 as people write it."""
    try:
        return datetime.fromtimestamp(time / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{time} µs"


def days(period: int | None) -> str:
    """A reset window in words."""
    return "none" if period is None else f"{period / 86_400_000_000:.6g} days"


def exactly(amount: Amount, currency: Currency) -> dict[str, str]:
    """For JSON: exact decimals as text."""
    return {currency.value: _decimal(amount.spend, currency.decimals), "delta": _decimal(amount.delta, 30)}


def _decimal(value: int, digits: int) -> str:
    text = str(value).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")
