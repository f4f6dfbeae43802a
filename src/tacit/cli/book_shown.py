"""What the `tacit ledger` commands print."""

import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.cli.demo import bullets
from tacit.cli.place import days, exactly, when
from tacit.cli.screen import facts, up
from tacit.ledger import Entry
from tacit.ledger.recompute import CAVEAT, Recomputation
from tacit.ledger.verify import Report
from tacit.policy import Amount, Currency

__all__ = ["show_entries", "show_report", "show_whole"]

WORTH = 20  # programs listed


def show_entries(console: Console, people: str, entries: list[Entry], currency: Currency | None) -> None:
    """A table of what happened."""
    console.print(Text(people or "the list of accounts", style="bold"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("#", justify="right")
    table.add_column("When", no_wrap=True, style="dim")
    table.add_column("What", no_wrap=True)
    table.add_column("")
    for entry in entries:
        table.add_row(str(entry.seq), when(entry.time), entry.kind, Text(_told(json.loads(entry.body), currency)))
    console.print(table)


def _told(body: Any, currency: Currency | None) -> str:
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


def show_report(console: Console, report: Report, *, checked: Path | None) -> None:
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


def show_whole(console: Console, found: Recomputation) -> None:
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
