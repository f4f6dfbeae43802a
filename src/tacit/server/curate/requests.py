"""Wishes of analysts: to be let into a dataset, or to be given more of its budget. A curator says yes or no.

Whoever asks learns nothing by asking: a wish for a dataset that is not theirs and one for a dataset that does not exist
are taken alike, and look alike until somebody decides. Wishes and decisions are kept.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Row, Table, Text, func, insert, select, update

from tacit.server.auth.people import Identity
from tacit.server.auth.tokens import short_name
from tacit.server.db import Number, State, locked, metadata, now
from tacit.server.problem import HttpProblem

__all__ = ["AccessRequest", "Requests", "requests"]

MOST = 20  # open wishes of one person
LOCK = 0x7AC1_7002  # while wishes are counted
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


@dataclass(frozen=True, kw_only=True)
class AccessRequest:
    """One wish and what became of it."""

    id: str
    owner: str
    dataset: str
    amount: str
    reason: str
    created: int
    state: str
    decided: int | None
    decider: str | None
    note: str | None

    def json(self) -> dict[str, Any]:
        return asdict(self)


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
                raise HttpProblem(
                    429, "requests", "Too many requests at once", f"{MOST} of yours are open: wait for one"
                )
            connection.execute(insert(requests).values(**values))
        return self.find(values["id"])

    def find(self, name: str) -> AccessRequest:
        with self.state.reading() as connection:
            row = connection.execute(select(requests).where(requests.c.id == name)).one_or_none()
        if row is None:
            raise missing()
        return _request(row)

    def listed(
        self, *, owner: str | None = None, state: str | None = None, after: str | None = None, limit: int = 50
    ) -> list[AccessRequest]:
        """Wishes of one person or of all, the newest first, from behind the one called `after`."""
        query = select(requests).order_by(requests.c.number.desc()).limit(limit)
        if owner is not None:
            query = query.where(requests.c.owner == owner)
        if state is not None:
            states = ("open", "approving") if state == "open" else (state,)
            query = query.where(requests.c.state.in_(states))
        with self.state.reading() as connection:
            if after is not None:
                place = select(requests.c.number).where(requests.c.id == after)
                place = place if owner is None else place.where(requests.c.owner == owner)
                below = connection.execute(place).scalar_one_or_none()
                if below is None:
                    raise HttpProblem(
                        422, "cursor", "There is no such page", "use the `next` of an earlier page as `cursor`"
                    )
                query = query.where(requests.c.number < below)
            return [_request(row) for row in connection.execute(query)]

    def withdraw(self, who: Identity, name: str) -> AccessRequest:
        """Take one's own wish back."""
        found = self.find(name)
        if found.owner != who.name:
            raise missing()
        if not self._move(name, ("open",), "withdrawn", who, ""):
            raise decided()
        return self.find(name)

    def refuse(self, who: Identity, name: str, *, note: str) -> AccessRequest:
        """Say no."""
        _another(who, self.find(name))
        if not self._move(name, ("open",), "refused", who, note):
            raise decided()
        return self.find(name)

    def approve(self, who: Identity, name: str, *, note: str, grant: Callable[[AccessRequest], None]) -> AccessRequest:
        """Say yes: `grant` changes the policy. If it fails the wish is open again; nobody decides meanwhile."""
        found = self.find(name)
        _another(who, found)
        stuck = found.state == "approving" and now() - (found.decided or 0) > STALE
        if not self._move(name, ("open", "approving") if stuck else ("open",), "approving", who, note):
            raise decided()
        try:
            grant(found)
        except BaseException:
            self._move(name, ("approving",), "open", None, None)
            raise
        self._move(name, ("approving",), "approved", who, note)
        return self.find(name)

    def _move(self, name: str, before: tuple[str, ...], state: str, who: Identity | None, note: str | None) -> bool:
        values: dict[str, Any] = {"state": state, "note": note, "decider": None if who is None else who.name}
        values["decided"] = None if who is None else now()
        with self.state.writing() as connection:
            mine = (requests.c.id == name) & requests.c.state.in_(before)
            return bool(connection.execute(update(requests).where(mine).values(**values)).rowcount)


def _another(who: Identity, request: AccessRequest) -> None:
    if request.owner == who.name:
        raise HttpProblem(
            409, "yourself", "You cannot do this yourself", "ask another curator to decide about your request"
        )


def missing() -> HttpProblem:
    return HttpProblem(
        404, "no-request", "There is no such request", "there is no request with this id that you may see"
    )


def decided() -> HttpProblem:
    return HttpProblem(409, "decided", "It was decided already", "somebody has decided about this request: look again")


def _request(row: "Row[Any]") -> AccessRequest:
    fields = ("id", "owner", "dataset", "amount", "reason", "created", "state", "decided", "decider", "note")
    return AccessRequest(**{field: getattr(row, field) for field in fields})
