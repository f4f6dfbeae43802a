"""`tacit ledger`: the book of what was spent, read, verified and handed on. What writes in it is in `apply`."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from tacit.base import InputError
from tacit.base.private_file import open_private
from tacit.cli.options import Json, LedgerAt, People, PolicyFile, argument, flag, ledger_place, one_of, option
from tacit.cli.screen import bar, bullets, days, exactly, facts, plain_table, print_json, up, when
from tacit.ledger import REGISTRY, Entry, Ledger
from tacit.ledger.checkpoint import check, new_key, read, sign
from tacit.ledger.export import export as write_export
from tacit.ledger.export import is_export, verify_export
from tacit.ledger.recompute import CAVEAT, Recomputation
from tacit.ledger.recompute import recompute as price_again
from tacit.ledger.verify import Report, Tick
from tacit.ledger.verify import verify as verify_ledger
from tacit.policy import Amount, Currency

__all__ = ["export", "log", "new_signing_key", "recompute", "verify"]

WORTH = 20  # programs listed


@contextmanager
def _count_bar(doing: str) -> Iterator[tuple[Tick, Tick]]:
    """A bar, if somebody is watching: what says how many entries there are, and what counts them."""
    done = total = 0
    with bar(doing) as tell:

        def begin(entries: int) -> None:
            nonlocal total
            total = entries

        def tick(more: int) -> None:
            nonlocal done
            done += more
            if total:
                tell(done / total, f"{doing} {done:,} of {total:,}")

        yield begin, tick


def log(
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    people: People = None,
    last: Annotated[int, option("--last", "COUNT", "How many of the newest entries.", min=1)] = 20,
    after: Annotated[int | None, option("--after", "SEQ", "All entries after this one instead.", min=0)] = None,
    accounts: Annotated[bool, flag("--accounts", "The list of accounts instead of one of them.")] = False,
    as_json: Json = False,
) -> None:
    """What happened: charges, limits, resets, in order.

    Example: tacit ledger log --last 5
    """
    where, declared = ledger_place(policy, ledger)
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
        _show_entries(console, whose, entries, None if standing is None else standing.currency)


def verify(
    file: Annotated[Path | None, argument("FILE", "A ledger, or an export of one, which needs no database.")] = None,
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    checkpoint: Annotated[
        Path | None, option("--checkpoint", "FILE", "A signed checkpoint that must still hold.")
    ] = None,
    public_key: Annotated[Path | None, option("--public-key", "FILE", "Whose signature it must bear.")] = None,
    as_json: Json = False,
) -> None:
    """Is it whole? Exit code 0 if it is, 1 if something was altered or lost, 2 if it cannot be checked.

    Example: tacit ledger verify --checkpoint checkpoint.json --public-key owner.key.pub
    """
    if (checkpoint is None) != (public_key is None):
        raise InputError(
            "--checkpoint and --public-key go together: a key that comes with the checkpoint proves nothing"
        )
    where: str | Path = ledger_place(policy, ledger)[0] if file is None else file
    if file is not None and not file.is_file():
        raise InputError(f"there is no file {file}: name an export or a ledger")
    with _count_bar("verifying") as (begin, tick):
        if checkpoint is not None and public_key is not None:
            report = check(read(checkpoint), public_key, where, begin=begin, tick=tick)
        elif file is not None and is_export(file):
            report = verify_export(file, tick=tick)
        else:
            report = verify_ledger(where, begin=begin, tick=tick)
    if as_json:
        print_json(Console(), report.json() | {"checkpoint": None if checkpoint is None else str(checkpoint)})
    else:
        _show_report(Console(), report, checked=checkpoint)
    if not report.ok:
        raise typer.Exit(1)


def export(
    policy: PolicyFile = None,
    ledger: LedgerAt = None,
    out: Annotated[Path | None, option("--out", "FILE", "Where to. Default: the terminal.")] = None,
    redact: Annotated[bool, flag("--redact", "Leave out what was asked; it still verifies.")] = False,
    key: Annotated[Path | None, option("--sign", "KEY", "Write a signed checkpoint instead of the entries.")] = None,
) -> None:
    """All entries as JSON lines, or a signed checkpoint, for somebody outside.

    Example: tacit ledger export --sign owner.key --out checkpoint.json
    """
    if redact and key is not None:
        raise InputError("--redact is for entries, and a checkpoint has none: leave it out")
    where, _ = ledger_place(policy, ledger)
    if key is not None:
        with _count_bar("verifying") as (begin, tick):
            stored = sign(where, key, verify_ledger(where, begin=begin, tick=tick))
        with _output(out) as file:
            Console(file=file, soft_wrap=True).print_json(data=stored, indent=2, ensure_ascii=False, highlight=False)
    else:
        with _count_bar("exporting") as (_, tick), _output(out) as file:
            write_export(where, file, redact=redact, tick=tick)
    if out is not None:
        Console(stderr=True).print(Text(f"Written to {out}"), soft_wrap=True)


@contextmanager
def _output(out: Path | None) -> Iterator[Any]:
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
    where, declared = ledger_place(policy, ledger)
    whose = people if people is not None or declared is None else declared.dataset.identity
    with bar("pricing again"):
        found = price_again(where, whose)
    console = Console()
    if as_json:
        print_json(console, {"accounts": [one.json() for one in found]})
    else:
        for one in found:
            _show_prices(console, one)


def new_signing_key(path: Annotated[Path, argument("PATH", "A new file for the private key.")]) -> None:
    """Make a key to sign checkpoints with. The public one, PATH.pub, goes to whoever is to verify.

    Example: tacit ledger key new owner.key
    """
    public = new_key(path)
    Console().print(Text(f"{path}: keep it to yourself. {public}: give it to whoever is to verify."), soft_wrap=True)


# --- what is printed


def _show_entries(console: Console, people: str, entries: list[Entry], currency: Currency | None) -> None:
    """A table of what happened."""
    console.print(Text(people or "the list of accounts", style="bold"), soft_wrap=True)
    table = plain_table()
    table.add_column("#", justify="right")
    table.add_column("When", no_wrap=True, style="dim")
    table.add_column("What", no_wrap=True)
    table.add_column("")
    for entry in entries:
        table.add_row(str(entry.seq), when(entry.time), entry.kind, Text(_words(json.loads(entry.body), currency)))
    console.print(table)


def _words(body: Any, currency: Currency | None) -> str:
    """An entry in words."""

    def money(data: Any) -> str:
        if data is None or currency is None:
            return "none"
        return _exact(Amount(int(data["spend"]), int(data["delta"])), currency)

    kind = body["kind"]
    if kind == "charge":
        steps = ", ".join(step["name"] for step in body["program"]["steps"][:3])
        return f"{body['analyst']} pays {money(body)} for {steps}"
    if kind == "limit" and body["holder"] == "window":
        return f"reset after {days(body['period'])}, lifetime {money(body['lifetime'])}"
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


def _exact(amount: Amount, currency: Currency) -> str:
    own = f" and δ {amount.delta / 1e30:.3g}" if amount.delta else ""
    return f"{exactly(amount, currency)[currency.value]} {currency.value}{own}"


def _show_report(console: Console, report: Report, *, checked: Path | None) -> None:
    """Whole or not, and why not."""
    if report.ok:
        console.print(Text(f"{report.where}: whole", style="bold green"), soft_wrap=True)
    else:
        count = len(report.findings) + report.more
        console.print(
            Text(f"{report.where}: {count} finding{'' if count == 1 else 's'}", style="bold red"), soft_wrap=True
        )
        console.print(bullets([str(finding) for finding in report.findings]))
        if report.more:
            console.print(f"… and {report.more:,} more")
        console.print(
            Text(
                "Somebody or something changed this ledger past tacit. Stop using it, keep this copy, put the newest "
                "good one back, and see docs/how-to/keep-the-ledger.md."
            ),
            soft_wrap=True,
        )
    lines: dict[str, str | Text] = {
        "entries": f"{report.entries:,} in {len(report.heads):,} chains, {report.charges:,} of them charges"
    }
    if report.redacted:
        lines["entries"] = f"{report.entries:,} in {len(report.heads):,} chains, their contents left out"
    if report.answers:
        lines["answers"] = f"{report.answers:,} stored, each for a charge"
    if checked is not None and report.ok:
        lines["checkpoint"] = f"{checked}: every chain still has what was signed, and only grew"
    facts(console, lines)


def _show_prices(console: Console, found: Recomputation) -> None:
    """Charged and now, and the composition under its caveat."""
    currency = found.currency
    console.print(Text(found.people, style="bold"), soft_wrap=True)
    lines: dict[str, str | Text] = {
        "charges": f"{found.charges:,}",
        "charged": _plain(found.charged, currency),
        "priced today": _plain(found.now, currency),
    }
    if found.whole is None:
        lines["composed"] = f"not known: {found.why}"
    else:
        lines["composed"] = f"ε = {up(found.whole.upper, 5)} with δ = {float(found.delta):g}"
        lines[""] = Text(CAVEAT, style="yellow")
    facts(console, lines)
    changed = [line for line in found.priced if line.now != line.charged]
    remarks = []
    for line in changed[:WORTH]:
        seq = f"entry {line.seqs[0]}" + (f" and {len(line.seqs) - 1} like it" if len(line.seqs) > 1 else "")
        if line.now is None:
            remarks.append(f"{seq}: no price today ({line.why}), counted as charged")
        else:
            more = "MORE than was counted: " if line.dearer else ""
            remarks.append(f"{seq}: {more}charged {_plain(line.charged, currency)}, today {_plain(line.now, currency)}")
    if len(changed) > WORTH:
        remarks.append(f"… and {len(changed) - WORTH} more programs: --json has all")
    if remarks:
        console.print(bullets(remarks))


def _plain(amount: Amount, currency: Currency) -> str:
    own = f", δ {amount.delta / 1e30:.3g}" if amount.delta else ""
    return f"{currency.value} {up(amount.spend / 10**currency.decimals, 6)}{own}"
