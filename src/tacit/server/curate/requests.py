"""Wishes of analysts: to be let into a dataset, or to be given more of its budget. A curator says yes or no.

Whoever asks learns nothing by asking: a wish for a dataset that is not theirs and one for a dataset that does not exist
are taken alike, and look alike until somebody decides. Wishes and decisions are kept.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Row, Table, Text, func, insert, select, true, update

from tacit.server.ask.shelf import newest
from tacit.server.auth.people import Identity
from tacit.server.auth.tokens import short_name
from tacit.server.db import Number, State, locked, metadata, now
from tacit.server.problem import HttpProblem

__all__ = ["AccessRequest", "Requests", "request_json"]

MOST = 20  # open wishes of one person
LOCK = 0x7AC1_7002  # while wishes are counted
MISSING = "there is no request with this id that you may see"
STALE = 60_000_000  # µs after which an approval that did not end is taken for dead

requests = Table(
    "tacit_requests",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("owner", Text, nullable=False, index=True),
    Column("dataset", Text, nullable=False),
    Column("amount", Text, nullable=False),  # what they would like to spend in all; "" if they do not say
    Column("reason", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("state", Text, nullable=False),  # open, approving, approved, refused, withdrawn
    Column("decided", BigInteger),
    Column("decider", Text),
    Column("note", Text),
    Index("tacit_requests_state", "state", "number"),
)


AccessRequest = Row[Any]
"""One wish and what became of it, by the names of the columns."""


def request_json(request: AccessRequest) -> dict[str, Any]:
    return {name: value for name, value in request._mapping.items() if name != "number"}


class Requests:
    """All wishes, in the service's database."""

    def __init__(self, state: State) -> None:
        self.state = state

    def ask(self, who: Identity, dataset: str, *, amount: Decimal | None, reason: str) -> AccessRequest:
        """Take a wish. Whether there is such a dataset is not looked up."""
        values: dict[str, Any] = {"id": short_name(), "owner": who.name, "dataset": dataset, "created": now()}
        values |= {"amount": "" if amount is None else f"{amount:f}", "reason": reason, "state": "open"}
        with self.state.writing() as connection:
            locked(connection, LOCK)
            mine = (requests.c.owner == who.name) & (requests.c.state == "open")
            if connection.execute(select(func.count()).select_from(requests).where(mine)).scalar_one() >= MOST:
                detail = f"{MOST} of yours are open: wait for one"
                raise HttpProblem(429, "requests", "Too many requests at once", detail)
            connection.execute(insert(requests).values(**values))
        return self.find(values["id"])

    def find(self, name: str) -> AccessRequest:
        row = self.state.find(select(requests).where(requests.c.id == name))
        if row is None:
            raise HttpProblem(404, "no-request", "There is no such request", MISSING)
        return row

    def listed(
        self, *, owner: str | None = None, state: str | None = None, after: str | None = None, limit: int = 50
    ) -> list[AccessRequest]:
        """Wishes of one person or of all, the newest first, from behind the one called `after`."""
        query = newest(self.state, requests, true() if owner is None else requests.c.owner == owner, after).limit(limit)
        if state is not None:
            query = query.where(requests.c.state.in_(("open", "approving") if state == "open" else (state,)))
        return list(self.state.look(query))

    def withdraw(self, who: Identity, name: str) -> AccessRequest:
        """Take one's own wish back."""
        if self.find(name).owner != who.name:
            raise HttpProblem(404, "no-request", "There is no such request", MISSING)
        return self._decide(name, "withdrawn", who, "")

    def refuse(self, who: Identity, name: str, *, note: str) -> AccessRequest:
        """Say no."""
        _another(who, self.find(name))
        return self._decide(name, "refused", who, note)

    def approve(self, who: Identity, name: str, *, note: str, grant: Callable[[AccessRequest], None]) -> AccessRequest:
        """Say yes: `grant` changes the policy. If it fails the wish is open again; nobody decides meanwhile."""
        found = self.find(name)
        _another(who, found)
        stuck = found.state == "approving" and now() - (found.decided or 0) > STALE
        self._decide(name, "approving", who, note, before=("open", "approving") if stuck else ("open",))
        try:
            grant(found)
        except BaseException:
            self._move(name, ("approving",), state="open", decided=None, decider=None, note=None)
            raise
        self._move(name, ("approving",), state="approved", decided=now(), decider=who.name, note=note)
        return self.find(name)

    def _decide(
        self, name: str, state: str, who: Identity, note: str, *, before: tuple[str, ...] = ("open",)
    ) -> AccessRequest:
        if not self._move(name, before, state=state, decided=now(), decider=who.name, note=note):
            detail = "somebody has decided about this request: look again"
            raise HttpProblem(409, "decided", "It was decided already", detail)
        return self.find(name)

    def _move(self, name: str, before: tuple[str, ...], **values: Any) -> bool:
        """Change a wish that is in one of these states; whether it was."""
        mine = (requests.c.id == name) & requests.c.state.in_(before)
        return bool(self.state.change(update(requests).where(mine).values(**values)))


def _another(who: Identity, request: AccessRequest) -> None:
    if request.owner == who.name:
        detail = "ask another curator to decide about your request"
        raise HttpProblem(409, "yourself", "You cannot do this yourself", detail)
