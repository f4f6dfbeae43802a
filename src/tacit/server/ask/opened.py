"""A dataset that is open: its policy as the file says now, its ledger, and its engine, which everybody shares."""

import warnings
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacit.base import PrivacyWarning
from tacit.engine import Limits, open_engine
from tacit.ledger import Ledger
from tacit.ledger.sqlite.store import SqliteStore
from tacit.policy import Analyst, Policy, Table, load
from tacit.policy import Engine as Kind
from tacit.policy.privacy import ANYBODY
from tacit.server.auth.people import Identity
from tacit.session import Session
from tacit.sql import Catalog

__all__ = [
    "Basis",
    "Opened",
    "catalog_of",
    "holder_of",
    "known_to",
    "places_of",
    "read_policy",
    "stamp_of",
    "tables_of",
]


class Opened:
    """One policy with everything it names open. Sessions of any analyst are cheap: they share all of it."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path, self.limits = path, limits
        self.stamp = stamp_of(path)  # before it is read: a change in between is seen at the next question
        self.policy = read_policy(path)
        self.ledger = Ledger.open(self.policy.ledger())
        try:
            self.engine = open_engine(self.policy, limits=limits)
        except BaseException:
            self.ledger.close()
            raise
        try:
            self._session = Session(self.policy, "nobody", ledger=self.ledger, engine=self.engine)
        except BaseException:
            self.close()
            raise

    def renewed(self, policy: Policy, stamp: Any) -> "Opened":
        """The same places under the rules as they are now."""
        fresh = copy(self)
        fresh.policy, fresh.stamp = policy, stamp
        fresh._session = Session(policy, "nobody", ledger=self.ledger, engine=self.engine)
        return fresh

    def session(self, analyst: str, catalog: Catalog) -> Session:
        """A session of this analyst. It owns nothing, so nobody has to close it."""
        # names of what is not theirs mean nothing in their questions
        return self._session.for_analyst(analyst, catalog)

    def version(self, tables: Collection[str]) -> str:
        """A text that differs whenever the data of these tables may have changed."""
        return self.engine.version(tables)

    @property
    def inline(self) -> bool:
        """Whether a look at the account and at the version of the data is short enough for an event loop."""
        return self.policy.dataset.engine is Kind.DUCKDB and isinstance(self.ledger.store, SqliteStore)

    def places(self) -> tuple[Any, ...]:
        """What would have to be opened anew if it changed."""
        return places_of(self.policy)

    def close(self) -> None:
        self.engine.close()
        self.ledger.close()


@dataclass(frozen=True, kw_only=True)
class Basis:
    """What an answer rests on: a dataset under its rules, and the state of the data it was made from."""

    opened: Opened
    tables: Sequence[str]
    version: str

    def holds(self, opened: Opened) -> bool:
        """Whether the same question would be answered from the store now: same rules, same data."""
        return opened is self.opened and opened.version(self.tables) == self.version


def places_of(policy: Policy) -> tuple[Any, ...]:
    tables = tuple((name, policy.where(name)) for name in policy.tables)
    return policy.dataset.identity, policy.dataset.name, policy.dataset.engine, policy.ledger(), tables


def read_policy(path: Path) -> Policy:
    """The policy in a file; its warnings are `tacit check`'s to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return load(path)


def stamp_of(path: Path) -> tuple[int, ...]:
    """Differs whenever the file may have changed."""
    try:
        found = path.stat()
    except OSError:
        return ()  # reading says what is wrong
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def holder_of(policy: Policy, name: str) -> Analyst | None:
    """What the policy says of an analyst, if they may ask at all."""
    return policy.analysts.get(name) or policy.analysts.get(ANYBODY)


def tables_of(policy: Policy, name: str) -> set[str]:
    """The tables that an analyst may ask, by the rule of `decide`."""
    holder = holder_of(policy, name)
    if holder is None:
        return set()
    lists = [each.tables for each in (holder, *(policy.groups[group] for group in holder.groups))]
    given = [tables for tables in lists if tables is not None]
    allowed = {table for tables in given for table in tables} if given else set(policy.tables)
    return allowed | {name for name, table in policy.tables.items() if table.public}


def known_to(who: Identity, policy: Policy) -> Policy:
    """The policy without places and hidden columns; for an analyst, without tables and limits of others too."""
    own = tables_of(policy, who.name) if who.role == "analyst" else set(policy.tables)
    tables = {name: _shown(table) for name, table in policy.tables.items() if name in own}
    analysts, groups = dict(policy.analysts), dict(policy.groups)
    if who.role == "analyst":
        holder = holder_of(policy, who.name)
        analysts = {} if holder is None else {who.name: replace(holder, tables=None)}
        names = () if holder is None else holder.groups
        groups = {name: replace(policy.groups[name], tables=None) for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return replace(
            policy,
            dataset=replace(policy.dataset, source=None, ledger="tacit.ledger"),
            tables=tables,
            analysts=analysts,
            groups=groups,
            file="",
            folder=None,
        )


def catalog_of(who: Identity, policy: Policy) -> Catalog:
    """What names in this person's questions can mean."""
    own = tables_of(policy, who.name) if who.role == "analyst" else set(policy.tables)
    place = (policy.hash, frozenset(own))
    found = _catalogs.get(place)
    if found is None:
        if len(_catalogs) >= MOST:
            _catalogs.clear()
        found = _catalogs[place] = Catalog.from_policy(known_to(who, policy))
    return found


MOST = 1000  # catalogs that are remembered
_catalogs: dict[tuple[str, frozenset[str]], Catalog] = {}


def _shown(table: Table) -> Table:
    columns = {name: column for name, column in table.columns.items() if not column.hidden}
    return replace(table, source=None, columns=columns)
