"""Where reports are kept: in heaps, without sender, time or order, and beside them the tallies they add up to.

A submission leaves two traces that no column connects: its random name, so that it is counted once, and its report on
each question in a heap with those that came in the same moment, in the order of their bytes. Heaps lie in the order of
names drawn here. SQLite writes with `synchronous = FULL`, PostgreSQL as it does: what was committed stays.

Of a survey by invitation there are digests of its codes, and of the tokens that were used. Neither table has a time, an
order, or anything of a report. A code or token is used up in the transaction that keeps the report, so a retry of the
same submission, which its random name shows, is counted once and refused never.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from tacit.base import InputError
from tacit.noise import rng_or_default
from tacit.server.db import State, StateSchema
from tacit.survey.invitation import Invitations
from tacit.survey.protocol import Tally
from tacit.survey.survey import Survey

__all__ = ["SCHEMA", "CountedReports", "Delivery", "Refusal", "ReportStore", "metadata"]

metadata = sa.MetaData()
surveys = sa.Table(
    "tacit_surveys",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, nullable=False),
)
received = sa.Table(
    "tacit_received",
    metadata,
    sa.Column("survey", sa.Text, primary_key=True),
    sa.Column("id", sa.LargeBinary, primary_key=True),
    sqlite_with_rowid=False,  # a row's number would be its place in time
)
reports = sa.Table(
    "tacit_reports",
    metadata,
    sa.Column("survey", sa.Text, primary_key=True),
    sa.Column("question", sa.Text, primary_key=True),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    sa.Column("heap", sa.LargeBinary, nullable=False),  # reports one after the other, in the order of their bytes
    sqlite_with_rowid=False,
)
tallies = sa.Table(
    "tacit_tallies",
    metadata,
    sa.Column("survey", sa.Text, primary_key=True),
    sa.Column("question", sa.Text, primary_key=True),
    sa.Column("counts", sa.LargeBinary, nullable=False),  # of the reports that results may show
    sa.Column("reports", sa.BigInteger, nullable=False),
    sa.Column("held", sa.LargeBinary, nullable=False),  # of those that wait for a batch
    sa.Column("waiting", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
codes = sa.Table(
    "tacit_survey_codes",
    metadata,
    sa.Column("survey", sa.Text, primary_key=True),
    sa.Column("code", sa.LargeBinary, primary_key=True),
    sa.Column("used", sa.LargeBinary, nullable=False),  # UNUSED, or USED, or the digest of what it was exchanged for
    sqlite_with_rowid=False,
)
tokens = sa.Table(
    "tacit_survey_tokens",
    metadata,
    sa.Column("survey", sa.Text, primary_key=True),
    sa.Column("token", sa.LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)
keys = sa.Table(
    "tacit_survey_keys",
    metadata,
    sa.Column("survey", sa.Text, primary_key=True),
    sa.Column("key", sa.LargeBinary, nullable=False),
)
INVITATIONS = (lambda connection: None,)  # new tables only, with version 2
SCHEMA = StateSchema("surveys", metadata, "tacit_surveys", INVITATIONS)
KEY = 16
AT_ONCE = 500  # names or digests that are looked up in one query
UNUSED, USED = b"", b"\x01"


class Refusal(Enum):
    """Why an invitation does not admit a report."""

    UNKNOWN = "unknown"
    USED = "used"


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


class ReportStore(State):
    """One database. Threads and workers may add at once: each addition is a transaction that locks its survey."""

    def __init__(self, where: str | Path) -> None:
        super().__init__(where, SCHEMA, synchronous="FULL")
        self._place = "%s" if self.on_server else "?"

    def enter(self, survey: Survey) -> None:
        """Make room for a survey. One of this name whose reports mean something else is an `InputError`."""
        self.insert_once(surveys, name=survey.name, version=survey.version)
        with self._changing(survey) as connection:
            for name in survey.questions:
                none = _bytes(_empty(survey, name))
                row = {"survey": survey.name, "question": name, "counts": none, "reports": 0, "held": none}
                connection.execute(self.insert(tallies).on_conflict_do_nothing(), {**row, "waiting": 0})

    def entered(self, name: str) -> str | None:
        """The version of the survey that has this name for ever; None if none has."""
        found = self.look(sa.select(surveys.c.version).where(surveys.c.name == name))
        return str(found[0][0]) if found else None

    @contextmanager
    def _changing(self, survey: Survey) -> Iterator[sa.Connection]:
        """A transaction in which nobody else changes anything of this survey."""
        query = sa.select(surveys.c.version).where(surveys.c.name == survey.name).with_for_update()
        with self.writing() as connection:
            if connection.execute(query).scalar_one_or_none() != survey.version:
                raise InputError(
                    f'the survey "{survey.name}" was opened with other questions, options or epsilon, and reports on '
                    "those do not mix with these: give the changed survey another name"
                )
            yield connection

    # --- reports

    def add(self, survey: Survey, deliveries: Sequence[Delivery]) -> list[bool | Refusal]:
        """Keep what was sent, in one transaction that is on disk when this returns; for each, whether it was new.

        Where a survey is by invitation, one that was not sent before may be refused.
        """
        first = {each.id: place for place, each in reversed(list(enumerate(deliveries)))}
        refused, names = dict[bytes, Refusal](), sorted(first)
        with self._changing(survey) as connection:
            if survey.invitations is not Invitations.NONE:
                names = self._new(connection, survey, names)
                wanted = {name: deliveries[first[name]].invitation or b"" for name in names}
                refused = _use_invitations(connection, survey, wanted)
                names = [name for name in names if name not in refused]
            new = self._named(connection, survey, names) if names else []
            if new:
                self._keep(connection, survey, [deliveries[first[each]].reports for each in new])
        added = set(new)
        return [
            refused.get(each.id, each.id in added and first[each.id] == place) for place, each in enumerate(deliveries)
        ]

    def _named(self, connection: sa.Connection, survey: Survey, ids: Sequence[bytes]) -> Sequence[bytes]:
        """Write down the names that are new. Nearly always all of them are, so that is tried first."""
        try:
            with connection.begin_nested():
                self._many(connection, received, [(survey.name, each) for each in ids])
        except IntegrityError:
            ids = self._new(connection, survey, ids)
            if ids:
                self._many(connection, received, [(survey.name, each) for each in ids])
        return ids

    def _new(self, connection: sa.Connection, survey: Survey, ids: Sequence[bytes]) -> list[bytes]:
        """Those that were not written down before."""
        query = sa.select(received.c.id).where(received.c.survey == survey.name)
        known = {bytes(row.id) for row in _among(connection, query, received.c.id, ids)}
        return [each for each in ids if each not in known]

    def _many(self, connection: sa.Connection, table: sa.Table, rows: list[tuple[Any, ...]]) -> None:
        """Insert rows in the driver's own way: SQLAlchemy takes as long for a row as the database does."""
        places = ", ".join([self._place] * len(table.columns))
        connection.exec_driver_sql(f"INSERT INTO {table.name} VALUES ({places})", rows)

    def _keep(self, connection: sa.Connection, survey: Survey, sent: Sequence[Mapping[str, bytes]]) -> None:
        rng = rng_or_default(None)
        heaps = {name: b"".join(sorted(one[name] for one in sent)) for name in survey.questions}
        rows = [(survey.name, name, bytes(rng.read(KEY)), heap) for name, heap in heaps.items()]
        self._many(connection, reports, rows)
        before = connection.execute(sa.select(tallies).where(tallies.c.survey == survey.name)).all()
        after = [(*_counted(survey, row, heaps[row.question]), survey.name, row.question) for row in before]
        values = ", ".join(f"{name} = {self._place}" for name in ("counts", "reports", "held", "waiting"))
        here = f"survey = {self._place} AND question = {self._place}"
        connection.exec_driver_sql(f"UPDATE tacit_tallies SET {values} WHERE {here}", after)

    def counted(self, survey: Survey) -> CountedReports:
        """What results may show now."""
        rows = {row.question: row for row in self.look(sa.select(tallies).where(tallies.c.survey == survey.name))}
        shown = {name: _tally(_empty(survey, name), rows[name].counts, rows[name].reports) for name in survey.questions}
        return CountedReports(shown, max(row.waiting for row in rows.values()))

    def reports(self, survey: Survey, question: str) -> Iterator[bytes]:
        """The reports on one question, in the order of their bytes."""
        query = sa.select(reports.c.heap).where(reports.c.survey == survey.name, reports.c.question == question)
        size, every = survey.sizes[question], b"".join(bytes(row[0]) for row in self.look(query))
        yield from sorted(every[at : at + size] for at in range(0, len(every), size))

    def size(self, survey: Survey) -> int:
        """How many submissions were taken, shown or waiting."""
        return self._count(received, received.c.survey == survey.name)

    def _count(self, table: sa.Table, *here: sa.ColumnElement[bool]) -> int:
        ((found,),) = self.look(sa.select(sa.func.count()).select_from(table).where(*here))
        return int(found)

    # --- invitations

    def invite(self, survey: Survey, digests: Sequence[bytes]) -> None:
        """Let whoever has a code of one of these digests answer, once."""
        rows = [{"survey": survey.name, "code": digest, "used": UNUSED} for digest in sorted(digests)]
        with self._changing(survey) as connection:
            if rows:
                connection.execute(sa.insert(codes), rows)

    def invited(self, survey: Survey) -> tuple[int, int]:
        """How many codes there are, and how many of them were used."""
        here = codes.c.survey == survey.name
        return self._count(codes, here), self._count(codes, here, codes.c.used != UNUSED)

    def exchange(self, survey: Survey, code: bytes, hidden: bytes) -> Refusal | None:
        """Use up a code for a signature on what has the digest `hidden`, which may ask again; None if it may be."""
        here = (codes.c.survey == survey.name, codes.c.code == code)
        with self._changing(survey) as connection:
            before = connection.execute(sa.select(codes.c.used).where(*here)).scalar_one_or_none()
            if before is None:
                return Refusal.UNKNOWN
            if bytes(before) == UNUSED:
                connection.execute(sa.update(codes).where(*here).values(used=hidden))
                return None
        return None if bytes(before) == hidden else Refusal.USED

    def token_key(self, survey: Survey, fresh: Callable[[], bytes]) -> bytes:
        """The key that signs this survey's tokens, which `fresh` makes the first time."""
        with self._changing(survey) as connection:
            found = connection.execute(sa.select(keys.c.key).where(keys.c.survey == survey.name)).scalar_one_or_none()
            if found is None:
                found = fresh()
                connection.execute(sa.insert(keys), {"survey": survey.name, "key": found})
        return bytes(found)


def _use_invitations(connection: sa.Connection, survey: Survey, wanted: Mapping[bytes, bytes]) -> dict[bytes, Refusal]:
    """Use up what admits each submission, by its random name; those that are not admitted, and why.

    Of several that come with one code, the first is admitted.
    """
    digests, by_token = sorted(set(wanted.values())), survey.invitations is Invitations.TOKEN
    if by_token:  # whose signature was checked before: one that is not there is unused
        query = sa.select(tokens.c.token).where(tokens.c.survey == survey.name)
        used = dict.fromkeys(digests, False)
        used |= {bytes(row.token): True for row in _among(connection, query, tokens.c.token, digests)}
    else:
        found = _among(connection, sa.select(codes).where(codes.c.survey == survey.name), codes.c.code, digests)
        used = {bytes(row.code): bytes(row.used) != UNUSED for row in found}
    refused: dict[bytes, Refusal] = {}
    spent: list[bytes] = []
    for name, digest in wanted.items():
        if digest not in used:
            refused[name] = Refusal.UNKNOWN
        elif used[digest]:
            refused[name] = Refusal.USED
        else:
            used[digest] = True
            spent.append(digest)
    if spent and by_token:
        connection.execute(sa.insert(tokens), [{"survey": survey.name, "token": digest} for digest in sorted(spent)])
    elif spent:
        for start in range(0, len(spent), AT_ONCE):
            some = codes.c.code.in_(spent[start : start + AT_ONCE])
            connection.execute(sa.update(codes).where(codes.c.survey == survey.name, some).values(used=USED))
    return refused


def _among(
    connection: sa.Connection, query: sa.Select[Any], column: sa.ColumnElement[bytes], values: Sequence[bytes]
) -> Iterator[sa.Row[Any]]:
    """The rows whose column has one of these values."""
    for start in range(0, len(values), AT_ONCE):
        yield from connection.execute(query.where(column.in_(values[start : start + AT_ONCE])))


def _counted(survey: Survey, row: sa.Row[Any], heap: bytes) -> tuple[bytes, int, bytes, int]:
    """A tally with the reports of a heap: those that are held are shown once there are enough for a batch."""
    protocol, like = survey.protocols[row.question], _empty(survey, row.question)
    held = _tally(like, row.held, row.waiting) + protocol.tally(protocol.read(heap))
    shown = _tally(like, row.counts, row.reports)
    if held.reports >= survey.minimum:
        shown, held = shown + held, like
    return _bytes(shown), shown.reports, _bytes(held), held.reports


def _empty(survey: Survey, question: str) -> Tally:
    protocol = survey.protocols[question]
    return protocol.tally(np.empty(0, dtype=protocol.dtype))


def _bytes(tally: Tally) -> bytes:
    return np.ascontiguousarray(tally.counts, dtype="<i8").tobytes()


def _tally(like: Tally, counts: bytes, count: int) -> Tally:
    return Tally(np.frombuffer(counts, dtype="<i8").reshape(like.counts.shape).astype(np.int64), count)
