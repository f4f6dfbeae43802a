"""What becomes of an account: a policy opens it and changes its limits, a charge is voided, it is sealed, renamed,
adopted. Each of these is an entry."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from json import loads
from typing import Any

from sqlalchemy import Row, insert, select, update

from tacit.base import CorruptLedger, InputError, LedgerError, PolicyError
from tacit.ledger.answers import check_receipt
from tacit.ledger.chain import REGISTRY, Entry, genesis
from tacit.ledger.charge import lifetime, limit_body, recorded_limit, standing_of
from tacit.ledger.claims import claim, held_by
from tacit.ledger.receipt import Receipt, Standing, money
from tacit.ledger.schema import accounts, answers, balances, entries
from tacit.ledger.store import EntryDraft, Page, as_entry, checked, payable
from tacit.policy.account import DATASET, Amount, Limit, Terms
from tacit.policy.source import Claim
from tacit.program import canonical

__all__ = ["CHUNK", "adopt", "entries_of", "record", "rename", "seal", "standing", "void"]

WINDOW = "window"  # the holder that entries about the reset window and the lifetime limit name


def record(page: Page, terms: Terms, claims: Collection[Claim] = ()) -> list[Entry]:
    """Open the account or write down what differs; nothing if nothing does. Refuses other people's data."""
    _sound(terms)
    known = page.connection.execute(select(accounts.c.id).where(accounts.c.people == terms.people)).first()
    if known is None:
        registry = page.registry()  # locked: two cannot open the same account
        row = page.find(terms.people)
        if row is None:
            made = _open(page, registry, terms)
            return made + claim(page, terms.people, claims)
    made = claim(page, terms.people, claims)  # first: the list of accounts is locked before an account
    row = page.account(terms.people)
    _same(row, terms)
    return made + _differences(page, row, terms)


def _sound(terms: Terms) -> None:
    checked(terms.people, "people")
    holders = [checked(limit.holder, "a holder") for limit in terms.limits]
    if DATASET not in holders:
        raise PolicyError(f'"{terms.people}" has no budget: declare the total for the dataset')
    if len(set(holders)) != len(holders) or WINDOW in holders:
        raise PolicyError(f'"{terms.people}" has two limits for one holder: name each analyst and group once')
    for limit in terms.limits:
        payable(limit.total, f"the limit of {limit.holder}")
        payable(limit.each or Amount(0), f"the cap of {limit.holder}")
    payable(terms.lifetime or Amount(0), "the lifetime limit")
    if terms.period is not None and (isinstance(terms.period, bool) or not 0 < terms.period < 2**53):
        raise PolicyError(f'the reset window of "{terms.people}" must be longer than nothing, in whole microseconds')


def _open(page: Page, registry: "Row[Any]", terms: Terms) -> list[Entry]:
    first, time = genesis(page.ledger, terms.people), page.now(registry)
    values = {
        "people": terms.people,
        "currency": terms.currency.value,
        "relation": terms.relation.value,
        "unit": terms.unit,
        "delta": str(Fraction(terms.delta)),
        "period": terms.period,
        **_sums("lifetime", terms.lifetime),
        "window": 1,
        "window_end": None if terms.period is None else time + terms.period,
        "sealed": 0,
        "seq": 0,
        "time": time,
        "head": first,
    }
    page.connection.execute(insert(accounts).values(**values))
    row = page.account(terms.people)
    body: dict[str, Any] = {"kind": "open", "lifetime": money(terms.lifetime), "policy": terms.policy}
    body |= {name: values[name] for name in ("people", "currency", "relation", "unit", "delta", "period")}
    lines = [EntryDraft("open", canonical(body))]
    lines += [EntryDraft("limit", limit_body(limit, before=None, policy=terms.policy)) for limit in terms.limits]
    made = page.append(row, lines, time=time)
    page.connection.execute(insert(balances), [first_balance(row.id, limit, row.window) for limit in terms.limits])
    listed = canonical({"kind": "open", "people": terms.people, "genesis": made[0].digest.hex()})
    page.append(registry, [EntryDraft("open", listed)], time=time)
    return made


def first_balance(account: int, limit: Limit, window: int) -> dict[str, Any]:
    """The row of a holder that has spent nothing yet."""
    spent = _sums("spent", Amount(0)) | _sums("window", Amount(0))
    return {"account": account, "holder": limit.holder, "window": window, **_columns(limit), **spent}


def _columns(limit: Limit) -> dict[str, int | None]:
    return _sums("limit", limit.total) | _sums("each", limit.each)


def _sums(name: str, amount: Amount | None) -> dict[str, int | None]:
    """An amount as two columns."""
    spend, delta = (None, None) if amount is None else (amount.spend, amount.delta)
    return {f"{name}_spend": spend, f"{name}_delta": delta}


def _same(row: "Row[Any]", terms: Terms) -> None:
    """What was fixed when the account was opened stays: other words would give the old spending another meaning."""
    said = {
        "currency": (row.currency, terms.currency.value),
        "relation": (row.relation, terms.relation.value),
        "unit": (row.unit, terms.unit),
        "delta": (row.delta, str(Fraction(terms.delta))),
    }
    for name, (old, new) in said.items():
        if old != new:
            raise PolicyError(
                f'the account of "{terms.people}" was opened with {name} = {old}, and the policy says {new} now: what '
                f"was spent cannot be counted anew, so set {name} back to {old}"
            )


def _differences(page: Page, row: "Row[Any]", terms: Terms) -> list[Entry]:
    known = {
        found.holder: found for found in page.connection.execute(select(balances).where(balances.c.account == row.id))
    }
    lines: list[EntryDraft] = []
    fresh: list[Limit] = []
    for limit in terms.limits:
        old = known.get(limit.holder)
        before = None if old is None else recorded_limit(old)
        if limit == before:
            continue
        lines.append(EntryDraft("limit", limit_body(limit, before=before, policy=terms.policy)))
        if before is None:
            fresh.append(limit)
        else:
            place = (balances.c.account == row.id) & (balances.c.holder == limit.holder)
            page.connection.execute(update(balances).where(place).values(**_columns(limit)))
    if fresh:
        page.connection.execute(insert(balances), [first_balance(row.id, limit, row.window) for limit in fresh])
    time = page.now(row)
    changes = _window(page, row, terms, lines, time)
    return page.append(row, lines, time=time, **changes) if lines else []


def _window(page: Page, row: "Row[Any]", terms: Terms, lines: list[EntryDraft], time: int) -> dict[str, Any]:
    """Changes of the account for another period or lifetime; the entry about them is added to `lines`.

    The open window stays open: a new period only moves its end, to the next whole period since the account was opened.
    Without a period nothing is ever forgotten, so all that was ever spent counts again.
    """
    old, new = lifetime(row), terms.lifetime
    if (row.period, old) == (terms.period, new):
        return {}
    body = {"kind": "limit", "holder": WINDOW, "period": terms.period, "lifetime": money(new), "policy": terms.policy}
    lines.append(EntryDraft("limit", canonical(body | {"before": {"period": row.period, "lifetime": money(old)}})))
    changes: dict[str, Any] = _sums("lifetime", new)
    if row.period == terms.period:
        return changes
    end = None
    if terms.period is None:
        whole = {"window_spend": balances.c.spent_spend, "window_delta": balances.c.spent_delta, "window": row.window}
        page.connection.execute(update(balances).where(balances.c.account == row.id).values(**whole))
    else:
        first = select(entries.c.time).where(entries.c.account == row.id, entries.c.seq == 1)
        opened = page.connection.execute(first).scalar_one()
        end = opened + terms.period * ((time - opened) // terms.period + 1)
    return changes | {"period": terms.period, "window_end": end}


CHUNK = 2000  # entries read at once
RECENT = 500  # entries looked through for each holder's last charge


def entries_of(page: Page, people: str, after: int, count: int) -> list[Entry]:
    row = page.registry() if people == REGISTRY else page.account(people)
    query = select(entries).where(entries.c.account == row.id, entries.c.seq > after)
    return [as_entry(found, people) for found in page.connection.execute(query.order_by(entries.c.seq).limit(count))]


def void(page: Page, receipt: Receipt) -> None:
    """Give a charge back to every holder: ever, and in the window if that is the one it was charged in."""
    row = page.account(receipt.people)
    check_receipt(page, row, receipt)
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
    page.append(row, [EntryDraft("void", body, key=str(receipt.seq))])


def _less(row: "Row[Any]", what: str, amount: Amount) -> dict[str, int]:
    left = {name: getattr(row, name) - (value or 0) for name, value in _sums(what, amount).items()}
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
    return page.append(row, [EntryDraft("seal", canonical({"kind": "seal", "why": checked(why, "why")}))], sealed=1)[0]


def rename(page: Page, people: str, to: str) -> Entry:
    page.registry()  # locked: nobody opens an account of the new name meanwhile
    row = page.account(people)
    taken = page.connection.execute(select(accounts.c.id).where(accounts.c.people == to)).first()
    if taken is not None:
        raise InputError(f'there is an account of "{to}" already: two budgets cannot become one')
    body = canonical({"kind": "rename", "before": people, "after": to})
    return page.append(row, [EntryDraft("rename", body)], people=to)[0]


def adopt(page: Page, why: str, changed: list[str]) -> list[Entry]:
    """An entry in the list of accounts, and one in each account that was found other than it was known."""
    line = EntryDraft("adopt", canonical({"kind": "adopt", "why": checked(why, "why")}))
    rows = [page.registry(), *(page.account(people) for people in changed)]
    return [entry for row in rows for entry in page.append(row, [line])]
