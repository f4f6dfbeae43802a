"""Releases as they were given out: each is its owner's, and nobody else's unless the owner shares it.

What is kept is the release alone, after noise. The same answer asked for again lies on the shelf once.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Row, select, update

from tacit.server.auth.people import Identity
from tacit.server.db import State, now, releases
from tacit.server.problem import HttpProblem
from tacit.session import TableRelease

__all__ = ["Shelf", "ShelvedRelease"]

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
    release: TableRelease

    def head(self) -> dict[str, Any]:
        """What a list shows."""
        return {
            "id": self.id,
            "owner": self.owner,
            "dataset": self.dataset,
            "sql": self.sql,
            "time": self.release.facts.get("time"),
            "cost": self.release.facts.get("cost"),
            "shared": self.shared,
        }


class Shelf:
    """All releases, in the service's own database."""

    def __init__(self, state: State) -> None:
        self.state = state

    def put(self, who: Identity, dataset: str, sql: str, release: TableRelease) -> str:
        """Keep a release; its name. The same one again has the same name."""
        ledger = release.facts["ledger"]
        told = [who.name, dataset, ledger["id"], ledger["entry"], sql, release.confidence]
        name = sha256(json.dumps(told).encode()).hexdigest()[:32]
        values = {"id": name, "owner": who.name, "dataset": dataset, "entry": ledger["entry"], "time": now()}
        there = select(releases.c.id).where(releases.c.id == name)
        with self.state.reading() as connection:
            if connection.execute(there).first() is not None:
                return name
        content = {"sql": sql, "content": release.to_bytes(), "shared": False, "tables": "[]"}
        self.state.insert_once(releases, **values, **content)
        return name

    def find(self, who: Identity, name: str, may: May) -> ShelvedRelease:
        """A release that this person may see. One that is not theirs looks like one that is not there."""
        with self.state.reading() as connection:
            row = connection.execute(select(releases).where(releases.c.id == name)).one_or_none()
        if row is None or not (row.owner == who.name or (row.shared and may(row.dataset, set(json.loads(row.tables))))):
            raise _missing()
        return _shelved(row)

    def listed(self, who: Identity, *, after: str | None, limit: int) -> list[ShelvedRelease]:
        """This person's own releases, the newest first, from behind the one called `after`."""
        return self._page(who, releases.c.owner == who.name, after, limit, lambda _, __: True)

    def shared(self, who: Identity, may: May, *, after: str | None, limit: int) -> list[ShelvedRelease]:
        """What others share with this person, the newest first."""
        return self._page(who, releases.c.shared & (releases.c.owner != who.name), after, limit, may)

    def _page(
        self, who: Identity, where: ColumnElement[bool], after: str | None, limit: int, may: May
    ) -> list[ShelvedRelease]:
        found: list[ShelvedRelease] = []
        with self.state.reading() as connection:
            below = None
            if after is not None:
                place = select(releases.c.number).where(releases.c.id == after, where)
                below = connection.execute(place).scalar_one_or_none()
                if below is None:
                    raise HttpProblem(
                        422, "cursor", "There is no such page", "use the `next` of an earlier page as `cursor`"
                    )
            query = select(releases).where(where).order_by(releases.c.number.desc())
            query = query if below is None else query.where(releases.c.number < below)
            for row in connection.execute(query.execution_options(yield_per=limit)):
                if may(row.dataset, set(json.loads(row.tables))):
                    found.append(_shelved(row))
                if len(found) == limit:
                    break
        return found

    def share(self, who: Identity, name: str, *, shared: bool, tables: set[str]) -> None:
        """Show a release to everybody who may ask the tables it was made from, or no longer."""
        mine = (releases.c.id == name) & (releases.c.owner == who.name)
        values = {"shared": shared, "tables": json.dumps(sorted(tables))}
        with self.state.writing() as connection:
            if not connection.execute(update(releases).where(mine).values(**values)).rowcount:
                raise _missing()


def _missing() -> HttpProblem:
    return HttpProblem(404, "no-release", "There is no such release", "you have no release with this id")


def _shelved(row: "Row[Any]") -> ShelvedRelease:
    return ShelvedRelease(
        id=row.id,
        owner=row.owner,
        dataset=row.dataset,
        entry=row.entry,
        time=row.time,
        sql=row.sql,
        shared=bool(row.shared),
        release=TableRelease.from_bytes(row.content),
    )
