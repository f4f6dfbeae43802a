"""What differs between SQLite and PostgreSQL: how a transaction is run, and the hot path of one charge.

All rules outside `charge` are written once, against a `Page`: one transaction over the book. A `charge` in SQLite is
Python inside a transaction, in PostgreSQL one function of the server; both follow these steps, in this order, and write
nothing unless every check passes:

1. lock the account (by `account`, the row's number); its `people` must still be `order.people`, else `Moved`
2. an entry with this analyst and key exists: return it, `replayed`
3. sealed: `Denied`
4. time = max(now, account.time); at or past window_end the window's number grows by one and window_end moves by whole
   periods until it is past the time
5. per holder, in the order of `order.limits`: the limit is the smaller of the order's and the recorded one, number by
   number; amount within `each`, then window spending + amount within the limit (`over`)
6. for the holder "dataset": spent ever + amount within the account's lifetime, if it has one (`over`)
7. entries: `reset` if the window moved, a `limit` for each holder without a balance (`Order.limit_body`), the `charge`
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from tacit.base import LedgerError, OverBudget, Relation
from tacit.ledger.page import Page
from tacit.ledger.receipt import Standing, spelled
from tacit.policy.account import DATASET, Amount, Currency, Limit
from tacit.program import canonical

__all__ = ["Charged", "Moved", "Order", "Store", "limit_body", "money", "over", "reset_body"]

T = TypeVar("T")


class Moved(LedgerError):  # noqa: N818 - a word between store and ledger, which nobody else sees
    """The account's people have another name now; nothing was charged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """One charge as a store takes it: everything that does not depend on the state of the book is worked out."""

    account: int
    people: str
    currency: Currency
    relation: Relation
    unit: str
    analyst: str
    key: str
    amount: Amount
    limits: tuple[Limit, ...]
    program: str  # hash
    policy: str
    body: str  # of the charge entry

    def limit_body(self, limit: Limit) -> str:
        """The body of the entry that gives a holder its first limit."""
        return limit_body(limit, before=None, policy=self.policy)


class Charged(NamedTuple):
    """The entry of a charge. When `replayed` the caller compares `body` with what it wanted."""

    seq: int
    time: int
    digest: bytes
    replayed: bool
    body: str


class Store(Protocol):
    """One book. Every method is atomic and durable when it returns; errors are LedgerErrors, and say what is known."""

    @property
    def ledger(self) -> str:
        """The book's random name, part of every first hash."""

    @property
    def where(self) -> str:
        """The book's place, for messages; without passwords."""

    def charge(self, order: Order) -> Charged:
        """See above. Raises OverBudget, Denied, Moved, LedgerError (nothing was charged), OutcomeUnknown."""

    def write(self, work: Callable[[Page], T]) -> T:
        """Run `work` in a transaction and commit, or leave no trace of it if it raises."""

    def read(self, work: Callable[[Page], T]) -> T:
        """Run `work`, which only reads, on one consistent state."""

    def glance(self, people: str, holders: Sequence[str]) -> Standing | None:
        """The account with these balances, without waiting for anybody; None where `read` is the only way."""

    def answered(self, people: str, scopes: tuple[str, str], program: str, version: str) -> bool | None:
        """Whether an answer is stored, without waiting for anybody; None where `read` is the only way."""

    def ready(self) -> None:
        """Raise LedgerError if a charge could not be written now. Writes nothing."""

    def suspects(self, page: Page) -> list[str]:
        """The people whose chains are not what this store last saw; a server keeps its own books whole: none."""

    def trust(self) -> None:
        """Take the book as it is for the newest."""

    def close(self) -> None:
        """Let go of connections and files; a second time does nothing."""


def money(amount: Amount | None) -> dict[str, str] | None:
    return None if amount is None else {"spend": str(amount.spend), "delta": str(amount.delta)}


def limit_body(limit: Limit, *, before: Limit | None, policy: str) -> str:
    """A holder's limit, and the one it had."""
    old = None if before is None else {"total": money(before.total), "each": money(before.each)}
    each = money(limit.each)
    data = {"kind": "limit", "holder": limit.holder, "total": money(limit.total), "each": each, "before": old}
    return canonical({**data, "policy": policy})


def reset_body(window: int) -> str:
    return f'{{"kind":"reset","window":{window}}}'


def over(order: Order, holder: str, *, which: str, left: Amount) -> OverBudget:
    """The refusal when a limit would be passed. `which` is "each" (a program), "total" or "lifetime"."""
    cost, rest = spelled(order.amount, order.currency, up=True), spelled(left, order.currency)
    who = f'the budget of "{order.people}"' if holder == DATASET else f'{holder} of "{order.people}"'
    if which == "each":
        return OverBudget(f"{who} allows at most {rest} a program, and this one costs {cost}: ask for less precision")
    span = "for its lifetime, which no reset refills" if which == "lifetime" else "now"
    return OverBudget(f"{who} has {rest} left {span}, and this program costs {cost}: nothing was charged")
