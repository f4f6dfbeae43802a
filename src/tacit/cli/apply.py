"""The `tacit ledger` commands that write in the book, or say what data it answers for."""

from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.cli import options as o
from tacit.cli.budget import differences
from tacit.cli.screen import print_json
from tacit.engine import claims_of
from tacit.ledger import Entry, Ledger

__all__ = ["adopt", "apply", "claims", "rename", "seal", "unclaim"]

Account = Annotated[str, o.argument("PEOPLE", "Whose account.")]
Why = Annotated[str, o.option("--why", "TEXT", "The reason, which is recorded.")]


def apply(
    file: Annotated[Path, o.argument("POLICY", "The policy file.")] = o.USUAL,
    ledger: o.LedgerAt = None,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Record what a policy says: opens the account, or changes its limits. Shows the differences first.

    Example: tacit ledger apply tacit.toml
    """
    where, policy = o.ledger_place(file, ledger)
    assert policy is not None
    terms, claims, console = policy.terms(), claims_of(policy), Console()
    exists = "://" in where or Path(where).exists()
    changes = [f'a new ledger at {where}, and in it an account for "{terms.people}"']
    if exists:
        with Ledger.open(where) as book:
            known = terms.people in book.people()
            changes = [f'an account for "{terms.people}"']
            if known:
                standing = book.standing(terms.people)
                changes = differences(standing, policy)
                fresh = [claim for claim in claims if claim not in standing.claims]
                changes += [f"data: {claim}, new" for claim in fresh if not claim.place.startswith("inode:")]
    if not changes:
        entries: list[Entry] = []
    else:
        if not as_json:
            for change in changes:
                console.print(Text(f"• {change}"), soft_wrap=True)
        o.confirm(f'Record this for "{terms.people}"?', yes=yes)
        with Ledger.open(where) as book:
            entries = book.apply(terms, claims)
    if as_json:
        made = [entry.json() for entry in entries]
        print_json(console, {"people": terms.people, "ledger": where, "changes": changes, "entries": made})
    elif not changes:
        console.print(Text(f'"{terms.people}": the ledger says the same as {file} already. Nothing was recorded.'))
    else:
        console.print(Text(f"Recorded, with {len(entries)} entr{'y' if len(entries) == 1 else 'ies'}.", style="green"))


def adopt(why: Why = "", policy: o.PolicyFile = None, ledger: o.LedgerAt = None, yes: o.Yes = False) -> None:
    """Use a ledger that was put back from an older copy. What was charged since that copy is lost to the count.

    Example: tacit ledger adopt --why "restored the backup of Monday after the disk failed"
    """
    if not why.strip():
        raise InputError("--why is missing: say what happened, for it is recorded")
    where, _ = o.ledger_place(policy, ledger)
    o.confirm(
        "Charges that this copy does not have will not be counted, although people paid. Use it all the same?", yes=yes
    )
    with Ledger.open(where, create=False, adopt=why):
        pass
    Console().print("Recorded. Lower the limits by what was spent since the copy, as far as you know it.")


def seal(
    people: Account, why: Why = "", policy: o.PolicyFile = None, ledger: o.LedgerAt = None, yes: o.Yes = False
) -> None:
    """Close an account for good: nothing can be charged to it any more.

    Example: tacit ledger seal patients --why "the study ended"
    """
    if not why.strip():
        raise InputError("--why is missing: say why it is closed, for it is recorded")
    where, _ = o.ledger_place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        o.one_of(book, people, None)
        o.confirm(f'Close the account of "{people}"? This cannot be undone.', yes=yes)
        book.seal(people, why)
    Console().print(Text(f'The account of "{people}" is sealed.'), soft_wrap=True)


def rename(
    people: Account,
    to: Annotated[str, o.argument("NAME", "The new name.")],
    policy: o.PolicyFile = None,
    ledger: o.LedgerAt = None,
) -> None:
    """Give an account another name. What was spent stays spent.

    Example: tacit ledger rename clinic "patients of the clinic"
    """
    where, _ = o.ledger_place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        o.one_of(book, people, None)
        book.rename(people, to)
    Console().print(Text(f'"{people}" is called "{to}" now: say people = "{to}" in the policy.'), soft_wrap=True)


def claims(
    policy: o.PolicyFile = None, ledger: o.LedgerAt = None, people: o.People = None, as_json: o.Json = False
) -> None:
    """The data that an account answers for: no other account may read it.

    Example: tacit ledger claims --people patients
    """
    where, declared = o.ledger_place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        whose = o.one_of(book, people, declared)
        found = book.standing(whose).claims
    if as_json:
        rows = [{"claim": str(claim), "unit": claim.unit} for claim in found]
        print_json(Console(), {"people": whose, "claims": rows})
        return
    for claim in found:
        Console().print(Text(f"{claim}, counted by {claim.unit}" if claim.unit else str(claim)), soft_wrap=True)
    if not found:
        Console().print(Text(f'"{whose}" has read no data yet: it is claimed when a session opens it.'))


def unclaim(
    people: Account,
    claim: Annotated[str, o.argument("CLAIM", "As `tacit ledger claims` shows it.")],
    why: Why = "",
    policy: o.PolicyFile = None,
    ledger: o.LedgerAt = None,
    yes: o.Yes = False,
) -> None:
    """Say that data is not this account's, whatever it looks like. Another account may claim it then.

    For a file whose number was given to a new one, or a place where other people's data lies now.

    Example: tacit ledger unclaim patients inode:fd01:1234 --why "that file was deleted in May"
    """
    if not why.strip():
        raise InputError("--why is missing: say why it is not the same data, for it is recorded")
    where, _ = o.ledger_place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        o.one_of(book, people, None)
        o.confirm(
            f'If {claim} is data of "{people}" after all, its people will pay from two budgets. Give it up for good?',
            yes=yes,
        )
        book.unclaim(people, claim, why)
    Console().print(Text(f'"{people}" does not answer for {claim} any more.'), soft_wrap=True)
