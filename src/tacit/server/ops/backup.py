"""A backup of the service while it runs: people and releases, then the ledgers, then what is declared. One file.

The ledgers come after the list of releases, so no release is in a copy that its charge is not in. The file of marks
beside a ledger is left out on purpose: a copy that is put back is older than what it replaces, so it opens only beside
marks that it reaches, or once somebody has recorded why (`tacit ledger adopt`). Otherwise it would give budget back.
"""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from sqlalchemy import create_engine, insert
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from tacit.base import CorruptLedger, InputError, LedgerError, TacitError
from tacit.ledger import schema
from tacit.ledger.chain import REGISTRY, LedgerFinding
from tacit.ledger.reader import on_server, reading
from tacit.ledger.schema import metadata
from tacit.ledger.sqlite.file import Watermark
from tacit.ledger.verify import VerificationReport, verify
from tacit.server.ask.datasets import read_quietly
from tacit.server.db import metadata as of_state
from tacit.server.db import now, versions
from tacit.server.ops.config import Config
from tacit.server.survey.store import metadata as of_surveys

__all__ = ["FORMAT", "MANIFEST", "Backup", "BackupPart", "back_up", "digest_of", "report_of"]

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


def copy_database(url: str, to: Path, tables: Sequence[str]) -> None:
    """The same of tables in PostgreSQL, as SQL, by its own pg_dump."""
    program = shutil.which("pg_dump")
    if program is None:
        needs = "a backup of a database in PostgreSQL needs it"
        raise TacitError(f"install pg_dump, one of PostgreSQL's own tools: {needs}")
    place, password = _conninfo(url)
    command = [program, "--no-password", "--no-owner", "--no-privileges", "--encoding=UTF8", f"--dbname={place}"]
    command += [f"--table={name}" for name in tables]
    hidden = {**os.environ, **({} if password is None else {"PGPASSWORD": password})}  # not for `ps` to show
    with to.open("w", encoding="utf-8") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, env=hidden, text=True, check=False)
        if done.returncode:
            first = done.stderr.strip().partition("\n")[0]
            raise TacitError(f"pg_dump could not copy {without_password(url)}: {first}")
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
    password = more.pop("password", found.password)  # libpq takes it from either place
    given: dict[str, Any] = {name: value for name, value in {**named, **more}.items() if value is not None}
    return make_conninfo("", **given), password


def without_password(place: str) -> str:
    """A place as it may be written down."""
    if "://" not in place:
        return place
    with suppress(ArgumentError, ValueError):
        return make_url(place).difference_update_query(["password"]).render_as_string(hide_password=True)
    return "a database"


# --- is a ledger's copy whole?


def marks_of(place: Path) -> tuple[Heads | None, str | None]:
    """What the file beside a ledger knows, and what is wrong with that file."""
    with reading(place) as reader:
        if reader.mark is None or reader.mark.problem is not None:
            return None, "the file of marks may not be read" if reader.mark is None else reader.mark.problem
        return reader.mark.heads, None


def heads_of(report: VerificationReport) -> list[dict[str, Any]]:
    """How far each account had come, to be written down."""
    return [{"people": head.people, "seq": head.seq, "digest": head.digest.hex()} for head in report.heads]


def report_of(copy: Path, marks: Heads | None, heads: Sequence[Mapping[str, Any]] = ()) -> VerificationReport:
    """Verify a copy of a ledger, in a folder where files may be left: against the marks of the original if they are
    known, and against what was written down of it."""
    if copy.suffix == ".sql":
        copy = _as_file(copy)
    with reading(copy) as reader:
        name, found = reader.ledger, {row.id: (row.seq, bytes(row.head)) for row in reader.accounts()}
    with closing(Watermark(copy.with_name(copy.name + ".mark"))) as mark:
        mark.rewrite(name, found if marks is None else marks)
    report = verify(copy)
    kept = {(head["people"], head["seq"], head["digest"]) for head in heads_of(report)}
    if heads and kept != {(head["people"], head["seq"], head["digest"]) for head in heads}:
        raise CorruptLedger(f"{copy.name} ends with other entries than were written down when it was copied")
    return report


READ: dict[type, Callable[[str], Any]] = {bytes: lambda text: bytes.fromhex(text.removeprefix("\\x")), str: str}


def _as_file(dump: Path) -> Path:
    """The ledger in a dump as a SQLite one, which can be verified without a server."""
    path = dump.with_suffix(".ledger")
    try:
        with create_engine(f"sqlite:///{path}", poolclass=NullPool).begin() as connection:
            metadata.create_all(connection)
            for name, rows in _tables(dump):
                table = metadata.tables.get(name)
                if table is None:
                    continue
                read = {column.name: READ.get(column.type.python_type, int) for column in table.columns}
                made = [{key: value and read[key](value) for key, value in row.items()} for row in rows]
                connection.execute(insert(table), made)
    except (ValueError, KeyError) as error:
        raise CorruptLedger(f"{dump.name} is not a copy of a ledger that pg_dump made ({error})") from None
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
                values = [
                    None if value == "\\N" else ESCAPED.sub(lambda found: SIGNS.get(found[1], found[1]), value)
                    for value in text.removesuffix("\n").split("\t")
                ]
                rows.append(dict(zip(columns, values, strict=True)))
                if len(rows) == ROWS:
                    yield found["table"], rows
                    rows = []
            if rows:
                yield found["table"], rows


FORMAT = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class BackupPart:
    """A file in a backup: what it is, where it was (no passwords), and how to tell that it is the same."""

    kind: str  # state, ledger, policy, config or key
    name: str
    origin: str
    size: int
    sha256: str
    heads: list[dict[str, Any]] = field(default_factory=list)  # of a ledger: its newest entries


@dataclass(frozen=True, kw_only=True)
class Backup:
    """What was copied, and what is wrong with the ledgers, here as there."""

    parts: Sequence[BackupPart]
    findings: Sequence[tuple[str, LedgerFinding]]


def back_up(config: Config, to: Path, *, file: Path | None = None, keys: bool = False) -> Backup:
    """Copy everything into a new file, and verify each ledger's copy. `keys` adds private keys and secrets."""
    with _new(to) as (folder, archive):
        parts: list[BackupPart] = []
        findings: list[tuple[str, LedgerFinding]] = []

        def add(kind: str, name: str, origin: str, path: Path, heads: list[dict[str, Any]] | None = None) -> None:
            size, sha256 = path.stat().st_size, digest_of(path)
            parts.append(BackupPart(kind=kind, name=name, origin=origin, size=size, sha256=sha256, heads=heads or []))
            archive.add(path, name, recursive=False, filter=_anonymous)

        # those of the config, of the console, and of the demo where nothing else is served
        served = config.datasets or (config.state / "demo" / "tacit.toml",)
        policies = [path for path in (*served, *sorted(config.policy_folder.glob("*.toml"))) if path.is_file()]
        ledgers = list(dict.fromkeys(read_quietly(path).policy.ledger() for path in policies))
        _state(config, folder, add)
        for number, place in enumerate(ledgers, 1):
            copy, origin = folder / str(number), without_password(place)
            copy.mkdir()
            if on_server(place):
                path, marks, problem = copy / "ledger.sql", None, None
                copy_database(place, path, [table.name for table in schema.metadata.sorted_tables])
            else:
                path, (marks, problem) = copy / Path(place).name, marks_of(Path(place))  # before: they lag behind
                copy_file(Path(place), path)
            report = report_of(path, marks)
            findings += [(origin, finding) for finding in report.findings]
            findings += [] if problem is None else [(origin, LedgerFinding(people=REGISTRY, seq=None, what=problem))]
            add("ledger", f"ledgers/{number}/{path.name}", origin, path, heads_of(report))
        for number, path in enumerate([*policies, *config.surveys, *sorted(config.survey_folder.glob("*.toml"))], 1):
            add("policy", f"policies/{number}/{path.name}", str(path.absolute()), path)
        if file is not None:
            add("config", f"config/{file.name}", str(file.absolute()), file)
        given = (config.certificate, config.private_key, config.oidc_secret, config.signing_key)
        secrets = [path for path in given if path is not None]
        secrets += [*sorted(config.state.glob("*.key*")), *sorted(config.state.glob("*.pem"))]
        for number, path in enumerate(secrets if keys else (), 1):
            add("key", f"keys/{number}/{path.name}", str(path.absolute()), path)
        content = {
            "tacit_backup": FORMAT,
            "made": now(),
            "version": version("tacit"),
            "parts": list(map(asdict, parts)),
        }
        path = folder / MANIFEST
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
        archive.add(path, MANIFEST, filter=_anonymous)
    return Backup(parts=parts, findings=findings)


def _state(config: Config, folder: Path, add: Any) -> None:
    if config.database:
        path = folder / "state.sql"
        tables = [versions.name, *(table.name for each in (of_state, of_surveys) for table in each.sorted_tables)]
        copy_database(config.database, path, tables)
        add("state", "state/state.sql", without_password(config.database), path)
    for source in sorted(config.state.glob("*.db")):  # people and releases; reports of surveys
        copy_file(source, folder / source.name)
        add("state", f"state/{source.name}", str(source.absolute()), folder / source.name)


@contextmanager
def _new(to: Path) -> Iterator[tuple[Path, tarfile.TarFile]]:
    """A folder to work in and an archive, which takes its name when it is whole. Nobody else may read either."""
    if to.exists():
        raise InputError(f"choose another name: {to} exists already, and a backup is never overwritten")
    try:
        with TemporaryDirectory(prefix=".tacit-backup-", dir=to.absolute().parent) as name:
            partial = Path(name) / "archive"
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                    yield Path(name), archive
                file.flush()
                os.fsync(file.fileno())
            os.link(partial, to)  # fails if somebody else was first
    except OSError as error:
        raise InputError(f"{to} cannot be written: {error.strerror or error}") from None


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o600
    return entry


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
