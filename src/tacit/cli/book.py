"""`tacit ledger …`: read it, verify it, export it, and the few things that may be done to it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from tacit.base import InputError
from tacit.base.private_file import open_private
from tacit.cli.book_shown import show_entries, show_report, show_whole
from tacit.cli.budget import differences
from tacit.cli.options import Json
from tacit.cli.place import LedgerAt, People, PolicyFile, Yes, agreed, one_of, place
from tacit.cli.screen import patiently, print_json
from tacit.engine import claims_of
from tacit.ledger import REGISTRY, Entry, Ledger
from tacit.ledger.checkpoint import check, new_key, read, sign
from tacit.ledger.export import export as write_export
from tacit.ledger.export import is_export, verify_export
from tacit.ledger.recompute import recompute as price_again
from tacit.ledger.verify import Tick
from tacit.ledger.verify import verify as verify_ledger

__all__ = ["register"]

ledger_app = typer.Typer(
    name="ledger", help="The book of what was spent: read it, verify it, keep it.", no_args_is_help=True
)
key_app = typer.Typer(name="key", help="Keys for signed checkpoints.", no_args_is_help=True)
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, which is recorded.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (log, verify, export, recompute, apply, adopt, seal, rename, claims, unclaim):
        ledger_app.command()(command)
    key_app.command("new")(key_new)
    ledger_app.add_typer(key_app)
    app.add_typer(ledger_app)


@contextmanager
def _watched(doing: str) -> Iterator[tuple[Tick, Tick]]:
    """A progress bar on standard error, if somebody is watching: what begins it, and what moves it."""
    watcher = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=watcher, transient=True, disable=not watcher.is_terminal) as progress:
        task = progress.add_task(doing, total=None)
        yield (lambda total: progress.update(task, total=total)), (lambda more: progress.update(task, advance=more))


def log(
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    people: People = None,
    last: Annotated[int, typer.Option("--last", metavar="COUNT", help="How many of the newest entries.", min=1)] = 20,
    after: Annotated[
        int | None, typer.Option("--after", metavar="SEQ", help="All entries after this one instead.", min=0)
    ] = None,
    accounts: Annotated[bool, typer.Option("--accounts", help="The list of accounts instead of one of them.")] = False,
    as_json: Json = False,
) -> None:
    """What happened: charges, limits, resets, in order.

    Example: tacit ledger log --last 5
    """
    where, declared = place(policy, ledger)
    console = Console()
    with Ledger.open(where, create=False) as book:
        whose = REGISTRY if accounts else one_of(book, people, declared)
        standing = None if accounts else book.standing(whose)
        if standing is not None and after is None:
            after = max(0, standing.seq - last)
        # that answers were kept is for `verify`: one line each would hide the accounts
        entries = [entry for entry in book.log(whose, after=after or 0) if entry.kind != "keep"]
    if after is None:
        entries = entries[-last:]
    if as_json:
        print_json(console, {"people": whose, "entries": [entry.json() for entry in entries]})
    else:
        show_entries(console, whose, entries, None if standing is None else standing.currency)


def verify(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A ledger, or an export of one, which needs no database.")
    ] = None,
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="FILE", help="A signed checkpoint that must still hold.")
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option("--public-key", metavar="FILE", help="Whose signature it must bear.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Is it whole? Exit code 0 if it is, 1 if something was altered or lost, 2 if it cannot be checked.

    Example: tacit ledger verify --checkpoint checkpoint.json --public-key owner.key.pub
    """
    if (checkpoint is None) != (public_key is None):
        raise InputError(
            "--checkpoint and --public-key go together: a key that comes with the checkpoint proves nothing"
        )
    where: str | Path = place(policy, ledger)[0] if file is None else file
    if file is not None and not file.is_file():
        raise InputError(f"there is no file {file}: name an export or a ledger")
    with _watched("verifying") as (begin, tick):
        if checkpoint is not None and public_key is not None:
            report = check(read(checkpoint), public_key, where, begin=begin, tick=tick)
        elif file is not None and is_export(file):
            report = verify_export(file, tick=tick)
        else:
            report = verify_ledger(where, begin=begin, tick=tick)
    if as_json:
        print_json(Console(), report.json() | {"checkpoint": None if checkpoint is None else str(checkpoint)})
    else:
        show_report(Console(), report, checked=checkpoint)
    if not report.ok:
        raise typer.Exit(1)


def export(
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to. Default: the terminal.")] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Leave out what was asked; it still verifies.")] = False,
    key: Annotated[
        Path | None, typer.Option("--sign", metavar="KEY", help="Write a signed checkpoint instead of the entries.")
    ] = None,
) -> None:
    """All entries as JSON lines, or a signed checkpoint, for somebody outside.

    Example: tacit ledger export --sign owner.key --out checkpoint.json
    """
    if redact and key is not None:
        raise InputError("--redact is for entries, and a checkpoint has none: leave it out")
    where, _ = place(policy, ledger)
    if key is not None:
        with _watched("verifying") as (begin, tick):
            stored = sign(where, key, verify_ledger(where, begin=begin, tick=tick))
        with _written(out) as file:
            Console(file=file, soft_wrap=True).print_json(data=stored, indent=2, ensure_ascii=False, highlight=False)
    else:
        with _watched("exporting") as (_, tick), _written(out) as file:
            write_export(where, file, redact=redact, tick=tick)
    if out is not None:
        Console(stderr=True).print(Text(f"Written to {out}"), soft_wrap=True)


@contextmanager
def _written(out: Path | None) -> Iterator[Any]:
    """A new file, which is not left behind half written; or standard output."""
    if out is None:
        yield sys.stdout
        return
    try:
        file = os.fdopen(open_private(out, os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{out} exists already: move it away, or choose another name") from None
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
    except BaseException:
        out.unlink(missing_ok=True)
        raise


def recompute(policy: PolicyFile = None, ledger: LedgerAt = None, people: People = None, as_json: Json = False) -> None:
    """What the same charges would cost by today's proofs. For reading only: no balance changes.

    Example: tacit ledger recompute
    """
    where, declared = place(policy, ledger)
    whose = people if people is not None or declared is None else declared.dataset.identity
    found = patiently("pricing again", lambda: price_again(where, whose))
    console = Console()
    if as_json:
        print_json(console, {"accounts": [one.json() for one in found]})
    else:
        for one in found:
            show_whole(console, one)


def apply(
    file: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy file.")] = Path("tacit.toml"),
    ledger: LedgerAt = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Record what a policy says: opens the account, or changes its limits. Shows the differences first.

    Example: tacit ledger apply tacit.toml
    """
    where, policy = place(file, ledger)
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
        agreed(f'Record this for "{terms.people}"?', yes=yes)
        with Ledger.open(where) as book:
            entries = book.apply(terms, claims)
    if as_json:
        made = [entry.json() for entry in entries]
        print_json(console, {"people": terms.people, "ledger": where, "changes": changes, "entries": made})
    elif not changes:
        console.print(Text(f'"{terms.people}": the ledger says the same as {file} already. Nothing was recorded.'))
    else:
        console.print(Text(f"Recorded, with {len(entries)} entr{'y' if len(entries) == 1 else 'ies'}.", style="green"))


def adopt(why: Why = "", policy: PolicyFile = None, ledger: LedgerAt = None, yes: Yes = False) -> None:
    """Use a ledger that was put back from an older copy. What was charged since that copy is lost to the count.

    Example: tacit ledger adopt --why "restored the backup of Monday after the disk failed"
    """
    if not why.strip():
        raise InputError("--why is missing: say what happened, for it is recorded")
    where, _ = place(policy, ledger)
    agreed(
        "Charges that this copy does not have will not be counted, although people paid. Use it all the same?", yes=yes
    )
    with Ledger.open(where, create=False, adopt=why):
        pass
    Console().print("Recorded. Lower the limits by what was spent since the copy, as far as you know it.")


def seal(
    people: Annotated[str, typer.Argument(metavar="PEOPLE", help="Whose account.")],
    why: Why = "",
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    yes: Yes = False,
) -> None:
    """Close an account for good: nothing can be charged to it any more.

    Example: tacit ledger seal patients --why "the study ended"
    """
    if not why.strip():
        raise InputError("--why is missing: say why it is closed, for it is recorded")
    where, _ = place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        one_of(book, people, None)
        agreed(f'Close the account of "{people}"? This cannot be undone.', yes=yes)
        book.seal(people, why)
    Console().print(Text(f'The account of "{people}" is sealed.'), soft_wrap=True)


def rename(
    people: Annotated[str, typer.Argument(metavar="PEOPLE", help="Whose account.")],
    to: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
) -> None:
    """Give an account another name. What was spent stays spent.

    Example: tacit ledger rename clinic "patients of the clinic"
    """
    where, _ = place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        one_of(book, people, None)
        book.rename(people, to)
    Console().print(Text(f'"{people}" is called "{to}" now: say people = "{to}" in the policy.'), soft_wrap=True)


def claims(policy: PolicyFile = None, ledger: LedgerAt = None, people: People = None, as_json: Json = False) -> None:
    """The data that an account answers for: no other account may read it.

    Example: tacit ledger claims --people patients
    """
    where, declared = place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        whose = one_of(book, people, declared)
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
    people: Annotated[str, typer.Argument(metavar="PEOPLE", help="Whose account.")],
    claim: Annotated[str, typer.Argument(metavar="CLAIM", help="As `tacit ledger claims` shows it.")],
    why: Why = "",
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    yes: Yes = False,
) -> None:
    """Say that data is not this account's, whatever it looks like. Another account may claim it then.

    For a file whose number was given to a new one, or a place where other people's data lies now.

    Example: tacit ledger unclaim patients inode:fd01:1234 --why "that file was deleted in May"
    """
    if not why.strip():
        raise InputError("--why is missing: say why it is not the same data, for it is recorded")
    where, _ = place(policy, ledger)
    with Ledger.open(where, create=False) as book:
        one_of(book, people, None)
        agreed(
            f'If {claim} is data of "{people}" after all, its people will pay from two budgets. Give it up for good?',
            yes=yes,
        )
        book.unclaim(people, claim, why)
    Console().print(Text(f'"{people}" does not answer for {claim} any more.'), soft_wrap=True)


def key_new(path: Annotated[Path, typer.Argument(metavar="PATH", help="A new file for the private key.")]) -> None:
    """Make a key to sign checkpoints with. The public one, PATH.pub, goes to whoever is to verify.

    Example: tacit ledger key new owner.key
    """
    public = new_key(path)
    Console().print(Text(f"{path}: keep it to yourself. {public}: give it to whoever is to verify."), soft_wrap=True)
