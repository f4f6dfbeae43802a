"""The ledger takes note of a policy: an account is opened once, and every later change of its limits is an entry."""

from collections.abc import Collection
from fractions import Fraction
from typing import Any

from sqlalchemy import Row, insert, select, update

from tacit.base import PolicyError
from tacit.ledger.chain import Entry, genesis
from tacit.ledger.charge import lifetime, limit_body, money, recorded
from tacit.ledger.claims import claim
from tacit.ledger.page import Line, Page, checked, payable
from tacit.ledger.schema import accounts, balances, entries
from tacit.policy.account import DATASET, Amount, Limit, Terms
from tacit.policy.source import Claim
from tacit.program.program import canonical

__all__ = ["record"]

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
        "lifetime_spend": None if terms.lifetime is None else terms.lifetime.spend,
        "lifetime_delta": None if terms.lifetime is None else terms.lifetime.delta,
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
    lines = [Line("open", canonical(body))]
    lines += [Line("limit", limit_body(limit, before=None, policy=terms.policy)) for limit in terms.limits]
    made = page.append(row, lines, time=time)
    page.connection.execute(insert(balances), [first_balance(row.id, limit, row.window) for limit in terms.limits])
    listed = canonical({"kind": "open", "people": terms.people, "genesis": made[0].digest.hex()})
    page.append(registry, [Line("open", listed)], time=time)
    return made


def first_balance(account: int, limit: Limit, window: int) -> dict[str, Any]:
    """The row of a holder that has spent nothing yet."""
    zeros = dict.fromkeys(("spent_spend", "spent_delta", "window_spend", "window_delta"), 0)
    return {"account": account, "holder": limit.holder, "window": window, **_columns(limit), **zeros}


def _columns(limit: Limit) -> dict[str, int | None]:
    each = limit.each
    return {
        "limit_spend": limit.total.spend,
        "limit_delta": limit.total.delta,
        "each_spend": None if each is None else each.spend,
        "each_delta": None if each is None else each.delta,
    }


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
    lines: list[Line] = []
    fresh: list[Limit] = []
    for limit in terms.limits:
        old = known.get(limit.holder)
        before = None if old is None else recorded(old)
        if limit == before:
            continue
        lines.append(Line("limit", limit_body(limit, before=before, policy=terms.policy)))
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


def _window(page: Page, row: "Row[Any]", terms: Terms, lines: list[Line], time: int) -> dict[str, Any]:
    """Changes of the account for another period or lifetime; the entry about them is added to `lines`.

    The open window stays open: a new period only moves its end, to the next whole period since the account was opened.
    Without a period nothing is ever forgotten, so all that was ever spent counts again.
    """
    old, new = lifetime(row), terms.lifetime
    if (row.period, old) == (terms.period, new):
        return {}
    body = {"kind": "limit", "holder": WINDOW, "period": terms.period, "lifetime": money(new), "policy": terms.policy}
    lines.append(Line("limit", canonical(body | {"before": {"period": row.period, "lifetime": money(old)}})))
    changes: dict[str, Any] = {
        "lifetime_spend": None if new is None else new.spend,
        "lifetime_delta": None if new is None else new.delta,
    }
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
