"""A backup looked at again: is it whole, and what is in it put into a folder, from which nothing opens by accident."""

import json
import os
import re
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from tacit.base import InputError, LedgerError
from tacit.base.private_file import open_private, private_folder
from tacit.server.db import SCHEMA, now
from tacit.server.ops.backup import FORMAT, MANIFEST, BackupPart, digest_of, report_of
from tacit.server.survey.store import SCHEMA as SURVEYS

__all__ = ["CheckedBackup", "check", "restore"]

NAME = re.compile(r"(?:state|config|ledgers/\d+|policies/\d+|keys/\d+)/[^/\\\0]+")
MOST = 1 << 24  # bytes of a manifest
IN_SCHEMA = re.compile(r"^COPY ([^.]+)\.tacit_tokens ", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class CheckedBackup:
    """A backup that was read: when it was made, by which version, and what is wrong with it, by part."""

    made: int
    version: str
    parts: tuple[BackupPart, ...]
    findings: tuple[tuple[str, str], ...]

    @property
    def ok(self) -> bool:
        return not self.findings


def check(file: Path) -> CheckedBackup:
    """Read all of it: every part is there as it was, and every ledger verifies up to the entries noted at the time."""
    with _unpacked(file, file.absolute().parent) as (folder, found):
        return _found_out(folder, found)


def _found_out(folder: Path, content: dict[str, Any]) -> CheckedBackup:
    parts, findings = _parts(content), list[tuple[str, str]]()
    for part in parts:
        path = folder / part.name
        if not path.is_file():
            findings.append((part.name, "is missing"))
        elif path.stat().st_size != part.size or digest_of(path) != part.sha256:
            findings.append((part.name, "is not what was copied"))
        elif part.kind == "ledger":
            findings += [(part.name, what) for what in _ledger(path, part)]
        elif part.kind == "state" and path.suffix == ".db":
            findings += [(part.name, what) for what in _state(path)]
    if not any(part.kind == "ledger" for part in parts):
        findings.append((MANIFEST, "names no ledger: what was spent is not in this backup"))
    made, version = int(content["made"]), str(content.get("version"))
    return CheckedBackup(made=made, version=version, parts=parts, findings=tuple(findings))


def restore(file: Path, into: Path, *, keep_tokens: bool = False) -> CheckedBackup:
    """Unpack into a new folder, if the backup is whole. Sessions and links end, and tokens too unless they are kept:
    what was revoked since the copy was made would work again."""
    if into.exists() and any(into.iterdir()):
        raise InputError(f"restore into a new folder, and move things from there: {into} is not empty")
    private_folder(into.absolute().parent)
    with _unpacked(file, into.absolute().parent) as (folder, content):
        found = _found_out(folder, content)
        if not found.ok:
            return found
        for part in found.parts:
            with (folder / part.name).open("rb") as source:
                _put(source, into / part.name)
            if part.name in ("state/server.db", "state/state.sql"):
                _nobody_inside(into / part.name, keep_tokens=keep_tokens)
    return found


def _ledger(path: Path, part: BackupPart) -> list[str]:
    try:
        found = report_of(path, None, part.heads).findings
    except LedgerError as error:
        return [str(error)]
    return [f"{each.people or 'the list of accounts'}, entry {each.seq}: {each.what}" for each in found]


def _state(path: Path) -> list[str]:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
            (verdict,) = base.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict != "ok":
        return [f"is damaged: {verdict}"]
    try:
        with create_engine(f"sqlite:///{path}", poolclass=NullPool).connect() as connection:
            for schema in (SCHEMA, SURVEYS):
                schema.known(connection)
    except InputError as error:  # a later release alone can open it
        return [f"cannot be used here: {error}"]
    return []


def _nobody_inside(path: Path, *, keep_tokens: bool) -> None:
    revoking = f"UPDATE {{0}}tacit_tokens SET revoked = {now()} WHERE revoked IS NULL"
    orders = ["DELETE FROM {0}tacit_browsers", "DELETE FROM {0}tacit_links", *([] if keep_tokens else [revoking])]
    if path.suffix == ".sql":
        with path.open("r+", encoding="utf-8") as file:
            found = IN_SCHEMA.search(file.read())
            schema = "" if found is None else f"{found[1]}."
            file.write("".join(f"\n{order.format(schema)};" for order in orders) + "\n")
        return
    with closing(sqlite3.connect(path)) as base, base:
        for order in orders:
            base.execute(order.format(""))


@contextmanager
def _unpacked(file: Path, beside: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The parts that the manifest names, in a folder of their own, and the manifest. Nothing else is taken out."""
    try:
        with TemporaryDirectory(prefix=".tacit-backup-", dir=beside) as name:
            folder = Path(name)
            with tarfile.open(file, mode="r:") as archive:
                content = _read(archive)
                for part in _parts(content):
                    _take(archive, part, folder)
            yield folder, content
    except FileNotFoundError:
        raise InputError(f"there is no backup at {file}") from None
    except (tarfile.TarError, EOFError):
        raise InputError(f"{file} is not a backup of tacit, or is cut short") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read or unpacked: {error.strerror or error}") from None


def _read(archive: tarfile.TarFile) -> dict[str, Any]:
    try:
        file = archive.extractfile(MANIFEST)
        content = json.loads(file.read(MOST)) if file is not None else None
    except (KeyError, ValueError):
        content = None
    if not isinstance(content, dict) or content.get("tacit_backup") != FORMAT or type(content.get("made")) is not int:
        raise InputError("this is not a backup of tacit that this release can read: its manifest is missing or another")
    return content


def _parts(content: dict[str, Any]) -> tuple[BackupPart, ...]:
    names = {each.name for each in fields(BackupPart)}
    try:
        parts = tuple(BackupPart(**{name: part[name] for name in names}) for part in content["parts"])
        good = all(NAME.fullmatch(part.name) and part.name.rpartition("/")[2] not in (".", "..") for part in parts)
    except (KeyError, TypeError, AttributeError):
        good = False
    if not good or len({part.name for part in parts}) < len(parts):
        raise InputError("the manifest of this backup is damaged")
    return parts


def _take(archive: tarfile.TarFile, part: BackupPart, folder: Path) -> None:
    """One file, whatever else the archive says of it: no links, no owners, no places outside."""
    with suppress(KeyError):  # told as missing
        entry = archive.getmember(part.name)
        if entry.isreg() and (source := archive.extractfile(entry)) is not None:
            with source:
                _put(source, folder / part.name)


def _put(source: IO[bytes], to: Path) -> None:
    private_folder(to.parent)
    with os.fdopen(open_private(to, os.O_WRONLY | os.O_EXCL), "wb") as file:
        shutil.copyfileobj(source, file)
