"""What the service keeps beside the ledgers: who there is, what was released to whom, and what is still running.

SQLite in the state folder, or PostgreSQL where several machines serve. No budget is in here: losing it all costs
nobody any privacy, only their tokens and their lists of answers.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from tacit.base import InputError, TacitError
from tacit.base.private_file import open_private

__all__ = [
    "SCHEMA",
    "State",
    "StateSchema",
    "Unavailable",
    "browsers",
    "jobs",
    "keys",
    "links",
    "locked",
    "metadata",
    "now",
    "people",
    "private_database",
    "releases",
    "subjects",
    "tokens",
    "versions",
]

versions = Table(
    "tacit_schema",
    MetaData(),
    Column("part", Text, primary_key=True),
    Column("version", Integer, nullable=False),
)
LOCK = 0x7AC1_7000  # of PostgreSQL's advisory locks: while tables are made or changed


@dataclass(frozen=True)
class StateSchema:
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


metadata = MetaData()
Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only what it calls INTEGER

people = Table(
    "tacit_people",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("barred", BigInteger),  # since when; a person is never deleted, since the ledger knows the name
    Column("salt", LargeBinary, nullable=False),  # of SCRAM, one for all of a person's tokens
)
tokens = Table(
    "tacit_tokens",
    metadata,
    Column("prefix", Text, primary_key=True),
    Column("person", ForeignKey("tacit_people.name"), nullable=False, index=True),
    Column("digest", LargeBinary, nullable=False),
    Column("label", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("revoked", BigInteger),
    Column("iterations", Integer, nullable=False),
    Column("stored_key", LargeBinary, nullable=False),
    Column("server_key", LargeBinary, nullable=False),
)
links = Table(
    "tacit_links",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("person", ForeignKey("tacit_people.name"), nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("used", BigInteger),
)
browsers = Table(
    "tacit_browsers",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("person", ForeignKey("tacit_people.name"), nullable=False, index=True),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)
subjects = Table(
    "tacit_subjects",
    metadata,
    Column("issuer", Text, primary_key=True),
    Column("subject", Text, primary_key=True),  # the identity provider's own name for somebody, which it never reuses
    Column("person", ForeignKey("tacit_people.name"), nullable=False),
    Column("created", BigInteger, nullable=False),
    UniqueConstraint("issuer", "person"),
)
releases = Table(
    "tacit_releases",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("owner", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("entry", BigInteger, nullable=False),  # of the charge, in the chain of the dataset's people
    Column("time", BigInteger, nullable=False),
    Column("sql", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("shared", Boolean, nullable=False),
    Column("tables", Text, nullable=False),  # JSON: what a reader must be allowed to ask, once it is shared
    Index("tacit_releases_owner", "owner", "number"),
)
jobs = Table(
    "tacit_jobs",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("owner", Text, nullable=False, index=True),
    Column("dataset", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("process", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("release", Text),
    Column("problem", Text),
    Column("key", Text),  # names the charge: asked again under it, the question is not paid for twice
    Column("seen", BigInteger),  # the last sign of life of the worker that has it
    Column("share", Float),  # how far it was then, where that is told
)
keys = Table(
    "tacit_keys",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("dataset", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("question", LargeBinary, nullable=False),  # a hash of what the key was first used for
)


def _jobs_have_keys(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE tacit_jobs ADD COLUMN key TEXT"))
    connection.execute(text("ALTER TABLE tacit_jobs ADD COLUMN seen BIGINT"))


def _jobs_have_progress(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE tacit_jobs ADD COLUMN share FLOAT"))


SCHEMA = StateSchema("service", metadata, "tacit_people", steps=(_jobs_have_keys, _jobs_have_progress))


class Unavailable(TacitError):  # noqa: N818 - says what is the case, as Denied does
    """The service cannot do this now; nothing was charged for it."""


def now() -> int:
    """µs since 1970."""
    return time_ns() // 1000


class State:
    """One database, shared by all threads and workers."""

    def __init__(self, where: str | Path) -> None:
        on_server = isinstance(where, str) and where.startswith(("postgresql://", "postgresql+psycopg://"))
        try:
            url = make_url(str(where)).set(drivername="postgresql+psycopg") if on_server else f"sqlite:///{where}"
            self.engine = create_engine(url, pool_pre_ping=on_server, pool_size=20, max_overflow=40)
        except (ArgumentError, ValueError):
            raise InputError("database is no address: write postgresql://user@host/name") from None
        self.on_server = on_server  # PostgreSQL, which several machines share
        self._writer = self.engine.execution_options(writing=True)
        if not on_server:
            event.listen(self.engine, "connect", _settings)
            event.listen(self.engine, "begin", _begin)
            private_database(Path(where))
        try:
            with self.writing() as connection:
                SCHEMA.prepare(connection)
        except Unavailable:
            self.close()
            raise _not_opened(where, on_server=on_server) from None
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to look something up with."""
        with _failing_plainly(), self.engine.connect() as connection:
            yield connection

    def look(self, query: Select[Any], **values: Any) -> Sequence[Sequence[Any]]:
        """The rows of a query, as they are now."""
        with self.reading() as connection:
            return connection.execute(query, values).all()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed when the block ends and undone if it raises. In SQLite it is the only one that
        writes, from its beginning: what it reads is still so when it writes."""
        with _failing_plainly(), self._writer.begin() as connection:
            yield connection

    def insert_once(self, table: Table, **values: Any) -> bool:
        """Add a row unless one of its name is there; whether it was added."""
        with _failing_plainly():
            try:
                with self._writer.begin() as connection:
                    connection.execute(insert(table).values(**values))
            except IntegrityError:
                return False
        return True

    def ready(self) -> bool:
        """Whether the database answers."""
        try:
            with self.reading() as connection:
                return bool(connection.execute(select(1)).scalar_one() == 1)
        except Unavailable:
            return False

    def close(self) -> None:
        self.engine.dispose()


@contextmanager
def _failing_plainly() -> Iterator[None]:
    """Errors of the database, which can hold values and addresses, become one sentence."""
    try:
        yield
    except DBAPIError:
        raise _unusable() from None


def _not_opened(where: str | Path, *, on_server: bool) -> Unavailable:
    if on_server:
        return Unavailable(
            "the database of the service cannot be opened: check that its server runs, and the address in `database`"
        )
    return Unavailable(
        f'the service\'s database "{where}" cannot be opened: it is damaged, another program holds it, or it is not '
        "ours: restore it from a backup, or choose another folder with --state"
    )


def _unusable() -> Unavailable:
    return Unavailable("the service's own database cannot be used now: try again later")


def private_database(path: Path) -> None:
    """Make the file, for its owner alone, before SQLite does; the files beside it take its rights."""
    try:
        os.close(open_private(path, os.O_RDWR))
    except OSError as error:
        raise InputError(f'the service\'s database "{path}" cannot be opened: {error.strerror}') from None


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writing") else "BEGIN")


def _settings(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, and hold changes of tables too
    for setting in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "busy_timeout = 10000"):
        connection.execute(f"PRAGMA {setting}")
