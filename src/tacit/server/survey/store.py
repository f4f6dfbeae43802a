"""Where reports are kept: in heaps, without sender, time or order, and beside them the tallies they add up to.

A submission leaves two traces that no column connects: its random name, so that it is counted once, and its report on
each question in a heap with those that came in the same moment, in the order of their bytes. Heaps lie in the order of
names drawn here. SQLite writes with `synchronous = FULL`, PostgreSQL as it does: what was committed stays.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    Table,
    Text,
    create_engine,
    event,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError

from tacit.base import InputError
from tacit.noise import rng_or_default
from tacit.server.db import StateSchema, Unavailable, private_database
from tacit.server.survey import invited as collect_invited
from tacit.server.survey.invited import Refusal, metadata
from tacit.survey.invitation import Invitations
from tacit.survey.protocol import Tally
from tacit.survey.survey import Survey

__all__ = ["SCHEMA", "CountedReports", "Delivery", "ReportStore", "metadata"]

surveys = Table(
    "tacit_surveys",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Text, nullable=False),
)
received = Table(
    "tacit_received",
    metadata,
    Column("survey", Text, primary_key=True),
    Column("id", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,  # a row's number would be its place in time
)
reports = Table(
    "tacit_reports",
    metadata,
    Column("survey", Text, primary_key=True),
    Column("question", Text, primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("heap", LargeBinary, nullable=False),  # reports one after the other, in the order of their bytes
    sqlite_with_rowid=False,
)
tallies = Table(
    "tacit_tallies",
    metadata,
    Column("survey", Text, primary_key=True),
    Column("question", Text, primary_key=True),
    Column("counts", LargeBinary, nullable=False),  # of the reports that results may show
    Column("reports", BigInteger, nullable=False),
    Column("held", LargeBinary, nullable=False),  # of those that wait for a batch
    Column("waiting", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
INVITATIONS = (lambda connection: None,)  # new tables only, with version 2
SCHEMA = StateSchema("surveys", metadata, "tacit_surveys", INVITATIONS)
KEY = 16
AT_ONCE = 500  # names that are looked up in one query


class Delivery(NamedTuple):
    """What one device sent: its random name, the bytes of its report on each question, and what admits it, digested."""

    id: bytes
    reports: Mapping[str, bytes]
    invitation: bytes | None = None


@dataclass(frozen=True)
class CountedReports:
    """The tallies that results may show, and how many reports wait for a batch to be full."""

    tallies: Mapping[str, Tally]
    waiting: int


class ReportStore:
    """One database. Threads and workers may add at once: each addition is a transaction that locks its survey."""

    def __init__(self, where: str | Path) -> None:
        on_server = isinstance(where, str) and where.startswith(("postgresql://", "postgresql+psycopg://"))
        try:
            url = make_url(str(where)).set(drivername="postgresql+psycopg") if on_server else f"sqlite:///{where}"
            self.engine = create_engine(url, pool_pre_ping=on_server)
        except (ArgumentError, ValueError):
            raise InputError("database is no address: write postgresql://user@host/name") from None
        self._insert = postgresql.insert if on_server else sqlite.insert
        self._place = "%s" if on_server else "?"
        if not on_server:
            event.listen(self.engine, "connect", _settings)
            event.listen(self.engine, "begin", _at_once)
            private_database(Path(where))
        try:
            with self._writing() as connection:
                SCHEMA.prepare(connection)
        except BaseException:
            self.close()
            raise

    def enter(self, survey: Survey) -> None:
        """Make room for a survey. One of this name whose reports mean something else is an `InputError`."""
        with self._writing() as connection:
            connection.execute(
                self._insert(surveys).on_conflict_do_nothing(), {"name": survey.name, "version": survey.version}
            )
            self._locked(connection, survey)
            for name in survey.questions:
                none = _bytes(_empty(survey, name))
                row = {"survey": survey.name, "question": name, "counts": none, "reports": 0, "held": none}
                connection.execute(self._insert(tallies).on_conflict_do_nothing(), {**row, "waiting": 0})

    def entered(self, name: str) -> str | None:
        """The version of the survey that has this name for ever; None if none has."""
        with self._reading() as connection:
            found = connection.execute(select(surveys.c.version).where(surveys.c.name == name)).scalar_one_or_none()
        return None if found is None else str(found)

    def add(self, survey: Survey, deliveries: Sequence[Delivery]) -> list[bool | Refusal]:
        """Keep what was sent, in one transaction that is on disk when this returns; for each, whether it was new.

        Where a survey is by invitation, one that was not sent before may be refused.
        """
        first = {each.id: place for place, each in reversed(list(enumerate(deliveries)))}
        refused: dict[bytes, Refusal] = {}
        with self._writing() as connection:
            self._locked(connection, survey)  # so nobody else adds before this is done
            names = sorted(first)
            if survey.invitations is not Invitations.NONE:
                names = self._new(connection, survey, names)
                wanted = {name: deliveries[first[name]].invitation or b"" for name in names}
                refused = collect_invited.admitted(connection, survey.name, survey.invitations, wanted)
                names = [name for name in names if name not in refused]
            new = self._named(connection, survey, names) if names else []
            if new:
                self._keep(connection, survey, [deliveries[first[each]].reports for each in new])
        added = set(new)
        return [
            refused.get(each.id, each.id in added and first[each.id] == place) for place, each in enumerate(deliveries)
        ]

    def invite(self, survey: Survey, digests: Sequence[bytes]) -> None:
        """Let whoever has a code of one of these digests answer, once."""
        with self._writing() as connection:
            self._locked(connection, survey)
            collect_invited.invite(connection, survey.name, digests)

    def invited(self, survey: Survey) -> tuple[int, int]:
        """How many codes there are, and how many of them were used."""
        with self._reading() as connection:
            return collect_invited.invited(connection, survey.name)

    def exchange(self, survey: Survey, code: bytes, hidden: bytes) -> Refusal | None:
        """Use up a code for a signature on what has the digest `hidden`; None if it may be signed."""
        with self._writing() as connection:
            self._locked(connection, survey)
            return collect_invited.exchanged(connection, survey.name, code, hidden)

    def token_key(self, survey: Survey, fresh: Callable[[], bytes]) -> bytes:
        """The key that signs this survey's tokens, which `fresh` makes the first time."""
        with self._writing() as connection:
            self._locked(connection, survey)
            return collect_invited.stored_key(connection, survey.name, fresh)

    def _named(self, connection: Connection, survey: Survey, ids: Sequence[bytes]) -> Sequence[bytes]:
        """Write down the names that are new. Nearly always all of them are, so that is tried first."""
        try:
            with connection.begin_nested():
                self._many(connection, received, [(survey.name, each) for each in ids])
        except IntegrityError:
            ids = self._new(connection, survey, ids)
            if ids:
                self._many(connection, received, [(survey.name, each) for each in ids])
        return ids

    def _new(self, connection: Connection, survey: Survey, ids: Sequence[bytes]) -> list[bytes]:
        """Those that were not written down before."""
        known: set[bytes] = set()
        for start in range(0, len(ids), AT_ONCE):
            part = received.c.id.in_(ids[start : start + AT_ONCE])
            query = select(received.c.id).where(received.c.survey == survey.name, part)
            known |= {bytes(row[0]) for row in connection.execute(query)}
        return [each for each in ids if each not in known]

    def _many(self, connection: Connection, table: Table, rows: list[tuple[Any, ...]]) -> None:
        """Insert rows in the driver's own way: SQLAlchemy takes as long for a row as the database does."""
        places = ", ".join([self._place] * len(table.columns))
        connection.exec_driver_sql(f"INSERT INTO {table.name} VALUES ({places})", rows)

    def _keep(self, connection: Connection, survey: Survey, sent: Sequence[Mapping[str, bytes]]) -> None:
        rng = rng_or_default(None)
        heaps = {name: b"".join(sorted(one[name] for one in sent)) for name in survey.questions}
        rows = [(survey.name, name, bytes(rng.read(KEY)), heap) for name, heap in heaps.items()]
        self._many(connection, reports, rows)
        before = connection.execute(select(tallies).where(tallies.c.survey == survey.name)).all()
        after = [(*self._counted(survey, row, heaps[row.question]), survey.name, row.question) for row in before]
        values = ", ".join(f"{name} = {self._place}" for name in ("counts", "reports", "held", "waiting"))
        here = f"survey = {self._place} AND question = {self._place}"
        connection.exec_driver_sql(f"UPDATE tacit_tallies SET {values} WHERE {here}", after)

    def _counted(self, survey: Survey, row: Any, heap: bytes) -> tuple[bytes, int, bytes, int]:
        protocol, like = survey.protocols[row.question], _empty(survey, row.question)
        held = _tally(like, row.held, row.waiting) + protocol.tally(protocol.read(heap))
        shown = _tally(like, row.counts, row.reports)
        if held.reports >= survey.minimum:
            shown, held = shown + held, like
        return _bytes(shown), shown.reports, _bytes(held), held.reports

    def counted(self, survey: Survey) -> CountedReports:
        """What results may show now."""
        with self._reading() as connection:
            found = connection.execute(select(tallies).where(tallies.c.survey == survey.name)).all()
        rows = {row.question: row for row in found}
        shown = {name: _tally(_empty(survey, name), rows[name].counts, rows[name].reports) for name in survey.questions}
        return CountedReports(shown, max(row.waiting for row in found))

    def reports(self, survey: Survey, question: str) -> Iterator[bytes]:
        """The reports on one question, in the order of their bytes."""
        query = select(reports.c.heap).where(reports.c.survey == survey.name, reports.c.question == question)
        size = survey.sizes[question]
        with self._reading() as connection:
            every = b"".join(bytes(row[0]) for row in connection.execute(query))
        yield from sorted(every[at : at + size] for at in range(0, len(every), size))

    def size(self, survey: Survey) -> int:
        """How many submissions were taken, shown or waiting."""
        query = select(func.count()).select_from(received).where(received.c.survey == survey.name)
        with self._reading() as connection:
            return int(connection.execute(query).scalar_one())

    def close(self) -> None:
        self.engine.dispose()

    def _locked(self, connection: Connection, survey: Survey) -> None:
        query = select(surveys.c.version).where(surveys.c.name == survey.name).with_for_update()
        version = connection.execute(query).scalar_one_or_none()
        if version != survey.version:
            raise InputError(
                f'the survey "{survey.name}" was opened with other questions, options or epsilon, and reports on those '
                "do not mix with these: give the changed survey another name"
            )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _failing_plainly(), self.engine.connect().execution_options(looks=True) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _failing_plainly(), self.engine.begin() as connection:
            yield connection


def _empty(survey: Survey, question: str) -> Tally:
    protocol = survey.protocols[question]
    return protocol.tally(np.empty(0, dtype=protocol.dtype))


def _bytes(tally: Tally) -> bytes:
    return np.ascontiguousarray(tally.counts, dtype="<i8").tobytes()


def _tally(like: Tally, counts: bytes, count: int) -> Tally:
    return Tally(np.frombuffer(counts, dtype="<i8").reshape(like.counts.shape).astype(np.int64), count)


@contextmanager
def _failing_plainly() -> Iterator[None]:
    """Errors of the database, which can hold values and addresses, become one sentence."""
    try:
        yield
    except DBAPIError:
        raise Unavailable("the store of reports cannot be used now: send the same again later") from None


def _settings(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, and by nobody else
    for setting in ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 20000"):
        connection.execute(f"PRAGMA {setting}")


def _at_once(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("looks") else "BEGIN IMMEDIATE")
