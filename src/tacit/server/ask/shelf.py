"""Releases as they were given out: each is its owner's, and nobody else's unless the owner shares it.

What is kept is the release alone, after noise. The same answer asked for again lies on the shelf once.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Table, select, update

from tacit.desk import ContentRelease
from tacit.desk.release import release_from_bytes
from tacit.server.auth.people import Identity
from tacit.server.db import State, now, releases
from tacit.server.problem import HttpProblem
from tacit.session import Release, TableRelease

__all__ = ["May", "Shelf", "ShelvedRelease", "newest"]

May = Callable[[str, set[str]], bool]
"""Whether whoever reads may ask these tables of this dataset."""


@dataclass(frozen=True, kw_only=True)
class ShelvedRelease:
    """One release and whose it is."""

    id: str
    owner: str
    dataset: str
    entry: int
    time: int
    sql: str
    shared: bool
    release: Release

    def head(self) -> dict[str, Any]:
        """What a list shows."""
        facts = self.release.facts
        told = {"id": self.id, "owner": self.owner, "dataset": self.dataset, "sql": self.sql, "shared": self.shared}
        told["kind"] = self.release.kind if isinstance(self.release, ContentRelease) else "table"
        return {**told, "time": facts.get("time"), "cost": facts.get("cost"), "currency": facts.get("currency")}


class Shelf:
    """All releases, in the service's own database."""

    def __init__(self, state: State) -> None:
        self.state = state

    def put(self, who: Identity, dataset: str, sql: str, release: Release) -> str:
        """Keep a release; its name. The same one again has the same name."""
        ledger = release.facts["ledger"]
        told = [who.name, dataset, ledger["id"], ledger["entry"], sql]
        if isinstance(release, TableRelease):
            told.append(release.confidence)
        name = sha256(json.dumps(told).encode()).hexdigest()[:32]
        if self.state.find(select(releases.c.id).where(releases.c.id == name)) is None:
            values = {"id": name, "owner": who.name, "dataset": dataset, "entry": ledger["entry"], "time": now()}
            content = {"sql": sql, "content": release.to_bytes(), "shared": False, "tables": "[]"}
            self.state.insert_once(releases, **values, **content)
        return name

    def find(self, who: Identity, name: str, may: May) -> ShelvedRelease:
        """A release that this person may see. One that is not theirs looks like one that is not there."""
        row = self.state.find(select(releases).where(releases.c.id == name))
        if row is None or not (row.owner == who.name or (row.shared and may(row.dataset, set(json.loads(row.tables))))):
            raise _missing()
        return _shelved(row)

    def listed(self, who: Identity, *, after: str | None, limit: int) -> list[ShelvedRelease]:
        """This person's own releases, the newest first, from behind the one called `after`."""
        return self._page(releases.c.owner == who.name, after, limit, lambda _, __: True)

    def shared(self, who: Identity, may: May, *, after: str | None, limit: int) -> list[ShelvedRelease]:
        """What others share with this person, the newest first."""
        return self._page(releases.c.shared & (releases.c.owner != who.name), after, limit, may)

    def _page(self, where: ColumnElement[bool], after: str | None, limit: int, may: May) -> list[ShelvedRelease]:
        found: list[ShelvedRelease] = []
        query = newest(self.state, releases, where, after).execution_options(yield_per=limit)
        with self.state.reading() as connection:
            for row in connection.execute(query):
                if may(row.dataset, set(json.loads(row.tables))):
                    found.append(_shelved(row))
                if len(found) == limit:
                    break
        return found

    def share(self, who: Identity, name: str, *, shared: bool, tables: set[str]) -> None:
        """Show a release to everybody who may ask the tables it was made from, or no longer."""
        mine = (releases.c.id == name) & (releases.c.owner == who.name)
        values = {"shared": shared, "tables": json.dumps(sorted(tables))}
        if not self.state.change(update(releases).where(mine).values(**values)):
            raise _missing()


def newest(state: State, table: Table, where: ColumnElement[bool], after: str | None) -> Select[Any]:
    """Rows with a number and an id, the newest first, from behind the one called `after`."""
    query = select(table).where(where).order_by(table.c.number.desc())
    if after is None:
        return query
    last = state.find(select(table.c.number).where(table.c.id == after, where))
    if last is None:
        raise HttpProblem(422, "cursor", "There is no such page", "use the `next` of an earlier page as `cursor`")
    return query.where(table.c.number < last.number)


def _missing() -> HttpProblem:
    return HttpProblem(404, "no-release", "There is no such release", "you have no release with this id")


def _shelved(row: "Row[Any]") -> ShelvedRelease:
    known = {name: row._mapping[name] for name in ("id", "owner", "dataset", "entry", "time", "sql")}
    return ShelvedRelease(**known, shared=bool(row.shared), release=release_from_bytes(row.content))
