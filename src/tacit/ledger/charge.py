"""One charge: the rule that says what may be paid, and the transaction that pays it.

The rule, `after_charge`, is told here alone: SQLite, PostgreSQL and the preview of what would be left call it. (What
`replay.py` says of it is written apart, to check it.) In a transaction, `charge` follows these steps, and writes
nothing unless every check passes:

1. lock the account (by `account`, the row's number); its `people` must still be `order.people`
2. the newest entry that this process has seen must be there
3. an entry with this analyst and key exists: return it, `replayed`
4. time = max(now, account.time); at or past window_end the window's number grows by one and window_end moves by whole
   periods until it is past the time (`standing_of`)
5. the rule
6. entries: `reset` if the window moved, a `limit` for each holder without a balance, the `charge`
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from tacit.base import Denied, LedgerError, OverBudget, Relation
from tacit.ledger.chain import digest, lost
from tacit.ledger.receipt import Balance, Standing, money, spelled
from tacit.ledger.schema import SumColumn, accounts, balances, whole_sum
from tacit.loss import Cost
from tacit.policy.account import DATASET, Amount, Currency, Limit
from tacit.policy.source import Claim
from tacit.program.program import canonical

__all__ = [
    "AccountRenamedError",
    "ChargeEntry",
    "ChargeOrder",
    "Execute",
    "LimitRefusal",
    "after_charge",
    "charge",
    "lifetime",
    "limit_body",
    "read_account",
    "read_balances",
    "recorded",
    "remaining_budget",
    "standing_of",
]

Execute = Callable[[str, Sequence[Any]], Sequence[Any]]
"""Runs a statement with a question mark for each value, and gives its rows."""
Heads = Mapping[int, tuple[int, bytes]]
NOTHING = Amount(0)


# --- the rule


class LimitRefusal(NamedTuple):
    """Which limit of which holder does not allow it, and what is left of it.

    `which` is "each" (of one program), "total" (of the window), "lifetime", or "sealed".
    """

    holder: str
    which: str
    left: Amount


def after_charge(standing: Standing, limits: Sequence[Limit], amount: Amount) -> tuple[Balance, ...] | LimitRefusal:
    """The balances of all holders of `limits` after `amount` was paid; or the first limit that does not allow it.

    A limit is the smaller of the given and the recorded one, number by number. `standing` is the account at the time
    of the charge.
    """
    if standing.sealed:
        return LimitRefusal(DATASET, "sealed", NOTHING)
    after = []
    for limit in limits:
        for which, spent, most in _bounds(standing, limit):
            if not (spent + amount).fits(most):
                return LimitRefusal(limit.holder, which, spent.left(most))
        old = standing.balance(limit.holder) or _unspent(limit)
        spent, inside = old.spent + amount, old.window_spent + amount
        after.append(Balance(holder=old.holder, limit=old.limit, each=old.each, spent=spent, window_spent=inside))
    return tuple(after)


def remaining_budget(standing: Standing, limits: Sequence[Limit], amount: Amount) -> tuple[Cost, bool]:
    """The least that would be left under any limit after `amount`, and whether all of them allow it."""
    bounds = [bound for limit in limits for bound in _bounds(standing, limit)]
    left = [(spent + amount).left(most) for which, spent, most in bounds if which != "each"]
    least = Amount(min(one.spend for one in left), min(one.delta for one in left))
    enough = not isinstance(after_charge(standing, limits, amount), LimitRefusal)
    return least.cost(standing.currency, relation=standing.relation, unit=standing.unit), enough


def _unspent(limit: Limit) -> Balance:
    return Balance(holder=limit.holder, limit=limit.total, each=limit.each, spent=NOTHING, window_spent=NOTHING)


def _bounds(standing: Standing, limit: Limit) -> Iterator[tuple[str, Amount, Amount]]:
    """Everything that one holder is held to: which limit, what was spent of it, and the most it allows."""
    old = standing.balance(limit.holder) or _unspent(limit)
    caps = [each for each in (limit.each, old.each) if each is not None]
    if caps:
        yield "each", NOTHING, _least(caps)
    yield "total", old.window_spent, _least([limit.total, old.limit])
    if limit.holder == DATASET and standing.lifetime is not None:
        yield "lifetime", old.spent, standing.lifetime


def _least(amounts: Sequence[Amount]) -> Amount:
    return Amount(min(one.spend for one in amounts), min(one.delta for one in amounts))


# --- where an account stands


class SqlRow:
    """What SQLAlchemy would give of a statement that was written by hand: sums as numbers."""

    def __init__(self, names: Sequence[str], values: Sequence[Any]) -> None:
        for name, value in zip(names, values, strict=True):
            self.__dict__[name] = whole_sum(value) if name in SUMS else value

    def __getattr__(self, name: str) -> Any:
        """Only for what is not there."""
        raise AttributeError(name)


OF_ACCOUNT = [column.name for column in accounts.columns]
OF_BALANCE = [column.name for column in balances.columns]
SUMS = {column.name for table in (accounts, balances) for column in table.columns if isinstance(column.type, SumColumn)}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


ACCOUNT = f"SELECT {_listed(OF_ACCOUNT)} FROM tacit_accounts WHERE "


@cache
def _held(count: int) -> str:
    marks = ", ".join("?" * count)
    return f"SELECT {_listed(OF_BALANCE)} FROM tacit_balances WHERE account = ? AND holder IN ({marks}) ORDER BY holder"


def read_account(execute: Execute, where: str, value: int | str) -> SqlRow | None:
    found = execute(ACCOUNT + where, (value,))
    return SqlRow(OF_ACCOUNT, found[0]) if found else None


def read_balances(execute: Execute, account: int, holders: Sequence[str]) -> list[SqlRow]:
    return [SqlRow(OF_BALANCE, values) for values in execute(_held(len(holders)), (account, *holders))]


def recorded(row: Any) -> Limit:
    """The limit that a row of balances holds."""
    each = None if row.each_spend is None else Amount(row.each_spend, row.each_delta)
    return Limit(holder=row.holder, total=Amount(row.limit_spend, row.limit_delta), each=each)


def lifetime(row: Any) -> Amount | None:
    """The lifetime limit that a row of accounts holds."""
    return None if row.lifetime_spend is None else Amount(row.lifetime_spend, row.lifetime_delta)


def standing_of(
    row: Any, found: Sequence[Any], time: int, last: Mapping[str, Amount] | None = None, claims: tuple[Claim, ...] = ()
) -> Standing:
    """What rows of accounts and balances say at a time, which is not before the account's newest entry."""
    window, end = row.window, row.window_end
    if end is not None and time >= end:
        window, end = window + 1, end + row.period * ((time - end) // row.period + 1)
    held = []
    for each in found:
        limit = recorded(each)
        held.append(
            Balance(
                holder=each.holder,
                limit=limit.total,
                each=limit.each,
                spent=Amount(each.spent_spend, each.spent_delta),
                window_spent=Amount(each.window_spend, each.window_delta) if each.window == window else NOTHING,
                last=None if last is None else last.get(each.holder),
            )
        )
    return Standing(
        people=row.people,
        currency=Currency(row.currency),
        relation=Relation(row.relation),
        unit=row.unit,
        delta=Fraction(row.delta),
        period=row.period,
        lifetime=lifetime(row),
        window=window,
        window_end=end,
        sealed=bool(row.sealed),
        seq=row.seq,
        time=row.time,
        head=bytes(row.head),
        balances=tuple(held),
        claims=claims,
    )


# --- the transaction


class AccountRenamedError(LedgerError):
    """The account's people have another name now; nothing was charged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChargeOrder:
    """One charge as a store takes it: everything that does not depend on the state of the book is worked out."""

    account: int
    people: str
    currency: Currency
    analyst: str
    key: str
    amount: Amount
    limits: tuple[Limit, ...]
    program: str  # hash
    policy: str
    body: str  # of the charge entry


class ChargeEntry(NamedTuple):
    """The entry of a charge. When `replayed` the caller compares `body` with what it wanted."""

    seq: int
    time: int
    digest: bytes
    replayed: bool
    body: str


STORED = "SELECT seq, time, digest, body FROM tacit_entries WHERE account = ? AND analyst = ? AND key = ?"
DIGEST = "SELECT digest FROM tacit_entries WHERE account = ? AND seq = ?"
ENTER = (
    "INSERT INTO tacit_entries (account, seq, kind, time, analyst, key, body, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
SPEND = f"""INSERT INTO tacit_balances ({_listed(OF_BALANCE)}) VALUES ({", ".join("?" * len(OF_BALANCE))})
ON CONFLICT (account, holder) DO UPDATE SET spent_spend = excluded.spent_spend, spent_delta = excluded.spent_delta,
"window" = excluded."window", window_spend = excluded.window_spend, window_delta = excluded.window_delta"""
MOVE = 'UPDATE tacit_accounts SET seq = ?, time = ?, head = ?, "window" = ?, window_end = ? WHERE id = ?'


def charge(
    execute: Execute,
    order: ChargeOrder,
    *,
    clock: Callable[[], int],
    seen: Heads,
    heads: dict[int, tuple[int, bytes]],
    lock: str = "",
) -> ChargeEntry:
    """Follow the steps above. `lock` ends the statement that reads the account; `heads` learns of the new entry."""
    row = read_account(execute, f"id = ?{lock}", order.account)
    if row is None or row.people != order.people:
        raise AccountRenamedError(f'this ledger has no account for "{order.people}": apply its policy first')
    at, mark = heads.get(order.account) or seen.get(order.account) or (0, b"")
    if at and _digest(execute, row, at) != mark:
        raise lost(order.people)
    if found := execute(STORED, (order.account, order.analyst, order.key)):
        seq, time, known, body = found[0]
        return ChargeEntry(seq, time, bytes(known), True, body)
    time = max(clock(), row.time)
    holders = [limit.holder for limit in order.limits]
    standing = standing_of(row, read_balances(execute, order.account, holders), time)
    after = after_charge(standing, order.limits, order.amount)
    if isinstance(after, LimitRefusal):
        raise _refused(order, after)
    return _written(execute, order, time, standing, after, heads, turned=standing.window != row.window)


def _digest(execute: Execute, row: SqlRow, seq: int) -> bytes | None:
    """Of an entry of the account, if it is not beyond the newest one."""
    if row.seq == seq:
        return bytes(row.head)
    found = execute(DIGEST, (row.id, seq)) if seq < row.seq else ()
    return bytes(found[0][0]) if found else None


def _written(
    execute: Execute,
    order: ChargeOrder,
    time: int,
    standing: Standing,
    after: Sequence[Balance],
    heads: dict[int, tuple[int, bytes]],
    *,
    turned: bool,
) -> ChargeEntry:
    number, seq, head = order.account, standing.seq, standing.head
    lines: list[tuple[str, str, str | None, str | None]] = []
    if turned:
        lines.append(("reset", f'{{"kind":"reset","window":{standing.window}}}', None, None))
    new = [limit for limit in order.limits if standing.balance(limit.holder) is None]
    lines += [("limit", limit_body(limit, before=None, policy=order.policy), None, None) for limit in new]
    lines.append(("charge", order.body, order.analyst, order.key))
    for kind, body, analyst, key in lines:
        seq += 1
        head = digest(head, seq, time, body.encode())
        execute(ENTER, (number, seq, kind, time, analyst, key, body, head))
    for one in after:
        limits = (*_digits(one.limit), *_digits(one.each))
        spent = (*_digits(one.spent), standing.window, *_digits(one.window_spent))
        execute(SPEND, (number, one.holder, *limits, *spent))
    execute(MOVE, (seq, time, head, standing.window, standing.window_end, number))
    heads[number] = (seq, head)
    return ChargeEntry(seq, time, head, False, order.body)


def _digits(amount: Amount | None) -> tuple[str | None, str | None]:
    """As both stores take it: SQLite keeps sums as text, PostgreSQL reads the text as a number."""
    return (None, None) if amount is None else (str(amount.spend), str(amount.delta))


def _refused(order: ChargeOrder, refusal: LimitRefusal) -> Denied:
    holder, which, left = refusal
    if which == "sealed":
        return Denied(f'the account of "{order.people}" is sealed: nothing can be charged to it any more')
    cost, rest = spelled(order.amount, order.currency, up=True), spelled(left, order.currency)
    who = f'the budget of "{order.people}"' if holder == DATASET else f'{holder} of "{order.people}"'
    if which == "each":
        return OverBudget(f"{who} allows at most {rest} a program, and this one costs {cost}: ask for less precision")
    span = "for its lifetime, which no reset refills" if which == "lifetime" else "now"
    return OverBudget(f"{who} has {rest} left {span}, and this program costs {cost}: nothing was charged")


def limit_body(limit: Limit, *, before: Limit | None, policy: str) -> str:
    """A holder's limit, and the one it had."""
    old = None if before is None else {"total": money(before.total), "each": money(before.each)}
    each = money(limit.each)
    data = {"kind": "limit", "holder": limit.holder, "total": money(limit.total), "each": each, "before": old}
    return canonical({**data, "policy": policy})
