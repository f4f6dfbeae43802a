"""Sealed reports at rest: one file beside the ledger, for its owner alone.

A report is one agent's, is taken once, and is given back to nobody but that agent, through its advice. Nothing says
when reports came, or in which order. Reports are dropped with their market.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from tacit.base import InputError, TacitError
from tacit.base.private_file import open_private, private_folder
from tacit.engine.source.copies import state_folder
from tacit.market.rules import MarketRules
from tacit.market.sale import MarketPlan
from tacit.noise import rng_or_default
from tacit.policy import Policy
from tacit.policy.privacy import name_of

__all__ = ["MarketBook", "NotTaken", "OpenMarket"]

MOST_AGENTS = 100_000
TABLES = """
CREATE TABLE IF NOT EXISTS markets (
    people TEXT, name TEXT, owner TEXT, rules TEXT, sale TEXT, closes INTEGER, closed INTEGER, outcome TEXT,
    PRIMARY KEY (people, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agents (
    sale TEXT, agent TEXT, number INTEGER, PRIMARY KEY (sale, agent)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reports (
    sale TEXT, number INTEGER, report TEXT, PRIMARY KEY (sale, number)) WITHOUT ROWID;
"""


class NotTaken(InputError):  # noqa: N818 - says what is the case, as Denied does
    """A report that comes too late, or after another one."""


@dataclass(frozen=True, kw_only=True)
class OpenMarket:
    """A market as its book has it. `sale` is a random name of this one run; `closes` is in seconds since 1970, None if
    only its owner closes it. `outcome` is public, once there is one."""

    name: str
    owner: str
    rules: MarketRules
    sale: str
    agents: int
    closes: int | None
    closed: bool
    outcome: dict[str, Any] | None

    @property
    def taking(self) -> bool:
        """Whether it takes reports now."""
        return not self.closed and (self.closes is None or time() < self.closes)

    def plan(self, unit: str) -> MarketPlan:
        return self.rules.plan(self.agents, unit)


class MarketBook:
    """The markets of one dataset's people. Threads and processes may use it at once."""

    def __init__(self, path: Path, people: str) -> None:
        self.path, self.people = path, people

    @classmethod
    def of(cls, policy: Policy) -> "MarketBook":
        return cls(state_folder(str(policy.ledger()), policy.folder) / "markets.db", policy.dataset.identity)

    @contextmanager
    def _opened(self, begin: str = "BEGIN") -> Iterator[sqlite3.Connection]:
        """A transaction. What goes wrong says nothing of what is stored."""
        try:
            if not self.path.exists():
                private_folder(self.path.parent)
                os.close(open_private(self.path, os.O_RDWR))  # before SQLite makes it, with other rights
            with closing(sqlite3.connect(self.path, timeout=20, isolation_level=None)) as connection:
                connection.executescript(f"PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; {TABLES}")
                connection.execute(begin)
                try:
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            return
        except (sqlite3.Error, OSError):
            pass
        raise TacitError("the book of sealed reports cannot be used now: try again later")

    def _changing(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction that is alone, and on disk when it ends."""
        return self._opened("BEGIN IMMEDIATE")

    def open(
        self, name: str, rules: MarketRules, agents: Sequence[str], *, owner: str, unit: str, closes: int | None = None
    ) -> OpenMarket:
        """A new market for these agents, known by their names."""
        known, invited = name_of(name), sorted({name_of(agent) for agent in agents})
        if not 1 <= len(invited) <= MOST_AGENTS or len(invited) != len(agents):
            raise InputError(f"a market is for 1 to {MOST_AGENTS:,} agents, each named once")
        if closes is not None and closes <= time():
            raise InputError("closes is in the past: say a later time, or leave it out and close by hand")
        rules.plan(len(invited), unit)  # what cannot be is told now
        sale = bytes(rng_or_default(None).read(16)).hex()
        with self._changing() as book:
            if self._row(book, known) is not None:
                raise InputError(f'there is a market "{known}" already: give this one another name')
            told = json.dumps(rules.json())
            row = (self.people, known, owner, told, sale, closes, 0, None)
            book.execute("INSERT INTO markets VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            places = [(sale, agent, number) for number, agent in enumerate(invited)]
            book.executemany("INSERT INTO agents VALUES (?, ?, ?)", places)
            return self._found(book, known)

    def find(self, name: str) -> OpenMarket:
        with self._opened() as book:
            return self._found(book, name)

    def names(self, person: str) -> list[str]:
        """The markets that somebody opened or was invited to."""
        query = (
            "SELECT DISTINCT name FROM markets LEFT JOIN agents USING (sale) WHERE people = ? AND ? IN (owner, agent)"
        )
        if not self.path.exists():
            return []
        with self._opened() as book:
            return sorted(row[0] for row in book.execute(query, (self.people, person)))

    def number(self, market: OpenMarket, agent: str) -> int | None:
        """The number of an agent in a market; None if it was not invited."""
        with self._opened() as book:
            return self._number(book, market.sale, agent)

    def submit(self, market: OpenMarket, agent: str, report: Any, *, unit: str) -> bool:
        """Seal an agent's report; whether it was new. The same one again is no harm, another one is refused, and so is
        one that comes late or cannot be read."""
        try:
            market.plan(unit).read([report])
        except InputError:
            raise InputError(f"this report cannot be read. {market.rules.schema['description']}") from None
        text = json.dumps(report, allow_nan=False)
        with self._changing() as book:
            number, now = self._number(book, market.sale, agent), self._found(book, market.name)
            if number is None:
                raise InputError("you were not invited to this market")
            before = book.execute(
                "SELECT report FROM reports WHERE sale = ? AND number = ?", (market.sale, number)
            ).fetchone()
            if before is not None and before[0] == text:
                return False
            if not now.taking:
                raise NotTaken("this market is closed: it takes no more reports")
            if before is not None:
                raise NotTaken("your report is sealed already, and another one is not taken")
            book.execute("INSERT INTO reports VALUES (?, ?, ?)", (market.sale, number, text))
            return True

    def reported(self, market: OpenMarket, number: int) -> bool:
        """Whether an agent's report is sealed: for that agent alone."""
        with self._opened() as book:
            query = "SELECT 1 FROM reports WHERE sale = ? AND number = ?"
            return book.execute(query, (market.sale, number)).fetchone() is not None

    def report(self, market: OpenMarket, agent: str, *, unit: str) -> tuple[int, Any]:
        """An agent's number and its own report, or what counts as one if there is none."""
        with self._opened() as book:
            number = self._number(book, market.sale, agent)
            if number is None:
                raise InputError("you were not invited to this market")
            found = book.execute(
                "SELECT report FROM reports WHERE sale = ? AND number = ?", (market.sale, number)
            ).fetchone()
        return number, market.plan(unit).absent if found is None else json.loads(found[0])

    def close(self, market: OpenMarket, *, unit: str) -> list[Any]:
        """Take no more reports; everybody's, in the order of their numbers, as far as there are any."""
        with self._changing() as book:
            book.execute("UPDATE markets SET closed = 1 WHERE people = ? AND name = ?", (self.people, market.name))
            rows = dict(book.execute("SELECT number, report FROM reports WHERE sale = ?", (market.sale,)))
        absent = market.plan(unit).absent
        return [json.loads(rows[number]) if number in rows else absent for number in range(market.agents)]

    def publish(self, market: OpenMarket, outcome: Any) -> None:
        """Show what was kept of the run. Called for the same release again, it shows the same."""
        with self._changing() as book:
            book.execute(
                "UPDATE markets SET outcome = ? WHERE people = ? AND name = ? AND outcome IS NULL",
                (json.dumps(outcome), self.people, market.name),
            )

    def drop(self, market: OpenMarket) -> None:
        """Forget a market with its reports. What was charged and released stays in the ledger."""
        with self._changing() as book:
            for table in ("reports", "agents", "markets"):
                book.execute(f"DELETE FROM {table} WHERE sale = ?", (market.sale,))

    def _row(self, book: sqlite3.Connection, name: str) -> Any:
        query = "SELECT owner, rules, sale, closes, closed, outcome FROM markets WHERE people = ? AND name = ?"
        return book.execute(query, (self.people, name)).fetchone()

    def _number(self, book: sqlite3.Connection, sale: str, agent: str) -> int | None:
        row = book.execute("SELECT number FROM agents WHERE sale = ? AND agent = ?", (sale, agent)).fetchone()
        return None if row is None else int(row[0])

    def _found(self, book: sqlite3.Connection, name: str) -> OpenMarket:
        row = self._row(book, name)
        if row is None:
            raise InputError(f'there is no market "{name}": `GET /v1/markets` lists those that you may see')
        owner, rules, sale, closes, closed, outcome = row
        ((agents,),) = book.execute("SELECT COUNT(*) FROM agents WHERE sale = ?", (sale,))
        return OpenMarket(
            name=name, owner=owner, rules=MarketRules.read(json.loads(rules)), sale=sale, agents=agents, closes=closes,
            closed=bool(closed), outcome=None if outcome is None else json.loads(outcome),
        )  # fmt: skip
