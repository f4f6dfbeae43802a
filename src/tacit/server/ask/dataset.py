"""A dataset that is open: its policy as the file says now, its ledger, and its engine, which everybody shares."""

import warnings
from copy import copy
from dataclasses import replace
from pathlib import Path

from tacit.base import PrivacyWarning
from tacit.engine import Limits, open_engine
from tacit.ledger import Ledger
from tacit.policy import Analyst, Policy, Table
from tacit.policy.privacy import ANYBODY
from tacit.policy.read import PolicyFile
from tacit.server.auth.people import Identity
from tacit.session import Session
from tacit.sql import Catalog

__all__ = [
    "OpenDataset",
    "catalog_of",
    "holder_of",
    "known_to",
    "read_quietly",
    "tables_of",
]


class OpenDataset:
    """One policy with everything it names open. Sessions of any analyst are cheap: they share all of it."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.file, self.limits = read_quietly(path), limits
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

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def policy(self) -> Policy:
        return self.file.policy

    def renewed(self, file: PolicyFile) -> "OpenDataset":
        """The same places under the rules as they are now."""
        fresh = copy(self)
        fresh.file = file
        fresh._session = Session(file.policy, "nobody", ledger=self.ledger, engine=self.engine)
        return fresh

    def session(self, analyst: str, catalog: Catalog) -> Session:
        """A session of this analyst. It owns nothing, so nobody has to close it."""
        # names of what is not theirs mean nothing in their questions
        return self._session.for_analyst(analyst, catalog)

    def close(self) -> None:
        self.engine.close()
        self.ledger.close()


def read_quietly(path: Path) -> PolicyFile:
    """The policy in a file; its warnings are `tacit check`'s to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return PolicyFile.read(path)


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
