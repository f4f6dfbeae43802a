"""What curators did through the service: who, when, to which dataset, in words. Nothing is ever taken out of it.

Limits themselves are in the ledger, with the hash of the policy they come from; here is who wanted them.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Table, Text, insert, select

from tacit.server.people import Identity
from tacit.server.state import Number, State, metadata, now

__all__ = ["Journal", "changes"]

changes = Table(
    "tacit_changes",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("time", BigInteger, nullable=False),
    Column("who", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("what", Text, nullable=False),
    Index("tacit_changes_dataset", "dataset", "number"),
)


class Journal:
    """The list of changes."""

    def __init__(self, state: State) -> None:
        self.state = state

    def write(self, who: Identity, dataset: str, what: str) -> None:
        """One more line."""
        with self.state.writing() as connection:
            connection.execute(insert(changes).values(time=now(), who=who.name, dataset=dataset, what=what))

    def page(self, dataset: str, *, before: int | None, limit: int) -> list[dict[str, Any]]:
        """Lines about a dataset, the newest first, older than number `before`."""
        query = select(changes).where(changes.c.dataset == dataset).order_by(changes.c.number.desc()).limit(limit)
        query = query if before is None else query.where(changes.c.number < before)
        with self.state.reading() as connection:
            rows = connection.execute(query).all()
        return [{"number": row.number, "time": row.time, "who": row.who, "what": row.what} for row in rows]
