"""A backup of the service while it runs: people and releases, then the ledgers, then what is declared. One file.

The ledgers come after the list of releases, so no release is in a copy that its charge is not in. The file of marks
beside a ledger is left out on purpose: a copy that is put back is older than what it replaces, so it opens only beside
marks that it reaches, or once somebody has recorded why (`tacit ledger adopt`). Otherwise it would give budget back.
"""

import json
import os
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tacit.base import InputError
from tacit.ledger import schema
from tacit.ledger.chain import Finding
from tacit.ledger.entry import REGISTRY
from tacit.ledger.reader import on_server
from tacit.server.backup_copy import copy_database, copy_file, heads_of, marks_of, report_of, without_password
from tacit.server.collect_store import metadata as of_surveys
from tacit.server.config import Config
from tacit.server.opened import read_policy
from tacit.server.state import metadata as of_state
from tacit.server.state import now
from tacit.server.versions import versions

__all__ = ["FORMAT", "MANIFEST", "Made", "Part", "back_up", "digest_of"]

FORMAT = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file in a backup: what it is, where it was (no passwords), and how to tell that it is the same."""

    kind: str  # state, ledger, policy, config or key
    name: str
    origin: str
    size: int
    sha256: str
    heads: list[dict[str, Any]] = field(default_factory=list)  # of a ledger: its newest entries


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was copied, and what is wrong with the ledgers, here as there."""

    parts: Sequence[Part]
    findings: Sequence[tuple[str, Finding]]


def back_up(config: Config, to: Path, *, file: Path | None = None, keys: bool = False) -> Made:
    """Copy everything into a new file, and verify each ledger's copy. `keys` adds private keys and secrets."""
    with _new(to) as (folder, archive):
        parts: list[Part] = []
        findings: list[tuple[str, Finding]] = []

        def add(kind: str, name: str, origin: str, path: Path, heads: list[dict[str, Any]] | None = None) -> None:
            part = Part(
                kind=kind,
                name=name,
                origin=origin,
                size=path.stat().st_size,
                sha256=digest_of(path),
                heads=heads or [],
            )
            parts.append(part)
            archive.add(path, name, recursive=False, filter=_anonymous)

        policies = [path for path in _policies(config) if path.is_file()]
        ledgers = list(dict.fromkeys(read_policy(path).ledger() for path in policies))
        _state(config, folder, add)
        for number, place in enumerate(ledgers, 1):
            copy, origin = folder / str(number), without_password(place)
            copy.mkdir()
            if on_server(place):
                path, marks, problem = copy / "ledger.sql", None, None
                copy_database(place, path, [table.name for table in schema.metadata.sorted_tables], charging=True)
            else:
                path, (marks, problem) = copy / Path(place).name, marks_of(Path(place))  # before: they lag behind
                copy_file(Path(place), path)
            report = report_of(path, marks)
            findings += [(origin, finding) for finding in report.findings]
            findings += [] if problem is None else [(origin, Finding(people=REGISTRY, seq=None, what=problem))]
            add("ledger", f"ledgers/{number}/{path.name}", origin, path, heads_of(report))
        for number, path in enumerate([*policies, *config.surveys, *sorted(config.survey_folder.glob("*.toml"))], 1):
            add("policy", f"policies/{number}/{path.name}", str(path.absolute()), path)
        if file is not None:
            add("config", f"config/{file.name}", str(file.absolute()), file)
        for number, path in enumerate(_keys(config) if keys else (), 1):
            add("key", f"keys/{number}/{path.name}", str(path.absolute()), path)
        _manifest(archive, folder, parts)
    return Made(parts=parts, findings=findings)


def _state(config: Config, folder: Path, add: Any) -> None:
    if config.database:
        path = folder / "state.sql"
        tables = [versions.name, *(table.name for each in (of_state, of_surveys) for table in each.sorted_tables)]
        copy_database(config.database, path, tables, charging=False)
        add("state", "state/state.sql", without_password(config.database), path)
    for source in sorted(config.state.glob("*.db")):  # people and releases; reports of surveys
        copy_file(source, folder / source.name)
        add("state", f"state/{source.name}", str(source.absolute()), folder / source.name)


def _policies(config: Config) -> Iterable[Path]:
    """Those of the config, of the console, and of the demo where nothing else is served."""
    yield from config.datasets
    if not config.datasets:
        yield config.state / "demo" / "tacit.toml"
    yield from sorted(config.policy_folder.glob("*.toml"))


def _keys(config: Config) -> list[Path]:
    given = (config.certificate, config.private_key, config.oidc_secret, config.signing_key)
    named = [path for path in given if path is not None]
    return [*named, *sorted(config.state.glob("*.key*")), *sorted(config.state.glob("*.pem"))]


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


def _manifest(archive: tarfile.TarFile, folder: Path, parts: Sequence[Part]) -> None:
    path = folder / MANIFEST
    content = {"tacit_backup": FORMAT, "made": now(), "version": version("tacit"), "parts": [asdict(p) for p in parts]}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
    archive.add(path, MANIFEST, filter=_anonymous)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
