"""One charge: the rule that says what may be paid, and the transaction that pays it.

The rule, `after_charge`, is told here alone: SQLite, PostgreSQL and the preview of what would be left call it. (What
`replay.py` says of it is written apart, to check it.) In a transaction, `charge` follows these steps for one or more
orders to one account. It reads once (1) and writes once (6), so that nobody waits for the account longer than for two
answers of a server:

1. lock the account (by `account`, the row's number) and read all that the orders need; its `people` must still be
   `order.people`
2. the newest entry that this process has seen must be there
3. an entry with this analyst and key exists: that is the answer, `replayed`
4. time = max(now, account.time); at or past window_end the window's number grows by one and window_end moves by whole
   periods until it is past the time (`standing_of`)
5. the rule
6. entries: `reset` if the window moved, a `limit` for each holder without a balance, the `charge`
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from tacit.base import Denied, LedgerError, OverBudget, Relation, TacitError
from tacit.ledger.chain import digest, lost
from tacit.ledger.receipt import Balance, Standing, money, spelled
from tacit.ledger.schema import SumColumn, accounts, balances, whole_sum
from tacit.loss import Cost
from tacit.policy.account import DATASET, Amount, Currency, Limit
from tacit.policy.source import Claim
from tacit.program import canonical

__all__ = [
    "AccountRenamedError",
    "ChargeEntry",
    "ChargeOrder",
    "Execute",
    "LimitRefusal",
    "Statement",
    "after_charge",
    "charge",
    "lifetime",
    "limit_body",
    "read_account",
    "recorded_limit",
    "remaining_budget",
    "standing_of",
]

Statement = tuple[str, Sequence[Any]]  # with a question mark for each value
Execute = Callable[[Sequence[Statement]], Sequence[Sequence[Any]]]
"""Runs statements one after another, and gives the rows of each."""
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


OF_ACCOUNT = [column.name for column in accounts.columns]
OF_BALANCE = [column.name for column in balances.columns]
SUMS = {column.name for table in (accounts, balances) for column in table.columns if isinstance(column.type, SumColumn)}


def _row(names: Sequence[str], values: Sequence[Any]) -> SimpleNamespace:
    """What SQLAlchemy would give of a statement that was written by hand: sums as numbers."""
    read = {name: whole_sum(value) if name in SUMS else value for name, value in zip(names, values, strict=True)}
    return SimpleNamespace(**read)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


ACCOUNT = f"SELECT {_listed(OF_ACCOUNT)} FROM tacit_accounts WHERE "


@cache
def _held(count: int) -> str:
    marks = ", ".join("?" * count)
    return f"SELECT {_listed(OF_BALANCE)} FROM tacit_balances WHERE account = ? AND holder IN ({marks}) ORDER BY holder"


def read_account(
    execute: Execute, people: str, holders: Sequence[str]
) -> tuple[SimpleNamespace, list[SimpleNamespace]] | None:
    """The rows of an account and of these holders' balances; None if there is no such account."""
    (found,) = execute([(f"{ACCOUNT}people = ?", (people,))])
    if not found:
        return None
    row = _row(OF_ACCOUNT, found[0])
    (held,) = execute([(_held(len(holders)), (row.id, *holders))])
    return row, [_row(OF_BALANCE, values) for values in held]


def recorded_limit(row: Any) -> Limit:
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
        limit = recorded_limit(each)
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
    orders: Sequence[ChargeOrder],
    *,
    clock: Callable[[], int],
    seen: Heads,
    heads: dict[int, tuple[int, bytes]],
    lock: str = "",
) -> list[ChargeEntry | TacitError]:
    """Follow the steps above for orders to one account: the entry of each, or why it was refused.

    `lock` ends the statement that reads the account; `heads` learns of the newest entry. `clock` is asked after the
    account was read.
    """
    number = orders[0].account
    at, mark = heads.get(number) or seen.get(number) or (0, b"")
    holders = sorted({limit.holder for order in orders for limit in order.limits})
    found, held, known, *stored = execute(
        [
            (f"{ACCOUNT}id = ?{lock}", (number,)),
            (_held(len(holders)), (number, *holders)),
            (DIGEST, (number, at)),
            *((STORED, (number, order.analyst, order.key)) for order in orders),
        ]
    )
    if not found:
        return [_renamed(order) for order in orders]
    row = _row(OF_ACCOUNT, found[0])
    there = [(row.head,)] if row.seq == at else known if row.seq > at else ()
    if at and [bytes(digest) for (digest,) in there] != [mark]:
        raise lost(row.people)
    time = max(clock(), row.time)
    account = _OpenAccount(row, standing_of(row, [_row(OF_BALANCE, values) for values in held], time), time)
    answers = [account.pay(order, found) for order, found in zip(orders, stored, strict=True)]
    if account.entries:
        execute(account.statements())
        heads[number] = (account.seq, account.head)
    return answers


def _renamed(order: ChargeOrder) -> AccountRenamedError:
    return AccountRenamedError(f'this ledger has no account for "{order.people}": apply its policy first')


class _OpenAccount:
    """An account under its lock, and what the charges of one transaction make of it."""

    def __init__(self, row: SimpleNamespace, standing: Standing, time: int) -> None:
        self._standing, self._time, self._people = standing, time, row.people
        self._number, self.seq, self.head, self._window = row.id, row.seq, bytes(row.head), row.window
        self._paid: dict[str, Balance] = {}
        self._made: dict[tuple[str, str], ChargeEntry] = {}  # by analyst and key
        self.entries: list[Sequence[Any]] = []

    def pay(self, order: ChargeOrder, stored: Sequence[Any]) -> ChargeEntry | TacitError:
        """Steps 3 to 6; `stored` is the entry that there was for this analyst and key."""
        if order.people != self._people:
            return _renamed(order)
        if stored:
            seq, time, known, body = stored[0]
            return ChargeEntry(seq, time, bytes(known), True, body)
        if (made := self._made.get((order.analyst, order.key))) is not None:
            return made._replace(replayed=True)
        standing = self._standing
        if self._paid:  # by orders before this one
            held = {one.holder: one for one in standing.balances} | self._paid
            standing = replace(standing, balances=tuple(held.values()))
        after = after_charge(standing, order.limits, order.amount)
        if isinstance(after, LimitRefusal):
            return _refused(order, after)
        if standing.window != self._window:
            self._window = standing.window
            self._enter("reset", f'{{"kind":"reset","window":{standing.window}}}')
        for limit in order.limits:
            if standing.balance(limit.holder) is None:
                self._enter("limit", limit_body(limit, before=None, policy=order.policy))
        self._enter("charge", order.body, order.analyst, order.key)
        self._paid |= {one.holder: one for one in after}
        made = ChargeEntry(self.seq, self._time, self.head, False, order.body)
        self._made[order.analyst, order.key] = made
        return made

    def _enter(self, kind: str, body: str, analyst: str | None = None, key: str | None = None) -> None:
        self.seq += 1
        self.head = digest(self.head, self.seq, self._time, body.encode())
        self.entries.append((self._number, self.seq, kind, self._time, analyst, key, body, self.head))

    def statements(self) -> list[Statement]:
        """What writes it all."""
        window, end = self._standing.window, self._standing.window_end
        written: list[Statement] = [(ENTER, entry) for entry in self.entries]
        for one in self._paid.values():
            limits = (*_digits(one.limit), *_digits(one.each))
            spent = (*_digits(one.spent), window, *_digits(one.window_spent))
            written.append((SPEND, (self._number, one.holder, *limits, *spent)))
        return [*written, (MOVE, (self.seq, self._time, self.head, window, end, self._number))]


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
