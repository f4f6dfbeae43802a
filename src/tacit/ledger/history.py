"""What is read from an account's chain, and the rare entries that change its course: void, seal, rename, adopt."""

from collections.abc import Sequence
from json import loads
from typing import Any

from sqlalchemy import Row, select, update

from tacit.base import CorruptLedger, InputError, LedgerError
from tacit.ledger.answers import charged
from tacit.ledger.chain import REGISTRY, Entry
from tacit.ledger.charge import standing_of
from tacit.ledger.claims import held_by
from tacit.ledger.page import Line, Page, as_entry, checked
from tacit.ledger.receipt import Receipt, Standing
from tacit.ledger.schema import accounts, answers, balances, entries
from tacit.policy.account import Amount
from tacit.program.program import canonical

__all__ = ["CHUNK", "adopt", "entries_of", "rename", "seal", "standing", "standing_of", "void"]

CHUNK = 2000  # entries read at once
RECENT = 500  # entries looked through for each holder's last charge


def entries_of(page: Page, people: str, after: int, count: int) -> list[Entry]:
    row = page.registry() if people == REGISTRY else page.account(people)
    query = select(entries).where(entries.c.account == row.id, entries.c.seq > after)
    return [as_entry(found, people) for found in page.connection.execute(query.order_by(entries.c.seq).limit(count))]


def void(page: Page, receipt: Receipt) -> None:
    """Give a charge back to every holder: ever, and in the window if that is the one it was charged in."""
    row = page.account(receipt.people)
    charged(page, row, receipt)
    answered = select(answers.c.seq).where(answers.c.account == row.id, answers.c.seq == receipt.seq)
    if page.fate(row.id, receipt.seq) is not None or page.connection.execute(answered).first() is not None:
        raise LedgerError("this charge stays: its program began to run, or it was voided before")
    entry = page.entry(row, receipt.seq)
    assert entry is not None
    since = (entries.c.account == row.id) & (entries.c.seq > receipt.seq) & (entries.c.kind == "reset")
    moved = page.connection.execute(select(entries.c.seq).where(since).limit(1)).first() is not None
    holders, _ = _paid(entry.body)
    for holder in holders:
        place = (balances.c.account == row.id) & (balances.c.holder == holder)
        held = page.connection.execute(select(balances).where(place)).one()
        values = _less(held, "spent", receipt.amount)
        if not moved and held.window == row.window:
            values |= _less(held, "window", receipt.amount)
        page.connection.execute(update(balances).where(place).values(**values))
    body = canonical({"kind": "void", "charge": receipt.seq})
    page.append(row, [Line("void", body, key=str(receipt.seq))])


def _less(row: "Row[Any]", what: str, amount: Amount) -> dict[str, int]:
    values = {f"{what}_spend": amount.spend, f"{what}_delta": amount.delta}
    left = {name: getattr(row, name) - value for name, value in values.items()}
    if min(left.values()) < 0:
        raise CorruptLedger(f"{row.holder} would have spent less than nothing: run `tacit ledger verify`")
    return left


def standing(page: Page, people: str, holders: Sequence[str] | None = None) -> Standing:
    """With `holders`, their balances alone, and nothing of what was charged last or where the data is."""
    row = page.account(people)
    query = select(balances).where(balances.c.account == row.id).order_by(balances.c.holder)
    if holders is not None:
        found = page.connection.execute(query.where(balances.c.holder.in_(holders))).all()
        return standing_of(row, found, page.now(row))
    found = page.connection.execute(query).all()
    return standing_of(row, found, page.now(row), _last(page, row), held_by(page, row.id))


def _last(page: Page, row: "Row[Any]") -> dict[str, Amount]:
    """The newest charge of each holder, as far as recent entries tell."""
    recent = (entries.c.account == row.id) & (entries.c.seq > row.seq - RECENT) & (entries.c.kind == "charge")
    found: dict[str, Amount] = {}
    for entry in page.connection.execute(select(entries.c.body).where(recent).order_by(entries.c.seq)):
        holders, amount = _paid(entry.body)
        found |= dict.fromkeys(holders, amount)
    return found


def _paid(body: str) -> tuple[list[str], Amount]:
    """The holders of a charge and what it cost them."""
    try:
        data = loads(body)
        return [str(holder) for holder in data["holders"]], Amount(int(data["spend"]), int(data["delta"]))
    except (ValueError, LookupError, TypeError):
        raise CorruptLedger(
            "a charge in this ledger cannot be read: restore the newest copy of it, and look at both with "
            "`tacit ledger verify`"
        ) from None


def seal(page: Page, people: str, why: str) -> Entry:
    row = page.account(people)
    if row.sealed:
        raise LedgerError(f'the account of "{people}" is sealed already')
    return page.append(row, [Line("seal", canonical({"kind": "seal", "why": _reason(why)}))], sealed=1)[0]


def rename(page: Page, people: str, to: str) -> Entry:
    page.registry()  # locked: nobody opens an account of the new name meanwhile
    row = page.account(people)
    taken = page.connection.execute(select(accounts.c.id).where(accounts.c.people == to)).first()
    if taken is not None:
        raise InputError(f'there is an account of "{to}" already: two budgets cannot become one')
    body = canonical({"kind": "rename", "before": people, "after": to})
    return page.append(row, [Line("rename", body)], people=to)[0]


def adopt(page: Page, why: str, changed: list[str]) -> list[Entry]:
    """An entry in the list of accounts, and one in each account that was found other than it was known."""
    line = Line("adopt", canonical({"kind": "adopt", "why": _reason(why)}))
    rows = [page.registry(), *(page.account(people) for people in changed)]
    return [entry for row in rows for entry in page.append(row, [line])]


def _reason(why: str) -> str:
    return checked(why, "why")
