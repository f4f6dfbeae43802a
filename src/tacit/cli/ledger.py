"""`tacit ledger`: the book of what was spent, read, verified, handed on, and written in."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column
from rich.text import Text

from tacit.base import InputError
from tacit.base.bar import progress_bar
from tacit.cli import options as o
from tacit.cli import screen as s
from tacit.cli.budget import differences
from tacit.engine import claims_of
from tacit.ledger import REGISTRY, Entry, Ledger
from tacit.ledger.checkpoint import check, new_key, read, sign
from tacit.ledger.export import export as write_export
from tacit.ledger.export import verify_any
from tacit.ledger.recompute import CAVEAT, Recomputation
from tacit.ledger.recompute import recompute as price_again
from tacit.ledger.verified import VerifiedLedger
from tacit.ledger.verify import VerificationReport
from tacit.ledger.verify import verify as verify_ledger
from tacit.policy import Amount, Currency

__all__ = [
    "adopt", "apply", "claims", "export", "log", "new_signing_key", "recompute", "rename", "seal", "unclaim", "verify",
]  # fmt: skip

WORTH = 20  # programs listed
ALTERED = (
    "Somebody or something changed this ledger past tacit. Stop using it, keep this copy, put the newest good one "
    "back, and see docs/how-to/keep-the-ledger.md."
)
Account = Annotated[str, o.argument("PEOPLE", "Whose account.")]
Why = Annotated[str, o.option("TEXT", "The reason, which is recorded.")]


# --- what is in it


def log(
    at: o.LedgerOptions,
    people: o.People = None,
    last: Annotated[int, o.option("COUNT", "How many of the newest entries.", min=1)] = 20,
    after: Annotated[int | None, o.option("SEQ", "All entries after this one instead.", min=0)] = None,
    accounts: Annotated[bool, o.flag("--accounts", "The list of accounts instead of one of them.")] = False,
    as_json: o.Json = False,
) -> None:
    """What happened: charges, limits, resets, in order.

    Example: tacit ledger log --last 5
    """
    with at.open() as (book, declared):
        whose = REGISTRY if accounts else o.one_of(book, people, declared)
        standing = None if accounts else book.standing(whose)
        entries = _entries(book, whose, after, last, seq=0 if standing is None else standing.seq)

    def shown() -> Iterator[Any]:
        currency = None if standing is None else standing.currency
        rows = [(str(one.seq), s.when(one.time), one.kind, _words(json.loads(one.body), currency)) for one in entries]
        heads = Column("#", justify="right"), Column("When", no_wrap=True, style="dim"), Column("What", no_wrap=True)
        yield from (s.line(whose or "the list of accounts", "bold"), s.table(*heads, Column(), rows=rows))

    s.output(as_json, {"people": whose, "entries": [entry.json() for entry in entries]}, shown())


def _entries(book: Ledger, people: str, after: int | None, last: int, *, seq: int) -> list[Entry]:
    """Those after one, or the `last` up to `seq`. That answers were kept is for `verify`: it would hide the others."""
    start = max(0, seq - last) if after is None else after
    while True:
        found = [entry for entry in book.log(people, after=start) if entry.kind != "keep"]
        if after is not None:
            return found
        if len(found) >= last or not start:
            return found[-last:]
        start = max(0, 2 * start - seq)  # twice as far back


def _words(body: Any, currency: Currency | None) -> str:
    """An entry in words."""

    def money(data: Any) -> str:
        if data is None or currency is None:
            return "none"
        amount = Amount(int(data["spend"]), int(data["delta"]))
        own = f" and δ {amount.delta / 1e30:.3g}" if amount.delta else ""
        return f"{amount.json(currency)[currency.value]} {currency.value}{own}"

    kind = body["kind"]
    if kind == "charge":
        steps = ", ".join(step["name"] for step in body["program"]["steps"][:3])
        return f"{body['analyst']} pays {money(body)} for {steps}"
    if kind == "limit" and body["holder"] == "window":
        return f"reset after {s.days(body['period'])}, lifetime {money(body['lifetime'])}"
    if kind == "limit":
        was = "" if body["before"] is None else f", was {money(body['before']['total'])}"
        cap = "" if body["each"] is None else f", a program {money(body['each'])}"
        return f"{body['holder']} may spend {money(body['total'])}{cap}{was}"
    if kind in ("claim", "unclaim"):
        first, *more = [f"{place}#{part}" if part else place for place, part, *_ in body["claims"]] or ["nothing"]
        return f"{body['people']}: {first}" + (f" and {len(more)} more" if more else "")
    if kind in ("void", "begin"):
        return f"entry {body['charge']} {'taken back' if kind == 'void' else 'begun by another process'}"
    if kind == "open":
        return str(body["people"]) + (f", paid in {body['currency']}" if "currency" in body else "")
    if kind == "rename":
        return f"{body['before']} → {body['after']}"
    return f"window {body['window']}" if kind == "reset" else str(body.get("why", ""))


def verify(
    at: o.LedgerOptions,
    file: Annotated[Path | None, o.argument("FILE", "A ledger, or an export of one, which needs no database.")] = None,
    checkpoint: Annotated[Path | None, o.option("FILE", "A signed checkpoint that must still hold.")] = None,
    public_key: Annotated[Path | None, o.option("FILE", "Whose signature it must bear.")] = None,
    note: Annotated[Path | None, o.option("FILE", "Go on from what this says was verified, and renew it.")] = None,
    as_json: o.Json = False,
) -> None:
    """Is it whole? Exit code 0 if it is, 1 if something was altered or lost, 2 if it cannot be checked.

    Example: tacit ledger verify --checkpoint checkpoint.json --public-key owner.key.pub
    """
    if (checkpoint is None) != (public_key is None):
        raise InputError(
            "--checkpoint and --public-key go together: a key that comes with the checkpoint proves nothing"
        )
    if checkpoint is not None and note is not None:
        raise InputError("a checkpoint is held against every entry: leave --note out, or --checkpoint")
    where: str | Path = at.place()[0] if file is None else file
    if file is not None and not file.is_file():
        raise InputError(f"there is no file {file}: name an export or a ledger")
    with s.counting_bar("verifying") as (begin, tick):
        if checkpoint is not None and public_key is not None:
            report = check(read(checkpoint), public_key, where, begin=begin, tick=tick)
        elif note is not None:
            since = VerifiedLedger.read(note) if note.exists() else None
            report = verify_ledger(where, since=since, begin=begin, tick=tick)
            if report.verified is not None:
                report.verified.write(note)
        else:
            report = verify_any(where, begin=begin, tick=tick)
    data = report.json() | {"checkpoint": None if checkpoint is None else str(checkpoint)}
    s.output(as_json, data, _report(report, checkpoint))
    if not report.ok:
        raise typer.Exit(1)


def _report(report: VerificationReport, checkpoint: Path | None) -> Iterator[Any]:
    """Whole or not, and why not."""
    if report.ok:
        yield s.line(f"{report.where}: whole", "bold green")
    else:
        yield s.line(f"{report.where}: {s.counted(len(report.findings) + report.more, 'finding')}", "bold red")
        yield s.bullets(map(str, report.findings))
        if report.more:
            yield f"… and {report.more:,} more"
        yield ALTERED
    held = "their contents left out" if report.redacted else f"{report.charges:,} of them charges"
    lines = {"entries": f"{report.entries:,} in {len(report.heads):,} chains, {held}"}
    if report.answers:
        lines["answers"] = f"{report.answers:,} stored, each for a charge"
    if checkpoint is not None and report.ok:
        lines["checkpoint"] = f"{checkpoint}: every chain still has what was signed, and only grew"
    yield s.facts(lines)


def export(
    at: o.LedgerOptions,
    out: Annotated[Path | None, o.option("FILE", "Where to. Default: the terminal.")] = None,
    redact: Annotated[bool, o.flag("--redact", "Leave out what was asked; it still verifies.")] = False,
    signing_key: Annotated[Path | None, o.option("FILE", "Write a signed checkpoint instead of the entries.")] = None,
) -> None:
    """All entries as JSON lines, or a signed checkpoint, for somebody outside.

    Example: tacit ledger export --signing-key owner.key --out checkpoint.json
    """
    if redact and signing_key is not None:
        raise InputError("--redact is for entries, and a checkpoint has none: leave it out")
    where, _ = at.place()
    with ExitStack() as stack:
        begin, tick = stack.enter_context(s.counting_bar("exporting" if signing_key is None else "verifying"))
        stored = None if signing_key is None else sign(where, signing_key, verify_ledger(where, begin=begin, tick=tick))
        file = sys.stdout if out is None else stack.enter_context(s.new_file(out, private=True))
        if stored is None:
            write_export(where, file, redact=redact, tick=tick)
        else:
            file.write(json.dumps(stored, indent=2, ensure_ascii=False) + "\n")
    if out is not None:
        s.show(f"Written to {out}", stderr=True)


def recompute(at: o.LedgerOptions, people: o.People = None, as_json: o.Json = False) -> None:
    """What the same charges would cost by today's proofs. For reading only: no balance changes.

    Example: tacit ledger recompute
    """
    where, declared = at.place()
    whose = people if people is not None or declared is None else declared.dataset.identity
    with progress_bar("pricing again"):
        found = price_again(where, whose)
    s.output(as_json, {"accounts": [one.json() for one in found]}, *map(_prices, found))


def _prices(found: Recomputation) -> Iterator[Any]:
    """Charged and now, and the composition under its caveat."""

    def money(amount: Amount) -> str:
        own = f", δ {amount.delta / 1e30:.3g}" if amount.delta else ""
        return f"{found.currency.value} {s.up(amount.spend / 10**found.currency.decimals, 6)}{own}"

    lines: dict[str, str | Text] = {
        "charges": f"{found.charges:,}",
        "charged": money(found.charged),
        "priced today": money(found.now),
    }
    if found.whole is None:
        lines["composed"] = f"not known: {found.why}"
    else:
        lines["composed"] = f"ε = {s.up(found.whole.upper, 5)} with δ = {float(found.delta):g}"
        lines[""] = Text(CAVEAT, style="yellow")
    changed = [line for line in found.priced if line.now != line.charged]
    remarks = []
    for line in changed[:WORTH]:
        seq = f"entry {line.seqs[0]}" + (f" and {len(line.seqs) - 1} like it" if len(line.seqs) > 1 else "")
        if line.now is None:
            remarks.append(f"{seq}: no price today ({line.why}), counted as charged")
        else:
            more = "MORE than was counted: " if line.dearer else ""
            remarks.append(f"{seq}: {more}charged {money(line.charged)}, today {money(line.now)}")
    if len(changed) > WORTH:
        remarks.append(f"… and {len(changed) - WORTH} more programs: --json has all")
    yield from (s.line(found.people, "bold"), s.facts(lines), s.bullets(remarks))


def claims(at: o.LedgerOptions, people: o.People = None, as_json: o.Json = False) -> None:
    """The data that an account answers for: no other account may read it.

    Example: tacit ledger claims --people patients
    """
    with at.open() as (book, declared):
        whose = o.one_of(book, people, declared)
        found = book.standing(whose).claims
    lines = [f"{claim}, counted by {claim.unit}" if claim.unit else str(claim) for claim in found]
    s.output(
        as_json,
        {"people": whose, "claims": [{"claim": str(claim), "unit": claim.unit} for claim in found]},
        *(lines or [f'"{whose}" has read no data yet: it is claimed when a session opens it.']),
    )


def new_signing_key(path: Annotated[Path, o.argument("PATH", "A new file for the private key.")]) -> None:
    """Make a key to sign checkpoints with. The public one, PATH.pub, goes to whoever is to verify.

    Example: tacit ledger key new owner.key
    """
    public = new_key(path)
    s.say(f"{path}: keep it to yourself. {public}: give it to whoever is to verify.")


# --- what is written in it


def apply(
    file: Annotated[Path, o.argument("POLICY", "The policy file.")] = o.USUAL,
    ledger: Annotated[str | None, o.option("PLACE", "Another ledger than the policy's.")] = None,
    yes: o.Yes = False,
    as_json: o.Json = False,
) -> None:
    """Record what a policy says: opens the account, or changes its limits. Shows the differences first.

    Example: tacit ledger apply tacit.toml
    """
    where, policy = o.LedgerOptions(policy=file, ledger=ledger).place()
    assert policy is not None
    terms, claims = policy.terms(), claims_of(policy)
    changes = [f'a new ledger at {where}, and in it an account for "{terms.people}"']
    if "://" in where or Path(where).exists():
        with Ledger.open(where) as book:
            changes = [f'an account for "{terms.people}"']
            if terms.people in book.people():
                standing = book.standing(terms.people)
                fresh = [claim for claim in claims if claim not in standing.claims]
                shown = [f"data: {claim}, new" for claim in fresh if not claim.place.startswith("inode:")]
                changes = differences(standing, policy) + shown
    entries: list[Entry] = []
    if changes:
        if not as_json:
            s.show(*(f"• {change}" for change in changes))
        o.confirm(f'Record this for "{terms.people}"?', yes=yes)
        with Ledger.open(where) as book:
            entries = book.apply(terms, claims)
    same = f'"{terms.people}": the ledger says the same as {file} already. Nothing was recorded.'
    recorded = s.line(f"Recorded, with {s.counted(len(entries), 'entry', 'entries')}.", "green")
    made = [entry.json() for entry in entries]
    data = {"people": terms.people, "ledger": where, "changes": changes, "entries": made}
    s.output(as_json, data, recorded if changes else same)


def _needed(why: str, what: str) -> None:
    if not why.strip():
        raise InputError(f"--why is missing: say {what}, for it is recorded")


def adopt(at: o.LedgerOptions, why: Why = "", yes: o.Yes = False) -> None:
    """Use a ledger that was put back from an older copy. What was charged since that copy is lost to the count.

    Example: tacit ledger adopt --why "restored the backup of Monday after the disk failed"
    """
    _needed(why, "what happened")
    where, _ = at.place()
    o.confirm(
        "Charges that this copy does not have will not be counted, although people paid. Use it all the same?", yes=yes
    )
    Ledger.open(where, create=False, adopt=why).close()
    s.say("Recorded. Lower the limits by what was spent since the copy, as far as you know it.")


def seal(people: Account, at: o.LedgerOptions, why: Why = "", yes: o.Yes = False) -> None:
    """Close an account for good: nothing can be charged to it any more.

    Example: tacit ledger seal patients --why "the study ended"
    """
    _needed(why, "why it is closed")
    with at.open() as (book, _):
        o.one_of(book, people)
        o.confirm(f'Close the account of "{people}"? This cannot be undone.', yes=yes)
        book.seal(people, why)
    s.say(f'The account of "{people}" is sealed.')


def rename(people: Account, to: Annotated[str, o.argument("NAME", "The new name.")], at: o.LedgerOptions) -> None:
    """Give an account another name. What was spent stays spent.

    Example: tacit ledger rename clinic "patients of the clinic"
    """
    with at.open() as (book, _):
        o.one_of(book, people)
        book.rename(people, to)
    s.say(f'"{people}" is called "{to}" now: say people = "{to}" in the policy.')


def unclaim(
    people: Account,
    claim: Annotated[str, o.argument("CLAIM", "As `tacit ledger claims` shows it.")],
    at: o.LedgerOptions,
    why: Why = "",
    yes: o.Yes = False,
) -> None:
    """Say that data is not this account's, whatever it looks like. Another account may claim it then.

    For a file whose number was given to a new one, or a place where other people's data lies now.

    Example: tacit ledger unclaim patients inode:fd01:1234 --why "that file was deleted in May"
    """
    _needed(why, "why it is not the same data")
    with at.open() as (book, _):
        o.one_of(book, people)
        o.confirm(
            f'If {claim} is data of "{people}" after all, its people will pay from two budgets. Give it up for good?',
            yes=yes,
        )
        book.unclaim(people, claim, why)
    s.say(f'"{people}" does not answer for {claim} any more.')
