"""What the service keeps is its owner's alone: old files are narrowed at the start, and what is not ours is told.

Releases before this one left the rights of their files to the umask. A file in the state folder that everybody may
read is taken for one of those; one that is open to a group alone was opened on purpose, and stays.
"""

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tacit.base.private_file import FILE
from tacit.server.config import Config
from tacit.server.log import event

__all__ = ["narrow", "warn"]

OTHERS = stat.S_IRWXO
OURS = ("*.db", "*.db-wal", "*.db-shm", "*.key", "policies/*.toml", "surveys/*.toml")


def narrow(config: Config) -> None:
    """Take the rights of others away from the files that this service wrote."""
    for path in _files(config):
        if _open_to_others(path):
            with suppress(OSError):  # somebody else's: told below
                path.chmod(FILE)


def warn(config: Config) -> None:
    """One line for each secret that others can still read."""
    secrets = (config.private_key, config.signing_key, config.oidc_secret)
    for path in (*_files(config), *(path for path in secrets if path is not None)):
        if _open_to_others(path):
            event("others can read this file: chmod 600", level=logging.WARNING, file=str(path))
    if not config.database and _open_to_others(config.state):
        event("others can look into this folder: chmod 700", level=logging.WARNING, folder=str(config.state))


def _files(config: Config) -> Iterator[Path]:
    for pattern in OURS:
        yield from config.state.glob(pattern)


def _open_to_others(path: Path) -> bool:
    try:
        return os.name == "posix" and bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False
