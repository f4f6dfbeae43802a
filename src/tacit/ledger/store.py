"""What differs between SQLite and PostgreSQL: how a transaction over the book is run. All rules are written once."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from tacit.ledger.charge import ChargeEntry, Order
from tacit.ledger.page import Page
from tacit.ledger.receipt import Standing

__all__ = ["Store"]

T = TypeVar("T")


class Store(Protocol):
    """One book. Every method is atomic and durable when it returns; errors are LedgerErrors, and say what is known."""

    @property
    def ledger(self) -> str:
        """The book's random name, part of every first hash."""

    @property
    def where(self) -> str:
        """The book's place, for messages; without passwords."""

    def charge(self, order: Order) -> ChargeEntry:
        """See `charge.py`. Raises OverBudget, Denied, Moved, LedgerError (nothing was charged), OutcomeUnknown."""

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
