"""One part of a backup: a consistent copy of a database while it is in use, and whether a copy of a ledger is whole."""

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import LargeBinary, create_engine, insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from tacit.base import CorruptLedger, LedgerError, TacitError
from tacit.ledger.postgres_charge import CHARGE
from tacit.ledger.reader import reading
from tacit.ledger.schema import metadata
from tacit.ledger.verify import Report, verify
from tacit.ledger.watermark import Watermark

__all__ = ["Heads", "copy_database", "copy_file", "heads_of", "marks_of", "report_of", "without_password"]

Heads = dict[int, tuple[int, bytes]]
COPY = re.compile(r"COPY (?P<schema>[^.]+)\.(?P<table>\w+) \((?P<columns>[^)]*)\) FROM stdin;\n")
ESCAPED = re.compile(r"\\(.)")
SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
ROWS = 1000


def copy_file(source: Path, to: Path) -> None:
    """A SQLite database as it is at one moment, in one file without a log beside it; others may write meanwhile."""
    if not source.is_file():
        raise LedgerError(f"there is no database at {source}: check the path")
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(source.absolute()))}?mode=ro", uri=True)) as found,
            closing(sqlite3.connect(to)) as copy,
        ):
            found.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            copy.execute("PRAGMA user_version")
    except sqlite3.Error as error:
        raise LedgerError(f"{source} cannot be copied: {error}") from None
    with to.open("rb+") as file:
        os.fsync(file.fileno())


def copy_database(url: str, to: Path, tables: Sequence[str], *, charging: bool) -> None:
    """The same of tables in PostgreSQL, as SQL, by its own pg_dump; `charging` adds the function that charges."""
    program = shutil.which("pg_dump")
    if program is None:
        raise TacitError(
            "install pg_dump, one of PostgreSQL's own tools: a backup of a database in PostgreSQL needs it"
        )
    place, password = _conninfo(url)
    command = [program, "--no-password", "--no-owner", "--no-privileges", "--encoding=UTF8", f"--dbname={place}"]
    wanted = [f"--table={name}" for name in tables]
    environment = {**os.environ, **({} if password is None else {"PGPASSWORD": password})}  # not for `ps` to show
    with to.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [*command, *wanted], stdout=file, stderr=subprocess.PIPE, env=environment, text=True, check=False
        )
        if done.returncode:
            first = done.stderr.strip().partition("\n")[0]
            raise TacitError(f"pg_dump could not copy {without_password(url)}: {first}")
        if charging:
            file.flush()
            file.write(f"\nSET search_path TO {_schema(to)};\n{CHARGE};\n")
        file.flush()
        os.fsync(file.fileno())


def _conninfo(url: str) -> tuple[str, str | None]:
    from psycopg.conninfo import make_conninfo

    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        raise TacitError("this is no address of a database: write postgresql://user@host/name") from None
    named = {"host": found.host, "port": found.port, "user": found.username, "dbname": found.database}
    more = {name: value if isinstance(value, str) else ",".join(value) for name, value in found.query.items()}
    given: dict[str, Any] = {name: value for name, value in {**named, **more}.items() if value is not None}
    return make_conninfo("", **given), found.password


def without_password(place: str) -> str:
    """A place as it may be written down."""
    with suppress(ArgumentError, ValueError):
        return make_url(place).render_as_string(hide_password=True) if "://" in place else place
    return "a database"


# --- is a ledger's copy whole?


def marks_of(place: Path) -> tuple[Heads | None, str | None]:
    """What the file beside a ledger knows, and what is wrong with that file."""
    with reading(place) as reader:
        if reader.mark is None or reader.mark.problem is not None:
            return None, "the file of marks may not be read" if reader.mark is None else reader.mark.problem
        return reader.mark.heads, None


def heads_of(report: Report) -> list[dict[str, Any]]:
    """How far each account had come, to be written down."""
    return [{"people": head.people, "seq": head.seq, "digest": head.digest.hex()} for head in report.heads]


def report_of(copy: Path, marks: Heads | None, heads: Sequence[Mapping[str, Any]] = ()) -> Report:
    """Verify a copy of a ledger, in a folder where files may be left: against the marks of the original if they are
    known, and against what was written down of it."""
    if copy.suffix == ".sql":
        copy = _as_file(copy)
    name, found = _heads(copy)
    mark = Watermark(copy.with_name(copy.name + ".mark"))
    try:
        mark.rewrite(name, found if marks is None else marks)
    finally:
        mark.close()
    report = verify(copy)
    kept = {(head["people"], head["seq"], head["digest"]) for head in heads_of(report)}
    if heads and kept != {(head["people"], head["seq"], head["digest"]) for head in heads}:
        raise CorruptLedger(f"{copy.name} ends with other entries than were written down when it was copied")
    return report


def _heads(copy: Path) -> tuple[str, Heads]:
    with reading(copy) as reader:
        return reader.ledger, {row.id: (row.seq, bytes(row.head)) for row in reader.accounts()}


def _schema(dump: Path) -> str:
    with dump.open(encoding="utf-8") as file:
        for line in file:
            found = COPY.fullmatch(line)
            if found is not None:
                return found["schema"]
    raise TacitError(f"{dump.name} has no tables in it")


def _as_file(dump: Path) -> Path:
    """The ledger in a dump as a SQLite one, which can be verified without a server."""
    path = dump.with_suffix(".ledger")
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    try:
        with engine.begin() as connection:
            metadata.create_all(connection)
            for name, rows in _tables(dump):
                table = metadata.tables.get(name)
                if table is None:
                    continue
                binary = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
                kinds = {column.name: column.type.python_type for column in table.columns}
                made = [
                    {
                        key: None
                        if value is None
                        else bytes.fromhex(value.removeprefix("\\x"))
                        if key in binary
                        else int(value)
                        if kinds[key] is not str
                        else value
                        for key, value in row.items()
                    }
                    for row in rows
                ]
                connection.execute(insert(table), made)
    except (ValueError, KeyError) as error:
        raise CorruptLedger(f"{dump.name} is not a copy of a ledger that pg_dump made ({error})") from None
    finally:
        engine.dispose()
    return path


def _tables(dump: Path) -> Iterator[tuple[str, list[dict[str, str | None]]]]:
    """The rows of each table, some at a time, as COPY writes them: tabs between, a backslash before what is special."""
    with dump.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            found = COPY.fullmatch(line)
            if found is None:
                continue
            columns = [column.strip().strip('"') for column in found["columns"].split(",")]
            rows: list[dict[str, str | None]] = []
            for text in file:
                if text == "\\.\n":
                    break
                values = [_plain(value) for value in text.removesuffix("\n").split("\t")]
                rows.append(dict(zip(columns, values, strict=True)))
                if len(rows) == ROWS:
                    yield found["table"], rows
                    rows = []
            if rows:
                yield found["table"], rows


def _plain(value: str) -> str | None:
    return None if value == "\\N" else ESCAPED.sub(lambda found: SIGNS.get(found[1], found[1]), value)
