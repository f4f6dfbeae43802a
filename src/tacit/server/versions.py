"""The form of the service's own databases: made new, brought up to date in one transaction, or refused if newer.

The version is a row in the database itself, so a copy of it carries the version along. A database that has our tables
and no such row is of version 1, the form before there were versions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, insert, inspect, select, text, update

from tacit.base import InputError

__all__ = ["Schema", "locked", "versions"]

versions = Table(
    "tacit_schema",
    MetaData(),
    Column("part", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)
LOCK = 0x7AC1_7000  # of PostgreSQL's advisory locks: while tables are made or changed


@dataclass(frozen=True)
class Schema:
    """The tables of one part of the service; in PostgreSQL several parts share a database.

    `steps[n]` turns version n + 1 into n + 2. Tables that are new are made before the steps are taken, so a step
    changes only what was there.
    """

    part: str
    metadata: MetaData
    known_by: str  # a table that every version has
    steps: Sequence[Callable[[Connection], None]] = ()

    @property
    def version(self) -> int:
        return 1 + len(self.steps)

    def prepare(self, connection: Connection) -> None:
        """Make the tables current, inside the caller's transaction: all of it is done, or nothing."""
        locked(connection, LOCK)
        before = self.known(connection)
        versions.create(connection, checkfirst=True)
        self.metadata.create_all(connection)
        for step in self.steps[before - 1 :] if before is not None else ():
            step(connection)
        if self._written(connection) != self.version:
            self._write(connection)

    def known(self, connection: Connection) -> int | None:
        """The version of the tables that are there, None if there are none; an `InputError` if it is a later one."""
        found = self._written(connection)
        if found is None:
            return 1 if inspect(connection).has_table(self.known_by) else None
        if found > self.version:
            raise InputError(
                f"the service's database was written by a newer release of tacit ({self.part}, version {found}; this "
                f"release knows version {self.version}): install that release"
            )
        return found

    def _written(self, connection: Connection) -> int | None:
        if not inspect(connection).has_table(versions.name):
            return None
        query = select(versions.c.version).where(versions.c.part == self.part)
        return connection.execute(query).scalar_one_or_none()

    def _write(self, connection: Connection) -> None:
        mine = update(versions).where(versions.c.part == self.part).values(version=self.version)
        if not connection.execute(mine).rowcount:
            connection.execute(insert(versions).values(part=self.part, version=self.version))


def locked(connection: Connection, *names: int) -> None:
    """Let one transaction after another through. In SQLite whoever writes is alone already."""
    if connection.dialect.name == "postgresql":
        for name in names:
            connection.execute(text("SELECT pg_advisory_xact_lock(:name)"), {"name": name})
