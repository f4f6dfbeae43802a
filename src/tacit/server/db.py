"""What the service keeps beside the ledgers: who there is, what was released to whom, and what is still running.

SQLite in the state folder, or PostgreSQL where several machines serve. No budget is in here: losing it all costs
nobody any privacy, only their tokens and their lists of answers.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import time_ns
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as NoneFree

from tacit.base import InputError, TacitError
from tacit.base.private_file import open_private

__all__ = ["SCHEMA", "State", "StateSchema", "Unavailable", "locked", "metadata", "now", "versions"]
__all__ += ["browsers", "jobs", "keys", "links", "people", "releases", "subjects", "tokens"]

versions = sa.Table(
    "tacit_schema",
    sa.MetaData(),
    sa.Column("part", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
)
LOCK = 0x7AC1_7000  # of PostgreSQL's advisory locks: while tables are made or changed


@dataclass(frozen=True)
class StateSchema:
    """The tables of one part of the service; in PostgreSQL several parts share a database.

    `steps[n]` turns version n + 1 into n + 2. Tables that are new are made before the steps are taken, so a step
    changes only what was there.
    """

    part: str
    metadata: sa.MetaData
    known_by: str  # a table that every version has
    steps: Sequence[Callable[[sa.Connection], None]] = ()

    @property
    def version(self) -> int:
        return 1 + len(self.steps)

    def prepare(self, connection: sa.Connection) -> None:
        """Make the tables current, inside the caller's transaction: all of it is done, or nothing."""
        locked(connection, LOCK)
        before = self.known(connection)
        versions.create(connection, checkfirst=True)
        self.metadata.create_all(connection)
        for step in self.steps[before - 1 :] if before is not None else ():
            step(connection)
        if before != self.version:
            connection.execute(sa.delete(versions).where(versions.c.part == self.part))
            connection.execute(sa.insert(versions).values(part=self.part, version=self.version))

    def known(self, connection: sa.Connection) -> int | None:
        """The version of the tables that are there, None if there are none; an `InputError` if it is a later one."""
        there, found = sa.inspect(connection), None
        if there.has_table(versions.name):
            query = sa.select(versions.c.version).where(versions.c.part == self.part)
            found = connection.execute(query).scalar_one_or_none()
        if found is None:
            return 1 if there.has_table(self.known_by) else None
        if found > self.version:
            raise InputError(
                f"the service's database was written by a newer release of tacit ({self.part}, version {found}; this "
                f"release knows version {self.version}): install that release"
            )
        return int(found)


def locked(connection: sa.Connection, *names: int) -> None:
    """Let one transaction after another through. In SQLite whoever writes is alone already."""
    if connection.dialect.name == "postgresql":
        for name in names:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:name)"), {"name": name})


metadata = sa.MetaData()
Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # SQLite counts up only what it calls INTEGER

people = sa.Table(
    "tacit_people",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("barred", sa.BigInteger),  # since when; a person is never deleted, since the ledger knows the name
    sa.Column("salt", sa.LargeBinary, nullable=False),  # of SCRAM, one for all of a person's tokens
)
tokens = sa.Table(
    "tacit_tokens",
    metadata,
    sa.Column("prefix", sa.Text, primary_key=True),
    sa.Column("person", sa.ForeignKey("tacit_people.name"), nullable=False, index=True),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Column("revoked", sa.BigInteger),
    sa.Column("iterations", sa.Integer, nullable=False),
    sa.Column("stored_key", sa.LargeBinary, nullable=False),
    sa.Column("server_key", sa.LargeBinary, nullable=False),
)
links = sa.Table(
    "tacit_links",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("person", sa.ForeignKey("tacit_people.name"), nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
    sa.Column("used", sa.BigInteger),
)
browsers = sa.Table(
    "tacit_browsers",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("person", sa.ForeignKey("tacit_people.name"), nullable=False, index=True),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.BigInteger, nullable=False),
)
subjects = sa.Table(
    "tacit_subjects",
    metadata,
    sa.Column("issuer", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),  # the provider's own name for somebody, which it never reuses
    sa.Column("person", sa.ForeignKey("tacit_people.name"), nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("issuer", "person"),
)
releases = sa.Table(
    "tacit_releases",
    metadata,
    sa.Column("number", Number, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("entry", sa.BigInteger, nullable=False),  # of the charge, in the chain of the dataset's people
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("sql", sa.Text, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("shared", sa.Boolean, nullable=False),
    sa.Column("tables", sa.Text, nullable=False),  # JSON: what a reader must be allowed to ask, once it is shared
    sa.Index("tacit_releases_owner", "owner", "number"),
)
jobs = sa.Table(
    "tacit_jobs",
    metadata,
    sa.Column("number", Number, primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("process", sa.Text, nullable=False),
    sa.Column("created", sa.BigInteger, nullable=False),
    sa.Column("release", sa.Text),
    sa.Column("problem", sa.Text),
    sa.Column("key", sa.Text),  # names the charge: asked again under it, the question is not paid for twice
    sa.Column("seen", sa.BigInteger),  # the last sign of life of the worker that has it
    sa.Column("share", sa.Float),  # how far it was then, where that is told
    sa.Column("words", sa.Text),  # and in words
    sa.Column("title", sa.Text),  # what it makes, where it is no question
)
keys = sa.Table(
    "tacit_keys",
    metadata,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("dataset", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("question", sa.LargeBinary, nullable=False),  # a hash of what the key was first used for
)


def _more(connection: sa.Connection, *columns: str) -> None:
    for column in columns:
        connection.execute(sa.text(f"ALTER TABLE tacit_jobs ADD COLUMN {column}"))


def _stoppable(connection: sa.Connection) -> None:
    if not any(column["name"] == "key" for column in sa.inspect(connection).get_columns("tacit_running")):
        connection.execute(sa.text("ALTER TABLE tacit_running ADD COLUMN key TEXT"))


STEPS = (
    lambda connection: _more(connection, "key TEXT", "seen BIGINT"),
    lambda connection: _more(connection, "share FLOAT"),
    lambda connection: _more(connection, "words TEXT", "title TEXT"),
    _stoppable,
)
SCHEMA = StateSchema("service", metadata, "tacit_people", steps=STEPS)


class Unavailable(TacitError):  # noqa: N818 - says what is the case, as Denied does
    """The service cannot do this now; nothing was charged for it."""


ELSEWHERE = "the database of the service cannot be opened: check that its server runs, and the address in `database`"
DAMAGED = (
    'the service\'s database "{}" cannot be opened: it is damaged, another program holds it, or it is not ours: '
    "restore it from a backup, or choose another folder with --state"
)


def now() -> int:
    """µs since 1970."""
    return time_ns() // 1000


class State:
    """One database, shared by all threads and workers. In SQLite, `synchronous` FULL has a commit wait for the disk."""

    def __init__(self, where: str | Path, schema: StateSchema = SCHEMA, *, synchronous: str = "NORMAL") -> None:
        on_server = isinstance(where, str) and where.startswith(("postgresql://", "postgresql+psycopg://"))
        try:
            url = make_url(str(where)).set(drivername="postgresql+psycopg") if on_server else f"sqlite:///{where}"
            away = {"connect_timeout": 10} if on_server else {}  # of each server that the address names
            pool = {"pool_pre_ping": on_server, "pool_size": 20, "max_overflow": 40}
            self.engine = sa.create_engine(url, connect_args=away, **pool)
        except (ArgumentError, ValueError):
            raise InputError("database is no address: write postgresql://user@host/name") from None
        self.on_server = on_server  # PostgreSQL, which several machines share
        self.insert = postgresql.insert if on_server else sqlite.insert  # which can do without what is there
        self._writer = self.engine.execution_options(writing=True)
        if not on_server:
            sa.event.listen(self.engine, "connect", partial(_settings, synchronous))
            sa.event.listen(self.engine, "begin", _begin)
            try:  # for its owner alone, before SQLite makes it; the files beside it take its rights
                os.close(open_private(Path(where), os.O_RDWR))
            except OSError as error:
                raise InputError(f'the service\'s database "{where}" cannot be opened: {error.strerror}') from None
        try:
            with self.writing() as connection:
                schema.prepare(connection)
        except Unavailable:
            self.close()
            raise Unavailable(ELSEWHERE if on_server else DAMAGED.format(where)) from None
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection to look something up with."""
        with _failing_plainly(), self.engine.connect() as connection:
            yield connection

    def look(self, query: sa.Select[Any], **values: Any) -> Sequence[sa.Row[Any]]:
        """The rows of a query, as they are now."""
        with self.reading() as connection:
            return connection.execute(query, values).all()

    def find(self, query: sa.Select[Any], **values: Any) -> sa.Row[Any] | None:
        """The row of a query that has one at most."""
        with self.reading() as connection:
            return connection.execute(query, values).one_or_none()

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction, committed when the block ends and undone if it raises. In SQLite it is the only one that
        writes, from its beginning: what it reads is still so when it writes."""
        with _failing_plainly(), self._writer.begin() as connection:
            yield connection

    def change(self, order: sa.Insert | sa.Update | sa.Delete) -> int:
        """A transaction of one statement; how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(order).rowcount

    def insert_once(self, table: sa.Table, **values: Any) -> bool:
        """Add a row unless one of its name is there; whether it was added."""
        order = self.insert(table).values(**values).on_conflict_do_nothing().returning(sa.literal(1))
        with self.writing() as connection:
            return connection.execute(order).first() is not None

    def ready(self) -> bool:
        """Whether the database answers."""
        try:
            return self.find(sa.select(1)) is not None
        except Unavailable:
            return False

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def _failing_plainly() -> Iterator[None]:
    """Errors of the database, which can hold values and addresses, become one sentence."""
    try:
        yield
    except (DBAPIError, NoneFree):  # or every connection is in use for long
        raise Unavailable("the service's own database cannot be used now: try again later") from None


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writing") else "BEGIN")


def _settings(synchronous: str, connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, and hold changes of tables too
    for setting in ("journal_mode = WAL", f"synchronous = {synchronous}", "foreign_keys = ON", "busy_timeout = 20000"):
        connection.execute(f"PRAGMA {setting}")
